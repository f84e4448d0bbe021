"""The commands that learn: train."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.terminal import DataOption, err, out, spinner
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError

if TYPE_CHECKING:
    from tpn2f.training import Trainer


def train(
    config: Annotated[Path, typer.Argument(help="A config file, such as configs/mathqa.toml.")],
    folder: Annotated[Path | None, typer.Option(help="The run directory. Default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of the run.")] = False,
    force: Annotated[bool, typer.Option(help="Resume although the config or the data changed.")] = False,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: training.epochs=10.")] = None,
    data: DataOption = None,
) -> None:
    """Train a model from a config file. Ctrl-C saves; --resume goes on bit for bit.

    With several processes: torchrun --standalone --nproc-per-node 2 -m tpn2f train CONFIG --resume.
    """
    import torch

    from tpn2f.checkpoint import locked
    from tpn2f.config import load_config
    from tpn2f.crew import gather_crew
    from tpn2f.display import show_training
    from tpn2f.kernels import keep_memory
    from tpn2f.training import Trainer

    # Sharp softmaxes make numbers so small that a CPU slows down on them; see also `keep_memory`.
    torch.set_flush_denormal(True)
    keep_memory()
    setup = load_config(config, settings or [])
    place = folder or Path("runs") / setup.name
    with gather_crew() as crew, locked(place) if crew.leads else nullcontext():
        if not resume and (place / "checkpoints" / "last").exists():
            raise CheckpointError(f"{place} already holds a training: go on with --resume, or choose another --folder")
        crew.wait()
        with spinner(f"reading {setup.data.domain}"):
            trainer = Trainer(setup, load_domain(setup.data.domain, data), place, crew)
        note = trainer.resume(force) if resume else None
        if resume and crew.leads:
            told = note or f"{place} has no checkpoint yet: starting from the beginning"
            err.print(escape(told), soft_wrap=True)
        with _stopping(trainer):
            finished = show_training(out, err, trainer) if crew.leads else _run_quietly(trainer)
    if not finished and crew.leads:
        command = f"tpn2f train {config} --folder {place} --resume"
        err.print(f"saved; go on with: {escape(command)}", soft_wrap=True)


def _run_quietly(trainer: Trainer) -> bool:
    for _ in trainer.run():
        pass
    return trainer.standing.finished


@contextmanager
def _stopping(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C and SIGTERM let the step end and save; a second Ctrl-C stops at once."""

    def stop(number: int, frame: object) -> None:
        if trainer.stop:
            raise KeyboardInterrupt
        trainer.stop = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
