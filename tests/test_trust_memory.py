"""The memory: what was learned from is familiar, the nearest question is the like one, and not too much is kept."""

import numpy as np
import pytest

from tpn2f.domain import Problem
from tpn2f.trust import memory
from tpn2f.trust.memory import Memory, remember, runs_of_words

TEXTS = (
    "A train goes 180 miles in 3 hours. How fast is it?",
    "Tom has 3 apples and buys 5 more. How many apples does he have?",
    "A shirt costs $40 and is 25% off. What do I pay?",
)


def problem(text: str) -> Problem:
    words = tuple(f"n{k}" if word.isdigit() else word for k, word in enumerate(text.lower().split()))
    return Problem(words, {word: 1.0 for word in words if word[1:].isdigit()})


def known() -> Memory:
    return remember((text, problem(text)) for text in TEXTS)


def test_a_text_that_was_learned_from_is_familiar_whatever_its_numbers():
    assert known().familiarity(problem("Tom has 7 apples and buys 9 more. How many apples does he have?")) == 1.0
    assert known().familiarity(problem("Zog the wizard conjured 9 green newts out of thin air yesterday")) < 0.2


def test_words_that_no_text_had_are_named_once():
    assert known().unknown(problem("tom has 5 zorks and zorks")) == ("zorks",)


def test_the_nearest_question_is_the_like_one():
    found = known().nearest("A car goes 240 km in 4 hours. How fast is it?")
    assert found is not None and found.text == TEXTS[0] and 0.3 < found.similarity < 1
    same = known().nearest("A train goes 70 miles in 2 hours. How fast is it?")
    assert same is not None and same.similarity == pytest.approx(1.0)
    assert known().nearest("zork") is None and known().nearest("") is None


def test_a_text_of_new_words_is_less_like_any():
    near, far = (known().nearest(text) for text in ("Tom has 3 apples", "Tom has 3 apples wug fep dax blick toma"))
    assert near is not None and far is not None and far.similarity < near.similarity


def test_the_same_texts_give_the_same_memory_and_texts_can_be_left_out():
    one, two = known(), known()
    assert one.questions == two.questions == TEXTS and np.array_equal(one.field, two.field)
    without = remember(("", problem(text)) for text in TEXTS)
    assert not without.questions and without.nearest(TEXTS[0]) is None
    assert without.familiarity(problem(TEXTS[0])) == 1.0


def test_no_more_is_kept_than_may_be_and_it_is_spread(monkeypatch):
    monkeypatch.setattr(memory, "MOST_QUESTIONS", 10)
    texts = [f"{'ab'[k % 2] * (k + 1)} has 3 pens?" for k in range(100)]
    kept = remember((text, problem(text)) for text in texts).questions
    assert len(kept) == 10 and kept[0] == texts[0] and kept[-1] == texts[90]
    monkeypatch.setattr(memory, "MOST_BYTES", 300)
    kept = remember((text, problem(text)) for text in texts).questions
    assert 0 < sum(len(text) + 1 for text in kept) <= 300
    monkeypatch.setattr(memory, "LONGEST", 10)
    assert remember((text, problem(text)) for text in texts).questions == ()


def test_texts_are_one_line_each():
    text = "Tom has\n3 pens.\tHow   many?"
    assert remember([(text, problem(text))]).questions == ("Tom has 3 pens. How many?",)


def test_a_short_text_is_one_run():
    assert runs_of_words(Problem(("n0",), {"n0": 1.0})) == ["#"]
    assert runs_of_words(Problem(("a", "n0", "b", "c"), {"n0": 1.0})) == ["a # b", "# b c"]
