"""Shows examples, runs and findings on the terminal. It only displays numbers; nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn
from rich.table import Column, Table

from tpn2f.domain import DescribesSteps, Domain, Example, HasSteps, Problem, Step, notation_of, read_problem
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, write_tree
from tpn2f.solution import Solution
from tpn2f.wording import format_duration, format_step, format_sum, format_value

if TYPE_CHECKING:
    from tpn2f.confidence import Calibration, LeftOut, Trust
    from tpn2f.training import Event, Trainer
    from tpn2f.tuning import Best, TrialEvent, Tuner


def _show_steps(console: Console, domain: Domain, steps: Iterable[Step]) -> None:
    for number, step in enumerate(steps):
        console.print(f"  #{number}  {escape(format_step(step, notation_of(domain)))}", soft_wrap=True)


def show_told(console: Console, domain: Domain, steps: Iterable[Step]) -> None:
    """Steps for readers who do not know the language: the calculation, and its meaning where the domain can say it."""
    told = [(format_sum(step, notation_of(domain)), step) for step in steps]
    width = max((len(text) for text, _ in told), default=0)
    for number, (text, step) in enumerate(told, 1):
        words = f"   {domain.describe(step.tuple)}" if isinstance(domain, DescribesSteps) else ""
        console.print(f"  step {number}:  {escape(text.ljust(width) + words).rstrip()}", soft_wrap=True)


def show_run(console: Console, domain: Domain, program: Program, question: str, inputs: dict[str, object]) -> None:
    """Runs a program and shows its steps, or its tree where the language is not step by step, and its value."""
    problem = read_problem(domain, question, inputs) if question else Problem((), inputs)
    if isinstance(domain, HasSteps):
        _show_steps(console, domain, domain.steps(program, problem))
    else:
        console.print(f"  {escape(write_tree(program.to_tree()))}", soft_wrap=True)
        for name, value in problem.bindings.items():
            console.print(f"  {name} = {escape(format_value(value))}", soft_wrap=True)
    console.print(f"  [bold]= {escape(format_value(domain.execute(program, problem)))}[/]", soft_wrap=True)


STYLES = {"note": "yellow", "doubt": "yellow", "answer": "bold", "option": "bold", "error": "red"}
STYLES |= {"program": "dim", "tuple": "dim", "nearest": "dim"}


def show_solution(console: Console, solution: Solution, abstain_below: float = 0.0, program: bool = False) -> None:
    """A question, the steps to its answer, how sure the model is, and what to doubt; the program if asked for."""
    for kind, line in solution.lines(abstain_below, program):
        indent = "" if kind == "question" else "  "
        console.print(indent + line, style=STYLES.get(kind), soft_wrap=True, markup=False)
    console.print()


def show_calibration(console: Console, calibration: Calibration) -> None:
    """Shows the result of calibration: how far confidence is from accuracy, and the coverage at a given precision."""
    table = Table(
        title=f"confidence on the {calibration.reported:,} questions of the half that was not used for fitting"
    )
    for column in ("confidence", "questions", "mean before", "right", "questions", "mean after", "right"):
        table.add_column(column, justify="right")
    for before, after in zip(calibration.before, calibration.after):
        cells = (
            cell
            for part in (before, after)
            for cell in (
                f"{part.count:,}",
                f"{part.confidence:.3f}" if part.count else "",
                f"{part.accuracy:.3f}" if part.count else "",
            )
        )
        table.add_row(f"{before.low:.1f}-{before.high:.1f}", *cells)
    console.print(table)
    errors = f"{100 * calibration.error_before:.2f} % before, {100 * calibration.error_after:.2f} % after"
    console.print(f"temperature {calibration.temperature:.4f}; expected calibration error {errors}", soft_wrap=True)
    for name, found in (("as found", calibration.plain), ("with a margin for chance", calibration.safe)):
        goal = f"{100 * calibration.goal:g} % precision, {name}"
        if found is None:
            console.print(f"{goal}: no threshold reaches it", soft_wrap=True)
            continue
        console.print(
            f"{goal}: from a confidence of {found.threshold:.3f} on, {100 * found.coverage:.1f} % of the other half is "
            f"answered and {100 * found.precision:.1f} % of that is right",
            soft_wrap=True,
        )


def show_trust(console: Console, trust: Trust) -> None:
    """Shows what a confidence from signals is worth on sources that it was not fitted on."""
    rows = (*trust.left_out, trust.together)
    show_left_out(console, rows, "confidence by signals, on each source when it is left out")
    console.print(f"below a confidence of {trust.guess_below:.3f} an answer is called a guess", soft_wrap=True)


def show_left_out(console: Console, rows: Iterable[LeftOut], title: str) -> None:
    """A row a source: how much is right, the calibration error, and what is not called a guess."""
    table = Table(title=title)
    table.add_column("source")
    for column in ("answers", "right", "error", "guess below", "no guess", "of these right"):
        table.add_column(column, justify="right")
    for one in rows:
        shares = (f"{100 * share:.1f} %" for share in (one.coverage, one.right))
        cells = f"{100 * one.accuracy:.1f} %", f"{100 * one.error:.2f} %", f"{one.threshold:.3f}", *shares
        table.add_row(one.source, f"{one.count:,}", *cells)
    console.print(table)


def show_example(console: Console, domain: Domain, example: Example) -> None:
    """An example of a data set, with its gold program and what running it gives."""
    console.print(f"[bold]{escape(example.id)}[/]  {escape(example.text)}", soft_wrap=True)
    try:
        if isinstance(domain, HasSteps):
            _show_steps(console, domain, domain.steps(example.program, example.problem))
        else:
            for number, step in enumerate(example.program):
                console.print(f"  #{number}  {escape(str(step))}", soft_wrap=True)
            console.print(f"  {escape(write_tree(example.program.to_tree()))}", soft_wrap=True)
    except ExecutionError as error:
        console.print(f"  {escape(str(example.program))}\n  [red]{escape(str(error))}[/]", soft_wrap=True)
    console.print(f"  answer: {escape(str(example.answer))[:300]}", soft_wrap=True)
    reason = domain.diagnose(example)
    verdict = "[green]the program gives the answer[/]" if reason is None else f"[yellow]{escape(reason)}[/]"
    console.print(f"  {verdict}\n")


def show_training(console: Console, progress_console: Console, trainer: Trainer) -> bool:
    """Trains and shows the progress: a bar on a terminal, one line per scoring. Returns whether it finished."""
    finished, epochs, left = trainer.standing.finished, trainer.config.training.epochs, ""
    with _training_bar(progress_console) as progress:
        task = progress.add_task("training", total=trainer.steps, completed=trainer.standing.step, facts="")
        reading: TaskID | None = None
        for event in trainer.run():
            if event.kind == "reading":
                if reading is None:
                    reading = progress.add_task("reading", total=event.steps, facts="words of the texts, once")
                progress.update(reading, completed=event.step, visible=event.step < event.steps)
            elif event.kind == "note":
                progress_console.print(escape(event.text), soft_wrap=True)
            elif event.kind == "step":
                left = _time_left(event)
                where = f"epoch {event.epoch + 1} of {epochs}{left}"
                progress.update(task, completed=event.step, description=where, facts=_facts(event))
            elif event.kind == "dev":
                dev = f"dev {trainer.config.training.selection} {100 * event.dev:.2f} %"
                scores = f"loss {event.loss:.3f}, {dev}{_best_so_far(event.best)}"
                spent = f"rate {event.rate:.2e}, {trainer.standing.seconds:.0f} s"
                where = f"epoch {event.epoch} of {epochs}{left if event.epoch < epochs else ''}"
                console.print(f"{where}: step {event.step:,}, {scores}, {spent}", soft_wrap=True)
            elif event.kind == "finished":
                console.print(f"finished: {event.text}", soft_wrap=True)
                finished = True
    return finished


def _training_bar(console: Console) -> Progress:
    columns = (
        # On a narrow terminal the epoch and the remaining time are the last to be dropped.
        TextColumn("{task.description}", table_column=Column(no_wrap=True)),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
    )
    return Progress(*columns, console=console, transient=True)


def _time_left(event: Event) -> str:
    """At most: a training may end early."""
    return f", {format_duration(event.seconds_left)} left" if math.isfinite(event.seconds_left) else ""


def _facts(event: Event) -> str:
    return f"loss {event.loss:.3f}, {event.examples_per_second:.0f} examples/s{_best_so_far(event.best)}"


def _best_so_far(best: float) -> str:
    return f", best dev {100 * best:.2f} %" if best >= 0 else ""


def show_tuning(console: Console, progress_console: Console, tuner: Tuner, trials: int, timeout: float) -> None:
    """Runs trials and shows their progress: one bar per trial on a terminal, and one line per trial."""
    with _training_bar(progress_console) as progress:
        task: TaskID | None = None
        for event in tuner.run(trials, timeout):
            name = f"trial {event.number}"
            inner = event.training
            if event.kind == "begun":
                task = progress.add_task(name, total=None, facts=escape(_settings(event.settings)))
                if event.text:
                    progress_console.print(f"{name}: {escape(event.text)}", soft_wrap=True)
            elif inner is not None and task is not None:
                where = f"{name} of {trials}, epoch {inner.epoch + 1}{_time_left(inner)}"
                if inner.kind == "step":
                    progress.update(
                        task, completed=inner.step, total=inner.steps, description=where, facts=_facts(inner)
                    )
            else:
                if task is not None:
                    progress.remove_task(task)
                console.print(escape(f"{name}: {_settings(event.settings)}: {_ending(event)}"), soft_wrap=True)


def _settings(settings: Mapping[str, object]) -> str:
    """The settings in short form, for reading; `show_best` writes them in full."""
    values = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in settings.items()}
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _ending(event: TrialEvent) -> str:
    score = f"dev strict {100 * event.value:.2f} %" if event.value >= 0 else "not scored yet"
    spent = f"{event.epoch} epochs, {event.seconds:.0f} s"
    words = {
        "finished": f"{score} ({spent})",
        "pruned": f"pruned at {score} ({spent})",
        "failed": "failed",
        "saved": f"saved at {score} ({spent}); run the same command to continue",
    }
    return words[event.kind] + (f", {event.text}" if event.text else "")


def show_best(console: Console, best: Best, command: str, folder: Path) -> None:
    """The best trial of a study, and the command that trains with its settings."""
    score = f"dev strict {100 * best.value:.2f} %"
    place = folder / "best.toml"
    console.print(f"best: trial {best.number}, {score}, written to {place}", soft_wrap=True, markup=False)
    console.print(f"train with it: {command}", soft_wrap=True, markup=False)
