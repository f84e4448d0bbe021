"""The tables of the everyday model: its row beside published ones, each of its test splits, and GSM8K by steps.

A split that was not scored yet is left out, so that the pages can always be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tpn2f.publish.rows import load_result, markdown, metric_cell, percent, row_label

NOTHING = "No row is scored yet."

# Column -> split, group and metric of our row.
COLUMNS = {
    "SVAMP": ("svamp", "all", "answer"),
    "MAWPS": ("mawps-test", "all", "answer"),
    "GSM8K": ("gsm8k-test", "all", "answer"),
    "MathQA, nearest option": ("mathqa-test", "all", "solved"),
    "MathQA challenge, nearest option": ("mathqa-challenge", "all", "solved"),
    "generated, unseen phrasings": ("generated-test", "unseen phrasing", "answer"),
    "generated, unseen kinds": ("generated-test", "unseen kind", "answer"),
    "generated, unseen stories": ("generated-test", "unseen story", "answer"),
    "stories written later": ("stories-later", "all", "answer"),
}
# System, SVAMP, MAWPS: as their authors publish them. They learn from MAWPS and ASDiv-A.
PUBLISHED = (
    ("AttSeq, an LSTM (MWPToolkit, published)", 25.4, 87.0),
    ("GTS (MWPToolkit, published)", 29.1, 84.1),
    ("RoBERTaGen (MWPToolkit, published)", 30.3, 88.4),
    ("Graph2Tree (MWPToolkit, published)", 35.0, 85.6),
    ("Deductive Reasoner, RoBERTa-base (published)", 48.9, 92.0),
)


# How the files of our rows end, in the order of the table.
ROWS = ("", "-beam5-guided", "-minilm", "-mawps", "-minilm-beam5-guided")


def everyday_reports(folder: Path, row: str = "") -> dict[str, dict[str, Any]]:
    """The reports of a row by split, as many as are there."""
    names = {split: f"everyday-{split}{row}.json" for split, _, _ in COLUMNS.values()}
    return {split: load_result(folder, name) for split, name in names.items() if (folder / name).is_file()}


def everyday_table(folder: Path) -> str:
    """Our rows beside the published ones, which have SVAMP and MAWPS only."""
    rows = [["everyday problems, answers", *COLUMNS]]
    rows += [[name, f"{svamp:.1f}", f"{mawps:.1f}", *[""] * (len(COLUMNS) - 2)] for name, svamp, mawps in PUBLISHED]
    for row in ROWS:
        reports = everyday_reports(folder, row)
        if reports:
            label = row_label(next(iter(reports.values())))
            rows.append([label, *(_cell(reports, *where) for where in COLUMNS.values())])
    return markdown(rows)


def splits_table(folder: Path) -> str:
    """Every test split with every metric and its interval, for every row."""
    rows = []
    for row in ROWS:
        for split, report in everyday_reports(folder, row).items():
            name = f"{split}, `{report['facts']['system']}`"
            for group in report["groups"]:
                if group["name"] == "all" or group["name"].startswith(NEW):
                    rows.append(_group_row(name if group["name"] == "all" else f"{name}, {group['name']}", group))
    return markdown([_head("test split"), *rows]) if rows else NOTHING


def steps_table(folder: Path) -> str:
    """GSM8K's test by the number of steps of its programs, as far as they are known, for the last row."""
    found = [everyday_reports(folder, row).get("gsm8k-test") for row in ROWS]
    report = next((report for report in reversed(found) if report is not None), None)
    if report is None:
        return NOTHING
    groups = [group for group in report["groups"] if "-step" in group["name"] or group["name"] in ("all", "no program")]
    ordered = sorted(groups, key=lambda group: (group["name"] != "all", group["name"]))
    head = _head(f"GSM8K test, `{report['facts']['system']}`")
    return markdown([head, *(_group_row(group["name"], group) for group in ordered)])


NEW = ("unseen ", "template seen", "template unseen in train and")
"""How the names of groups begin that say what was new to the model: a text without its numbers, a phrasing, a kind."""
METRICS = ("strict", "answer", "solved")


def _head(first: str) -> list[str]:
    return [first, "n", *METRICS]


def _group_row(name: str, group: Mapping[str, Any]) -> list[str]:
    return [name, f"{group['count']:,}", *(percent(group["metrics"][metric]) for metric in METRICS)]


def _cell(reports: Mapping[str, Mapping[str, Any]], split: str, group: str, metric: str) -> str:
    return metric_cell(reports[split], group, metric, interval=False) if split in reports else ""
