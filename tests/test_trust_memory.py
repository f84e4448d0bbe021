"""The memory: what was learned from is familiar, the nearest question is the like one, and not too much is kept."""

import numpy as np
import pytest

from tpn2f.domain import Problem
from tpn2f.program import Program
from tpn2f.trust import memory
from tpn2f.trust.memory import KnownProgram, Learned, Memory, remember, runs_of_words, told

TEXTS = (
    "A train goes 180 miles in 3 hours. How fast is it?",
    "Tom has 3 apples and buys 5 more. How many apples does he have?",
    "A shirt costs $40 and is 25% off. What do I pay?",
)


def problem(text: str) -> Problem:
    words = tuple(f"n{k}" if word.isdigit() else word for k, word in enumerate(text.lower().split()))
    return Problem(words, {word: 1.0 for word in words if word[1:].isdigit()})


def known() -> Memory:
    return remember(Learned(text, problem(text)) for text in TEXTS)


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
    without = remember(Learned("", problem(text)) for text in TEXTS)
    assert not without.questions and without.nearest(TEXTS[0]) is None
    assert without.familiarity(problem(TEXTS[0])) == 1.0


def test_no_more_is_kept_than_may_be_and_it_is_spread(monkeypatch):
    monkeypatch.setattr(memory, "MOST_QUESTIONS", 10)
    texts = [f"{'ab'[k % 2] * (k + 1)} has 3 pens?" for k in range(100)]
    kept = remember(Learned(text, problem(text)) for text in texts).questions
    assert len(kept) == 10 and kept[0] == texts[0] and kept[-1] == texts[90]
    monkeypatch.setattr(memory, "MOST_BYTES", 300)
    kept = remember(Learned(text, problem(text)) for text in texts).questions
    assert 0 < sum(len(text) + 2 for text in kept) <= 300
    monkeypatch.setattr(memory, "LONGEST", 10)
    assert remember(Learned(text, problem(text)) for text in texts).questions == ()


def test_texts_are_one_line_each():
    text = "Tom has\n3 pens.\tHow   many?"
    assert remember([Learned(text, problem(text))]).questions == ("Tom has 3 pens. How many?",)


def with_programs() -> Memory:
    programs = ("divide(n0, n1)", "add(n0, n1)", "multiply(n0, n1)")
    return remember(Learned(text, problem(text), Program.parse(one)) for text, one in zip(TEXTS, programs))


def test_the_programs_of_near_questions_are_recalled_nearest_first():
    found = with_programs().recall("Tom has 9 apples and buys 2 more pears, how many are off?", 2)
    assert [one.program for one in found] == ["add(n0, n1)", "multiply(n0, n1)"]
    assert 0 < found[1].similarity < found[0].similarity < 1
    assert with_programs().recall(told(problem(TEXTS[1])), 9)[0] == KnownProgram("add(n0, n1)", pytest.approx(1.0))
    assert known().recall(TEXTS[1], 3) == [] == with_programs().recall("zork", 3)


def test_a_program_is_recalled_once_with_the_nearest_of_its_questions():
    same = Program.parse("add(n0, n1)")
    memory = remember(Learned(text, problem(text), same) for text in TEXTS)
    assert memory.recall(TEXTS[2], 3) == [KnownProgram("add(n0, n1)", pytest.approx(1.0))]


def test_lines_hold_questions_and_programs():
    memory = with_programs()
    again = Memory.parse(memory.lines(), memory.field)
    assert again.questions == TEXTS and again.programs == memory.programs
    assert Memory.parse(known().lines(), memory.field).programs == ("", "", "")


def test_an_empty_line_does_not_move_the_programs():
    memory = Memory.parse(["", *with_programs().lines()], with_programs().field)
    assert memory.recall(TEXTS[0], 1) == [KnownProgram("divide(n0, n1)", pytest.approx(1.0))]


def hashed() -> Memory:
    programs = ("divide(n0, n1)", "add(n0, n1)", "multiply(n0, n1)")
    quoted = ("", TEXTS[1], "")
    learned = (Learned(text, problem(TEXTS[k]), Program.parse(programs[k])) for k, text in enumerate(quoted))
    return remember(learned)


def test_what_may_not_be_quoted_is_recalled_and_not_shown():
    memory = hashed()
    assert memory.questions == TEXTS[1:2] and len(memory.hashed.counts) == 2
    assert memory.recall(TEXTS[0], 1) == [KnownProgram("divide(n0, n1)", pytest.approx(1.0))]
    near = memory.nearest(TEXTS[0])
    assert near is None or near.text == TEXTS[1]
    assert not any("train" in line or "shirt" in line for line in memory.lines())
    again = Memory.parse(memory.lines(), memory.field, memory.hashed)
    assert again.recall(TEXTS[2], 1) == [KnownProgram("multiply(n0, n1)", pytest.approx(1.0))]
    assert again.recall(TEXTS[1], 1) == [KnownProgram("add(n0, n1)", pytest.approx(1.0))]


def test_only_so_many_are_hashed(monkeypatch):
    program = Program.parse("add(n0, n1)")
    learned = [Learned("", problem(f"{'a' * (k + 1)} has 3 pens"), program) for k in range(50)]
    assert len(remember(learned).hashed.counts) == 50
    monkeypatch.setattr(memory, "MOST_HASHED", 10)
    assert len(remember(learned).hashed.counts) == 10
    monkeypatch.setattr(memory, "MOST_KEYS", 40)
    kept = remember(learned).hashed
    assert 0 < len(kept.counts) < 10 and kept.counts.sum() == len(kept.keys) <= 40


def test_a_short_text_is_one_run():
    assert runs_of_words(Problem(("n0",), {"n0": 1.0})) == ["#"]
    assert runs_of_words(Problem(("a", "n0", "b", "c"), {"n0": 1.0})) == ["a # b", "# b c"]
