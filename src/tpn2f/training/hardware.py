"""What a training computes on, and how exactly: a CPU or a GPU, float32 or less.

What the machine lacks is refused before anything is read. Started by `torchrun`, a process takes the GPU of its place
among those of its machine. The CPU in float32 is the default without a GPU, and the only one that promises the same
bits again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch

from tpn2f.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Hardware:
    """A device and the precision of its products."""

    device: torch.device
    precision: str = "float32"

    def mixed(self) -> AbstractContextManager[object]:
        """Around the loss: with bf16, products take 16 bits where torch holds that to be safe."""
        if self.precision != "bf16":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    @contextmanager
    def rounded(self) -> Iterator[None]:
        """Around a whole step: a GPU may round what goes into float32 products, also those that bf16 leaves."""
        if self.precision == "float32" or self.device.type != "cuda":
            yield
            return
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


def choose_hardware(device: str = "auto", precision: str = "float32") -> Hardware:
    """What the settings `training.device` and `training.precision` mean on this machine, for this process."""
    chosen = _choose_device(device)
    if precision == "tf32" and (chosen.type != "cuda" or torch.cuda.get_device_capability(chosen) < (8, 0)):
        raise ConfigError(
            f"training.precision is tf32, which NVIDIA GPUs have from compute capability 8.0 on; this would run on "
            f"{_describe(chosen)}: expected float32 or bf16"
        )
    if precision == "bf16" and not _has_bf16(chosen):
        raise ConfigError(f"training.precision is bf16, which {_describe(chosen)} lacks: expected float32")
    return Hardware(chosen, precision)


def _choose_device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"training.device is {name!r}; expected auto, cpu, cuda, cuda:1 or mps") from error
    if device.type == "cuda" and torch.cuda.is_available():
        device = _choose_gpu(device)
    try:
        # Asks the device itself: it must be able to hold a number and give it back.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ConfigError(f"training.device is {name!r}, which this machine lacks; it has {_there()}") from error
    return device


def _choose_gpu(device: torch.device) -> torch.device:
    """The GPU that is named, or that of this process's place on its machine."""
    there = torch.cuda.device_count()
    place, processes = (int(os.environ.get(name, default)) for name, default in _PLACES)
    if device.index is None:
        if processes > there:
            raise ConfigError(
                f"{processes} processes need one GPU each, but the machine has {there}: expected --nproc-per-node "
                f"{there} or less, or training.device=cpu"
            )
        return torch.device("cuda", place)
    if device.index >= there or processes > 1:
        several = f", and {processes} processes share the machine" if processes > 1 else ""
        raise ConfigError(f"training.device is {str(device)!r}; the machine has {_there()}{several}: expected cuda")
    return device


_PLACES = (("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1"))
"""What torchrun passes to a process: its number on its machine, and how many there are."""


def _has_bf16(device: torch.device) -> bool:
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return False
    try:
        with torch.autocast(device.type, torch.bfloat16):
            return (torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)).dtype == torch.bfloat16
    except (RuntimeError, ValueError, NotImplementedError):
        return False


def _describe(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _there() -> str:
    """The devices of this machine that a training can name."""
    gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ", ".join(["cpu", *gpus, *(["mps"] if torch.backends.mps.is_available() else [])])
