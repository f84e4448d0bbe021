"""What a training says while it runs, and where it stands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Kinds: reading, step, dev, saved, note, finished.

    While a pre-trained encoder is reading the texts, before the first step, `step` counts their words.
    """

    kind: str
    step: int = 0
    steps: int = 0
    """Of how many."""
    epoch: int = 0
    loss: float = math.nan
    """Mean negative log-likelihood of a program over the epoch so far, in nats."""
    rate: float = 0.0
    examples_per_second: float = 0.0
    seconds_left: float = math.nan
    dev: float = math.nan
    """Strict operation accuracy on dev."""
    best: float = math.nan
    text: str = ""
    record: Mapping[str, float] = field(default_factory=dict)
    """What metrics.jsonl has of a dev scoring, and the speed; empty for other kinds."""


@dataclass
class Standing:
    """Where a training stands: all that is not a tensor."""

    step: int = 0
    epoch: int = 0
    batch: int = 0
    """Batches done of this epoch."""
    loss: float = 0.0
    """Sum over this epoch's examples."""
    examples: int = 0
    """Examples done of this epoch."""
    best: float = -1.0
    best_epoch: int = 0
    since_best: int = 0
    seconds: float = 0.0
    cpu_seconds: float | None = 0.0
    """Processor time of all processes; None for a run that began before it was counted."""
    finished: bool = False
