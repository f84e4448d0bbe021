"""What `reproduce` is going to do, told before it starts: rows, epochs, and how long they will take.

A time is extrapolated from the run's own pace, or from what the row's report in `results/` says that it cost. It is
wall time of the machine that it was measured on, and a training with patience may end earlier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tpn2f.checkpoint import read_latest
from tpn2f.config import Config
from tpn2f.errors import DataError
from tpn2f.publish.reproduce import TABLES, is_kept, report_path
from tpn2f.publish.rows import load_result
from tpn2f.wording import format_duration


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A row that will be trained, as far as it is not, and scored."""

    name: str
    epochs: int
    done: int
    """Whole epochs."""
    finished: bool
    seconds: float | None
    """What the training will still take; None where nothing tells."""
    source: str
    """Where the estimate comes from."""
    scored: str

    def __str__(self) -> str:
        if self.finished:
            return f"{self.name}: trained already ({self.done} of {self.epochs} epochs); {self.scored}"
        left = "time unknown, it was never trained here"
        if self.seconds is not None:
            left = f"about {format_duration(self.seconds)} by {self.source}"
        done = f", {self.done} of them done" if self.done else ""
        return f"{self.name}: {self.epochs} epochs{done}, {left}; {self.scored}"


def plan_rows(table: str, configs: Mapping[str, Config], runs: Path, results: Path) -> list[PlannedRow]:
    """The rows of a table in their order."""
    return [_plan(table, row, config, runs / row, results) for row, config in configs.items()]


def whole_plan(rows: Sequence[PlannedRow]) -> str:
    """All rows together, in a sentence."""
    known = sum(row.seconds or 0.0 for row in rows if not row.finished)
    unknown = sum(row.seconds is None and not row.finished for row in rows)
    missing = f", and {unknown} whose time is unknown" if unknown else ""
    waiting = sum(not row.finished for row in rows)
    if not waiting:
        return "nothing to train"
    return f"{waiting} to train: about {format_duration(known)} one after the other{missing}"


def _plan(table: str, row: str, config: Config, run: Path, results: Path) -> PlannedRow:
    known = TABLES[table]
    epochs, modes = config.training.epochs, known.rows[row]
    scored = f"scored on {', '.join(known.splits)} ({'; '.join(mode.title for mode in modes)})"
    if is_kept(table, row, config, results):
        return PlannedRow(row, epochs, epochs, True, None, "", "scored already")
    found = read_latest(run / "checkpoints")
    if found is not None:
        standing = found[0].state["standing"]
        done, spent, finished = standing["epoch"], standing["seconds"], standing["finished"]
        seconds = spent / done * (epochs - done) if done else None
        return PlannedRow(row, epochs, done, finished, seconds, "its own pace", scored)
    place = report_path(results, table, known.splits[0], row, modes[0])
    try:
        training = load_result(results, place.name)["facts"]["training"]
        seconds = 3600 * training["hours"] / training["epochs"] * epochs
    except (DataError, KeyError, TypeError, ZeroDivisionError):
        seconds = None
    return PlannedRow(row, epochs, 0, False, seconds, f"what {place.name} cost", scored)
