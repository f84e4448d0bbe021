"""Everyday questions at the solver: arithmetic needs no model, a text without numbers is refused, doubt is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tpn2f.codec import Codec
from tpn2f.domain import Example, load_domain
from tpn2f.errors import DataError
from tpn2f.model import ModelConfig, build_model
from tpn2f.program import Program
from tpn2f.solver import COMPUTED, Solver
from tpn2f.web.answers import read_asked, solve_together

SMALL = ModelConfig(
    n_fillers=5, d_filler=3, n_roles=4, d_role=2, d_word=4, d_symbol=4, d_relation=3, d_argument=3, d_position=2
)


@pytest.fixture(scope="module")
def solver() -> Solver:
    """An untrained model: what it says is nonsense, so that right answers cannot come from it."""
    domain = load_domain("everyday")
    texts = {"Tom has 3 pens and 4 books. How many?": "add(n0,n1)", "Half of 8 is what?": "multiply(n0,n1)"}
    examples = [Example(domain.read(text), Program.parse(program), 0.0, text) for text, program in texts.items()]
    codec = Codec.build(examples)
    torch.manual_seed(0)
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    return Solver(domain, codec, build_model(SMALL, *sizes, codec.argument_of_word()).eval(), 1.0, 0.9)


@pytest.mark.parametrize(
    ("text", "answer"),
    [("2+2", "4"), ("(3 + 4) / 2", "3.5"), ("15% of 240", "36"), ("what is 1/3 + 1/6?", "0.5"), ("5 * 7", "35")],
)
def test_bare_arithmetic_is_computed_without_the_model(solver: Solver, text: str, answer: str) -> None:
    solution = solver.solve(text)
    assert (solution.answer, solution.confidence, solution.guess) == (answer, 1.0, False)
    assert solution.notes == (COMPUTED,) and not solution.unknown
    assert solution.steps


def test_arithmetic_and_other_questions_share_a_batch(solver: Solver) -> None:
    questions = ["Tom has 3 pens and 4 books. How many?", "2+2", "hello", "9**9**9", "10 - 4"]
    solutions = list(solver.solve_all(questions))
    assert [solution.text for solution in solutions] == questions
    assert [solutions[place].answer for place in (1, 4)] == ["4", "6"]
    assert "no number" in solutions[2].error and solutions[2].program is None
    assert solutions[3].error and solutions[3].program is None
    assert solutions[0].program is not None


def test_a_text_without_numbers_is_refused(solver: Solver) -> None:
    with pytest.raises(DataError, match="no number in this text"):
        solver.solve("Who is the president?")


def test_the_page_computes_too(solver: Solver) -> None:
    asked = [read_asked(solver, text, {}, 1, 100) for text in ("2+2", "Tom has 3 pens and 4 books. How many?")]
    computed, guessed = solve_together(solver, "everyday", asked)
    assert computed.answer == "4" and not computed.guess and computed.notes == [COMPUTED]
    assert guessed.guess and COMPUTED not in guessed.notes


def test_below_the_threshold_an_answer_is_a_guess(solver: Solver) -> None:
    solution = solver.solve("Tom has 3 pens and 4 books. How many?")
    assert solution.confidence < 0.9 and solution.guess and solution.to_json()["guess"]
    assert "a guess" in str(solution)
    assert not replace(solution, threshold=solution.confidence).guess
    assert replace(solution, threshold=None).guess  # calibrated, and no confidence was ever enough
    assert not replace(solution, calibrated=False).guess  # nothing is known
