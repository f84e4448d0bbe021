"""Solutions read well everywhere, and nothing that a person or a model wrote becomes markup or a command."""

import json

import pytest

from tpn2f.domain import Chosen, Problem, Unit, load_domain
from tpn2f.program import Program, RelationalTuple
from tpn2f.solution import Alternative, Solution
from tpn2f.trust.nearest import Nearest
from tpn2f.wording import clean, cut, format_answer, format_duration, format_step, json_value

MATHQA = load_domain("mathqa")
TEXT = "20 is subtracted from 60 percent of a number, the result is 88. Find the number?"


def solution(text: str = TEXT, **changes) -> Solution:
    program = Program.parse("add(n0,n2)|divide(n1,const_100)|divide(#0,#1)")
    problem = MATHQA.read(text)
    steps = MATHQA.steps(program, problem)
    told = tuple(MATHQA.describe(step.tuple) for step in steps)
    fields = {"text": text, "calibrated": True, "notation": MATHQA.notation, "told": told, **changes}
    return Solution(problem, program, steps[-1].result, steps, 0.83, "", (), **fields)


def test_a_solution_is_told_in_steps_from_one():
    assert str(solution(chosen=Chosen("c", "180", True))).splitlines() == [
        TEXT,
        "  step 1:  20 + 88 = 108     add the 1st number and the 3rd number",
        "  step 2:  60 / 100 = 0.6    divide the 2nd number by 100",
        "  step 3:  108 / 0.6 = 180   divide the result of step 1 by the result of step 2",
        "  = 180  (confidence 0.83)",
        "  option c ) 180",
    ]


def test_the_program_is_there_for_who_asks():
    lines = list(solution().lines(program=True))
    assert ("program", "add(n0, n2) | divide(n1, const_100) | divide(#0, #1)") in lines
    assert ("tuple", "#2  divide(#0, #1) = 108 / 0.6 = 180") in lines
    assert {"program", "tuple"}.isdisjoint(kind for kind, _ in solution().lines())


def test_doubts_and_the_nearest_question_stand_below_the_answer():
    near = Nearest("What is 3 less than 5 percent of 60?", 0.4)
    told = str(solution(doubts=("it is far",), nearest=near)).splitlines()
    assert told[-2:] == [
        "  doubtful: it is far",
        "  the nearest question that I know (0.40): What is 3 less than 5 percent of 60?",
    ]
    assert "nearest" not in str(solution(nearest=Nearest("Something else?", 0.01)))
    record = json.loads(json.dumps(solution(doubts=("it is far",), nearest=near).to_json()))
    assert record["doubts"] == ["it is far"] and record["nearest"] == {"text": near.text, "similarity": 0.4}


def test_an_answer_is_a_guess_below_the_threshold_of_its_model():
    assert not solution().guess and solution(guess_below=0.9).guess
    assert not solution(guess_below=0.9, calibrated=False).guess


@pytest.mark.parametrize(
    ("value", "unit", "reply"),
    [
        (30.0, Unit("$", "", 2), "$30"),
        (12.5, Unit("$", "", 2), "$12.50"),
        (-12.5, Unit("$", "", 2), "-$12.50"),
        (10 / 3, Unit("$", "", 2), "about $3.33"),
        (60.0, Unit("", " km per hour"), "60 km per hour"),
        (100 / 3, Unit("", "%", 2), "about 33.33%"),
        (1 / 6, None, "about 0.1667"),
        (0.125, None, "0.125"),
        (1234567.891, None, "about 1234567.89"),
        (1e-7, None, "1e-07"),
        (7, Unit("", " apples"), "7 apples"),
        ([1, 2], None, "[1, 2]"),
    ],
)
def test_answers_are_rounded_as_people_do(value, unit, reply):
    assert format_answer(value, unit) == reply


def test_what_is_not_certain_is_said():
    other = Alternative(Program.parse("add(n0,n1)"), 80.0, 0.1, "")
    shown = str(solution(calibrated=False, chosen=Chosen("a", "9", False), alternatives=(other,), notes=("careful",)))
    for text in ("not calibrated", "the nearest", "or  add(n0, n1) = 80  (0.10)", "  careful"):
        assert text in shown


def test_an_answer_is_held_back_below_the_wanted_confidence():
    kinds = dict(solution().lines(abstain_below=0.9))
    assert "answer" not in kinds and kinds["note"] == "no answer: confidence 0.83 is below 0.9"
    held = solution(chosen=Chosen("c", "180", True)).to_json(abstain_below=0.9)
    assert held["abstained"] and held["answer"] is held["program"] is held["option"] is None and held["steps"] == []
    assert solution().to_json(abstain_below=0.83)["answer"] == 180


def test_json_has_everything_and_is_json():
    record = json.loads(json.dumps(solution(chosen=Chosen("c", "180", True)).to_json()))
    assert record["answer"] == 180 and record["option"] == "c" and record["confidence"] == 0.83
    assert record["steps"][1]["text"] == "divide(n1, const_100) = 60 / 100 = 0.6"
    assert json_value(float("inf")) == "inf" and json_value({1, 2}) == "{1, 2}" and json_value([1]) == [1]


def test_a_verdict_is_in_words_and_a_guess_is_no_answer_to_trust():
    assert solution().verdict.state == "sure" and solution(guess_below=0.9).verdict.state == "guess"
    assert solution(calibrated=False).verdict.state == "guess"
    assert solution(computed=True, calibrated=False).verdict.state == "sure"
    assert "learned from" in solution(at_home=True).verdict.chance


def test_long_things_are_cut():
    long = solution(nearest=Nearest("word " * 100, 1.0))
    assert max(map(len, str(long).splitlines())) < 220
    assert len(cut("word " * 10_000, 600)) == 600


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("\x00", "\ufffd"),
        ("\udcff\ud800", "\ufffd\ufffd"),
        ("\u202eabc", "abc"),
        ("👩\u200d🚀 5", "👩\u200d🚀 5"),
        ("Ünïcödé 数", "Ünïcödé 数"),
    ],
)
def test_texts_cannot_command_a_terminal(text, expected):
    assert clean(text) == expected
    clean(text).encode("utf-8")


def test_negative_numbers_stand_in_brackets():
    (step,) = MATHQA.steps(Program.parse("subtract(n0,n1)"), Problem((), {"n0": 3.0, "n1": -4.0}))
    assert format_step(step, MATHQA.notation) == "subtract(n0, n1) = 3 - (-4) = 7"
    assert format_step(step) == "subtract(n0, n1) = subtract(3, -4) = 7"


def test_every_sign_and_phrase_fits_its_relation():
    for name, signature in MATHQA.relations.items():
        words = tuple(f"n{place}" for place in range(signature.arity))
        said = MATHQA.describe(RelationalTuple(name, words))
        assert all(ordinal in said for ordinal in ("1st", "2nd", "3rd")[: signature.arity]), name
        if name in MATHQA.notation:
            values = [f"<{place}>" for place in range(signature.arity)]
            written = MATHQA.notation[name].format(*values)
            assert all(value in written for value in values), name
    assert MATHQA.notation.keys() <= MATHQA.relations.keys()


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ("a ) 38 , b ) 60.2 , c ) 12", ("b", "60.2", True)),
        ("A) 38, B) 61, C) 12", ("b", "61", False)),
        (["38", "60 km", "12"], ("b", "60 km", True)),
        ("a ) north , b ) south", None),
    ],
)
def test_the_nearest_option_is_chosen(options, chosen):
    found = MATHQA.choose(60.0, options)
    assert (None if found is None else tuple(found)) == chosen


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-1, "0 s"),
        (12.4, "12 s"),
        (59.6, "1 min"),
        (3_599, "1 h 0 min"),
        (4_200, "1 h 10 min"),
        (172_000, "47 h 47 min"),
        (183_600, "2 d 3 h"),
    ],
)
def test_time_is_told_as_people_say_it(seconds, told):
    assert format_duration(seconds) == told
