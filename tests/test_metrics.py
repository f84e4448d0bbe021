"""Scores: what counts as the same program, the groups of a report, the intervals, and the two forms of a report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.domain import Example, Problem, Signature
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.errors import DataError
from tpn2f.metrics import LENGTHS, Estimate, Group, Report, estimate, is_same, is_same_up_to_order, score
from tpn2f.program import Program

RELATIONS = {
    "add": Signature(("number",) * 2, "number", commutative=True),
    "sum": Signature(("number",) * 3, "number", commutative=True),
    "subtract": Signature(("number",) * 2, "number"),
}
DOMAIN = Arithmetic()


def example(program: str, words: str = "x", answer: float = 0.0) -> Example:
    return Example(Problem(tuple(words.split()), {"n0": 1.0, "n1": 2.0}), Program.parse(program), answer, words, words)


# The same program


@pytest.mark.parametrize(
    ("predicted", "gold", "strict", "commutative"),
    [
        ("add(n0, n1)", "add(n0, n1)", True, True),
        ("add(n1, n0)", "add(n0, n1)", False, True),
        ("sum(n2, n0, n1)", "sum(n0, n1, n2)", False, True),
        ("sum(n0, n0, n1)", "sum(n0, n1, n1)", False, False),
        ("subtract(n1, n0)", "subtract(n0, n1)", False, False),
        ("what(n1, n0)", "what(n0, n1)", False, False),
        ("add(n0, n1) | add(n1, #0)", "add(n1, n0) | add(#0, n1)", False, True),
        # Only places inside a tuple may change, not the order of tuples, and spellings count.
        ("add(n1, n2) | add(n0, n1) | add(#0, #1)", "add(n0, n1) | add(n1, n2) | add(#0, #1)", False, False),
        ("add(n0, const_2.0)", "add(n0, const_2)", False, False),
        ("add(n0, n1) | add(#0, #0)", "add(n0, n1)", False, False),
        ("", "add(n0, n1)", False, False),
    ],
)
def test_programs_are_compared_strictly_and_up_to_order(
    predicted: str, gold: str, strict: bool, commutative: bool
) -> None:
    one, other = Program.parse(predicted), Program.parse(gold)
    assert is_same(one, other) is strict
    assert is_same_up_to_order(one, other, RELATIONS) is commutative
    assert is_same_up_to_order(other, one, RELATIONS) is commutative


def test_no_program_is_never_the_same() -> None:
    gold = Program.parse("add(n0, n1)")
    assert not is_same(None, gold)
    assert not is_same_up_to_order(None, gold, RELATIONS)


# Intervals


def test_the_interval_is_the_one_of_brute_force_resampling() -> None:
    random = np.random.default_rng(7)
    credits = random.choice([0.0, 0.2, 0.5, 1.0], size=300, p=[0.3, 0.2, 0.1, 0.4])
    means = random.choice(credits, size=(4_000, 300)).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    found = estimate(credits.tolist())
    assert found.value == pytest.approx(credits.mean())
    # Two bootstraps of thousands of draws differ by a fraction of the standard error.
    error = credits.std() / np.sqrt(300)
    assert found.low == pytest.approx(low, abs=0.25 * error)
    assert found.high == pytest.approx(high, abs=0.25 * error)


@given(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=1, max_size=50))
def test_an_interval_holds_its_value_and_is_the_same_each_time(credits: list[float]) -> None:
    found = estimate(credits)
    assert 0 <= found.low <= found.high <= 1 + 1e-12
    assert found.value == pytest.approx(sum(credits) / len(credits))
    assert found.low - 1e-9 <= found.value <= found.high + 1e-9 or len(credits) < 10
    assert estimate(credits) == found
    assert estimate(sorted(credits)) == found, "the order of the examples does not matter"


def test_what_is_certain_has_no_width() -> None:
    assert estimate([1.0] * 10) == Estimate(1.0, 1.0, 1.0)
    assert estimate([0.0]) == Estimate(0.0, 0.0, 0.0)


def test_nothing_cannot_be_averaged() -> None:
    with pytest.raises(DataError, match="no credits"):
        estimate([])


# Groups


def test_groups_tell_seen_from_unseen_and_short_from_long() -> None:
    examples = [
        example("add(n0, n1)", "seen in train", 3.0),
        example("add(n0, n1) | add(#0, n1)", "seen in dev", 5.0),
        example("add(n0, n1) | add(#0, n1) | add(#1, n1) | add(#2, n1)", "new", 9.0),
        example("add(n0, n1)", "new too", 3.0),
    ]
    predictions = [examples[0].program, Program.parse("add(n1, n0) | add(#0, n1)"), None, Program()]
    known = {"train": {("seen", "in", "train")}, "dev": {("seen", "in", "dev")}}
    report = score(DOMAIN, examples, predictions, known, "title")
    values = {
        g.name: (g.count, *(g.metrics[m].value for m in ("strict", "commutative", "execution"))) for g in report.groups
    }
    assert values == {
        "all": (4, 0.25, 0.5, 0.5),
        "template seen in train": (1, 1.0, 1.0, 1.0),
        "template unseen in train": (3, 0.0, pytest.approx(1 / 3), pytest.approx(1 / 3)),
        "template unseen in train and dev": (2, 0.0, 0.0, 0.0),
        "1 tuple": (2, 0.5, 0.5, 0.5),
        "2 tuples": (1, 0.0, 1.0, 1.0),
        "4-5 tuples": (1, 0.0, 0.0, 0.0),
    }
    assert report.whole.name == "all"


def test_every_length_falls_into_one_bucket() -> None:
    for length in range(1, 200):
        assert sum(low <= length <= (high or length) for low, high in LENGTHS) == 1
    long = Program.parse(" | ".join(["add(n0, n1)"] * 60))
    report = score(DOMAIN, [Example(Problem(("x",)), long, 0.0)], [None])
    assert [group.name for group in report.groups] == ["all", "41+ tuples"]


def test_subsets_of_the_domain_are_groups() -> None:
    class Cleaned(Arithmetic):
        def subsets(self, example: Example) -> tuple[str, ...]:
            return ("cleaned",) if example.text == "x" else ()

    examples = [example("add(n0, n1)", "x", 3.0), example("add(n0, n1)", "y", 3.0)]
    report = score(Cleaned(), examples, [None, examples[1].program])
    assert [(g.name, g.count, g.metrics["strict"].value) for g in report.groups] == [
        ("all", 2, 0.5),
        ("cleaned", 1, 0.0),
        ("1 tuple", 2, 0.5),
    ]


def test_no_program_earns_what_an_empty_one_earns() -> None:
    examples = [example("add(n0, n1)", "x", 3.0)]
    none, empty = (score(DOMAIN, examples, [prediction]).groups for prediction in (None, Program()))
    assert none == empty


def test_what_cannot_be_scored_says_why() -> None:
    with pytest.raises(DataError, match="no examples to score"):
        score(DOMAIN, [], [])
    with pytest.raises(DataError, match="there are 1 examples but 2 predictions"):
        score(DOMAIN, [example("add(n0, n1)")], [None, None])


# The report

REPORT = Report(
    "title",
    (
        Group("all", 1000, {"strict": Estimate(0.82345, 0.8, 0.85), "published": Estimate(1, 1, 1)}),
        Group("1 tuple", 3, {"strict": Estimate(0, 0, 0), "published": Estimate(0.2, 0.1, 0.3)}),
    ),
    ("a note",),
    {"split": "dev"},
)


def test_a_report_is_a_table() -> None:
    assert str(REPORT).splitlines() == [
        "title",
        "",
        "            n             strict             published",
        "all      1000  82.34 (80.0-85.0)  100.00 (100.0-100.0)",
        "1 tuple     3     0.00 (0.0-0.0)     20.00 (10.0-30.0)",
        "",
        "percent, with bootstrap 95 % intervals",
        "a note",
    ]


def test_a_report_is_json_with_the_same_numbers() -> None:
    found = json.loads(REPORT.to_json())
    assert found["title"] == "title" and found["notes"] == ["a note"] and found["facts"] == {"split": "dev"}
    assert found["groups"][0]["metrics"]["strict"] == {"value": 0.82345, "low": 0.8, "high": 0.85}
    assert [group["count"] for group in found["groups"]] == [1000, 3]
