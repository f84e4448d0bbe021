"""The command that calibrates: makes a model's confidence agree with how often it is right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.cli.console import bearing
from tpn2f.cli.terminal import (
    DataOption,
    JsonOption,
    OtherDomainOption,
    TrustOption,
    check_targets,
    err,
    out,
    spinner,
    write,
)
from tpn2f.domain import JudgesAnswers, Splits, split_roles
from tpn2f.errors import DataError

if TYPE_CHECKING:
    from tpn2f.confidence import Considered, Judged
    from tpn2f.solver import Solver
    from tpn2f.trust.belief import Belief


def calibrate(
    model: Annotated[str, typer.Argument(help="A run directory, a checkpoint or a bundled model.")],
    split: Annotated[
        str | None,
        typer.Option(help="The split to calibrate on, or several joined by a plus. Default: that of the domain."),
    ] = None,
    width: Annotated[
        int,
        typer.Option("--beam", min=0, max=100, help="How many hypotheses the search keeps; 0 as people are answered."),
    ] = 0,
    goal: Annotated[float, typer.Option(min=0.5, max=1.0, help="The precision at which coverage is reported.")] = 0.95,
    trusted: Annotated[
        float, typer.Option(min=0.5, max=1.0, help="The share of answers not called guesses that is to be right.")
    ] = 0.85,
    limit: Annotated[int, typer.Option(min=0, help="How many examples of each split to use; 0 for all.")] = 0,
    by_answer: Annotated[
        bool, typer.Option("--by-answer", help="A right answer counts as right, even if the program is another one.")
    ] = False,
    second: Annotated[
        str | None,
        typer.Option(help="A bundled model of the same domain that is asked for a second opinion from now on."),
    ] = None,
    remember: Annotated[
        bool, typer.Option(help="Let the model remember its training texts, to know what is like them.")
    ] = True,
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Fit nothing: measure the calibrated model on any split, by the answer."),
    ] = False,
    dry: Annotated[bool, typer.Option("--dry", help="Only measure; do not change the model.")] = False,
    output: Annotated[Path | None, typer.Option(help="Also write the figures as JSON to this file.")] = None,
    domain: OtherDomainOption = None,
    trust_files: TrustOption = False,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Calibrate a model's confidence: fit it on dev, measure it on sources left out, and store it with the model."""
    from tpn2f.cli.display import show_calibration, show_trust
    from tpn2f.confidence import calibrate as find
    from tpn2f.confidence import consider, facts, find_trust, halves, make_memory, write_calibration
    from tpn2f.evaluation import digest
    from tpn2f.pretrained import find_model
    from tpn2f.solver import Solver

    check_targets(output)
    if measure:
        _measure(model, split, width, limit, output, domain, trust_files, data, as_json)
        return
    if not dry:
        check_targets(find_model(model).parent, folders=True)
    with spinner("loading the model") as update:
        solver = Solver.load(model, data, domain, trust_files)
        solver.second = solver.load_second(second, str(model))
        splits, width = Splits(solver.domain), width or solver.usual_width
        split = split or split_roles(solver.domain).calibrate
        solver.memory = None
        if remember:
            update("reading what the model learned from")
            try:
                solver.memory = make_memory(solver.domain, solver.learned_from, splits)
            except DataError as error:
                err.print(f"without a memory of the training texts: {escape(str(error))}", soft_wrap=True)
        considered = consider(
            solver,
            split,
            width,
            limit,
            lambda done, total: update(f"solving {split}: {done:,} of {total:,}"),
            splits,
            by_answer,
        )
        choice, judged = _choose(solver, considered, width)
        found, trust = find(*halves(judged), goal), find_trust(judged, trusted)
    mode = _mode(width)
    told = {
        "model": Path(model).name,
        "domain": solver.domain.name,
        "split": split,
        "mode": mode,
        "right": "by answer" if by_answer else "strictly",
        **facts(found),
        "second": second,
        "choice": None if choice is None else choice.to_json(),
        "trust": trust.facts(),
    }
    text = json.dumps(told | {"examples_sha256": digest(splits.take(split))}, indent=1)
    with bearing(out, err):
        if as_json:
            out.print(text, soft_wrap=True, markup=False)
        else:
            show_calibration(out, found)
            show_trust(out, trust)
    if not dry:
        place = write_calibration(model, found, trust, solver.memory, choice, second)
        err.print(f"confidence written into {escape(str(place))}", soft_wrap=True)
    if output is not None:
        write(output, text)


def _choose(solver: Solver, considered: Sequence[Considered], width: int) -> tuple[Belief | None, list[Judged]]:
    """The choice among candidates, where there is any, and the answers that it gives to what it was not fitted on."""
    from tpn2f.confidence import choose_outside, find_choice

    if width == 1 or not isinstance(solver.domain, JudgesAnswers):
        return None, [one.taken(None, chooses=isinstance(solver.domain, JudgesAnswers)) for one in considered]
    try:
        return find_choice(considered), choose_outside(considered)
    except DataError:  # nothing to choose: all candidates are right, or none is
        return None, [one.taken(None) for one in considered]


def _mode(width: int) -> str:
    return "greedy" if width == 1 else f"beam {width}"


def _measure(
    model: str,
    split: str | None,
    width: int,
    limit: int,
    output: Path | None,
    domain: str | None,
    trust_files: bool,
    data: Path | None,
    as_json: bool,
) -> None:
    """What the stored confidence is worth on splits that it was not fitted on; these may be for tests."""
    from tpn2f.cli.display import show_left_out
    from tpn2f.confidence import judge, measure_sources
    from tpn2f.evaluation import digest
    from tpn2f.solver import Solver

    with spinner("loading the model") as update:
        solver = Solver.load(model, data, domain, trust_files)
        if solver.belief is None:
            raise DataError(f"{model} has no confidence by signals yet; calibrate it first")
        splits, width = Splits(solver.domain), width or solver.usual_width
        split = split or "+".join(split_roles(solver.domain).tests)
        judged = judge(
            solver,
            split,
            width,
            limit,
            lambda done, total: update(f"solving {split}: {done:,} of {total:,}"),
            splits,
            by_answer=True,
            tests=True,
        )
        found = measure_sources(solver.belief, judged, solver.guess_below)
    told = {
        "model": Path(model).name,
        "domain": solver.domain.name,
        "split": split,
        "mode": _mode(width),
        "right": "by answer",
        "guess_below": solver.guess_below,
        "sources": [asdict(one) for one in found],
        "examples_sha256": digest([example for part in split.split("+") for example in splits.take(part, limit)]),
    }
    text = json.dumps(told, indent=1)
    if as_json:
        out.print(text, soft_wrap=True, markup=False)
    else:
        show_left_out(out, found, "confidence on sources that it was not fitted on")
    if output is not None:
        write(output, text)
