"""The commands that produce what is published: the tables of results, and the models that come with the package."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.learn import train_run
from tpn2f.cli.terminal import DataOption, OtherDomainOption, TrustOption, check_targets, err, out, spinner, write
from tpn2f.errors import DataError

if TYPE_CHECKING:
    from tpn2f.config import Config
    from tpn2f.solver import Solver

RunsOption = Annotated[Path, typer.Option("--runs", help="The folder of the run directories.")]
RootOption = Annotated[Path, typer.Option("--root", help="The project's folder, with configs/ and results/.")]


def reproduce(
    table: Annotated[str, typer.Argument(help="The table: mathqa, algolisp, everyday or ablation.")],
    row: Annotated[list[str] | None, typer.Option(help="Only these rows, such as mathqa-tp2lstm.")] = None,
    runs: RunsOption = Path("runs"),
    root: RootOption = Path(),
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change a setting of every row.")] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Train nothing: score each row as far as it is trained.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the plan: rows, epochs, estimated time.")
    ] = False,
    data: DataOption = None,
) -> None:
    """Reproduce a table of results: train the rows that are not trained yet, score them on test, write the tables.

    A training that was stopped continues from its last checkpoint. Every report says how many epochs its row had.
    Rows of the ablation that are scored already are left as they are.
    """
    from tpn2f.publish.plan import plan_rows, whole_plan
    from tpn2f.publish.reproduce import SEVERAL, TABLES, row_config
    from tpn2f.publish.tables import write_tables

    if table not in (*TABLES, *SEVERAL):
        raise DataError(f"there is no table {table!r}; there are {', '.join((*TABLES, *SEVERAL))}")
    tables = SEVERAL.get(table, (table,))
    known = [name for one in tables for name in TABLES[one].rows]
    for name in row or ():
        if name not in known:
            raise DataError(f"{table} has no row {name!r}; it has {', '.join(known)}")
    chosen = {
        one: {
            name: row_config(root / "configs", name, settings or [])
            for name in TABLES[one].rows
            if name in (row or known)
        }
        for one in tables
    }
    results = root / "results"
    plan = [planned for one, configs in chosen.items() for planned in plan_rows(one, configs, runs, results)]
    for line in (*map(str, plan), whole_plan(plan)) if dry_run or not unfinished else ():
        (out if dry_run else err).print(line, soft_wrap=True, markup=False)
    if dry_run:
        return
    check_targets(results, folders=True)
    for one, configs in chosen.items():
        for name, config in configs.items():
            if not unfinished:
                err.print(f"[bold]{escape(name)}[/]")
            _reproduce_row(one, name, config, runs, results, data, unfinished)
        _score_systems(one, results, data)
    for page in write_tables(root):
        out.print(f"written: {page}", soft_wrap=True, markup=False)
    out.print("What to keep in mind:")
    for line in dict.fromkeys(line for one in tables for line in TABLES[one].differences):
        out.print(f"* {line}", soft_wrap=True, markup=False)


def _reproduce_row(
    table: str, row: str, config: Config, runs: Path, results: Path, data: Path | None, unfinished: bool
) -> None:
    """Trains a row as far as it is not, and writes its reports."""
    from tpn2f.publish.reproduce import TABLES, is_kept, report_path, score_row
    from tpn2f.setting import names_files

    known, run = TABLES[table], runs / row
    if is_kept(table, row, config, results):
        err.print(f"{escape(row)}: scored already", soft_wrap=True)
        return
    if not unfinished:
        again = f"tpn2f reproduce {table} --runs {runs}"
        if code := train_run(config, run, data, resume=True, again=again):
            raise typer.Exit(code)
    elif not (run / "checkpoints" / "best").exists():
        err.print(f"{escape(row)}: not trained yet, left out", soft_wrap=True)
        return
    with spinner(f"scoring {row}") as update:
        reports = score_row(
            run,
            row,
            known.rows[row],
            known.splits,
            data,
            lambda split, done, total: update(f"scoring {row} on {split}: {done:,} of {total:,}"),
            # What the person's own settings name as a file, the training has run already.
            trust=names_files(config),
            limit=known.limit,
        )
        for split, mode, report in reports:
            write(report_path(results, table, split, row, mode), report.to_json())
            told = f"{report.title}: {known.metric} {report.whole.metrics[known.metric]}"
            out.print(told, soft_wrap=True, markup=False)


def _score_systems(table: str, results: Path, data: Path | None) -> None:
    """The systems without weights that stand in a table, where they are not scored yet."""
    from tpn2f.domain import load_domain
    from tpn2f.evaluation import evaluate_system
    from tpn2f.publish.reproduce import TABLES, report_path, stamped

    for system, split in product(TABLES[table].systems, TABLES[table].splits):
        place = report_path(results, table, split, system)
        if not place.exists():
            with spinner(f"scoring {system} on {split}"):
                write(place, stamped(evaluate_system(load_domain(table, data), split, system)).to_json())


def bundle(
    run: Annotated[Path, typer.Argument(help="The run directory whose best weights are taken.")],
    name: Annotated[str, typer.Argument(help="The name of the bundled model, such as mathqa.")],
    report: Annotated[
        list[Path] | None, typer.Option(help="Reports of exactly these weights, for the model card; see `reproduce`.")
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(help="A folder to write the model to, in the layout of model hubs. Default: the package."),
    ] = None,
    licence: Annotated[
        str, typer.Option(help="The licence of the model, as hubs name it, for the card.")
    ] = "apache-2.0",
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
) -> None:
    """Write a trained model to give away: float16 weights, vocabularies, config, a card and a map of its relations.

    With --to it is a folder that `Solver.load` and `--model` take, and that can be put on a model hub as it is: the
    card is its README.md. Nothing is sent anywhere. The map that the explorer shows needs the extra `web` and the data.
    """
    from tpn2f.pretrained import PRETRAINED
    from tpn2f.publish.bundle import write_bundle
    from tpn2f.solver import Solver

    check_targets(to or PRETRAINED, folders=True)
    reports = []
    for path in report or []:
        try:
            reports.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not a report: {error}") from error
    texts = {}
    try:
        texts = _map(Solver.load(run, data, domain, trust), name)
    except DataError as error:
        err.print(f"without a map of relations: {escape(str(error))}", soft_wrap=True)
    place = write_bundle(run, name, reports, to, texts, licence)
    out.print(f"written: {place}", soft_wrap=True, markup=False)


def _map(solver: Solver, name: str) -> dict[str, str]:
    """The map of relations that the explorer shows; nothing where its extra is not installed."""
    try:
        from tpn2f.web.relations import MAP, draw_map
    except ImportError:
        return {}
    return {MAP: draw_map(solver, name).model_dump_json()}
