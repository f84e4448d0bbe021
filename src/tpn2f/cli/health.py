"""The findings of the data check, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tpn2f.data.check import SplitHealth, SplitReport

ACROSS = 6
"""So many splits stand side by side; more would not fit into a terminal."""
LISTED = 20
"""So many records that were left out are listed for a split, unless all are asked for."""


def show_health(
    console: Console, health: SplitReport, list_ids: bool = False, grades: Mapping[str, str] | None = None
) -> None:
    """Shows the findings of the data check as tables. `grades` says what the grades mean, if there are any."""
    if grades:
        _show_grades(console, health, grades)
    for start in range(0, len(health.splits), ACROSS):
        _show_splits(console, health.domain, health.splits[start : start + ACROSS], marks=not grades)
    if health.leaks:
        _show_leaks(console, health.leaks)
    for line in health.missing:
        console.print(f"unavailable: {escape(line)}", soft_wrap=True)
    for split in health.splits:
        shown = split.skipped if list_ids else split.skipped[:LISTED]
        for line in shown:
            console.print(f"left out: {escape(line)}", soft_wrap=True)
        if len(shown) < len(split.skipped):
            more = len(split.skipped) - len(shown)
            console.print(f"left out: {more:,} more records of {split.split}; --list shows them", soft_wrap=True)
        if list_ids:
            for reason, ids in (*split.unsolved.items(), *split.doubts.items()):
                console.print(f"{split.split}, {escape(reason)}: {' '.join(ids)}", soft_wrap=True)


def _show_grades(console: Console, health: SplitReport, grades: Mapping[str, str]) -> None:
    """A row for each source: what converts, at which grade; then why the rest is doubtful."""
    graded = [split for split in health.splits if split.grades]
    if not graded:
        return
    best, worst = next(iter(grades)), list(grades)[-1]
    # Without lines between the columns it fits into 80 characters.
    table = Table(title=f"{health.domain}: what converts, at which grade", box=None, pad_edge=False)
    for column in ("source", "records", *grades, f"{best} %", f"{worst} %", "used"):
        table.add_column(column, justify="left" if column == "source" else "right", no_wrap=True)
    for split in graded:
        total = sum(split.grades.values())
        counts = [f"{split.grades.get(grade, 0):,}" for grade in grades]
        shares = [f"{100 * split.grades.get(grade, 0) / total:.0f}" for grade in (best, worst)]
        table.add_row(split.split, f"{total:,}", *counts, *shares, f"{split.records:,}")
    console.print(table)
    console.print()
    for grade, meaning in grades.items():
        console.print(f"{grade}: {meaning}", soft_wrap=True, markup=False)
    reasons = Table(title="why the rest is not used, or is doubtful")
    for column in ("source", "records", "grade and reason"):
        reasons.add_column(column, justify="right" if column == "records" else "left")
    for split in graded:
        for reason, ids in sorted(split.doubts.items(), key=lambda item: -len(item[1])):
            reasons.add_row(split.split, f"{len(ids):,}", escape(reason))
    console.print(reasons)


def _show_splits(console: Console, domain: str, splits: Sequence[SplitHealth], marks: bool) -> None:
    table = Table(title=f"{domain}: contents")
    for column in ("", *(split.split for split in splits)):
        table.add_column(column, justify="left" if not column else "right")
    rows = {
        "records": lambda s: f"{s.records:,}",
        "left out": lambda s: f"{len(s.skipped):,}",
        "repeated texts": lambda s: f"{s.duplicates:,}",
        "distinct texts (without values)": lambda s: f"{s.texts:,}",
        "distinct (text, program) pairs": lambda s: f"{s.pairs:,}",
        "texts with more than one program": lambda s: f"{s.ambiguous:,}",
        "distinct programs": lambda s: f"{s.programs:,}",
        "words, mean / maximum": lambda s: f"{s.mean_words:.1f} / {s.longest_words}",
        "tuples, mean / maximum": lambda s: f"{s.mean_tuples:.1f} / {s.longest_tuples}",
        "gold program gives gold answer": lambda s: f"{100 * s.solved:.2f} %",
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(split) for split in splits))
    for reason in dict.fromkeys(reason for split in splits for reason in split.unsolved):
        table.add_row(f"  {escape(reason)}", *(f"{len(s.unsolved.get(reason, ())):,}" for s in splits))
    for reason in dict.fromkeys(reason for split in splits for reason in split.doubts) if marks else ():
        table.add_row(f"marked: {escape(reason)}", *(f"{len(s.doubts.get(reason, ())):,}" for s in splits))
    console.print(table)


def _show_leaks(console: Console, leaks: Mapping[str, Mapping[str, int]]) -> None:
    """Of many pairs only those that share a text or a template: equal programs are no leak by themselves."""
    many = len(leaks) > ACROSS * (ACROSS - 1) // 2
    shown = {name: counts for name, counts in leaks.items() if not many or counts["text"] or counts["template"]}
    caption = "records whose text, template or program also occurs in the other split"
    if len(shown) < len(leaks):
        caption += f"; {len(leaks) - len(shown)} pairs of splits share no text and no template"
    table = Table(title="what leaks", caption=caption)
    for column in ("", "same text", "same template", "same program", "of"):
        table.add_column(column, justify="left" if not column else "right")
    for name, counts in shown.items():
        table.add_row(name, *(f"{counts[key]:,}" for key in ("text", "template", "program", "records")))
    console.print(table)
