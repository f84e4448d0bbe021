"""The statistics of pairs: what two systems earned on the same examples, the difference, and whether it may be chance.

The interval of the difference is a bootstrap over examples, each with both of its credits. McNemar's test asks only
about the examples on which the systems differ. Nothing here knows what the systems are.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from html import escape

import numpy as np

from tpn2f.errors import DataError
from tpn2f.metrics import Estimate, Outcomes, estimate

HOW = "percent; intervals by paired bootstrap; p by McNemar's exact test, not corrected for several groups"
SURE = 0.05
"""A smaller p than this is called a difference."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two systems on one group of examples. Means and differences are from 0 to 1."""

    group: str
    count: int
    first: float
    second: float
    difference: Estimate
    """The second's mean credit minus the first's, with the paired bootstrap's 95 % interval."""
    only_first: int
    """Examples for which the first earned more; where a credit is all or nothing, those that only it solves."""
    only_second: int
    p: float
    """McNemar's exact two-sided test: how probable so uneven a split is if neither system is better."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two systems are worth against each other: on all examples first, then by group."""

    first: str
    second: str
    metric: str
    contrasts: tuple[Contrast, ...]
    places_first: tuple[int, ...]
    """The places, counted from 0, of the examples for which the first earned more."""
    places_second: tuple[int, ...]

    @property
    def whole(self) -> Contrast:
        return self.contrasts[0]

    @property
    def verdict(self) -> str:
        """What may be said of all examples, in a sentence."""
        found = self.whole
        if found.p >= SURE:
            return f"Neither is better beyond chance: {_told(found.p)}."
        name, more, less = (
            ("B", found.only_second, found.only_first)
            if found.only_second > found.only_first
            else ("A", found.only_first, found.only_second)
        )
        return f"{name} is better: it wins {more:,} examples and loses {less:,}, {_told(found.p)}."

    @property
    def rows(self) -> list[list[str]]:
        """The table, percent; its head first."""
        rows = [[self.metric, "n", "A", "B", "B - A (95 %)", "only A", "only B", "p"]]
        for one in self.contrasts:
            means = [f"{100 * mean:.2f}" for mean in (one.first, one.second)]
            counts = [str(one.only_first), str(one.only_second)]
            rows.append([one.group, str(one.count), *means, percent_gap(one.difference), *counts, short_p(one.p)])
        return rows

    def __str__(self) -> str:
        """A table in plain text."""
        rows = self.rows
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [f"A: {self.first}", f"B: {self.second}", ""]
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", self.verdict, HOW])

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        tags = ["th"] + ["td"] * len(self.contrasts)
        cells = ("".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in zip(tags, self.rows))
        table = "".join(f"<tr>{row}</tr>" for row in cells)
        told = (f"A: {self.first}", f"B: {self.second}", self.verdict, HOW)
        above, below = ("".join(f"<div>{escape(line)}</div>" for line in part) for part in (told[:2], told[2:]))
        return f"{above}<table>{table}</table>{below}"

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "verdict": self.verdict}, indent=1, ensure_ascii=False)


def compare(
    first: Outcomes, second: Outcomes, metric: str = "strict", names: tuple[str, str] = ("A", "B")
) -> Comparison:
    """Both have to be outcomes of the same examples in the same order; groups are those that both have."""
    if first.count != second.count:
        raise DataError(f"A has {first.count:,} examples, B has {second.count:,}: only the same ones can be compared")
    one, other = (outcomes.earned(metric) for outcomes in (first, second))
    everywhere = np.arange(first.count)
    parts = {name: first.members(name) for name in first.groups if name in second.groups}
    contrasts = [contrast(name, one[places], other[places]) for name, places in {"all": everywhere, **parts}.items()]
    places = (tuple(np.nonzero(more)[0].tolist()) for more in (one > other, other > one))
    return Comparison(*names, metric, tuple(contrasts), *places)


def contrast(group: str, first: np.ndarray, second: np.ndarray) -> Contrast:
    """The credits of two systems for the same examples, compared."""
    ahead, behind = int((first > second).sum()), int((second > first).sum())
    means = float(first.mean()), float(second.mean())
    gap = estimate((second - first).tolist())
    return Contrast(group, len(first), *means, gap, ahead, behind, mcnemar(ahead, behind))


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p: of as many fair coins, how often do they fall at least as unevenly?"""
    total, term, below = only_first + only_second, 1, 0
    for heads in range(min(only_first, only_second) + 1):
        below += term
        term = term * (total - heads) // (heads + 1)
    # Whole numbers up to here: the quotient of two of any size is exact but for its last digit.
    return min(1.0, 2 * below / 2**total)


def percent_gap(gap: Estimate) -> str:
    """A difference in points, with its sign and its interval."""
    return f"{100 * gap.value:+.2f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"


def short_p(p: float) -> str:
    return f"{p:.4f}" if p >= 1e-4 else "<0.0001"


def _told(p: float) -> str:
    return f"p {short_p(p)}" if p < 1e-4 else f"p = {short_p(p)}"
