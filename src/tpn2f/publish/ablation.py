"""What each part of the reader is worth: the rows of the ablation, their configs, and their tables.

A row is a task, a system and a step. `configs/ablation/` has one config and what tasks and steps change; a step keeps
what the steps before it change. A part that stands alone is added to the first step only. Rows of a task have equal
epochs and the same examples.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpn2f.config import Config, change_config, load_config, read_setting
from tpn2f.errors import ConfigError, DataError
from tpn2f.model import systems
from tpn2f.publish.rows import load_result, markdown, metric_cell

STEPS = {
    "words": "words",
    "glove": "+ GloVe start",
    "grounded": "+ grounded arguments",
    "sharp": "+ sharp attention",
    "minilm": "+ MiniLM, frozen",
    "tuned": "+ MiniLM, tuned",
}
ALONE = {"chained": "words, + chained arguments"}
"""Parts that are added to the first step and not kept."""
SYSTEMS = {"lstm2tp": "LSTM2TP", "tpn2f": "TP-N2F"}
OPTIONS = "benchmark_options.json"
"""What `benchmarks/options.py` measured."""
FIRST = 1500
"""So many examples of a split are scored, the first ones: all of dev would cost more than some trainings."""


@dataclass(frozen=True, slots=True)
class AblationTask:
    """A data set of the ablation."""

    splits: tuple[str, ...]
    """What its rows are scored on; the first one comes first in the table."""
    metric: str
    """What is told first of a row."""
    columns: Mapping[str, tuple[str, str, str]]
    """Column -> split, group and metric."""


TASKS = {
    "everyday": AblationTask(
        ("mawps-valid", "gsm8k-dev", "svamp", "mawps-test"),
        "answer",
        {
            "MAWPS valid": ("mawps-valid", "all", "answer"),
            "GSM8K dev": ("gsm8k-dev", "all", "answer"),
            "SVAMP": ("svamp", "all", "answer"),
            "MAWPS test": ("mawps-test", "all", "answer"),
        },
    ),
    "mathqa": AblationTask(
        ("dev",),
        "strict",
        {
            "strict": ("dev", "all", "strict"),
            "template seen": ("dev", "template seen in train", "strict"),
            "unseen": ("dev", "template unseen in train", "strict"),
            "nearest option": ("dev", "all", "nearest_option"),
        },
    ),
}


def table_name(task: str) -> str:
    return f"ablation-{task}"


def ablation_rows(task: str) -> dict[str, tuple[str, str]]:
    """The rows of a task with their systems and steps, in the order in which they are trained."""
    return {f"{table_name(task)}-{system}-{step}": (system, step) for system in SYSTEMS for step in (*STEPS, *ALONE)}


ROWS = {row: (task, *parts) for task in TASKS for row, parts in ablation_rows(task).items()}
"""Row -> task, system, step."""


def ablation_config(configs: Path, row: str, settings: Sequence[str] = ()) -> Config:
    """The config of a row; `settings` such as `training.epochs=1` are put over it. Raises ConfigError."""
    task, system, last = ROWS[row]
    folder = configs / "ablation"
    known = _read_changes(folder / "rows.toml")
    order = list(STEPS)
    kept = [known["step"][step] for step in order[: 1 if last in ALONE else order.index(last) + 1]]
    alone = [known["alone"][last]] if last in ALONE else []
    changes: dict[str, Any] = {"name": row}
    changes |= {f"model.{key}": value for key, value in systems[system].items()}
    for part in (known["task"][task], *kept, *alone, dict(map(read_setting, settings))):
        changes |= part
    return change_config(load_config(folder / "base.toml"), changes, str(folder / "rows.toml"))


def _read_changes(path: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """The tables `task`, `step` and `alone`, each with the settings that its entries change. Raises ConfigError."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: the rows of the ablation cannot be read: {error}") from error
    for kind, names in (("task", TASKS), ("step", STEPS), ("alone", ALONE)):
        part = found.get(kind)
        if (
            not isinstance(part, dict)
            or list(part) != list(names)
            or not all(isinstance(p, dict) for p in part.values())
        ):
            raise ConfigError(f"{path}: expected the tables {', '.join(f'{kind}.{name}' for name in names)}")
    return found


def ablation_table(task: str) -> Callable[[Path], str]:
    """The rows of a task, as many as are scored: accuracy in percent and what it costs."""

    def table(folder: Path) -> str:
        known = TASKS[task]
        costs = ["CPU-hours", "CPU-milliseconds an answer", "MB"]
        rows = [["ablation", *known.columns, *costs]]
        for system, step in ablation_rows(task).values():
            reports = _reports(folder, task, f"{system}-{step}")
            if reports:
                cells = [_cell(reports, *where) for where in known.columns.values()]
                name = f"{SYSTEMS[system]}, {(STEPS | ALONE)[step]}"
                rows.append([name, *cells, *_costs(next(iter(reports.values())))])
        return markdown(rows) if len(rows) > 1 else "No row is scored yet."

    return table


def options_table(folder: Path) -> str:
    """What each option of the reader costs in CPU time, against the plain reader, for each encoder."""
    if not (folder / OPTIONS).is_file():
        return "No option is measured yet."
    rows = [["CPU time, one option at a time", "training step", "decoding"]]
    for row in load_result(folder, OPTIONS)["rows"]:
        plain = row["option"] == "plain"
        cells = [
            f"{1000 * row[f'{what}_cpu_seconds']:.0f} ms" if plain else f"{row[f'{what}_ratio']:.2f} times plain"
            for what in ("training", "decoding")
        ]
        rows.append([f"{row['encoder']}, {'' if plain else '+ '}{row['option']}", *cells])
    return markdown(rows)


def _reports(folder: Path, task: str, short: str) -> dict[str, dict[str, Any]]:
    """The reports of a row by split, as many as are there."""
    names = {split: f"{table_name(task)}-{split}-{short}.json" for split in TASKS[task].splits}
    return {split: load_result(folder, name) for split, name in names.items() if (folder / name).is_file()}


def _cell(reports: Mapping[str, Mapping[str, Any]], split: str, group: str, metric: str) -> str:
    return metric_cell(reports[split], group, metric, interval=False) if split in reports else ""


def _costs(report: Mapping[str, Any]) -> list[str]:
    facts, training = report["facts"], report["facts"]["training"]
    try:
        worked = "not counted" if training["cpu_hours"] is None else f"{training['cpu_hours']:.2f}"
        return [worked, f"{facts['answer_cpu_milliseconds']:.0f}", f"{2 * training['weights'] / 1e6:.1f}"]
    except (KeyError, TypeError) as error:
        raise DataError(f"{report.get('title')}: the report does not say what the row cost: {error!r}") from error
