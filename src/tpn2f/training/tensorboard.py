"""The metrics of a training for those who watch it: TensorBoard, beside the metrics.jsonl that is always there.

A tracker takes the records that the events of a training carry and reads no files. It decides nothing.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from tpn2f.errors import ConfigError

FOLDER = "tensorboard"
PANELS = {
    "epoch": "training/epoch",
    "loss": "training/loss",
    "rate": "training/rate",
    "examples_per_second": "training/examples_per_second",
    "dev_strict": "dev/strict",
}
"""Where a number of the record is shown; the health of the representation has a panel of its own."""
LEFT_OUT = ("step", "seconds", "cpu_seconds")
"""The step is where a number is shown, and TensorBoard has a clock."""


class Recorded(Protocol):
    """What is tracked: the part of a training's event that a tracker reads."""

    @property
    def step(self) -> int: ...

    @property
    def record(self) -> Mapping[str, float]: ...


E = TypeVar("E", bound=Recorded)


def check_tensorboard() -> None:
    """Raises ConfigError where TensorBoard is not installed."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ConfigError(
            "training.tensorboard is true, but tensorboard is not installed: pip install 'tpn2f[tracking]'"
        )


def track(events: Iterator[E], run: Path, first_step: int) -> Iterator[E]:
    """Hands the events on and writes their records as scalars to RUN/tensorboard, each at once.

    What a run before wrote of `first_step` or later is hidden: training does those steps again.
    """
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(run / FOLDER), purge_step=first_step)
    try:
        for event in events:
            for name, value in event.record.items():
                if name not in LEFT_OUT:
                    writer.add_scalar(PANELS.get(name, f"health/{name}"), value, event.step)
            if event.record:
                writer.flush()
            yield event
    finally:
        writer.close()
