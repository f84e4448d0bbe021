"""The commands that score: evaluate, compare, and the tables made of what was written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.bulk import AddressOption, OnOption, WorkersOption, choose_engine
from tpn2f.cli.terminal import (
    DataOption,
    JsonOption,
    ModelOption,
    OtherDomainOption,
    TrustOption,
    WidthOption,
    check_targets,
    err,
    out,
    spinner,
    warn_skipped,
    write,
)
from tpn2f.domain import DEFAULT_DOMAIN, Splits, load_domain, split_roles
from tpn2f.errors import ConfigError, DataError

if TYPE_CHECKING:
    from tpn2f.compare import Scored


def evaluate(
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    split: Annotated[str | None, typer.Option(help="Which examples to score. Default: dev.")] = None,
    model: ModelOption = None,
    width: WidthOption = 1,
    masks: Annotated[bool, typer.Option(help="Allow only well-formed programs.")] = True,
    types: Annotated[bool, typer.Option(help="Use masks from the language's type system, if it has one.")] = True,
    guided: Annotated[bool, typer.Option("--guided", help="Take the best candidate of the beam that runs.")] = False,
    tests: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many tests to show: the best candidate of the beam that passes them is scored by the others.",
        ),
    ] = 0,
    options: Annotated[
        bool,
        typer.Option(
            "--options", help="Show the options of each question: prefer programs whose value is one of them."
        ),
    ] = False,
    memory: Annotated[
        int,
        typer.Option(
            min=0,
            max=100,
            help="Score retrieval+model: the programs of so many nearest training problems are candidates too.",
        ),
    ] = 0,
    system: Annotated[
        str, typer.Option(help="The system that answers if there is no model: retrieval, gold or empty.")
    ] = "retrieval",
    predictions: Annotated[
        Path | None, typer.Option(help="Score this file instead: one JSON object per line with the field `program`.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write a model's predictions to this file.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many examples to score; 0 for all.")] = 0,
    output: Annotated[Path | None, typer.Option(help="Also write the report as JSON to this file.")] = None,
    on: OnOption = "here",
    workers: WorkersOption = 0,
    address: AddressOption = None,
    work: Annotated[
        Path | None, typer.Option(help="Keep what the search finds in this folder. A stopped command continues there.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model, a system without weights, or a prediction file: with strict metrics and with the published ones.

    The retrieval baseline answers with the program of the nearest training problem. Every model should beat it.
    """
    from tpn2f.evaluation import Mode, evaluate_file, evaluate_model, evaluate_system, write_predictions
    from tpn2f.publish.reproduce import stamped

    if (tests or options or memory) and model is None:
        asked = "--tests" if tests else "--options" if options else "--memory"
        raise ConfigError(f"{asked} works only with a model: name one with --model")
    engine = choose_engine(on, workers, address)
    if (engine.name == "ray" or work) and model is None:
        raise ConfigError("--on ray and --work are for the search of a model: name one with --model")
    check_targets(save, output)
    unsaved: DataError | None = None
    started = time.perf_counter()
    with spinner("scoring") as update:
        if model is not None:
            from tpn2f.solver import Solver

            solver = Solver.load(model, data, domain, trust)
            language = solver.domain
            split = split or split_roles(language).select
            mode, splits, found = Mode(width, masks, types, guided, tests, options, memory), Splits(language), None

            def show(done: int, total: int) -> None:
                update(f"solving {split}: {done:,} of {total:,}")

            if engine.name == "ray" or work is not None:
                from tpn2f.bulk.answers import HowAsked
                from tpn2f.bulk.searching import search_in_parts

                mode.check(language)
                asking = HowAsked(str(model), domain, None if data is None else str(data), trust)
                examples = splits.take(split, limit)
                found = search_in_parts(asking, split, examples, mode, limit, engine, work, show)
            report, examples, programs = evaluate_model(
                solver, split, model.name, mode, limit, show, splits=splits, found=found
            )
            if save is not None:
                try:
                    write_predictions(save, examples, programs)
                except DataError as error:
                    unsaved = error  # reported below the scores, which took longer than the file
        else:
            language = load_domain(domain or DEFAULT_DOMAIN, data)
            split = split or split_roles(language).select
            if predictions is not None:
                report = evaluate_file(language, split, predictions, limit)
            else:
                report = evaluate_system(language, split, system, limit)
    warn_skipped(language)
    try:
        if output is not None:
            write(output, stamped(report).to_json())
            err.print(f"written to {escape(str(output))} after {time.perf_counter() - started:.1f} s", soft_wrap=True)
    except DataError as error:
        unsaved = error
    out.print(report.to_json() if as_json else str(report), soft_wrap=True, markup=False, emoji=False)
    if unsaved is not None:
        raise unsaved


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="A result file, or a prediction file.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another one, about the same examples.")],
    metric: Annotated[str, typer.Option(help="What counts: strict, or another metric of the files.")] = "strict",
    show: Annotated[int, typer.Option(min=0, help="List so many examples that only A, and only B, solves.")] = 0,
    domain: Annotated[
        str | None, typer.Option("--domain", "-d", help="The domain of two prediction files, which do not name it.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="The split of two prediction files.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems on the same examples: paired bootstrap and McNemar's exact test, by group.

    A and B are files that `tpn2f evaluate` wrote with --output or --save.
    """
    from tpn2f.compare import compare_files

    with spinner("comparing"):
        found, one, other = compare_files(first, second, metric, domain, split, data)
    out.print(found.to_json() if as_json else str(found), soft_wrap=True, markup=False, emoji=False)
    if show and not as_json:
        for name, places in (("A", found.places_first), ("B", found.places_second)):
            out.print(f"\nonly {name}: {min(show, len(places)):,} of {len(places):,}", soft_wrap=True)
            _list_examples(one, other, places[:show], data)


def _list_examples(one: Scored, other: Scored, places: Sequence[int], data: Path | None) -> None:
    """Examples with their gold programs, and with the programs of the files that have them."""
    from tpn2f.compare import examples_of

    examples = examples_of(one, data) if places else []
    for place in places:
        example = examples[place]
        lines = [f"{example.id or place}  {example.text}", f"  gold  {example.program}"]
        for name, scored in (("A", one), ("B", other)):
            if scored.predictions:
                lines.append(f"  {name}     {scored.predictions[place] or 'no program'}")
        out.print("\n".join(lines), soft_wrap=True, markup=False, emoji=False)


def results(
    root: Annotated[Path, typer.Argument(help="The project's folder.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Only check whether the tables are up to date.")] = False,
) -> None:
    """Fill the tables of README.md and docs/results.md from the files in results/."""
    from tpn2f.publish.tables import stale_pages, write_tables

    if check:
        stale = stale_pages(root)
        if stale:
            raise DataError(f"out of date: {', '.join(map(str, stale))}; run `tpn2f results`")
        out.print("the tables are up to date")
    else:
        changed = write_tables(root)
        out.print("\n".join(f"written: {page}" for page in changed) or "the tables are up to date")
