"""The commands that train: train, tune."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.console import bearing, err, out
from tpn2f.cli.terminal import DataOption, OtherDomainOption, spinner
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError

if TYPE_CHECKING:
    from tpn2f.config import Config
    from tpn2f.training import Trainer
    from tpn2f.tuning import Tuner

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""What ends a training in good order. Windows has no SIGHUP."""
ConfigArgument = Annotated[Path, typer.Argument(help="A config file, or the name of a preset, such as mathqa.")]
SettingsOption = Annotated[list[str] | None, typer.Option("--set", help="Change a setting: training.epochs=10.")]


def train(
    config: ConfigArgument,
    folder: Annotated[Path | None, typer.Option(help="The run directory. Default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue from the last checkpoint of the run.")] = False,
    force: Annotated[bool, typer.Option(help="Resume even if the config or the data changed.")] = False,
    settings: SettingsOption = None,
    domain: OtherDomainOption = None,
    data: DataOption = None,
) -> None:
    """Train a model from a config file. Ctrl-C saves; --resume continues with exactly the same numbers.

    With several processes: torchrun --standalone --nproc-per-node 2 -m tpn2f train CONFIG --resume. Add --max-restarts
    3 before -m to restart from the last checkpoint when a process dies.
    """
    from tpn2f.config import load_config

    if domain is not None:
        # The run is called after the domain: runs/robots for robots.py:robots.
        settings = [f"name={Path(domain.rpartition(':')[2]).stem}", f"data.domain={domain}", *(settings or [])]
    setup = load_config(config, settings or [])
    place = folder or Path("runs") / setup.name
    words = ["train", config, "--folder", place, *_again(settings, data), "--resume"]
    if code := train_run(setup, place, data, resume, force, shlex.join(["tpn2f", *map(str, words)])):
        raise typer.Exit(code)


def train_run(
    config: Config, place: Path, data: Path | None, resume: bool = False, force: bool = False, again: str = ""
) -> int:
    """Trains in one run directory and shows the progress. Returns 0, or the exit code of the signal that stopped it.

    `again` is the command that continues a training that was stopped.
    """
    from tpn2f.checkpoint import locked
    from tpn2f.cli.display import show_training
    from tpn2f.training import Trainer
    from tpn2f.training.hardware import choose_hardware
    from tpn2f.training.processes import join_processes

    _prepare_process()
    hardware = choose_hardware(config.training.device, config.training.precision)
    with join_processes(hardware.device) as processes, locked(place) if processes.leads else nullcontext():
        if not resume and any((place / "checkpoints" / name).exists() for name in ("last", "previous")):
            raise CheckpointError(
                f"{place} already holds a training: continue it with --resume, or choose another --folder"
            )
        processes.wait()
        with spinner(f"reading {config.data.domain}"):
            trainer = Trainer(config, load_domain(config.data.domain, data), place, processes)
        note = trainer.resume(force) if resume else None
        if resume and processes.leads:
            told = note or f"{place} has no checkpoint yet: starting from the beginning"
            err.print(escape(told), soft_wrap=True)
        with _stopping(trainer) as heard, bearing(out, err):
            finished = show_training(out, err, trainer) if processes.leads else _run_quietly(trainer)
            if not finished and processes.leads:
                err.print(f"saved; continue with: {escape(again)}", soft_wrap=True)
    # A process that stops with the others has heard nothing itself.
    return 0 if finished else 128 + (heard[0] if heard else signal.SIGTERM)


def tune(
    config: ConfigArgument,
    search: Annotated[
        list[str] | None,
        typer.Option(
            help="A setting to vary: 'training.learning_rate=log 1e-3 1e-2', uniform A B, int A B, choice A B."
        ),
    ] = None,
    space: Annotated[
        Path | None, typer.Option(help="A TOML file whose table `search` lists the settings to vary.")
    ] = None,
    trials: Annotated[int, typer.Option(min=1, help="How many trials the study has in total.")] = 20,
    timeout: Annotated[float | None, typer.Option(min=0, help="Save and stop after this many seconds.")] = None,
    folder: Annotated[Path | None, typer.Option(help="The run directory. Default: runs/NAME-tune.")] = None,
    storage: Annotated[
        str, typer.Option(help="A database URL that several machines share. Default: FOLDER/study.db.")
    ] = "",
    study: Annotated[str, typer.Option(help="The study's name in the database. Default: the config's.")] = "",
    pruner: Annotated[
        str, typer.Option(help="The rule that stops hopeless trials early: median, halving, none.")
    ] = "median",
    startup: Annotated[int, typer.Option(min=0, help="How many trials run to the end before the pruner starts.")] = 5,
    settings: SettingsOption = None,
    data: DataOption = None,
) -> None:
    """Search for the settings that are best on dev. Ctrl-C saves; the same command continues.

    Every trial is a training in FOLDER/trial-NNN. The best config is FOLDER/best.toml. The same command on several
    machines with one --storage, or several times on one machine, shares the work.
    """
    import math

    from tpn2f.cli.display import show_best, show_tuning
    from tpn2f.config import load_config, write_value
    from tpn2f.tuning import Tuner
    from tpn2f.tuning.settings import read_space

    _prepare_process()
    setup = load_config(config, settings or [])
    dimensions = read_space(search or [], space, setup)
    place = folder or Path("runs") / f"{setup.name}-tune"
    with spinner(f"reading {setup.data.domain}"):
        domain = load_domain(setup.data.domain, data)
        tuner = Tuner(setup, dimensions, domain, place, storage, study, pruner, startup)
    with _stopping(tuner) as heard, bearing(out, err):
        show_tuning(out, err, tuner, trials, math.inf if timeout is None else timeout)
    best = tuner.best()
    # Who was stopped by a terminal that closed has nobody to tell.
    with bearing(out, err) if heard else nullcontext():
        if best is None:
            err.print("no trial has finished yet: run the same command to continue")
        else:
            found = [*(settings or []), *(f"{key}={write_value(value)}" for key, value in best.settings.items())]
            show_best(out, best, shlex.join(["tpn2f", "train", str(config), *_again(found, data)]), place)
    if heard:
        raise typer.Exit(128 + heard[0])


def _again(settings: Sequence[str] | None, data: Path | None) -> list[str]:
    """The options that a command needs to be repeated with the same meaning."""
    return [
        *(word for setting in settings or [] for word in ("--set", setting)),
        *(["--data", str(data)] if data else []),
    ]


def _prepare_process() -> None:
    import torch

    from tpn2f.kernels import keep_memory

    # Sharp softmaxes make numbers so small that a CPU slows down on them; see also `keep_memory`.
    torch.set_flush_denormal(True)
    keep_memory()


def _run_quietly(trainer: Trainer) -> bool:
    for _ in trainer.run():
        pass
    return trainer.standing.finished


@contextmanager
def _stopping(work: Trainer | Tuner) -> Iterator[list[int]]:
    """Ctrl-C, SIGTERM and SIGHUP finish the current step and save; a second Ctrl-C stops at once.

    Gives the signals that came. One that is ignored, as `nohup` has it, stays ignored.
    """
    heard: list[int] = []

    def stop(number: int, frame: object) -> None:
        # A terminal that closes may send several at once: only a person's second Ctrl-C is meant.
        if work.stop and number == signal.SIGINT:
            raise KeyboardInterrupt
        heard.append(number)
        work.stop = True

    wanted = [number for name in SIGNALS if (number := getattr(signal, name, None)) is not None]
    before = {n: signal.signal(n, stop) for n in wanted if signal.getsignal(n) is not signal.SIG_IGN}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
