"""Words that training did not have lower a confidence, also where nothing could be learned about them."""

import math
from dataclasses import replace

import pytest

from tpn2f.domain import Problem
from tpn2f.program import Program
from tpn2f.trust.belief import fit_belief
from tpn2f.trust.caution import RARE, cautious, may_matter, may_turn
from tpn2f.trust.signals import Answered, doubts, signals, strange_signals

HALL = Problem(("switch", "off", "the", "hall"))
ANSWER = Answered(HALL, Program.parse("light(hall)"), 100.0, math.log(0.99), math.log(0.99))


def test_polite_words_are_harmless_and_some_words_turn_a_text_around():
    words = ("please", "off", "illuminate", "don't", "!", "could")
    assert may_matter(words) == ("off", "illuminate", "don't")
    assert may_turn(words) == ("off", "don't")


@pytest.mark.parametrize(("known", "new"), [(None, ("off",)), (1.0, ("off",))])
def test_a_new_word_is_a_signal_with_and_without_a_memory(known, new):
    asked = replace(ANSWER, familiarity=known, **({"new": new} if known else {"unknown": new}))
    assert strange_signals(asked) == {"new words": 0.25, "turning words": 1.0}
    assert "what I do not know may turn it around: off" in doubts(asked, {})
    assert strange_signals(ANSWER) == {"new words": 0.0, "turning words": 0.0} and doubts(ANSWER, {}) == ()


def test_of_what_dev_never_shows_there_are_rules():
    rows = [{"probability": k / 100, "new words": 0.0, "turning words": 0.0} for k in range(100)]
    belief = fit_belief(rows, [True] * 100)
    assert belief.names == ("probability",)
    sure = {"probability": 0.99}
    assert belief.confidence(sure) > 0.99, "all were right"
    long, short = ({"new words": share} for share in (1 / 12, 1 / 3))
    assert 0.9 > belief.confidence(sure | long) > belief.confidence(sure | short) > 0.3
    assert belief.confidence(sure | {"new words": 0.25, "turning words": 1.0}) < 0.2


def test_what_dev_shows_often_is_learned():
    rows = [{"new words": 0.25 * (k % 2)} for k in range(4 * RARE)]
    belief = fit_belief(rows, [True] * len(rows))
    assert belief.names == ("new words",) and belief.confidence({"new words": 0.25}) > 0.9


def test_without_calibration_a_probability_is_lowered_too():
    assert cautious(0.99, signals(ANSWER)) == 0.99 and cautious(0.0, {"new words": 1.0}) == 0.0
    assert cautious(1.0, {"new words": 0.25, "turning words": 1.0}) < 0.2
    assert cautious(0.5, {"new words": 0.25}) < 0.5
