"""`tpn2f demo`: word problems that a model solves, the user's own question, Lisp tasks, programs that never end.

This module loads no models: it gets functions that solve. Without such a function the programs are given, not
predicted, and the demo says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from tpn2f.cli.display import show_run, show_solution, show_told
from tpn2f.domain import HasSteps, load_domain, read_problem
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, read_tree
from tpn2f.solution import Solution
from tpn2f.wording import clean, cut, format_value

if TYPE_CHECKING:
    from tpn2f.solver import Solver

Solve = Callable[[str], Solution]
SolveWith = Callable[[str, Mapping[str, object]], Solution]
"""Solves a task and runs what it wrote on given inputs."""

# (question, program): everyday questions in words of our own. The programs are what a model should write.
WORD_PROBLEMS = (
    ("A shirt costs $40 and is 25% off. What do I pay?", "divide(n1,const_100)|multiply(n0,#0)|subtract(n0,#1)"),
    ("The bill is $60 and I want to tip 15 percent. How much is the tip?", "divide(n1,const_100)|multiply(n0,#0)"),
    ("Ann is twice as old as Bob. Bob is 9. How old is Ann?", "multiply(n0,n1)"),
    ("A train goes 180 miles in 3 hours. How fast is it?", "divide(n0,n1)"),
    (
        "A book has 320 pages. I read 45 pages a day for 4 days. How many pages are left?",
        "multiply(n1,n2)|subtract(n0,#0)",
    ),
    ("15% of 240", "divide(n0,const_100)|multiply(n1,#0)"),
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
WORDS, LISP = "everyday", "algolisp"
"""The domains of these problems and tasks."""
HOSTILE = ("(pow 1000000000 1000000000)", "(invoke1 (lambda1 (self arg1)) 1)")


def load_demo(model: Path | None = None) -> tuple[Solver | None, Solver | None]:
    """The solver of the word problems (the named model or the bundled one), and that of the tasks if there is one."""
    from tpn2f.pretrained import bundled_model, bundled_models
    from tpn2f.solver import Solver

    lisp = Solver.load(LISP) if LISP in bundled_models() else None
    if model is None and WORDS not in bundled_models():
        return None, lisp
    solver = Solver.load(model or bundled_model(WORDS))
    if solver.domain.name != WORDS:
        raise DataError(f"the demo has questions of {WORDS}; {model} was trained on {solver.domain.name}")
    return solver, lisp


def show_demo(
    console: Console,
    solve: Solve | None = None,
    own: str = "",
    ask: Callable[[], str] | None = None,
    solve_lisp: SolveWith | None = None,
) -> None:
    """Runs the whole demo. `own` is a question of the user; `ask` asks for more until an empty one comes."""
    console.print("[bold]Word problems, solved step by step[/]\n")
    if solve is None:
        console.print("[yellow]No model is bundled with this installation: the programs here are given.[/]\n")
    for question, program in WORD_PROBLEMS:
        if solve is None:
            show_given(console, question, Program.parse(program))
        else:
            show_solved(console, solve, question)
    if solve is not None and (own or ask is not None):
        console.print("[bold]Your own question[/]\n")
        if own:
            show_solved(console, solve, own)
        while ask is not None and (asked := ask().strip()):
            show_solved(console, solve, asked)
    elif own:
        raise DataError("a question of your own needs a model, and none is bundled; name one with --model")
    show_lisp(console, solve_lisp)
    show_hostile(console)


def show_given(console: Console, question: str, program: Program) -> None:
    """Shows a word problem solved by a given program, not by the model."""
    domain = load_domain(WORDS)
    problem = read_problem(domain, question)
    console.print(escape(question), soft_wrap=True)
    show_told(console, domain, domain.steps(program, problem) if isinstance(domain, HasSteps) else ())
    console.print(f"  [bold]answer: {escape(format_value(domain.execute(program, problem)))}[/]\n", soft_wrap=True)


def show_solved(console: Console, solve: Solve, question: str) -> None:
    """Shows a word problem solved by the model's program; a question that cannot be read is reported in one line."""
    try:
        solution = solve(question)
    except DataError as error:
        console.print(escape(cut(clean(question), 600)), soft_wrap=True)
        console.print(f"  [red]{escape(str(error))}[/]\n", soft_wrap=True)
        return
    show_solution(console, solution)


def show_lisp(console: Console, solve: SolveWith | None = None) -> None:
    """Shows Lisp programs on inputs: written by a model, or given."""
    console.print("[bold]Lisp programs for tasks in plain language[/]\n")
    if solve is None:
        console.print("[yellow]No model for AlgoLisp is bundled with this installation: the programs are given.[/]\n")
    for text, program, inputs in LISP_TASKS:
        if solve is not None:
            show_solution(console, solve(text, inputs))
            continue
        console.print(escape(text), soft_wrap=True)
        show_run(console, load_domain(LISP), Program.from_tree(read_tree(program)), "", inputs)
        console.print()


def show_hostile(console: Console) -> None:
    """Shows that programs that would never end are stopped."""
    domain = load_domain(LISP)
    console.print("[bold]Programs that would never end are stopped at once[/]\n")
    for program in HOSTILE:
        console.print(f"  {escape(program)}", soft_wrap=True)
        try:
            domain.execute(Program.from_tree(read_tree(program)), domain.read("consider a number a"))
        except ExecutionError as error:
            console.print(f"  [yellow]{escape(str(error))}[/]\n", soft_wrap=True)
