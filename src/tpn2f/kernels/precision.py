"""Which floating type a recurrence and a loss are computed in under autocast: float32, whatever is around them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

Scan = TypeVar("Scan", bound=Callable[..., Any])


def of_one_type(scan: Scan) -> Scan:
    """A scan that stays in float32 under autocast: products into given buffers cannot mix floating types.

    A recurrence also adds up what 16 bits round away, so nothing but speed is lost.
    """

    @wraps(scan)
    def run(table: Tensor, *others: Any) -> Any:
        if not torch.is_autocast_enabled(table.device.type):
            return scan(table, *others)
        with torch.autocast(table.device.type, enabled=False):
            return scan(*(widened(value) if isinstance(value, Tensor) else value for value in (table, *others)))

    return run  # pyright: ignore[reportReturnType]


def widened(tensor: Tensor) -> Tensor:
    """Numbers of 16 bits as float32; all others unchanged."""
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
