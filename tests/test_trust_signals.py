"""Signals say what an answer looks like, and doubts say it in words; neither minds values that are no numbers."""

import math
from dataclasses import replace

import pytest

from tpn2f.domain import Problem
from tpn2f.program import Program
from tpn2f.trust.memory import Learned, remember
from tpn2f.trust.nearest import Nearest
from tpn2f.trust.signals import Answered, agreements, doubts, look_up, name_some, signals

PROBLEM = Problem(("tom", "has", "n0", "and", "n1", "and", "n2"), {"n0": 3.0, "n1": 4.0, "n2": 50.0})
ANSWER = Answered(PROBLEM, Program.parse("add(n0,n1)"), 7.0, math.log(0.8), math.log(0.9))


def test_an_answer_in_numbers():
    found = signals(ANSWER)
    assert found["probability"] == 0.8 and found["weakest step"] == 0.9
    assert (found["unused numbers"], found["any unused number"], found["steps"], found["numbers"]) == (1, 1, 1, 3)
    assert found["negative"] == found["zero"] == found["huge"] == found["long fraction"] == found["no value"] == 0
    assert "familiar" not in found
    odd = {value: signals(replace(ANSWER, value=value)) for value in (-1.0, 0.0, 1 / 3, 1e6, None, "text", True, 4.0)}
    assert odd[-1.0]["negative"] and odd[0.0]["zero"] and odd[1 / 3]["long fraction"] and odd[None]["no value"]
    assert odd[1e6]["huge"] == math.log10(1e6 / 500) and odd[4.0]["a number of the question"]
    assert all(math.isfinite(number) for one in odd.values() for number in one.values())


def test_a_long_fraction_is_usual_where_the_question_has_fractions():
    halves = Problem(("n0", "and", "n1"), {"n0": 0.5, "n1": 3.0})
    assert not signals(replace(ANSWER, problem=halves, value=1 / 3))["long fraction"]


def test_a_memory_adds_its_signals():
    text = "tom has 3 and 4 and 50"
    memory = remember([Learned(text, PROBLEM)])
    found = signals(replace(ANSWER, **look_up(memory, PROBLEM, text)))
    assert (found["familiar"], found["new words"]) == (1.0, 0.0) and found["nearest question"] > 0.99
    assert look_up(None, PROBLEM) == {}
    assert look_up(memory, PROBLEM)["nearest"].text == text, "without its text a question is found by its words"


def test_a_second_model_counts_where_the_text_is_more_familiar_to_it():
    asked = replace(ANSWER, second=math.log(0.5), second_agreement=0.6, recalled=0.9)
    known, strange = (signals(replace(asked, lead=lead)) for lead in (0.5, 0.0))
    assert known["agreement of the second"] == 0.6
    assert known["second opinion, where the second knows more"] == pytest.approx(0.5 * math.log(0.5))
    assert known["agreement, where the second knows more"] == 0.5
    leaning = [name for name in known if name.endswith("knows more")]
    assert len(leaning) == 7 and not any(strange[name] for name in leaning)
    assert "agreement of the second" not in signals(ANSWER) and not set(leaning) & set(signals(ANSWER))


def test_what_a_domain_looks_for_is_a_signal_and_has_words():
    asked = replace(ANSWER, doubts={"odd": True, "late": False})
    assert (signals(asked)["odd"], signals(asked)["late"]) == (1.0, 0.0)
    told = doubts(asked, {"odd": "it is odd", "late": "it is late"})
    assert "it is odd" in told and "it is late" not in told


def test_doubts_are_plain_words():
    assert doubts(ANSWER, {}) == ("the program does not use 1 of the 3 numbers",)
    assert doubts(replace(ANSWER, program=Program.parse("add(n0,n1)|add(#0,n2)")), {}) == ()
    bad = replace(
        ANSWER,
        value=-3.0,
        weakest=math.log(0.3),
        unknown=("wug", "dax"),
        familiarity=0.1,
        nearest=Nearest("What?", 0.05),
    )
    assert doubts(bad, {}) == (
        "the program does not use 1 of the 3 numbers",
        "it has words that I do not know: wug, dax",
        "it is far from any question that I know",
        "one part of the program was chosen with a probability of only 0.30",
        "the answer is below zero",
    )
    assert "the answer is zero" in doubts(replace(ANSWER, value=0.0), {})
    assert "the answer is much larger than the numbers of the question" in doubts(replace(ANSWER, value=1e9), {})


def test_a_value_that_is_no_number_is_not_doubted_for_it():
    listed = Answered(Problem(("a",), {"a": [1, 2]}), Program.parse("reverse(a)"), [2, 1], -0.1, -0.1)
    assert doubts(listed, {}) == ()
    assert not signals(listed)["negative"] and signals(replace(listed, value=10**400))["huge"] == 0


def test_only_some_of_many_words_are_named():
    assert name_some([f"w{n}" for n in range(100)]).endswith("w11 and 88 more")


def test_the_shape_of_a_program_is_a_signal():
    odd = replace(ANSWER, program=Program.parse("subtract(n0,n0)|add(n0,n1)|add(n1,n2)|add(#1,#2)"))
    found = signals(odd)
    assert (found["idle steps"], found["steps with one thing twice"], found["numbers used again"]) == (1, 1, 2)
    plain = signals(ANSWER)
    assert not plain["idle steps"] and not plain["steps with one thing twice"] and not plain["numbers used again"]


def test_candidates_agree_by_their_values():
    logs = [math.log(part) for part in (0.4, 0.2, 0.3, 0.1)]
    assert agreements([7.0, 7, 8.0, None], logs) == pytest.approx([0.6, 0.6, 0.3, 0.0])
    assert agreements([], []) == []
    assert agreements(["text", "text", True], [-1.0, -1.0, -math.inf]) == [1.0, 1.0, 0.0]
    assert agreements([1.0], [-1e9]) == [1.0]
