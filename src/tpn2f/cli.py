"""The command line: reads arguments, calls the library, prints. It holds no logic of its own.

Whatever goes wrong for a reason that the user can act on is one line on standard error and exit code 2.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from tpn2f.domain import Domain, load_domain
from tpn2f.errors import CheckpointError, DataError, N2FError
from tpn2f.program import Program, read_tree

if TYPE_CHECKING:
    from tpn2f.training import Trainer

app = typer.Typer(
    name="tpn2f",
    help="Plain-language problems to formal programs that run: TP-N2F.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data_app = typer.Typer(help="Fetch, check and look at data sets.", no_args_is_help=True)
app.add_typer(data_app, name="data")

# No emoji codes: a ratio `a:b:c` is to stay what it is.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)

DomainOption = Annotated[
    str, typer.Option("--domain", "-d", help="An installed domain, or a domain of your own as file.py:Name.")
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", help="The folder of the data sets. Default: TPN2F_DATA, ./data, ../shared/data, the cache."),
]
ModelOption = Annotated[
    Path | None, typer.Option("--model", "-m", help="A run directory or a checkpoint, such as runs/arithmetic.")
]
WidthOption = Annotated[int, typer.Option("--beam", min=1, max=100, help="Hypotheses of the search; 1 is greedy.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
DomainArgument = Annotated[
    str, typer.Argument(help="The data set's domain: mathqa, algolisp, arithmetic, file.py:Name.")
]


def main() -> None:
    """The entry point: errors of ours become one line, Ctrl-C is quiet."""
    try:
        code = app(prog_name="tpn2f", standalone_mode=False)
    except N2FError as error:
        fail(str(error))
    except typer.Abort:
        fail("stopped", code=130)
    except KeyboardInterrupt:
        fail("stopped", code=130)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:
        # Typer's own usage errors know how to show themselves.
        if not hasattr(error, "show"):
            raise
        error.show()  # type: ignore[attr-defined]
        sys.exit(getattr(error, "exit_code", 2))
    # Typer turns Ctrl-C into a result; any other whole number is a command's wish to leave with it.
    if code == 130:
        fail("stopped", code=130)
    if isinstance(code, int):
        sys.exit(code)


def fail(message: str, code: int = 2) -> NoReturn:
    """One clear line and the exit code."""
    err.print(f"[bold red]tpn2f:[/] {escape(' '.join(message.split()))}", soft_wrap=True)
    sys.exit(code)


@app.command()
def version() -> None:
    """Print the version of tpn2f and of what it runs on."""
    from importlib.metadata import version as installed

    out.print(f"tpn2f {installed('tpn2f')}, torch {installed('torch')}, Python {sys.version.split()[0]}")


@app.command()
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
    show_run(out, language, parsed, question, dict(_read_input(text) for text in value or []))


@app.command()
def demo() -> None:
    """See the executors at work on problems of the paper and on some of our own."""
    from tpn2f.demo import show_demo

    show_demo(out)


@app.command()
def evaluate(
    domain: DomainOption = "mathqa",
    split: Annotated[str, typer.Option(help="Which examples to score.")] = "dev",
    model: ModelOption = None,
    width: WidthOption = 1,
    masks: Annotated[bool, typer.Option(help="Let only well-formed programs out of a model.")] = True,
    guided: Annotated[bool, typer.Option("--guided", help="Take the best candidate of the beam that runs.")] = False,
    system: Annotated[str, typer.Option(help="Without a model, what answers: retrieval, gold or empty.")] = "retrieval",
    predictions: Annotated[
        Path | None, typer.Option(help="Score this file instead: one JSON object a line with the field `program`.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write a model's predictions to this file.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="Score only so many examples; 0 for all.")] = 0,
    output: Annotated[Path | None, typer.Option(help="Also write the report as JSON to this file.")] = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a model, a system without weights, or anybody's prediction file, strictly and in the published way.

    The retrieval baseline answers with the program of the nearest training problem: the floor for every model.
    """
    from tpn2f.evaluation import evaluate_file, evaluate_model, evaluate_system, write_predictions

    started = time.perf_counter()
    with _spinner(f"scoring {split}") as update:
        if model is not None:
            from tpn2f.solver import Solver

            solver = Solver.load(model, data)
            language = solver.domain
            report, examples, programs = evaluate_model(
                solver,
                split,
                model.name,
                width,
                masks,
                guided,
                limit,
                lambda done, total: update(f"solving {split}: {done:,} of {total:,}"),
            )
            if save is not None:
                write_predictions(save, examples, programs)
        else:
            language = load_domain(domain, data)
            if predictions is not None:
                report = evaluate_file(language, split, predictions, limit)
            else:
                report = evaluate_system(language, split, system, limit)
    _warn_skipped(language)
    out.print(report.to_json() if as_json else str(report), soft_wrap=True, markup=False, emoji=False)
    if output is not None:
        _write(output, report.to_json())
        err.print(f"written to {escape(str(output))} after {time.perf_counter() - started:.1f} s", soft_wrap=True)


@app.command()
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


@app.command()
def train(
    config: Annotated[Path, typer.Argument(help="A config file, such as configs/mathqa.toml.")],
    folder: Annotated[Path | None, typer.Option(help="The run directory. Default: runs/NAME.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint of the run.")] = False,
    force: Annotated[bool, typer.Option(help="Resume although the config or the data changed.")] = False,
    settings: Annotated[list[str] | None, typer.Option("--set", help="Change a setting: training.epochs=10.")] = None,
    data: DataOption = None,
) -> None:
    """Train a model from a config file. Ctrl-C saves; --resume goes on bit for bit.

    With several processes: torchrun --standalone --nproc-per-node 2 -m tpn2f train CONFIG --resume.
    """
    import torch

    from tpn2f.checkpoint import locked
    from tpn2f.config import load_config
    from tpn2f.crew import gather_crew
    from tpn2f.display import show_training
    from tpn2f.kernels import keep_memory
    from tpn2f.training import Trainer

    # Sharp softmaxes make numbers so small that a CPU slows down on them; see also `keep_memory`.
    torch.set_flush_denormal(True)
    keep_memory()
    setup = load_config(config, settings or [])
    place = folder or Path("runs") / setup.name
    with gather_crew() as crew, locked(place) if crew.leads else nullcontext():
        if not resume and (place / "checkpoints" / "last").exists():
            raise CheckpointError(f"{place} already holds a training: go on with --resume, or choose another --folder")
        crew.wait()
        with _spinner(f"reading {setup.data.domain}"):
            trainer = Trainer(setup, load_domain(setup.data.domain, data), place, crew)
        note = trainer.resume(force) if resume else None
        if resume and crew.leads:
            told = note or f"{place} has no checkpoint yet: starting from the beginning"
            err.print(escape(told), soft_wrap=True)
        with _stopping(trainer):
            finished = show_training(out, err, trainer) if crew.leads else _run_quietly(trainer)
    if not finished and crew.leads:
        command = f"tpn2f train {config} --folder {place} --resume"
        err.print(f"saved; go on with: {escape(command)}", soft_wrap=True)


@app.command()
def results(
    root: Annotated[Path, typer.Argument(help="The project's folder.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Only say whether the tables are up to date.")] = False,
) -> None:
    """Fill the tables of README.md and docs/results.md from the files in results/."""
    from tpn2f.results import stale_pages, write_tables

    if check:
        stale = stale_pages(root)
        if stale:
            raise DataError(f"out of date: {', '.join(map(str, stale))}; run `tpn2f results`")
        out.print("the tables are up to date")
    else:
        changed = write_tables(root)
        out.print("\n".join(f"written: {page}" for page in changed) or "the tables are up to date")


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
    _warn_skipped(language)


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
    with _spinner(f"examining {domain}") as update:
        health = examine(language, split or (), lambda name, done: update(f"{domain} {name}: {done:,} records"))
    if as_json:
        out.print(health.to_json(), soft_wrap=True, markup=False)
    else:
        from tpn2f.display import show_health

        show_health(out, health, list_ids)
    if output is not None:
        _write(output, health.to_json())


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


def _read_input(text: str) -> tuple[str, object]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise DataError(f"--input {text!r}: expected name=value, such as a='[1,2,3]'")
    try:
        return name.strip(), json.loads(value)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"--input {name}: {value!r} is not JSON ({error}); texts need quotes: {name}='\"abc\"'"
        ) from error


def _warn_skipped(domain: Domain) -> None:
    """Records that were left out are never a secret."""
    for split, lines in getattr(domain, "skipped", {}).items():
        for line in lines[:3]:
            err.print(f"left out: {escape(line)}", soft_wrap=True)
        if len(lines) > 3:
            err.print(f"left out: {len(lines) - 3} more records of {split}; `tpn2f data check` lists them")


@contextmanager
def _spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Something that moves while work is done, on a terminal; silence elsewhere."""
    with err.status(text) as status:
        yield lambda message: status.update(message)


def _run_quietly(trainer: Trainer) -> bool:
    for _ in trainer.run():
        pass
    return trainer.standing.finished


@contextmanager
def _stopping(trainer: Trainer) -> Iterator[None]:
    """Ctrl-C and SIGTERM let the step end and save; a second Ctrl-C stops at once."""

    def stop(number: int, frame: object) -> None:
        if trainer.stop:
            raise KeyboardInterrupt
        trainer.stop = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


if __name__ == "__main__":
    main()
