"""Many questions, answered part by part: what every worker of a bulk job does, in this process or in an actor."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tpn2f.bulk.folder import Tally, part_path
from tpn2f.bulk.records import Row, Unread, add_given, describe, describe_unread, is_answered, name_of, read_record
from tpn2f.bulk.tables import Part, read, write

if TYPE_CHECKING:
    from tpn2f.solver import Solver

BATCH = 2048
"""Questions that are read together: sorted by length, they make batches with little padding."""


@dataclass(frozen=True, slots=True)
class HowAsked:
    """Whom to ask, and how: plain values, which can be sent to another machine."""

    model: str | None = None
    domain: str | None = None
    data: str | None = None
    trust: bool = False
    width: int = 0
    """How many hypotheses the search keeps; 0 as usual."""
    abstain_below: float = 0.0
    inputs: Mapping[str, object] = field(default_factory=dict)
    options: str | None = None
    threads: int | None = None
    """How many threads a worker computes with; None as it is."""

    def load(self) -> Solver:
        import torch

        from tpn2f.solver import Solver

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return Solver.load(self.model, self.data, self.domain, self.trust)

    def fixed(self) -> HowAsked:
        """What means the same in every folder: whole paths, and the name of the model that answers if none is named."""
        from tpn2f.pretrained import bundled_model

        if self.model is None:
            return replace(self, model=bundled_model(self.domain), domain=None, data=_whole(self.data))
        return replace(self, model=_whole(self.model), domain=_whole(self.domain), data=_whole(self.data))

    def told(self) -> dict[str, object]:
        """What decides the answers, for the folder's record."""
        from tpn2f.checkpoint import fingerprint
        from tpn2f.pretrained import find_model

        named = {name: value for name, value in asdict(self).items() if name not in ("data", "trust", "threads")}
        return {**named, "model_sha256": fingerprint(find_model(self.model or ""))}


def _whole(place: str | None) -> str | None:
    """A path from the root, if it is one: `lights.py:Lights` and `runs/lights` are, `mathqa` most often is not."""
    path, sign, name = (place or "").partition(":")
    return f"{Path(path).resolve()}{sign}{name}" if path and Path(path).exists() else place


def answer(solver: Solver, asking: HowAsked, records: Sequence[object]) -> list[Row]:
    """One row a record, in order: the question and what there is to say of it."""
    asked = [add_given(read_record(record), asking.inputs, asking.options) for record in records]
    questions = [one for one in asked if not isinstance(one, Unread)]
    solved = solver.solve_all(questions, asking.width, BATCH, alternatives=False)
    rows: list[Row] = []
    for one in asked:
        if isinstance(one, Unread):
            rows.append({"question": "", **describe_unread(one.reason)})
        else:
            rows.append({"question": one.text, **describe(next(solved), asking.abstain_below)})
    return rows


@dataclass(frozen=True, slots=True)
class Answering:
    """The job of answering a file into a folder."""

    path: Path
    folder: Path
    kind: str
    """The format of the answers."""
    asking: HowAsked

    def start(self) -> AnswersParts:
        return AnswersParts(self)


class AnswersParts:
    """A worker: a model that is loaded once, and parts that it answers one after another."""

    def __init__(self, job: Answering) -> None:
        self.job, self.solver = job, job.asking.load()

    def __call__(self, part: Part) -> Tally:
        job, started = self.job, time.perf_counter()
        records = read(job.path, part)
        rows = answer(self.solver, job.asking, records)
        for place, (record, row) in enumerate(zip(records, rows)):
            rows[place] = {"row": part.first + place, "id": name_of(record), **row}
        write(part_path(job.folder, part.number, job.kind), rows, job.kind)
        unanswered = sum(not is_answered(row) for row in rows)
        return Tally(part.number, len(rows), unanswered, round(time.perf_counter() - started, 3))
