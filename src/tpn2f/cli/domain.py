"""The commands for your own domain: start one, check it, show its language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tpn2f.cli.terminal import DataOption, JsonOption, err, out, spinner
from tpn2f.domain import HasDoc, HasMentions, inputs_of, load_domain
from tpn2f.wording import cut

domain_app = typer.Typer(help="Start, check and show your own domain.", no_args_is_help=True)

SpecArgument = Annotated[
    str,
    typer.Argument(
        metavar="DOMAIN", help="Your domain as file.py:Name or file.py, or the name of an installed domain."
    ),
]


@domain_app.command("new")
def domain_new(
    name: Annotated[str, typer.Argument(help="The name of the domain: lowercase letters, digits and _.")],
    folder: Annotated[Path, typer.Option(help="Where to write the files.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write a commented starter domain, NAME.py, and its tests, test_NAME.py."""
    from tpn2f.functions.starter import write_starter

    for path in write_starter(name, folder, force):
        out.print(f"written: {escape(str(path))}", soft_wrap=True)
    out.print(f"next: tpn2f domain check {escape(str(folder / name))}.py", soft_wrap=True)


@domain_app.command("check")
def domain_check(
    domain: SpecArgument,
    model: Annotated[
        str | None, typer.Option(help="A model of the domain: also show what it answers to training texts reworded.")
    ] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a domain against the contract and report in plain words what is wrong; exit code 1 if there are errors.

    Finds programs that cannot be parsed, unknown relations, wrong arities and types, ambiguous texts, leaks between
    splits, gold programs that do not run, and functions that never end or use too much memory. Warns where the training
    texts say things in few ways, and shows what other words would do. The check runs in a separate process.
    """
    from tpn2f.contract.checks import Finding
    from tpn2f.contract.isolated import inspect_domain

    colours = {"note": "", "warning": "[yellow]warning[/]  ", "error": "[red]error[/]  "}
    findings = []
    with spinner(f"checking {domain}") as update:
        for finding in inspect_domain(domain, data, lambda what: update(escape(f"checking {domain}: {what}"[:100]))):
            findings.append(finding)
            if not as_json:
                out.print(f"{colours[finding.level]}{escape(finding.text)}", soft_wrap=True)
    if model is not None:
        with spinner(f"asking {model}"):
            for line in _reworded(model, domain, data):
                findings.append(Finding("note", line))
                if not as_json:
                    out.print(escape(line), soft_wrap=True)
    if as_json:
        text = json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False)
        out.print(text, soft_wrap=True, markup=False)
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    counted = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    err.print("nothing is wrong" if not errors + warnings else counted)
    if errors:
        raise typer.Exit(1)


def _reworded(model: str, spec: str, data: Path | None) -> Iterator[str]:
    """What a model answers to training texts in other words, beside what it answers to the texts themselves."""
    from tpn2f.contract.checks import learned_examples
    from tpn2f.contract.variety import rewordings
    from tpn2f.solution import Question
    from tpn2f.solver import Solver

    solver = Solver.load(model, data, spec)
    examples = learned_examples(
        solver.domain, {split: list(solver.domain.examples(split)) for split in solver.domain.splits}
    )
    given = examples[0].problem.bindings if examples else {}
    inputs = {name: given[name] for name in inputs_of(solver.domain) if name in given}
    for how, before, after in rewordings(examples):
        one, other = solver.solve_all([Question(before, inputs), Question(after, inputs)])
        same = "the same program" if one.program == other.program else "another program"
        told = f"{same}, {other.certainty}" if other.program is not None else other.error
        yield f"{how}: {cut(before, 60)!r} as {cut(after, 60)!r}: {'; '.join((told, *other.doubts))}"


@domain_app.command("show")
def domain_show(domain: SpecArgument, data: DataOption = None) -> None:
    """Show the language of a domain: its relations with types and help, its constants, and what texts mention."""
    language = load_domain(domain, data)
    out.print(
        f"[bold]{escape(language.name)}[/]  {escape(language.doc if isinstance(language, HasDoc) else '')}",
        soft_wrap=True,
    )
    for relation, signature in language.relations.items():
        told = f"  [bold]{escape(relation)}[/]{escape(str(signature))}"
        out.print(told + (f"  {escape(signature.doc)}" if signature.doc else ""), soft_wrap=True)
    kinds: dict[str, list[str]] = {}
    for constant, kind in language.constants.items():
        kinds.setdefault(kind, []).append(constant)
    for kind, words in kinds.items():
        out.print(f"  {escape(kind)}: {escape(', '.join(words))}", soft_wrap=True)
    for mention in language.mentions if isinstance(language, HasMentions) else ():
        told = f"{mention.prefix}0, {mention.prefix}1, ...: {mention.kind.name} in the text"
        out.print(f"  {told}{f' ({escape(mention.doc)})' * bool(mention.doc)}", soft_wrap=True)
    for name, known in inputs_of(language).items():
        out.print(f"  {name}: {escape(known.kind.name)}, given with --input  {escape(known.doc)}", soft_wrap=True)
