"""From a file to a folder of answers, and from a split to what a search found: divide, do what is missing, sum up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tpn2f.bulk.answers import Answering, HowAsked
from tpn2f.bulk.engines import Engine, Job
from tpn2f.bulk.folder import claimed, done_before, finish, tell
from tpn2f.bulk.tables import WRITTEN, Part, divide, format_of
from tpn2f.errors import ConfigError, DataError

SIZE = 4096
"""Questions in a part: what is lost when an actor dies."""
HERE = Engine()
Progress = Callable[[int, int], None]


def quiet(done: int, total: int) -> None:
    """Shows no progress."""


def solve_file(
    path: Path | str,
    folder: Path | str,
    asking: HowAsked | None = None,
    engine: Engine = HERE,
    kind: str = "",
    size: int = SIZE,
    progress: Progress = quiet,
) -> dict[str, int]:
    """Answers a file of questions into a folder; goes on with one that is half done. Gives the summary.

    `kind` is the format of the answers: that of the questions if nobody says.
    """
    path, folder = Path(path).resolve(), Path(folder).resolve()
    kind = kind or (format_of(path) if format_of(path) in WRITTEN else "jsonl")
    if kind not in WRITTEN:
        raise ConfigError(f"answers cannot be written as {kind}; expected {', '.join(WRITTEN)}")
    asking = (asking or HowAsked()).fixed()
    parts = divide(path, size)
    if not parts.parts:
        raise DataError(f"{path} holds no questions")
    told = {"questions": parts.count, "questions_sha256": parts.sha256, "size": size, "format": kind, **asking.told()}
    asking = replace(asking, threads=1) if engine.name == "ray" else asking
    job = Answering(path, folder, kind, asking)
    return do_parts(job, folder, told, parts.parts, kind, engine, progress)


def do_parts(
    job: Job,
    folder: Path,
    told: dict[str, object],
    parts: list[Part],
    kind: str,
    engine: Engine,
    progress: Progress,
) -> dict[str, int]:
    """Does the parts that are not there yet."""
    started = time.perf_counter()
    total = sum(part.count for part in parts)
    with claimed(folder, told):
        tallies = done_before(folder, parts, kind)
        before = sum(tally.questions for tally in tallies.values())
        progress(before, total)
        for tally in engine.run(job, [part for part in parts if part.number not in tallies]):
            tell(folder, tally)
            tallies[tally.part] = tally
            progress(sum(one.questions for one in tallies.values()), total)
        missing = [part.number for part in parts if part.number not in tallies]
        if missing:
            raise DataError(f"{folder}: {len(missing)} of {len(parts)} parts were not done; the same command goes on")
        summary = {
            "questions": sum(tally.questions for tally in tallies.values()),
            "unanswered": sum(tally.unanswered for tally in tallies.values()),
            "parts": len(parts),
        }
        took = round(time.perf_counter() - started, 1)
        finish(folder, {**summary, "seconds": took, "questions_this_time": summary["questions"] - before})
    return summary
