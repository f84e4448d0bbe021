"""The command that calibrates: makes a model's confidence agree with how often it is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tpn2f.cli.console import bearing
from tpn2f.cli.terminal import (
    DataOption,
    JsonOption,
    OtherDomainOption,
    TrustOption,
    WidthOption,
    check_targets,
    err,
    out,
    spinner,
    write,
)
from tpn2f.domain import Splits, split_roles


def calibrate(
    model: Annotated[str, typer.Argument(help="A run directory, a checkpoint or a bundled model.")],
    split: Annotated[
        str | None,
        typer.Option(help="The split to calibrate on: one half to fit, the other half to judge. Default: dev."),
    ] = None,
    width: WidthOption = 1,
    goal: Annotated[float, typer.Option(min=0.5, max=1.0, help="The precision at which coverage is reported.")] = 0.95,
    limit: Annotated[int, typer.Option(min=0, help="How many examples to use; 0 for all.")] = 0,
    by_answer: Annotated[
        bool, typer.Option("--by-answer", help="A right answer counts as right, even if the program is another one.")
    ] = False,
    dry: Annotated[bool, typer.Option("--dry", help="Only measure; do not change the model.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the figures as JSON to this file.")] = None,
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a model's confidence: fit a temperature on dev, measure the effect, and store it with the model."""
    from tpn2f.cli.display import show_calibration
    from tpn2f.confidence import calibrate as find
    from tpn2f.confidence import facts, judge, write_calibration
    from tpn2f.evaluation import digest
    from tpn2f.solver import Solver, find_model

    check_targets(output)
    if not dry:
        check_targets(find_model(model).parent, folders=True)
    with spinner("loading the model") as update:
        solver = Solver.load(model, data, domain, trust)
        splits = Splits(solver.domain)
        split = split or split_roles(solver.domain).select
        halves = judge(
            solver,
            split,
            width,
            limit,
            lambda done, total: update(f"solving {split}: {done:,} of {total:,}"),
            splits,
            by_answer,
        )
        found = find(*halves, goal)
    mode = "greedy" if width == 1 else f"beam {width}"
    told = {
        "model": Path(model).name,
        "domain": solver.domain.name,
        "split": split,
        "mode": mode,
        "right": "by answer" if by_answer else "strictly",
        **facts(found),
    }
    text = json.dumps(told | {"examples_sha256": digest(splits.take(split))}, indent=1)
    with bearing(out, err):
        if as_json:
            out.print(text, soft_wrap=True, markup=False)
        else:
            show_calibration(out, found)
    if not dry:
        place = write_calibration(model, found)
        err.print(f"temperature and threshold written into {escape(str(place))}", soft_wrap=True)
    if output is not None:
        write(output, text)
