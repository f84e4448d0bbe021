"""Solutions read well everywhere, and nothing that a person or a model wrote becomes markup or a command."""

import json

import pytest

from tpn2f.domain import Chosen, Problem, load_domain
from tpn2f.program import Program, RelationalTuple
from tpn2f.solution import Alternative, Solution
from tpn2f.wording import clean, cut, format_duration, format_step, json_value

MATHQA = load_domain("mathqa")
TEXT = "20 is subtracted from 60 percent of a number, the result is 88. Find the number?"


def solution(text: str = TEXT, **changes) -> Solution:
    program = Program.parse("add(n0,n2)|divide(n1,const_100)|divide(#0,#1)")
    problem = MATHQA.read(text)
    steps = MATHQA.steps(program, problem)
    fields = {"text": text, "calibrated": True, "notation": MATHQA.notation, **changes}
    return Solution(problem, program, steps[-1].result, steps, 0.83, "", (), **fields)


def test_a_solution_is_worked_in_symbols_and_numbers():
    assert str(solution(chosen=Chosen("c", "180", True))).splitlines() == [
        TEXT,
        "  add(n0, n2) | divide(n1, const_100) | divide(#0, #1)",
        "  #0  add(n0, n2) = 20 + 88 = 108",
        "  #1  divide(n1, const_100) = 60 / 100 = 0.6",
        "  #2  divide(#0, #1) = 108 / 0.6 = 180",
        "  = 180  (confidence 0.83)",
        "  option c ) 180",
    ]


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


def test_html_is_escaped():
    hostile = f"<script>alert</script> {TEXT}"
    shown = solution(hostile)._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown
    assert "<b>= 180" in shown


def test_long_things_are_cut():
    long = Solution(Problem(()), Program.parse("add(n0,n1)"), 1.0, (), 0.5, "", tuple(f"w{n}" for n in range(100)))
    assert "w11 and 88 more" in str(long)
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
