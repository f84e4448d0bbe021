"""The tables of pairs: for every claim that one row is better than another, the paired tests of the two.

A row whose report does not say which examples were right is left out, so that the pages can always be made.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from tpn2f.compare.files import Scored, read_scored
from tpn2f.compare.pairs import compare, percent_gap, short_p
from tpn2f.errors import DataError
from tpn2f.publish.rows import SYSTEMS, load_reports, load_result, markdown, metric_cell, row_label

NOTHING = "No pair can be compared yet: the reports do not say which examples were right."

# Rows that are compared beside the paper's four systems: what the reports call them.
BESIDE = {
    "mathqa": (
        ("mathqa-60 (beam 5)", "retrieval"),
        ("mathqa-60 (greedy)", "mathqa-60 (beam 5)"),
        ("mathqa-60 (beam 5)", "mathqa-grounded (beam 5)"),
        ("mathqa-60 (greedy)", "mathqa-60-chained (greedy)"),
        ("mathqa-60 (beam 5)", "mathqa-60-chained (beam 5)"),
        ("mathqa-tp2lstm (greedy)", "mathqa-60-chained (greedy)"),
    ),
    "algolisp": (
        ("algolisp (greedy)", "algolisp-generated (greedy)"),
        ("algolisp-generated (greedy)", "algolisp-generated-grounded (greedy)"),
        ("algolisp-generated-grounded (greedy)", "algolisp-chained (greedy)"),
        ("algolisp-chained (greedy)", "algolisp-chained-once (greedy)"),
        ("algolisp-chained-once (greedy)", "algolisp-chained-once (beam 10)"),
    ),
}


def pairs_table(task: str, metric: str, group: str) -> Callable[[Path], str]:
    """Every pair of the four systems, and a few more, on all examples and on one group."""

    def table(folder: Path) -> str:
        found = _scored_rows(folder, f"{task}-test")
        pairs = [*combinations([f"{row} (greedy)" for row in SYSTEMS[task]], 2), *BESIDE[task]]
        rows = [["A", "B", "A", "B", "B - A (95 %)", "only A", "only B", "p", f"B - A, {group}", "p"]]
        for first, second in pairs:
            if first not in found or second not in found:
                continue
            (name, one), (other_name, other) = found[first], found[second]
            if one.digest != other.digest:
                continue
            compared = compare(one.outcomes, other.outcomes, metric)
            whole = compared.whole
            cells = [f"{100 * whole.first:.1f}", f"{100 * whole.second:.1f}", percent_gap(whole.difference)]
            cells += [f"{whole.only_first:,}", f"{whole.only_second:,}", short_p(whole.p)]
            part = next((contrast for contrast in compared.contrasts if contrast.group == group), None)
            cells += [percent_gap(part.difference), short_p(part.p)] if part else ["", ""]
            rows.append([name, other_name, *cells])
        return markdown(rows) if len(rows) > 1 else NOTHING

    return table


def memory_table(folder: Path) -> str:
    """Retrieval, a model, and both together, on dev; then the tests of what both together add."""
    if not list(folder.glob("mathqa-dev-*.json")):
        return "No row is scored yet."
    groups = {"all": "strict", "template seen in train": "strict, seen", "template unseen in train": "strict, unseen"}
    rows = [["MathQA dev", *groups.values()]]
    for report in load_reports(folder, "mathqa-dev"):
        rows.append([row_label(report), *(metric_cell(report, group, "strict") for group in groups)])
    found = _scored_rows(folder, "mathqa-dev")
    lines = []
    for name, (_, mixed) in found.items():
        for other, (label, alone) in found.items():
            if name.startswith("retrieval+model") and other != name and alone.digest == mixed.digest:
                whole = compare(alone.outcomes, mixed.outcomes).whole
                gap = f"{percent_gap(whole.difference)} points, McNemar's p {short_p(whole.p)}"
                lines.append(f"* {name} against {label}: {gap}.")
    return "\n".join([markdown(rows), *(["", *lines] if lines else [])])


def _scored_rows(folder: Path, prefix: str) -> dict[str, tuple[str, Scored]]:
    """By what its report calls a system: the row's name in words, and its outcomes."""
    found = {}
    for path in sorted(folder.glob(f"{prefix}-*.json")):
        report = load_result(folder, path.name)
        try:
            found[report["facts"]["system"]] = (row_label(report), read_scored(path))
        except DataError:
            continue
    return found
