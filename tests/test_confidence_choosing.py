"""A choice by signals: it takes what makes sense, and no source is answered by what was fitted on it."""

import random

import pytest

from tpn2f.confidence import Considered, choose_outside, find_choice
from tpn2f.errors import DataError
from tpn2f.trust.belief import Belief

BY_A = Belief(("a",), (0.0,), (1.0,), (1.0,), 0.0)


def question(*values: float, right: int = 0, source: str = "one", half: int = 0) -> Considered:
    """Candidates with the signal a, the most probable first."""
    logs = tuple(-1.0 - place for place in range(len(values)))
    marks = tuple(place == right for place in range(len(values)))
    return Considered(logs, marks, tuple({"a": value} for value in values), (True,) * len(values), source, half)


def test_without_a_choice_the_most_probable_that_makes_sense_is_taken():
    one = question(0.0, 1.0, 2.0, right=1)._replace(sensible=(False, True, True))
    assert one.taken(None).right and one.taken(None).log_probability == -2.0
    assert not one.taken(BY_A).right and one.taken(BY_A).signals == {"a": 2.0}
    assert one.taken(BY_A, chooses=False).log_probability == -1.0, "a domain that cannot tell takes the first"
    nothing = one._replace(sensible=(False,) * 3)
    assert nothing.taken(BY_A).log_probability == nothing.taken(None).log_probability == -1.0


def drawn(source: str, sign: float, count: int = 60) -> list[Considered]:
    """Questions in which the right candidate has the larger signal, or the smaller one."""
    chance = random.Random(source)
    found = []
    for place in range(count):
        values = [chance.random(), chance.random()]
        right = max((0, 1), key=lambda one: sign * values[one])
        found.append(question(*values, right=right, source=source, half=place % 2))
    return found


def test_no_source_is_answered_by_what_was_fitted_on_it():
    questions = [*drawn("up", 1.0), *drawn("down", -1.0)]
    judged = choose_outside(questions)
    assert [one.source for one in judged] == [one.source for one in questions]
    assert not any(one.right for one in judged), "each source is misled by the other one"
    assert all(one.right for one in choose_outside([*drawn("up", 1.0), *drawn("more", 1.0)]))


def test_one_source_is_chosen_by_halves():
    assert all(one.right for one in choose_outside(drawn("up", 1.0)))


def test_where_nothing_can_be_learned_probability_decides():
    questions = [question(1.0, 2.0, source=source) for source in ("a", "b")]
    lost = [one._replace(right=(False, False)) for one in questions]
    assert [one.log_probability for one in choose_outside(lost)] == [-1.0, -1.0]
    with pytest.raises(DataError):
        find_choice(lost)


def test_what_makes_no_sense_teaches_nothing():
    one = question(1.0, 2.0)._replace(sensible=(False, True))
    with pytest.raises(DataError):
        find_choice([one] * 10)
