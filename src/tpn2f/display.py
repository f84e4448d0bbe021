"""What the terminal shows of examples, runs and findings. Numbers come from elsewhere; nothing is computed here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from tpn2f.doctor import Health
from tpn2f.domain import Domain, Example, Problem, Step
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, write_tree

if TYPE_CHECKING:
    from tpn2f.solver import Solution
    from tpn2f.training import Trainer


def format_value(value: object) -> str:
    """A value as a person writes it: 0.6, 1250, [1, 2, 3]."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


def format_step(step: Step) -> str:
    """`divide(n1, const_100) = divide(60, 100) = 0.6`."""
    values = ", ".join(map(format_value, step.values))
    return f"{step.tuple} = {step.tuple.relation}({values}) = {format_value(step.result)}"


def _show_steps(console: Console, steps: Iterable[Step]) -> None:
    for number, step in enumerate(steps):
        console.print(f"  #{number}  {escape(format_step(step))}", soft_wrap=True)


def show_run(console: Console, domain: Domain, program: Program, question: str, inputs: dict[str, object]) -> None:
    """Runs a program and shows its steps, or its tree where the language is not step by step, and its value."""
    problem = domain.read(question) if question else Problem((), {})
    problem = Problem(problem.words, {**problem.bindings, **inputs})
    steps = getattr(domain, "steps", None)
    if steps is not None:
        _show_steps(console, steps(program, problem))
    else:
        console.print(f"  {escape(write_tree(program.to_tree()))}", soft_wrap=True)
        for name, value in problem.bindings.items():
            console.print(f"  {name} = {escape(format_value(value))}", soft_wrap=True)
    console.print(f"  [bold]= {escape(format_value(domain.execute(program, problem)))}[/]", soft_wrap=True)


def show_solution(console: Console, question: str, solution: Solution) -> None:
    """A question, the program that a model wrote for it, what running it gives, and how sure the model is."""
    console.print(escape(question), soft_wrap=True)
    if solution.unknown:
        console.print(
            f"  [yellow]words that training did not have: {escape(', '.join(solution.unknown))}[/]", soft_wrap=True
        )
    if solution.steps:
        _show_steps(console, solution.steps)
    elif solution.program is not None:
        console.print(f"  {escape(str(solution.program))}", soft_wrap=True)
    answer = (
        f"[bold]= {escape(format_value(solution.value))}[/]"
        if not solution.error
        else f"[red]{escape(solution.error)}[/]"
    )
    console.print(f"  {answer}  (confidence {solution.confidence:.2f}, not calibrated)", soft_wrap=True)
    for candidate in solution.alternatives:
        console.print(
            f"  or  {escape(str(candidate.program))}  ({math.exp(candidate.log_probability):.2f})", soft_wrap=True
        )
    console.print()


def show_example(console: Console, domain: Domain, example: Example) -> None:
    """An example of a data set, with its gold program and what running it gives."""
    console.print(f"[bold]{escape(example.id)}[/]  {escape(example.text)}", soft_wrap=True)
    steps = getattr(domain, "steps", None)
    try:
        if steps is not None:
            _show_steps(console, steps(example.program, example.problem))
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
    """Runs a training and shows how it goes: a bar on a terminal, a line a scoring everywhere. Whether it finished."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[facts]}"),
        TimeRemainingColumn(),
    )
    finished = trainer.standing.finished
    with Progress(*columns, console=progress_console, transient=True) as progress:
        task = progress.add_task("training", total=trainer.steps, completed=trainer.standing.step, facts="")
        for event in trainer.run():
            best = f", best dev {100 * event.best:.2f} %" if event.best >= 0 else ""
            if event.kind == "step":
                facts = f"loss {event.loss:.3f}, {event.examples_per_second:.0f} examples/s{best}"
                progress.update(task, completed=event.step, description=f"epoch {event.epoch + 1}", facts=facts)
            elif event.kind == "dev":
                scores = f"loss {event.loss:.3f}, dev strict {100 * event.dev:.2f} %{best}"
                spent = f"rate {event.rate:.2e}, {trainer.standing.seconds:.0f} s"
                console.print(f"epoch {event.epoch}, step {event.step:,}: {scores}, {spent}", soft_wrap=True)
            elif event.kind == "finished":
                console.print(f"finished: {event.text}", soft_wrap=True)
                finished = True
    return finished


def show_health(console: Console, health: Health, list_ids: bool = False) -> None:
    """The doctor's findings as tables."""
    table = Table(title=f"{health.domain}: what is there")
    for column in ("", *(split.split for split in health.splits)):
        table.add_column(column, justify="left" if not column else "right")
    rows = {
        "records": lambda s: f"{s.records:,}",
        "left out": lambda s: f"{len(s.skipped):,}",
        "texts that occurred before": lambda s: f"{s.duplicates:,}",
        "distinct texts (values taken out)": lambda s: f"{s.texts:,}",
        "distinct (text, program) pairs": lambda s: f"{s.pairs:,}",
        "texts with several programs": lambda s: f"{s.ambiguous:,}",
        "distinct programs": lambda s: f"{s.programs:,}",
        "words, mean / most": lambda s: f"{s.mean_words:.1f} / {s.longest_words}",
        "tuples, mean / most": lambda s: f"{s.mean_tuples:.1f} / {s.longest_tuples}",
        "gold program gives gold answer": lambda s: f"{100 * s.solved:.2f} %",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(split) for split in health.splits))
    reasons = dict.fromkeys(reason for split in health.splits for reason in split.unsolved)
    for reason in reasons:
        table.add_row(f"  {escape(reason)}", *(f"{len(s.unsolved.get(reason, ())):,}" for s in health.splits))
    doubts = dict.fromkeys(reason for split in health.splits for reason in split.doubts)
    for reason in doubts:
        table.add_row(f"marked: {escape(reason)}", *(f"{len(s.doubts.get(reason, ())):,}" for s in health.splits))
    console.print(table)
    if health.leaks:
        leaks = Table(
            title="what leaks", caption="records whose text, template or program also occurs in the other split"
        )
        for column in ("", "same text", "same template", "same program", "of"):
            leaks.add_column(column, justify="left" if not column else "right")
        for name, counts in health.leaks.items():
            leaks.add_row(name, *(f"{counts[key]:,}" for key in ("text", "template", "program", "records")))
        console.print(leaks)
    for line in health.missing:
        console.print(f"not there: {escape(line)}", soft_wrap=True)
    for split in health.splits:
        for line in split.skipped:
            console.print(f"left out: {escape(line)}", soft_wrap=True)
        if list_ids:
            for reason, ids in split.unsolved.items():
                console.print(f"{split.split}, {escape(reason)}: {' '.join(ids)}", soft_wrap=True)
