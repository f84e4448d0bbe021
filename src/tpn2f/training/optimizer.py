"""The optimiser: Adam with rates of their own for recurrent weights and for a tuned reader, its state as named tensors.

The rate itself is set by the training loop at every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tpn2f.errors import CheckpointError


def make_optimizer(model: torch.nn.Module, recurrent_rate: float, reader_rate: float = 1.0) -> torch.optim.Optimizer:
    """Adam over three groups: recurrent weights and those of a tuned reader, whose `factor` is given, and the rest."""
    return torch.optim.Adam(_rate_groups(model, recurrent_rate, reader_rate), fused=True)


def _rate_groups(model: torch.nn.Module, recurrent_rate: float, reader_rate: float) -> list[dict[str, Any]]:
    """The parameters in groups with rates of their own; the rest comes first."""
    groups: dict[str, list[Tensor]] = {"rest": [], "recurrent": [], "reader": []}
    for name, parameter in model.named_parameters():
        recurrent = "recurrent" if "recurrent" in name or "weight_hh" in name else "rest"
        groups["reader" if name.startswith("reader.") else recurrent].append(parameter)
    factors = {"rest": 1.0, "recurrent": recurrent_rate, "reader": reader_rate}
    return [{"params": groups[kind], "factor": factor} for kind, factor in factors.items()]


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Moments and counters, named by the place of their weight: what `load_optimizer` takes."""
    return {
        f"{place}.{name}": torch.as_tensor(value)
        for place, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def load_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], where: str) -> None:
    """Puts back what `optimizer_tensors` gave. Raises CheckpointError for the state of another model."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        place, _, name = key.partition(".")
        state.setdefault(int(place), {})[name] = tensor
    count = sum(len(group["params"]) for group in optimizer.param_groups)
    if state and sorted(state) != list(range(count)):
        raise CheckpointError(f"{where}: the optimiser's state is of another model")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
