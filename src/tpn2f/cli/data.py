"""The commands on data sets: get, check, show."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tpn2f.cli.terminal import DataOption, DomainArgument, JsonOption, err, out, spinner, warn_skipped, write
from tpn2f.domain import load_domain
from tpn2f.errors import DataError

data_app = typer.Typer(help="Fetch, check and look at data sets.", no_args_is_help=True)


@data_app.command("show")
def data_show(
    domain: DomainArgument = "mathqa",
    split: Annotated[str, typer.Option(help="Which split to look at.")] = "dev",
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many examples.")] = 3,
    start: Annotated[int, typer.Option(min=0, help="The first example to show.")] = 0,
    data: DataOption = None,
) -> None:
    """Some examples of a split, readable: text, gold program, and whether it gives the gold answer."""
    from tpn2f.display import show_example

    language = load_domain(domain, data)
    shown = 0
    for index, example in enumerate(language.examples(split)):
        if index >= start:
            show_example(out, language, example)
            shown += 1
        if shown == count:
            break
    if not shown:
        raise DataError(f"{domain} {split} has no example {start}")
    warn_skipped(language)


@data_app.command("check")
def data_check(
    domain: DomainArgument = "mathqa",
    split: Annotated[list[str] | None, typer.Option(help="Only these splits.")] = None,
    data: DataOption = None,
    list_ids: Annotated[bool, typer.Option("--list", help="List the ids of every doubtful record.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the findings as JSON to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """The data doctor: counts, gold that does not run or misses its answer, duplicates, leaks between splits."""
    from tpn2f.doctor import examine

    language = load_domain(domain, data)
    with spinner(f"examining {domain}") as update:
        health = examine(language, split or (), lambda name, done: update(f"{domain} {name}: {done:,} records"))
    if as_json:
        out.print(health.to_json(), soft_wrap=True, markup=False)
    else:
        from tpn2f.display import show_health

        show_health(out, health, list_ids)
    if output is not None:
        write(output, health.to_json())


@data_app.command("get")
def data_get(
    dataset: Annotated[str, typer.Argument(help="mathqa or algolisp.")],
    into: Annotated[Path | None, typer.Option(help="Where to put it. Default: TPN2F_DATA, else the cache.")] = None,
    source: Annotated[
        str | None, typer.Option(help="A folder or a base address to take the files from instead.")
    ] = None,
) -> None:
    """Download a data set's public originals, check their sums, and go on where a download stopped."""
    from tpn2f.download import fetch, target_folder

    folder = into or target_folder(dataset)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(dataset, total=None)
        for line in fetch(
            dataset, folder, source, lambda done, total: progress.update(task, completed=done, total=total)
        ):
            err.print(line, soft_wrap=True, markup=False)
    out.print(f"{dataset} is in {folder}", soft_wrap=True, markup=False)
