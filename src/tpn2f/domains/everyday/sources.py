"""The sources of everyday problems: the records of each file, converted, with grade and reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tpn2f.domain.packed import open_packed
from tpn2f.domains.everyday import gsm8k
from tpn2f.domains.everyday.conversion import Conversion, SolutionLine, convert
from tpn2f.domains.everyday.expressions import parse, value
from tpn2f.domains.everyday.mathqa import mathqa_records
from tpn2f.domains.everyday.neighbours import Neighbours
from tpn2f.domains.everyday.reading import NumberedText, read
from tpn2f.domains.everyday.records import GradedRecord, kept, record
from tpn2f.errors import DataError
from tpn2f.program import Program

HELD_OUT = 25
"""Every so-manyth story of GSM8K's training file is for dev, with its sub-questions."""
TRAINING = ("gsm8k", "socratic", "aggregate", "mathqa")
UNLICENSED = ("mawps",)
"""What a config may name to learn from, but no bundled model does: it states no licence."""
GUARDED = ("mawps-valid", "mawps-test", "svamp", "gsm8k-test", "gsm8k-dev")
"""What training may not nearly repeat."""


def source(name: str, everyday: Path, mathqa: Callable[[], Path]) -> Iterator[GradedRecord]:
    """The records of a source by its name. Raises DataError when its files are not there."""
    if name.startswith("mathqa"):
        file = {"mathqa": "train", "mathqa-dev": "dev", "mathqa-test": "test", "mathqa-challenge": "challenge_test"}[
            name
        ]
        path = _there(mathqa() / f"{file}.json")
        make = partial(mathqa_records, name=name)
    else:
        make, file = _MAKERS[name]
        path = _there(everyday / file)
    if name not in TRAINING + UNLICENSED:
        return kept(name, [path], lambda: make(path))
    judged = [_there(everyday / _MAKERS[guard][1]) for guard in GUARDED]
    return kept(name, [path, *judged], lambda: _apart(make(path), everyday))


def _apart(records: Iterator[GradedRecord], everyday: Path) -> Iterator[GradedRecord]:
    """The records, each with the problem for judging that it nearly repeats."""
    neighbours = guarded_texts(everyday)
    for item in records:
        yield replace(item, near=neighbours.near(item.example.problem.words))


def guarded_texts(everyday: Path) -> Neighbours:
    """The problems for judging, to be asked which of them a text nearly repeats."""
    return Neighbours(
        (f"{name}:{index}", read(_text(row)).words)
        for name in GUARDED
        for index, row in enumerate(_rows(everyday / _MAKERS[name][1]))
        if name != "gsm8k-dev" or _is_held_out(index)
    )


def _text(row: dict[str, Any]) -> str:
    """The problem as a person reads it, in the fields of GSM8K, MAWPS or SVAMP."""
    if "question" in row:
        return row["question"].strip()
    told = row["original_text"] if "original_text" in row else f"{row['Body']} {row['Question']}"
    return " ".join(told.split())


def _gsm8k(path: Path, name: str, wanted: Callable[[int], bool]) -> Iterator[GradedRecord]:
    for index, row in enumerate(_rows(path)):
        if not wanted(index):
            continue
        text = _text(row)
        reading = read(text)
        answer = gsm8k.answer(row["answer"])
        found = convert(reading, gsm8k.lines(row["answer"]), answer)
        yield record(f"{name}:{index}", text, reading, found, float(answer))


def _socratic(path: Path) -> Iterator[GradedRecord]:
    """Each sub-question that is not the question itself, as a problem of its own."""
    for index, row in enumerate(_rows(path)):
        if _is_held_out(index):
            continue
        known = {row["question"].strip()}
        for place, (text, lines) in enumerate(gsm8k.sub_questions(row["question"], row["answer"])):
            if text in known:
                continue
            known.add(text)
            reading = read(text)
            answer = lines[-1].result
            found = convert(reading, lines, answer)
            yield record(f"socratic:{index}.{place}", text, reading, found, float(answer), f"gsm8k:{index}")


def _is_held_out(index: int) -> bool:
    return index % HELD_OUT == HELD_OUT - 1


_ZEROS = re.compile(r"(?<=\d)\.0\b(?!\.?\d)")


def _aggregate(path: Path) -> Iterator[GradedRecord]:
    for index, row in enumerate(_rows(path)):
        text = " ".join(_ZEROS.sub("", row["sQuestion"]).split())
        reading = read(text)
        solution = Fraction(str(row["lSolutions"][0]))
        found = _equation(reading, row["lEquations"][0], solution, _aligned(reading, row["quants"], row["lAlignments"]))
        yield record(f"aggregate:{index}", text, reading, found, float(solution))


def _aligned(reading: NumberedText, quantities: Sequence[float], alignment: Sequence[int]) -> list[str] | None:
    """The names of an equation's literals, from the data's own alignment; None where it does not fit the text."""
    names: list[str] = []
    place = 0
    for quantity in quantities:
        while place < len(reading.numbers) and abs(float(reading.numbers[place].value) - quantity) > 1e-9:
            place += 1
        if place == len(reading.numbers):
            return None
        names.append(f"n{place}")
        place += 1
    if any(not 0 <= index < len(names) for index in alignment):
        return None
    return [names[index] for index in alignment]


def _mawps(path: Path, name: str) -> Iterator[GradedRecord]:
    for index, row in enumerate(_rows(path)):
        text = _text(row)
        reading = read(text)
        answer = Fraction(str(row["ans"]))
        yield record(f"{name}:{index}", text, reading, _equation(reading, row["equation"], answer), float(answer))


def _svamp(path: Path) -> Iterator[GradedRecord]:
    for index, row in enumerate(_rows(path)):
        text = _text(row)
        reading = read(text)
        answer = Fraction(str(row["Answer"]))
        yield record(f"svamp:{index}", text, reading, _equation(reading, row["Equation"], answer), float(answer))


def _equation(reading: NumberedText, equation: str, answer: Fraction, told: list[str] | None = None) -> Conversion:
    """The program of an equation that gives x at once: `X=(70.0-27.0)`, `8*2`, `12-8=x`."""
    sides = [side.strip() for side in equation.split("=")]
    sides = [side for side in sides if side.lower() != "x"]
    if len(sides) != 1 or "x" in sides[0].lower():
        return Conversion(Program(), "X", "the equation does not give x at once")
    try:
        tree = parse(sides[0])
        return convert(reading, [SolutionLine(tree, value(tree))], answer, told)
    except DataError as error:
        return Conversion(Program(), "X", str(error)[:80])


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        with open_packed(path) as file:
            data = file.read()
        if path.suffix == ".json":
            return json.loads(data)
        return [json.loads(line) for line in data.splitlines() if line.strip()]
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def _there(path: Path) -> Path:
    if not path.is_file():
        raise DataError(
            f"{path} does not exist. Fetch it with `tpn2f data get everyday`, or name a folder with --data DIR"
        )
    return path


_TRAIN = "gsm8k/train.jsonl.gz"
_MAKERS: dict[str, tuple[Callable[[Path], Iterator[GradedRecord]], str]] = {
    "gsm8k": (lambda path: _gsm8k(path, "gsm8k", lambda index: not _is_held_out(index)), _TRAIN),
    "socratic": (_socratic, "gsm8k/train_socratic.jsonl.gz"),
    "aggregate": (_aggregate, "aggregate/questions.json"),
    "gsm8k-dev": (lambda path: _gsm8k(path, "gsm8k-dev", _is_held_out), _TRAIN),
    "gsm8k-test": (lambda path: _gsm8k(path, "gsm8k-test", lambda index: True), "gsm8k/test.jsonl"),
    "mawps": (lambda path: _mawps(path, "mawps"), "mawps/trainset.json"),
    "mawps-valid": (lambda path: _mawps(path, "mawps-valid"), "mawps/validset.json"),
    "mawps-test": (lambda path: _mawps(path, "mawps-test"), "mawps/testset.json"),
    "svamp": (_svamp, "svamp/SVAMP.json"),
}
