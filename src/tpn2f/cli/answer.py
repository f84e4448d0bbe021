"""The commands that answer: run a program, solve a question, show a demo."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tpn2f.bulk.records import Unread, add_given
from tpn2f.cli.bulk import AddressOption, OnOption, WorkersOption, choose_engine, solve_into
from tpn2f.cli.display import show_run, show_solution
from tpn2f.cli.questions import Line, count_questions, open_questions
from tpn2f.cli.terminal import (
    DataOption,
    DomainOption,
    InputOption,
    ModelOption,
    OtherDomainOption,
    TrustOption,
    err,
    out,
    read_input,
    spinner,
)
from tpn2f.domain import DEFAULT_DOMAIN, load_domain
from tpn2f.errors import DataError
from tpn2f.program import Program, read_tree
from tpn2f.solution import Question, Solution
from tpn2f.wording import clean, cut

if TYPE_CHECKING:
    from tpn2f.solver import Solver

ASK = "Your own question (empty to end)"


def run(
    program: Annotated[
        str, typer.Argument(help="The program: 'add(n0,n1)|divide(#0,const_2)' or '(map a (partial1 b -))'.")
    ],
    question: Annotated[
        str, typer.Option("--question", "-q", help="The problem in words; its numbers are n0, n1, ...")
    ] = "",
    value: InputOption = None,
    domain: DomainOption = DEFAULT_DOMAIN,
) -> None:
    """Run your own program on your own problem, step by step where the language has steps."""
    language = load_domain(domain)
    parsed = Program.from_tree(read_tree(program)) if program.lstrip().startswith("(") else Program.parse(program)
    show_run(out, language, parsed, question, dict(read_input(text) for text in value or []))


def demo(
    question: Annotated[str | None, typer.Argument(help="Your own question, solved together with the others.")] = None,
    model: ModelOption = None,
) -> None:
    """See it work: word problems solved step by step, also one of your own, and Lisp programs run on inputs."""
    from tpn2f.cli.demo import load_demo, show_demo

    with spinner("loading the models"):
        solver, lisp = load_demo(model)
    asking = question is None and sys.stdin.isatty() and out.is_terminal
    show_demo(
        out,
        solver and solver.solve,
        own=question or "",
        ask=(lambda: typer.prompt(ASK, default="", show_default=False)) if asking else None,
        solve_lisp=lisp and (lambda text, inputs: lisp.solve(text, inputs=inputs)),
    )


def solve(
    question: Annotated[
        list[str] | None,
        typer.Argument(help="Questions. Without any, they are read from standard input, one per line."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            "-f",
            help="A file of questions, one per line, or JSONL with `question`, `options`, `inputs`; with --output also "
            "CSV and Parquet.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Write the answers into this folder, part by part. A stopped command continues there."),
    ] = None,
    kind: Annotated[
        str, typer.Option("--format", help="The format of the answers: jsonl, csv, parquet. Default: as the file.")
    ] = "",
    on: OnOption = "here",
    workers: WorkersOption = 0,
    address: AddressOption = None,
    options: Annotated[
        str | None, typer.Option("--options", "-o", help="Answers to choose from: 'a ) 38 , b ) 27.675 , ...'.")
    ] = None,
    model: ModelOption = None,
    width: Annotated[
        int,
        typer.Option("--beam", min=0, max=100, help="How many hypotheses the search keeps; 1 is greedy, 0 as usual."),
    ] = 0,
    alternatives: Annotated[int, typer.Option(min=0, max=99, help="How many other programs to show as well.")] = 0,
    abstain_below: Annotated[float, typer.Option(min=0.0, max=1.0, help="Give no answer below this confidence.")] = 0.0,
    program: Annotated[bool, typer.Option("--program", help="Also show the program that the model wrote.")] = False,
    value: InputOption = None,
    domain: OtherDomainOption = None,
    trust: TrustOption = False,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Solve problems in plain language with a trained model: the steps, the answer, how sure it is, what to doubt.

    Without --model the default bundled model is used; --domain selects the bundled model of another domain. A text that
    is no question is refused; a line of a file that cannot be read is reported and left out. The exit code is then 1.
    """
    if question and file is not None:
        raise DataError("questions were given both as arguments and with --file; expected only one of the two")
    if not question and file is None and sys.stdin.isatty():
        raise DataError(
            'there is no question: write one in quotes, as in tpn2f solve "What is 20 percent of 50?", name a file '
            "with --file, or pipe questions in, one per line"
        )
    inputs = dict(read_input(text) for text in value or [])
    engine = choose_engine(on, workers, address)
    if output is not None:
        from tpn2f.bulk.answers import HowAsked

        where, language, folder = (None if place is None else str(place) for place in (model, domain, data))
        asking = HowAsked(where, language, folder, trust, width, abstain_below, inputs, options and clean(options))
        if solve_into(file, output, asking, engine, kind):
            raise typer.Exit(1)
        return
    if engine.name == "ray" or kind:
        raise DataError("--on ray and --format are for answers in a folder: name one with --output")
    with ExitStack() as stack:
        if question:
            lines = iter([Line("", Question(text)) for text in question])
        else:
            lines = stack.enter_context(open_questions(file))
        with spinner("loading the model"):
            from tpn2f.solver import Solver

            solver = Solver.load(model, data, domain, trust)
        # Questions that are typed or piped are answered line by line, those of a file in batches.
        piped = not question and (file is None or str(file) == "-")
        total = len(question or ()) or (0 if piped or file is None else count_questions(file))
        batch = 1 if piped else 32
        told = Told(
            solver,
            max(width or solver.usual_width, alternatives + 1),
            batch,
            alternatives,
            abstain_below,
            as_json,
            program,
        )
        given = (Line(line.where, add_given(line.asked, inputs, options and clean(options))) for line in lines)
        failed = told.answer(given, total, alone=question is not None and len(question) == 1)
    if failed:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class Told:
    """How questions are answered on this terminal."""

    solver: Solver
    width: int
    batch_size: int
    alternatives: int
    abstain_below: float
    as_json: bool
    program: bool = False

    def answer(self, lines: Iterator[Line], total: int, alone: bool) -> int:
        """Prints the answers in order, as soon as they are ready; returns how many lines could not be read."""
        failed = done = 0
        with progress_line() as update:
            while part := list(islice(lines, self.batch_size)):
                asked = [line.asked for line in part if isinstance(line.asked, Question)]
                solved = self.solver.solve_all(asked, self.width, self.batch_size, self.alternatives > 0)
                for line in part:
                    solution = None if isinstance(line.asked, Unread) else next(solved)
                    reason = line.asked.reason if isinstance(line.asked, Unread) else ""
                    if solution is not None and solution.program is None:
                        reason = solution.error
                    if reason and alone and not (solution is not None and solution.refused):
                        raise DataError(reason)
                    if reason:
                        failed += 1
                        self.show_failure(line.where, reason, solution, alone)
                    elif solution is not None:
                        self.show(solution)
                    done += 1
                    update(f"solved {done:,}{f' of {total:,}' if total else ''}")
        return failed

    def show(self, solution: Solution) -> None:
        shown = replace(solution, alternatives=solution.alternatives[: self.alternatives])
        if self.as_json:
            print_json(shown.to_json(self.abstain_below))
        else:
            show_solution(out, shown, self.abstain_below, self.program)

    def show_failure(self, where: str, reason: str, solution: Solution | None, alone: bool) -> None:
        text = "" if solution is None else solution.text
        place = f"{where}: " if where else "" if alone else f"question {cut(text, 40)!r}: "
        err.print(f"[bold red]tpn2f:[/] {escape(' '.join(f'{place}{reason}'.split()))}", soft_wrap=True)
        if self.as_json:
            refused = solution is not None and solution.refused
            print_json({"question": text, "error": reason, "refused": refused, "where": where})


def print_json(record: Mapping[str, object]) -> None:
    """Writes one line at once, so that whoever reads a pipe need not wait."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(record, ensure_ascii=plain)
    # JSON itself escapes only the older half of the signs that control a terminal.
    sys.stdout.write(re.sub("[\x7f-\x9f]", lambda sign: f"\\u{ord(sign[0]):04x}", text) + "\n")
    sys.stdout.flush()


@contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Shows the progress where the answers themselves do not show it."""
    if out.is_terminal:
        yield lambda message: None
    else:
        with spinner("solving") as update:
            yield update
