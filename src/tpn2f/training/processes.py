"""Several processes that train one model together, on one machine or on many: `torchrun ... -m tpn2f train ...`.

Each process takes its share of every batch. The gradients are summed in one message per step, with the loss and the
wish to stop in the same message, so that all see the same numbers and stop at the same step. The sum over the shares is
the gradient of the whole batch, whatever the number of processes. Alone, everything here does nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
from torch import Tensor, distributed
from torch.distributed import PrefixStore, rendezvous  # pyright: ignore[reportPrivateImportUsage]

from tpn2f.errors import ConfigError, N2FError

T = TypeVar("T")
MEET = timedelta(seconds=90)
"""How long processes look for each other at the start."""
WAIT = timedelta(minutes=30)
"""How long they wait for each other after that: one may have long programs to score. `TPN2F_WAIT` says otherwise."""


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all: its rank, and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """This process's part of a list; the parts of all are the whole."""
        return items[self.rank :: self.size] if self.size > 1 else items

    def sum(self, *tensors: Tensor) -> None:
        """Sums tensors over all processes, in place, in one message."""
        if self.size == 1:
            return
        whole = torch.cat([tensor.detach().flatten() for tensor in tensors])
        with _hearing():
            distributed.all_reduce(whole)
        for tensor, part in zip(tensors, whole.split([tensor.numel() for tensor in tensors])):
            tensor.copy_(part.view_as(tensor))

    def wait(self) -> None:
        """Waits until all processes are here."""
        if self.size > 1:
            with _hearing():
                distributed.barrier()


@contextmanager
def join_processes(device: torch.device | None = None) -> Iterator[Processes]:
    """The processes that `torchrun` started this process in; alone without it. The device decides how they talk."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield Processes()
        return
    if device is not None and device.type == "cuda":
        torch.cuda.set_device(device)
        distributed.init_process_group("nccl", device_id=device)
    else:
        _meet()
    try:
        yield Processes(distributed.get_rank(), distributed.get_world_size())
    finally:
        distributed.destroy_process_group()


@contextmanager
def _hearing() -> Iterator[None]:
    """Around every message: a process that died, or that the network hides, is one clear error. `torchrun` starts all
    again, from the last checkpoint."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise N2FError(f"the other processes are not heard any more: {reason}; the last checkpoint is whole") from error


def patience() -> timedelta:
    """How long processes wait for each other: seconds in TPN2F_WAIT, or half an hour."""
    told = os.environ.get("TPN2F_WAIT", "")
    if not told:
        return WAIT
    if not re.fullmatch("[0-9]{1,6}", told) or int(told) == 0:
        raise ConfigError(f"TPN2F_WAIT is {told[:20]!r}; expected seconds, such as 120")
    return timedelta(seconds=int(told))


def _meet() -> None:
    """Connects the processes on CPUs. A process that finds no others stops in time: `torchrun` may restart all."""
    wait = patience()
    try:
        store, rank, size = next(rendezvous("env://", timeout=MEET))
        if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"]:
            # torchrun keeps its store over restarts. On one machine all are started again together, and their count
            # keeps them from the addresses of those that died; otherwise gloo may wait for them without end.
            store = PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
        distributed.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=MEET)
    except RuntimeError as error:
        raise N2FError(
            f"the processes did not connect within {MEET.seconds} s: {str(error).splitlines()[0]}"
        ) from error
    world = distributed.group.WORLD
    assert world is not None
    world.set_timeout(wait)
