"""Records of a source after conversion: text, program, answer and grade; kept in a folder so that it is done once."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpn2f.domain import Example, Problem, cache_folder
from tpn2f.domains.everyday.conversion import Conversion
from tpn2f.domains.everyday.reading import NumberedText
from tpn2f.domains.mathqa.options import Options
from tpn2f.program import Program

UNKNOWN = Program.parse("multiply(const_1, const_1)")
"""Stands where no program is known: it is valid, and gives the answer of no question but by chance."""

_NO_CONVERTERS = ("__init__", "domain", "arithmetic")


@dataclass(frozen=True, slots=True)
class GradedRecord:
    """One problem of a source, converted as well as it can be."""

    example: Example
    grade: str
    reason: str = ""
    """Why the grade is not A."""
    near: str = ""
    """The id of a problem for judging that this one nearly repeats."""
    story: str = ""
    """The id of the story that it belongs to, where several problems share one."""


def record(
    id: str, text: str, reading: NumberedText, found: Conversion, answer: object, story: str = ""
) -> GradedRecord:
    """A converted problem; where there is no program, `UNKNOWN` stands in."""
    example = Example(reading.problem, found.program if found.program.tuples else UNKNOWN, answer, text, id)
    return GradedRecord(example, found.grade, found.reason, story=story)


def kept(name: str, files: Sequence[Path], make: Callable[[], Iterable[GradedRecord]]) -> Iterator[GradedRecord]:
    """The records of a source, from the cache folder if they are there for exactly these files and this code.

    Else they are made one after the other, and kept when the last one has been asked for.
    """
    path = cache_folder() / "converted" / f"{name}-{_checksum(files)}.jsonl.gz"
    known = _read(path)
    if known is not None:
        yield from known
        return
    records: list[GradedRecord] = []
    for item in make():
        records.append(item)
        yield item
    _write(path, records)


def _read(path: Path) -> list[GradedRecord] | None:
    """What was kept, or None: a damaged file is written anew."""
    if not path.is_file():
        return None
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [_from_json(json.loads(line)) for line in lines]
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, records: Iterable[GradedRecord]) -> None:
    """Written beside and moved, so that two processes do not disturb each other; a folder that refuses is no matter."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=path.parent)
        os.close(handle)
        with gzip.open(beside, "wt", encoding="utf-8", compresslevel=3) as lines:
            for item in records:
                lines.write(json.dumps(_to_json(item), separators=(",", ":")) + "\n")
        Path(beside).replace(path)
    except OSError:
        return


def _checksum(files: Sequence[Path]) -> str:
    """Of the sources and of the code that converts them."""
    total = _CODE.copy()
    for path in files:
        total.update(path.read_bytes())
        total.update(b"\0")
    return total.hexdigest()[:16]


def _code():
    total = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in _NO_CONVERTERS:
            total.update(path.read_bytes())
            total.update(b"\0")
    return total


# When the code is loaded: somebody may edit the files while a process runs.
_CODE = _code()


def _to_json(item: GradedRecord) -> dict[str, object]:
    example = item.example
    answer = example.answer
    if isinstance(answer, Options):
        answer = [list(answer.texts), answer.correct, answer.source]
    return {
        "id": example.id,
        "text": example.text,
        "words": " ".join(example.problem.words),
        "values": list(example.problem.bindings.values()),
        "program": str(example.program),
        "answer": answer,
        "grade": item.grade,
        "reason": item.reason,
        "near": item.near,
        "story": item.story,
    }


def _from_json(row: dict) -> GradedRecord:
    answer = row["answer"]
    if isinstance(answer, list):
        answer = Options(tuple(answer[0]), answer[1], answer[2])
    bindings = {f"n{k}": amount for k, amount in enumerate(row["values"])}
    problem = Problem(tuple(row["words"].split(" ")), bindings)
    example = Example(problem, Program.parse(row["program"]), answer, row["text"], row["id"])
    return GradedRecord(example, row["grade"], row["reason"], row["near"], row["story"])
