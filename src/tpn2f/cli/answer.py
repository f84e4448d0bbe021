"""The commands that answer: run a program, solve a question, show what all this is about."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tpn2f.cli.terminal import DataOption, DomainOption, ModelOption, WidthOption, out, read_input
from tpn2f.domain import load_domain
from tpn2f.errors import DataError
from tpn2f.program import Program, read_tree


def run(
    program: Annotated[
        str, typer.Argument(help="The program: 'add(n0,n1)|divide(#0,const_2)' or '(map a (partial1 b -))'.")
    ],
    question: Annotated[
        str, typer.Option("--question", "-q", help="The problem in words; its numbers are n0, n1, ...")
    ] = "",
    value: Annotated[
        list[str] | None, typer.Option("--input", "-i", help="A value by name, as JSON: a='[1,2,3]'.")
    ] = None,
    domain: DomainOption = "mathqa",
) -> None:
    """Run a program of yours on a problem of yours, step by step where the language has steps."""
    from tpn2f.display import show_run

    language = load_domain(domain)
    parsed = Program.from_tree(read_tree(program)) if program.lstrip().startswith("(") else Program.parse(program)
    show_run(out, language, parsed, question, dict(read_input(text) for text in value or []))


def demo() -> None:
    """See the executors at work on problems of the paper and on some of our own."""
    from tpn2f.demo import show_demo

    show_demo(out)


def solve(
    question: Annotated[
        list[str] | None, typer.Argument(help="Questions; without any, one a line from standard input.")
    ] = None,
    model: ModelOption = None,
    width: WidthOption = 1,
    data: DataOption = None,
) -> None:
    """Solve problems in plain language with a trained model: the program, its steps, the answer, the confidence."""
    from tpn2f.display import show_solution
    from tpn2f.solver import Solver

    if model is None:
        raise DataError("name a trained model with --model, such as runs/arithmetic; none is bundled yet")
    solver = Solver.load(model, data)
    questions = question or (line.strip() for line in sys.stdin if line.strip())
    for text in questions:
        show_solution(out, text, solver.solve(text, width))
