"""The check of data sets: counts, reasons, duplicates, leaks, and what happens when data is missing or damaged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import unchecked
from test_mathqa import DAMAGED, RECORD, write
from tpn2f.data.check import examine
from tpn2f.domain import Example, Problem
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.domains.mathqa import MathQA
from tpn2f.errors import DataError
from tpn2f.program import Program


def example(name: str, words: str, program: str, answer: float, text: str = "") -> Example:
    problem = Problem(tuple(words.split()), {"n0": 1.0, "n1": 2.0})
    return Example(problem, Program.parse(program), answer, text or words, name)


SPLITS = {
    "train": [
        example("train:0", "a b", "add(n0, n1)", 3.0),
        example("train:1", "a b", "subtract(n0, n1)", -1.0),
        example("train:2", "a b", "add(n0, n1)", 3.0, "another text"),
        example("train:3", "c", "add(n0, n1) | divide(#0, n7)", 3.0),
        example("train:4", "d e f", "add(n0, n1)", 4.0),
    ],
    "dev": [
        example("dev:0", "a b", "divide(n0, n1)", 0.5),
        example("dev:1", "x y", "add(n0, n1)", 3.0, "another text"),
    ],
}


class Known(Arithmetic):
    """Arithmetic with examples that are known."""

    splits = ("train", "dev", "test")

    def examples(self, split: str) -> Iterable[Example]:
        if split not in SPLITS:
            raise DataError(f"there is no {split}")
        return SPLITS[split]


def test_everything_is_counted() -> None:
    health = examine(Known())
    train, dev = health.splits
    assert (train.split, train.records, train.skipped) == ("train", 5, ())
    assert (train.duplicates, train.texts, train.pairs, train.programs, train.ambiguous) == (1, 3, 4, 3, 1)
    assert (train.mean_words, train.longest_words) == (2.0, 3)
    assert (train.mean_tuples, train.longest_tuples) == (1.2, 2)
    assert sorted(train.unsolved.values()) == [["train:3"], ["train:4"]]
    assert train.solved == pytest.approx(0.6)
    assert (dev.duplicates, dev.unsolved, dev.solved) == (0, {}, 1.0)


def test_leaks_are_counted_by_text_template_and_program() -> None:
    assert examine(Known()).leaks == {"dev in train": {"text": 2, "template": 1, "program": 1, "records": 2}}


def test_a_split_that_is_not_there_is_named_unless_it_was_asked_for() -> None:
    assert examine(Known()).missing == ("test: there is no test",)
    assert [split.split for split in examine(Known(), ["dev"]).splits] == ["dev"]
    with pytest.raises(DataError, match="there is no test"):
        examine(Known(), ["dev", "test"])


def test_reasons_come_with_the_most_frequent_first(tmp_path: Path) -> None:
    records = [RECORD, {**RECORD, "correct": "e"}, *[{**RECORD, "linear_formula": "add(n7,n8)"}] * 3]
    (split,) = examine(write(tmp_path, records), ["dev"]).splits
    assert list(split.unsolved.items()) == [
        ("the program cannot be run", ["dev:2", "dev:3", "dev:4"]),
        ("the gold option is not a number", ["dev:1"]),
    ]
    assert split.duplicates == 4


def test_records_that_were_left_out_are_listed(tmp_path: Path) -> None:
    (split,) = examine(write(tmp_path, [RECORD, *(record for record, _ in DAMAGED)]), ["dev"]).splits
    assert (split.records, len(split.skipped)) == (1, len(DAMAGED))


def test_a_split_of_which_nothing_is_left_is_named_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path, [RECORD], "dev")
    domain = write(tmp_path, [DAMAGED[0][0]], "test")
    health = examine(domain)
    assert [split.split for split in health.splits] == ["dev"]
    assert any(
        line.startswith("test: the split test has no examples: 1 records were left out") for line in health.missing
    )
    with pytest.raises(DataError, match="record 0: expected a JSON object, got str"):
        examine(domain, ["test"])


def test_no_data_at_all_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mathqa has no data: train: .*train.json does not exist"):
        examine(MathQA(tmp_path))


def test_progress_is_told() -> None:
    told: list[tuple[str, int]] = []
    examine(Known(), ["train"], lambda split, done: told.append((split, done)))
    assert told == [("train", done) for done in range(1, 6)]


def test_findings_are_json() -> None:
    found = json.loads(examine(Known()).to_json())
    assert found["domain"] == "arithmetic"
    assert [split["records"] for split in found["splits"]] == [5, 2]
    assert found["leaks"]["dev in train"]["template"] == 1


def test_the_real_splits_of_mathqa(mathqa_data: Path) -> None:
    with unchecked():
        health = examine(MathQA(mathqa_data), ["dev", "challenge_test"])
    dev, challenge = health.splits
    assert (dev.records, challenge.records, dev.skipped) == (4475, 604, ())
    assert 0.72 < dev.solved < 0.78
    assert {"the program gives another option", "the gold option is not a number"} <= set(dev.unsolved)
    assert health.leaks["challenge_test in dev"]["text"] == 0
