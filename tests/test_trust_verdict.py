"""What people are told of an answer: the state, the chance in words, the reasons."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.trust.verdict import LOST, NOTHING, UNMEASURED, UNWANTED, WRONG_TOO_OFTEN, count_from_one, judge, say_chance

TEXTS = st.lists(st.text(max_size=10), max_size=3)


@pytest.mark.parametrize(
    ("confidence", "calibrated", "given", "state", "why"),
    [
        (0.95, True, {}, "sure", ()),
        (0.95, True, {"doubts": ("odd",)}, "sure", ("odd",)),
        (0.6, True, {}, "guess", (WRONG_TOO_OFTEN,)),
        (0.6, True, {"doubts": ("odd",)}, "guess", ("odd",)),
        (0.6, True, {"abstain": True}, "none", (UNWANTED, WRONG_TOO_OFTEN)),
        (0.1, True, {"doubts": ("odd",)}, "none", ("odd",)),
        (0.99, False, {}, "guess", (UNMEASURED,)),
        (0.99, False, {"abstain": True}, "none", (UNMEASURED,)),
        (0.99, True, {"nothing": True}, "none", (NOTHING,)),
        (0.99, True, {"missing": ["a", "b"], "error": "no value"}, "open", ("give a and b a value, and it runs",)),
    ],
)
def test_the_verdict(confidence, calibrated, given, state, why):
    found = judge(confidence, calibrated, 0.8, **given)
    assert (found.state, found.why) == (state, why)


def test_a_program_that_fails_is_no_answer_however_sure_the_model_is():
    found = judge(1.0, True, 0.0, error="step 0, divide(n0, n1): division by zero")
    assert found.state == "none" and found.words == "I cannot answer this" and found.chance == ""
    assert found.why == ("the program that I found does not run: step 1: division by zero",)


@given(st.floats(0, 1), st.booleans(), st.floats(0, 1), TEXTS, st.text(max_size=5), st.booleans(), st.booleans())
def test_sure_is_only_what_runs_and_was_measured(confidence, calibrated, below, doubts, error, abstain, nothing):
    found = judge(confidence, calibrated, below, doubts, error, abstain=abstain, nothing=nothing)
    if found.state == "sure":
        assert calibrated and not error and confidence >= below and not nothing
    if found.state == "guess":
        assert not abstain and not error and (not calibrated or confidence >= LOST)
    assert found.state == "sure" or found.why, "whoever is not sure says why"


@pytest.mark.parametrize(
    ("confidence", "expected"),
    [
        (0.99, "Answers like this are right more than 9 times in 10."),
        (0.94, "Answers like this are right about 9 times in 10."),
        (0.62, "Answers like this are right about 6 times in 10."),
        (0.11, "Answers like this are right about once in 10."),
        (0.01, "Answers like this are right less than once in 10 times."),
    ],
)
def test_the_chance_in_words(confidence, expected):
    assert say_chance(confidence) == expected


def test_a_chance_that_was_measured_at_home_says_so():
    assert say_chance(0.5, at_home=True).endswith("in 10, on questions like those it learned from.")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("step 2, divide(#0, n1): the problem has no n4", "step 3: the problem has no n4"),
        ("the model wrote no program", "the model wrote no program"),
        ("a step 0, add(n0): bad", "a step 1: bad"),
    ],
)
def test_steps_are_counted_from_one(error, expected):
    assert count_from_one(error) == expected
