"""Comparing two systems: the statistics of pairs against counting by hand, and files of both kinds."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from conftest import Run
from tpn2f.compare import compare, compare_files, mcnemar
from tpn2f.compare.pairs import contrast, short_p
from tpn2f.domain import Example
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.errors import ConfigError, DataError
from tpn2f.evaluation import evaluate_file, evaluate_system, write_predictions
from tpn2f.metrics import Outcomes
from tpn2f.program import Program


def outcomes(strict: str, groups: dict[str, list[int]] | None = None) -> Outcomes:
    """From a word such as 1011."""
    return Outcomes.of([{"strict": float(letter)} for letter in strict], groups or {})


# Statistics


@pytest.mark.parametrize(("one", "other"), [*product(range(6), repeat=2), (10, 25), (25, 10)])
def test_mcnemar_is_the_exact_binomial_test(one: int, other: int) -> None:
    """By adding up the probability of every split that is at least as uneven."""
    total = one + other
    uneven = sum(comb(total, k) for k in range(total + 1) if abs(2 * k - total) >= abs(one - other))
    assert mcnemar(one, other) == pytest.approx(uneven / 2**total, rel=1e-12)


def test_mcnemar_of_thousands_neither_overflows_nor_vanishes_into_an_error() -> None:
    assert mcnemar(3_000, 3_000) == 1.0
    assert 0.0 <= mcnemar(10, 5_000) < 1e-300
    assert 0.03 < mcnemar(2_900, 3_065) < 0.04
    assert (short_p(1e-300), short_p(0.04215)) == ("<0.0001", "0.0421")


def test_the_paired_interval_is_that_of_resampled_pairs() -> None:
    random = np.random.default_rng(3)
    first = (random.random(400) < 0.6).astype(float)
    second = np.where(random.random(400) < 0.85, first, 1 - first)
    found = contrast("all", first, second)
    draws = random.integers(0, 400, (4_000, 400))
    low, high = np.quantile((second - first)[draws].mean(1), (0.025, 0.975))
    assert found.difference.value == pytest.approx(second.mean() - first.mean())
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high), abs=0.006)
    # Pairs tell more than two intervals of their own: this one is much narrower.
    assert found.difference.high - found.difference.low < 0.7 * 2 * 1.96 * np.sqrt(2 * 0.24 / 400)


def test_who_solves_what_the_other_does_not() -> None:
    found = compare(outcomes("110010", {"few": [0, 1, 2]}), outcomes("100111", {"few": [0, 1, 2], "none": []}))
    assert (found.places_first, found.places_second) == ((1,), (3, 5))
    assert [one.group for one in found.contrasts] == ["all", "few"]
    few = found.contrasts[1]
    assert (few.count, few.first, few.second, few.only_first, few.only_second) == (3, 2 / 3, 1 / 3, 1, 0)
    assert found.verdict == "Neither is better beyond chance: p = 1.0000."


def test_the_verdict_names_the_better_one() -> None:
    many, few = outcomes("1" * 40), outcomes("1" * 10 + "0" * 30)
    assert compare(many, few).verdict == "A is better: it wins 30 examples and loses 0, p <0.0001."
    assert compare(few, many).verdict == "B is better: it wins 30 examples and loses 0, p <0.0001."
    table = str(compare(few, many, names=("tiny", "big")))
    assert table.startswith("A: tiny\nB: big\n")
    assert "all     40  25.00  100.00" in table


def test_partial_credits_are_kept_and_compared() -> None:
    one = Outcomes.of([{"published": credit} for credit in (0.2, 1.0, 0.0, 0.2)], {})
    other = Outcomes.of([{"published": credit} for credit in (1.0, 1.0, 0.2, 0.0)], {})
    assert one.earned("published").tolist() == [0.2, 1.0, 0.0, 0.2]
    found = compare(one, other, "published").whole
    assert found.difference.value == pytest.approx(0.2)
    assert (found.only_first, found.only_second) == (1, 2)


def test_outcomes_of_any_length_are_read_back() -> None:
    random = np.random.default_rng(0)
    for count in (1, 7, 8, 9, 1_000):
        flags = random.random(count) < 0.3
        kept = Outcomes.of([{"strict": float(flag)} for flag in flags], {"g": np.nonzero(flags)[0].tolist()})
        assert kept.earned("strict").tolist() == flags.tolist()
        assert kept.members("g").tolist() == np.nonzero(flags)[0].tolist()


def test_a_metric_with_a_thousand_different_credits_is_left_out() -> None:
    kept = Outcomes.of([{"strict": 1.0, "smooth": place / 1_000} for place in range(1_000)], {})
    assert list(kept.credits) == ["strict"]
    with pytest.raises(DataError, match="there is no metric 'smooth'; there are strict"):
        kept.earned("smooth")


def test_different_examples_are_not_compared() -> None:
    with pytest.raises(DataError, match="A has 2 examples, B has 3"):
        compare(outcomes("11"), outcomes("111"))


# Files

DOMAIN = Arithmetic()


@pytest.fixture
def files(tmp_path: Path, arithmetic_examples: Callable[[str], list[Example]]) -> dict[str, Path]:
    """Predictions that are right for every second and for every third of 60 examples, and their result files."""
    examples = arithmetic_examples("dev")[:60]
    made = {}
    for name, every in (("second", 2), ("third", 3)):
        path = made[f"{name}.jsonl"] = tmp_path / f"{name}.jsonl"
        right = (example.program if place % every == 0 else None for place, example in enumerate(examples))
        write_predictions(path, examples, right)
        made[f"{name}.json"] = tmp_path / f"{name}.json"
        made[f"{name}.json"].write_text(evaluate_file(DOMAIN, "dev", path, limit=60).to_json())
    return made


@pytest.mark.parametrize("kinds", [*product(("json", "jsonl"), repeat=2)])
def test_result_files_and_prediction_files_say_the_same(files: dict[str, Path], kinds: tuple[str, str]) -> None:
    one, other = files[f"second.{kinds[0]}"], files[f"third.{kinds[1]}"]
    found, _, _ = compare_files(one, other, domain="arithmetic", split="dev")
    assert (found.whole.count, found.whole.first, found.whole.second) == (60, 0.5, 1 / 3)
    assert (found.whole.only_first, found.whole.only_second) == (20, 10)
    assert found.places_second == tuple(range(3, 60, 6))
    assert "template unseen in train" in {one.group for one in found.contrasts}
    assert sum(one.count for one in found.contrasts if "tuple" in one.group) == 60


def test_a_result_file_says_what_a_prediction_file_answers(files: dict[str, Path]) -> None:
    found, _, _ = compare_files(files["second.jsonl"], files["third.json"])
    assert found.whole.only_first == 20
    with pytest.raises(ConfigError, match=r"second.jsonl has predictions and does not say for what: .* --domain"):
        compare_files(files["second.jsonl"], files["third.jsonl"])


def test_files_about_other_examples_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "test.json"
    other.write_text(evaluate_system(DOMAIN, "test", "gold", limit=60).to_json())
    with pytest.raises(DataError, match=r"only the same examples .*60 of arithmetic dev .* 60 of arithmetic test"):
        compare_files(files["second.json"], other)


def test_an_older_file_and_damaged_ones_are_told_in_a_line(files: dict[str, Path], tmp_path: Path) -> None:
    report = json.loads(files["second.json"].read_text())
    path = tmp_path / "changed.json"
    for change, message in (
        (None, "does not say which examples were right: score it again with `tpn2f evaluate --output`"),
        ({"count": 10**15}, "are damaged"),
        ({"credits": []}, "are damaged"),
        ({"credits": {"strict": {"much": "eJwDAAAAAAE="}}}, "are damaged"),
        ({"credits": {"strict": {"1.0": "!"}}}, "are damaged"),
        ({"credits": {"strict": {"1.0": "eJwDAAAAAAE="}}}, "are damaged: expected 8 bytes, got 0"),
        ({"credits": {"strict": {"1.0": 3}}}, "are damaged"),
    ):
        kept = None if change is None else {**report["outcomes"], **change}
        path.write_text(json.dumps({**report, "outcomes": kept}))
        with pytest.raises(DataError, match=r".") as caught:
            compare_files(path, files["third.json"])
        assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("named", ["evil.py:Evil", "evil.py", "evil:Evil", 5, ["arithmetic"]])
def test_a_result_file_makes_nobody_run_code(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: object
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('pwned').write_text('')\n")
    report = json.loads(files["second.json"].read_text())
    report["facts"]["domain"] = named
    hostile = tmp_path / "hostile.json"
    hostile.write_text(json.dumps(report))
    for other in (files["third.json"], files["third.jsonl"]):
        with pytest.raises(DataError, match="which is not used unasked"):
            compare_files(hostile, other)
    assert not (tmp_path / "pwned").exists()


# The command


def test_the_command_lists_what_only_one_solves(tpn2f: Run, files: dict[str, Path]) -> None:
    told = tpn2f("compare", str(files["second.json"]), str(files["third.jsonl"]), "--show", "2")
    assert told.code == 0, told.err
    assert "only A: 2 of 20" in told.out and "only B: 2 of 10" in told.out
    assert "dev:2  " in told.out and "dev:3  " in told.out and "dev:0  " not in told.out
    # Only one of the files has programs.
    assert "\n  B     no program" in told.out and "\n  A     " not in told.out
    assert "Neither is better beyond chance: p = 0.0987." in told.out


def test_the_command_as_json(tpn2f: Run, files: dict[str, Path]) -> None:
    told = tpn2f("compare", str(files["second.json"]), str(files["third.json"]), "--metric", "execution", "--json")
    found = json.loads(told.out)
    assert found["metric"] == "execution" and found["contrasts"][0]["only_first"] == 20


def test_wrong_wishes_are_one_line(tpn2f: Run, files: dict[str, Path], tmp_path: Path) -> None:
    there = str(files["second.json"])
    for arguments, message in (
        ((there, str(tmp_path / "absent")), "is not a file"),
        ((there, there, "--metric", "beauty"), "there is no metric 'beauty'; there are strict, commutative"),
        ((there, str(files["third.jsonl"]), "--split", "test"), "only the same examples can be compared"),
    ):
        told = tpn2f("compare", *arguments)
        assert told.code == 2 and message in told.err and told.err.count("\n") == 1


def test_an_empty_program_counts_as_none(tmp_path: Path, arithmetic_examples: Callable[[str], list[Example]]) -> None:
    examples = arithmetic_examples("dev")[:3]
    write_predictions(tmp_path / "a.jsonl", examples, [Program()] * 3)
    write_predictions(tmp_path / "b.jsonl", examples, [one.program for one in examples])
    found, _, _ = compare_files(tmp_path / "a.jsonl", tmp_path / "b.jsonl", domain="arithmetic", split="dev")
    assert (found.whole.first, found.whole.second, found.whole.p) == (0.0, 1.0, 0.25)
