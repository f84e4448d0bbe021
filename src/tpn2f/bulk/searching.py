"""The search of an evaluation, part by part: the same folders and engines as for answers, then scored as ever.

Candidates are kept as text and read back as programs by the parser.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tpn2f.bulk.answers import HowAsked
from tpn2f.bulk.engines import Engine
from tpn2f.bulk.folder import Tally, part_path
from tpn2f.bulk.jobs import Progress, do_parts, quiet
from tpn2f.bulk.tables import Part, read_rows, write
from tpn2f.domain.protocol import Example
from tpn2f.domain.splits import Splits
from tpn2f.evaluation import Found, Mode, digest, search_split
from tpn2f.program import Program
from tpn2f.search import Candidate

SIZE = 256
"""Examples in a part: the programs of some languages take long."""


@dataclass(frozen=True, slots=True)
class Searching:
    """The job of searching for the programs of a split."""

    folder: Path
    asking: HowAsked
    split: str
    limit: int
    mode: Mode

    def start(self) -> SearchesParts:
        return SearchesParts(self)


class SearchesParts:
    """A worker: a model and a split, both read once."""

    def __init__(self, job: Searching) -> None:
        self.job, self.solver = job, job.asking.load()
        self.examples = Splits(self.solver.domain).take(job.split, job.limit)

    def __call__(self, part: Part) -> Tally:
        started = time.perf_counter()
        examples = self.examples[part.first - 1 : part.first - 1 + part.count]
        found = search_split(self.solver, examples, self.job.mode)
        rows = [
            {"row": part.first + place, "program": [_text(one.program) for one in ranked], "scores": _scores(ranked)}
            for place, ranked in enumerate(found.candidates)
        ]
        write(part_path(self.job.folder, part.number, "jsonl"), rows)
        return Tally(part.number, len(rows), 0, round(time.perf_counter() - started, 3))


def search_in_parts(
    asking: HowAsked,
    split: str,
    examples: list[Example],
    mode: Mode,
    limit: int,
    engine: Engine,
    folder: Path | None = None,
    progress: Progress = quiet,
) -> Found:
    """What a search finds for the examples of a split; with a folder, one that was stopped goes on."""
    if folder is None:
        with TemporaryDirectory(prefix="tpn2f-") as short:
            return search_in_parts(asking, split, examples, mode, limit, engine, Path(short), progress)
    started = time.perf_counter()
    asking, folder = asking.fixed(), folder.resolve()
    told = {"split": split, "limit": limit, "examples_sha256": digest(examples), **asdict(mode), **asking.told()}
    asking = replace(asking, threads=1) if engine.name == "ray" else asking
    parts = [
        Part(number, first + 1, min(SIZE, len(examples) - first), 0, 0)
        for number, first in enumerate(range(0, len(examples), SIZE))
    ]
    do_parts(Searching(folder, asking, split, limit, mode), folder, told, parts, "jsonl", engine, progress)
    took = time.perf_counter() - started
    candidates = [
        [_candidate(text, scores) for text, scores in zip(row["program"], row["scores"])]
        for part in parts
        for row in read_rows(part_path(folder, part.number, "jsonl"))
    ]
    return Found(candidates, took, took)


def _text(program: Program | None) -> str | None:
    return None if program is None else str(program)


def _scores(ranked: list[Candidate]) -> list[list[float | None]]:
    return [list(one[1:]) for one in ranked]


def _candidate(text: str | None, scores: list[Any]) -> Candidate:
    return Candidate(None if text is None else Program.parse(text), *scores)
