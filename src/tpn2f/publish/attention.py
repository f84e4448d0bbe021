"""The tables of where attention looks: while short runs learn, and in trained models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tpn2f.errors import DataError
from tpn2f.publish.rows import load_result, markdown

STUDY = "attention_study.json"
"""What `benchmarks/attention_study.py` measured."""
MODELS = "benchmark_attention.json"
"""What `benchmarks/attention.py` measured."""


def study_table(folder: Path) -> str:
    """Every run of the study: its attention before the first step and at the end, and its accuracy."""
    if not (folder / STUDY).is_file():
        return "No run is measured yet."
    study = load_result(folder, STUDY)
    heads = ["evenness at the start", "at the end", "on the arguments", "chance", "strict on dev"]
    rows = [["short runs", *heads]]
    for row in study["rows"]:
        first, last = row["moments"][0], row["moments"][-1]
        name = f"{row['system']}, {row['variant']}{'' if row['finished'] else ' (stopped early)'}"
        shares = [first["evenness"], *(last[key] for key in ("evenness", "on_used", "chance"))]
        strict = "" if row["strict"] is None else _percent(row["strict"])
        rows.append([name, *map(_percent, shares), strict])
    return f"{markdown(rows)}\n\n{_told(study)}"


def scores_table(folder: Path) -> str:
    """Every run of the study: the scores before the softmax, and how alike the bindings of words are."""
    if not (folder / STUDY).is_file():
        return "No run is measured yet."
    heads = [
        "spread of scores at the start",
        "at the end",
        "correlation of score and length of T",
        "cosine of neighbouring T",
        "of any two T",
    ]
    rows = [["short runs", *heads]]
    for row in load_result(folder, STUDY)["rows"]:
        first, last = row["moments"][0], row["moments"][-1]
        found = [first["spread"], *(last[key] for key in ("spread", "with_length", "neighbours", "any_two"))]
        cells = ["all equal" if value is None else f"{value:.2f}" for value in found]
        rows.append([f"{row['system']}, {row['variant']}", *cells])
    return markdown(rows)


def models_table(folder: Path) -> str:
    """Trained models, each on its own dev split."""
    if not (folder / MODELS).is_file():
        return "No model is measured yet."
    rows = [["trained models", "tuples", "evenness", "on the arguments", "chance", "found"]]
    try:
        found = json.loads((folder / MODELS).read_text(encoding="utf-8"))  # a list, unlike the other files
    except (OSError, ValueError) as error:
        raise DataError(f"the table needs {folder / MODELS}: {error}") from error
    for row in found:
        shares = (_percent(row[key]) for key in ("evenness", "on_used", "chance", "found"))
        rows.append([f"`{Path(row['model']).name}`, {row['split']}", f"{row['steps']:,}", *shares])
    return markdown(rows)


def _told(study: dict[str, Any]) -> str:
    """How the rows were made."""
    limit, epochs = (study["settings"][key] for key in ("data.limit", "training.epochs"))
    seconds = sum(row["cpu_seconds"] for row in study["rows"])
    return (
        f"{limit:,} training problems, {epochs} epochs, one seed; attention on {study['problems']} dev problems, "
        f"strict on {study['scored']:,}; {seconds / 60:.0f} CPU-minutes in all, commit `{study['commit']}`."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
