"""MathQA's records in the everyday reading: every number named, programs renumbered, constants in one spelling."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tpn2f.domain import Example
from tpn2f.domains.everyday.language import execute
from tpn2f.domains.everyday.programs import canonical
from tpn2f.domains.everyday.reading import NumberedText, read
from tpn2f.domains.everyday.records import UNKNOWN, GradedRecord
from tpn2f.domains.mathqa.domain import MathQA, constant_value
from tpn2f.domains.mathqa.options import Options
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, RelationalTuple

NEAR = 0.05
"""How far the value may be from the gold option's, as a share of it, for a clear record."""
NO_NUMBER = "the gold option is not a number"
_SAME = {"const_deg_to_rad": "const_deg_to_rad", "const_pi": "const_pi"}


def constant_name(word: str) -> str:
    """One spelling for one constant: `const_0_25` and `const_2.0` are `const_0.25` and `const_2`."""
    return _SAME.get(word) or f"const_{constant_value(word):.10g}"


def mathqa_records(path: Path, name: str) -> Iterator[GradedRecord]:
    """The records of one of MathQA's files; each text and program once where it is for training."""
    domain = MathQA(path.parent)
    seen: set[tuple[tuple[str, ...], str]] = set()
    for example in domain.examples(path.stem):
        id = f"{name}:{example.id.rpartition(':')[2]}"
        reading = read(example.text)
        try:
            program = canonical(renumbered(example, reading))
        except DataError as error:
            yield GradedRecord(_example(example, UNKNOWN, reading, id), "X", str(error))
            continue
        found = _example(example, program, reading, id)
        grade, reason = _grade(found)
        if name == "mathqa":
            key = found.problem.words, str(program)
            if key in seen:
                grade, reason = "D", "the same text and program as an earlier record"
            seen.add(key)
        yield GradedRecord(found, grade, reason)


def renumbered(example: Example, reading: NumberedText) -> Program:
    """The program with MathQA's names of numbers replaced by the everyday reading's. Raises DataError."""
    places: dict[str, int] = {}
    start = 0
    for word, masked in zip(example.text.split(" "), example.problem.words):
        if masked != word:
            places[masked] = start
        start += len(word) + 1
    names = {number.start: f"n{k}" for k, number in enumerate(reading.numbers)}

    def moved(word: str) -> str:
        if word.startswith("const_"):
            return constant_name(word)
        if word.startswith("#"):
            return word
        name = names.get(places.get(word, -1))
        if name is None:
            raise DataError("the program uses a number that the text does not have")
        return name

    return Program(tuple(RelationalTuple(step.relation, tuple(map(moved, step.arguments))) for step in example.program))


def _example(example: Example, program: Program, reading: NumberedText, id: str) -> Example:
    return Example(reading.problem, program, example.answer, example.text, id)


_ODD = frozenset(f"const_{name}" for name in ("10", "12", "26", "52", "60", "1000", "3600"))


def _is_patch(step: RelationalTuple) -> bool:
    """Whether a result is pushed to its option by a constant that is no share and no angle: `add(#1, const_1000)`."""
    moves = step.relation in ("add", "subtract") and any(word.startswith("#") for word in step.arguments)
    return moves and not _ODD.isdisjoint(step.arguments)


def _grade(example: Example) -> tuple[str, str]:
    """A record is clear when its program chooses its own option, and comes near to its value."""
    options = example.answer
    assert isinstance(options, Options)
    try:
        amount = execute(example.program, example.problem)
    except ExecutionError:
        return "X", "the program cannot be run"
    if options.gold is None:
        return "C", NO_NUMBER
    if options.nearest(amount) != options.correct:
        return "X", "the program misses its own option"
    if abs(amount - options.gold) > NEAR * abs(options.gold):
        return "B", "the program comes only near to its option"
    if any(_is_patch(step) for step in example.program):
        return "C", "a constant is added only to meet the option"
    return "A", ""
