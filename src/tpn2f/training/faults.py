"""What can end a training besides its data: numbers that are not finite any more, and a disk without room."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from tpn2f.checkpoint import check_room
from tpn2f.config import Config
from tpn2f.errors import DivergedError

COPIES = 3
"""Checkpoints of a training that are on the disk at once: the last, the one before it, and the one being written."""


def diverged(config: Config, step: int) -> DivergedError:
    """The error of a step whose loss or weights are infinite or no numbers: what happened, and what to lower."""
    rate, clip = config.training.learning_rate, config.training.clip
    return DivergedError(
        f"step {step:,}: the loss or the weights are not finite any more; training.learning_rate is {rate:g} and "
        f"training.clip {clip:g}: lower the rate, or clip the gradients (training.clip=5); what was saved is intact"
    )


def check_weights_finite(model: nn.Module, config: Config, step: int) -> None:
    """Before weights are saved: a checkpoint never holds numbers that no training can continue from."""
    if not all(parameter.isfinite().all() for parameter in model.parameters()):
        raise diverged(config, step)


def check_disk(model: nn.Module, config: Config, folder: Path) -> None:
    """Raises CheckpointError, before the first step, if the disk has no room for the checkpoints of a training."""
    kept = 4 if config.training.average else 3  # weights, two moments, and the average
    check_room(folder, (1 + COPIES * kept) * sum(tensor.nbytes for tensor in model.state_dict().values()))
