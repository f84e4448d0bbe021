"""The folder that bulk work fills: one file a part, so that work which was stopped goes on where it was.

    answers/job.json              what is asked of whom; another job is refused
    answers/part-000000.jsonl     the answers of the first part, in the order of the questions
    answers/tallies.jsonl         a line for every part that is done
    answers/summary.json          written when all parts are done

A part is there completely or not at all, and its name is its number. So a question has one answer, however often its
part was begun.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from tpn2f.bulk.records import is_answered
from tpn2f.bulk.tables import Part, read_rows
from tpn2f.errors import DataError

JOB, TALLIES, SUMMARY, LOCK = "job.json", "tallies.jsonl", "summary.json", "lock"

ATTEMPTS = 4
"""How many workers may die over one part before the job ends."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a part."""

    part: int
    questions: int
    unanswered: int = 0
    """Questions that were refused or could not be read."""
    seconds: float = 0.0


def part_path(folder: Path, number: int, kind: str) -> Path:
    """Where the answers of a part are."""
    return folder / f"part-{number:06d}.{kind}"


@contextmanager
def claimed(folder: Path, job: Mapping[str, object]) -> Iterator[None]:
    """Makes the folder that of this job, or goes on with it; keeps other processes out meanwhile."""
    lock = FileLock(folder / LOCK, blocking=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = lock.acquire()
    except Timeout as error:
        raise DataError(f"{folder} is in use by another process") from error
    except OSError as error:
        raise DataError(f"cannot write into {folder}: {error.strerror}") from error
    with held:
        _agree(folder, job)
        for left in (*folder.glob(".part-*"), *folder.glob(".begun-*")):
            left.unlink(missing_ok=True)
        yield


def _agree(folder: Path, job: Mapping[str, object]) -> None:
    path = folder / JOB
    if path.exists():
        there = _read_job(path)
        different = [key for key in {**there, **job} if there.get(key) != job.get(key)]
        if different:
            key = different[0]
            raise DataError(
                f"{folder} holds another job: {key} is {str(there.get(key))[:80]} there, {str(job.get(key))[:80]} "
                "here; choose another folder"
            )
        return
    others = [other.name for other in folder.iterdir() if other.name != LOCK]
    if others:
        raise DataError(f"{folder} is not empty ({sorted(others)[0]}) and holds no job; choose another folder")
    try:
        draft = folder / ".job"
        draft.write_text(json.dumps(job, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def _read_job(path: Path) -> dict[str, Any]:
    try:
        there = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    if not isinstance(there, dict):
        raise DataError(f"{path} is damaged: expected an object")
    return there


def done_before(folder: Path, parts: Iterable[Part], kind: str) -> dict[int, Tally]:
    """The parts that are there already."""
    told: dict[int, Tally] = {}
    if (folder / TALLIES).exists():
        for line in (folder / TALLIES).read_text(encoding="utf-8").splitlines():
            try:
                tally = Tally(**json.loads(line))
            except (ValueError, TypeError):
                continue  # the last line of a process that was killed
            told[tally.part] = tally
    there = {}
    for part in parts:
        path = part_path(folder, part.number, kind)
        if path.is_file():
            # Who was killed between writing a part and telling it left no tally.
            there[part.number] = told.get(part.number) or _recount(path, part)
    return there


def _recount(path: Path, part: Part) -> Tally:
    return Tally(part.number, part.count, sum(not is_answered(row) for row in read_rows(path)))


def begin(folder: Path, number: int) -> None:
    """Notes that a worker begins a part. Raises DataError for one that others began before and never ended: it kills
    its workers, and would kill all that come after them."""
    try:
        with (folder / f".begun-{number:06d}").open("ab") as file:
            file.write(b".")
            attempts = file.tell()
    except OSError as error:
        raise DataError(f"cannot write into {folder}: {error.strerror}") from error
    if attempts > ATTEMPTS:
        raise DataError(f"{ATTEMPTS} workers died over the questions of part {number}; nothing of it is written")


def tell(folder: Path, tally: Tally) -> None:
    """Notes that a part is done."""
    try:
        with (folder / TALLIES).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(tally)) + "\n")
    except OSError as error:
        raise DataError(f"cannot write {folder / TALLIES}: {error.strerror}") from error


def finish(folder: Path, summary: Mapping[str, object]) -> None:
    """All parts are there."""
    try:
        (folder / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {folder / SUMMARY}: {error.strerror}") from error
