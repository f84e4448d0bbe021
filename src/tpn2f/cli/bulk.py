"""What `solve` and `evaluate` do with many questions at once: where the work is done, how it shows, what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.console import bearing
from tpn2f.cli.terminal import check_targets, err, out, spinner
from tpn2f.errors import DataError

if TYPE_CHECKING:
    from tpn2f.bulk.answers import HowAsked
    from tpn2f.bulk.engines import Engine

OnOption = Annotated[str, typer.Option("--on", help="Where the work is done: here, in this process, or ray.")]
WorkersOption = Annotated[
    int, typer.Option("--workers", min=0, max=10_000, help="How many actors of Ray; 0 for one on every core.")
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="The address of a Ray cluster. Default: one of our own on this machine."),
]


def choose_engine(name: str, workers: int, address: str | None) -> Engine:
    """Where the work is done. Without Ray it is done here, and that is said."""
    from tpn2f.bulk.engines import MISSING, Engine, has_ray

    wanted = Engine(name, workers, address)
    if name == "ray" and not has_ray():
        err.print(f"[yellow]warning:[/] {escape(MISSING)}; the work is done in this process", soft_wrap=True)
        return Engine()
    return wanted


def solve_into(file: Path | None, folder: Path, asking: HowAsked, engine: Engine, kind: str) -> int:
    """Answers a file into a folder, and says what became of it. Returns how many questions have no answer."""
    from tpn2f.bulk.jobs import solve_file

    if file is None or str(file) == "-":
        raise DataError("--output needs a file of questions that can be read again: name one with --file")
    check_targets(folder, folders=True)
    with spinner("solving") as update, bearing(err):
        summary = solve_file(
            file,
            folder,
            asking,
            engine,
            kind,
            progress=lambda done, total: update(f"solved {done:,} of {total:,}"),
        )
    unanswered = summary["unanswered"]
    without = f", {unanswered:,} of them without an answer" if unanswered else ""
    told = f"{summary['questions']:,} questions{without}: {summary['parts']:,} files in {folder}"
    out.print(told, soft_wrap=True, markup=False)
    return unanswered
