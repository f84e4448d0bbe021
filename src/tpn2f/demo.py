"""`tpn2f demo`: programs at work on problems of the paper and of ours.

Until weights are bundled the programs are given, not predicted.
"""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from tpn2f.display import show_run
from tpn2f.domain import load_domain
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, read_tree

# (question, program): the first three are printed in the paper, the others are of the same kind.
WORD_PROBLEMS = (
    (
        "20 is subtracted from 60 percent of a number, the result is 88. Find the number?",
        "add(n0,n2)|divide(n1,const_100)|divide(#0,#1)",
    ),
    (
        (
            "The population of a village is 14300. It increases annually at the rate of 15 percent. What will be its "
            "population after 2 years?"
        ),
        "divide(n1,const_100)|add(#0,const_1)|power(#1,n2)|multiply(n0,#2)",
    ),
    (
        "A train running at the speed of 50 km per hour crosses a post in 4 seconds. What is the length of the train?",
        "multiply(n0,const_1000)|divide(#0,const_3600)|multiply(n1,#1)",
    ),
    (
        "A box is 1.5 m long, 80 cm wide and 40 cm high. How many litres does it hold?",
        "multiply(n0,const_100)|volume_rectangular_prism(#0,n1,n2)|divide(#1,const_1000)",
    ),
    ("In how many ways can a committee of 5 be chosen from 12 people?", "choose(n1,n0)"),
)
# (text, program, inputs): the first is printed in the paper.
LISP_TASKS: tuple[tuple[str, str, dict[str, object]], ...] = (
    (
        "Consider a number a, compute factorial of a",
        "(invoke1 (lambda1 (if (<= arg1 1) 1 (* (self (- arg1 1)) arg1))) a)",
        {"a": 6},
    ),
    (
        "Given an array of numbers a, compute the sum of its even elements",
        "(reduce (filter a (lambda1 (== (% arg1 2) 0))) 0 +)",
        {"a": [3, 8, 12, 7, 20]},
    ),
)
HOSTILE = ("(pow 1000000000 1000000000)", "(invoke1 (lambda1 (self arg1)) 1)")


def show_demo(console: Console) -> None:
    """Word problems worked step by step, Lisp programs on inputs, and programs that would never end."""
    mathqa = load_domain("mathqa")
    console.print("[bold]MathQA: word problems and operation sequences[/]\n")
    for question, program in WORD_PROBLEMS:
        console.print(escape(question), soft_wrap=True)
        show_run(console, mathqa, Program.parse(program), question, {})
        console.print()
    algolisp = load_domain("algolisp")
    console.print("[bold]AlgoLisp: tasks and Lisp programs[/]\n")
    for text, program, inputs in LISP_TASKS:
        console.print(escape(text), soft_wrap=True)
        show_run(console, algolisp, Program.from_tree(read_tree(program)), "", inputs)
        console.print()
    console.print("[bold]Programs that would never end, ended at once[/]\n")
    for program in HOSTILE:
        console.print(f"  {escape(program)}", soft_wrap=True)
        try:
            algolisp.execute(Program.from_tree(read_tree(program)), algolisp.read("consider a number a"))
        except ExecutionError as error:
            console.print(f"  [yellow]{escape(str(error))}[/]\n", soft_wrap=True)
