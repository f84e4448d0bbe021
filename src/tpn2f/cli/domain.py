"""The commands for your own domain: start one, check it, show its language."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tpn2f.cli.terminal import DataOption, JsonOption, err, out, spinner
from tpn2f.domain import HasDoc, HasMentions, inputs_of, load_domain

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
def domain_check(domain: SpecArgument, data: DataOption = None, as_json: JsonOption = False) -> None:
    """Check a domain against the contract and report in plain words what is wrong; exit code 1 if there are errors.

    Finds programs that cannot be parsed, unknown relations, wrong arities and types, ambiguous texts, leaks between
    splits, gold programs that do not run, and functions that never end or use too much memory. The check runs in a
    separate process.
    """
    from tpn2f.contract.isolated import inspect_domain

    colours = {"note": "", "warning": "[yellow]warning[/]  ", "error": "[red]error[/]  "}
    findings = []
    with spinner(f"checking {domain}") as update:
        for finding in inspect_domain(domain, data, lambda what: update(escape(f"checking {domain}: {what}"[:100]))):
            findings.append(finding)
            if not as_json:
                out.print(f"{colours[finding.level]}{escape(finding.text)}", soft_wrap=True)
    if as_json:
        text = json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False)
        out.print(text, soft_wrap=True, markup=False)
    errors = sum(finding.level == "error" for finding in findings)
    warnings = sum(finding.level == "warning" for finding in findings)
    counted = f"{errors} error{'s' * (errors != 1)}, {warnings} warning{'s' * (warnings != 1)}"
    err.print("nothing is wrong" if not errors + warnings else counted)
    if errors:
        raise typer.Exit(1)


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
