"""The optimiser: Adam with a rate of its own for recurrent weights, and its state as named tensors.

The rate itself is set by the training loop at every step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tpn2f.errors import CheckpointError


def make_optimizer(model: torch.nn.Module, recurrent_rate: float) -> torch.optim.Optimizer:
    """Adam over two groups: recurrent weights, whose `factor` is the given one, and the rest."""
    return torch.optim.Adam(_rate_groups(model, recurrent_rate), fused=True)


def _rate_groups(model: torch.nn.Module, recurrent_rate: float) -> list[dict[str, Any]]:
    """The parameters in two groups: recurrent weights with a rate of their own, and the rest."""
    recurrent = [p for name, p in model.named_parameters() if "recurrent" in name or "weight_hh" in name]
    ids = {id(parameter) for parameter in recurrent}
    others = [parameter for parameter in model.parameters() if id(parameter) not in ids]
    return [{"params": others, "factor": 1.0}, {"params": recurrent, "factor": recurrent_rate}]


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
