"""A model as it is used: without dropout and without gradients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from tpn2f.model.tpn2f import Model


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Leaves the model in the mode it was in."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)
