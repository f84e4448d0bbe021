"""The demo: every answer of its word problems is right, a visitor's question is solved, and nothing is pretended."""

import io

import pytest
from rich.console import Console

from tpn2f.cli.demo import LISP_TASKS, WORD_PROBLEMS, show_demo
from tpn2f.domain import Problem, load_domain
from tpn2f.errors import DataError
from tpn2f.program import Program, read_tree
from tpn2f.solution import Solution
from tpn2f.solver import Solver

# Worked by hand: 40 less a quarter; 60 times 0.15; twice 9; 180 / 3; 320 less 4 times 45; 0.15 times 240.
ANSWERS = (30, 9, 18, 60, 140, 36)
EVERYDAY = load_domain("everyday")


def shown(*arguments, **named) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    show_demo(console, *arguments, **named)
    return console.export_text()


def solve(text: str) -> Solution:
    """A model that knows one program."""
    problem = EVERYDAY.read(text)
    program = Program.parse("divide(n0,n1)")
    steps = EVERYDAY.steps(program, problem)
    return Solution(problem, program, steps[-1].result, steps, 0.5, "", ("wug",), text=text)


def test_the_given_programs_give_the_right_answers():
    assert len(WORD_PROBLEMS) >= 5
    for (question, program), answer in zip(WORD_PROBLEMS, ANSWERS, strict=True):
        assert EVERYDAY.execute(Program.parse(program), EVERYDAY.read(question)) == pytest.approx(answer)


def test_the_bundled_model_solves_them_all():
    solver = Solver.load()
    for (question, _), answer in zip(WORD_PROBLEMS, ANSWERS, strict=True):
        solution = solver.solve(question)
        assert solution.value == pytest.approx(answer), question
        assert solution.calibrated and solution.confidence > 0.5


def test_the_bundled_lisp_model_writes_the_given_programs():
    solver = Solver.load("algolisp")
    for text, tree, inputs in LISP_TASKS:
        solution = solver.solve(text, inputs=inputs)
        assert solution.program == Program.from_tree(read_tree(tree)) and not solution.error


def test_without_a_model_the_demo_says_that_programs_are_given():
    text = shown()
    assert "No model is bundled" in text and "confidence" not in text
    assert "  step 1:  25 / 100 = 0.25   divide the 2nd number by 100" in text
    assert "  step 3:  40 - 10 = 30      take the result of step 2 away from the 1st number" in text
    assert text.count("answer: ") == len(WORD_PROBLEMS)
    assert "(pow 1000000000 1000000000)" in text
    with pytest.raises(DataError, match="none is bundled"):
        shown(own="What is 3 plus 4?")


def test_a_model_answers_and_a_visitor_asks_until_nothing_comes():
    asked = iter(["[bold]9[/] over 3?", "  ", "never"])

    def only_pairs(text: str) -> Solution:
        if text.startswith("Ann"):
            raise DataError("cannot be read")
        return solve(text) if "train" in text or "over" in text else solve("240 in 4")

    text = shown(only_pairs, ask=lambda: next(asked))
    assert "No model is bundled" not in text and "(confidence 0.50, not calibrated)" in text
    assert "cannot be read" in text
    assert "Your own question" in text and "[bold]9[/] over 3?" in text and "divide(9, 3) = 3" in text
    assert next(asked) == "never"


def test_a_question_can_come_with_the_command():
    assert "Your own question" in shown(solve_pairs, own="9 over 3?")
    assert "Your own question" not in shown(solve_pairs)


def test_a_model_writes_the_lisp_programs():
    lisp = load_domain("algolisp")
    asked = []

    def write(text: str, inputs) -> Solution:
        asked.append(text)
        problem = Problem((), inputs)
        program = Program.from_tree(read_tree("(+ 1 1)"))
        return Solution(problem, program, lisp.execute(program, problem), (), 0.25, "", (), text=text)

    assert "No model for AlgoLisp is bundled" in shown()
    text = shown(solve_pairs, solve_lisp=write)
    assert asked == [task[0] for task in LISP_TASKS]
    assert "No model for AlgoLisp" not in text and text.count("= 2  (confidence 0.25, not calibrated)") == len(asked)
    assert "(pow 1000000000 1000000000)" in text


def solve_pairs(text: str) -> Solution:
    return solve("240 in 4" if "over" not in text else text)
