"""Confidence from signals, judged on sources that it was not fitted on.

One source after the other is left out: a belief is fitted on the others and measured on that one. The threshold is one
for all, found on all answers, each judged from outside. The belief that is stored with the model is fitted on all of
them. Where there is one source only, its halves take the place of sources.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tpn2f.confidence.temperature import Judged, answered, expected_error, find_threshold, reliability
from tpn2f.errors import DataError
from tpn2f.trust.belief import Belief, fit_belief

TRUSTED = 0.85
"""The share of answers that are not called guesses that is to be right."""
MARGIN = 1.0
"""Standard deviations by which the threshold reaches it: elsewhere it should hold too."""
SLACK = 0.05
"""How far the threshold may be below that share: the best answers do not make up for doubtful ones."""
NEVER = 1.0
"""The threshold where no confidence is high enough: every answer is a guess."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a confidence is worth on a source that it was not fitted on."""

    source: str
    count: int
    accuracy: float
    """Everything answered."""
    error: float
    """Expected calibration error."""
    threshold: float
    """Below it an answer is called a guess; the one that is stored."""
    coverage: float
    """The share of answers that are not guesses."""
    right: float
    """How many of these are right; 1 if there are none."""


@dataclass(frozen=True, slots=True)
class Trust:
    """What is stored with a model, and what the same recipe is worth on sources left out."""

    belief: Belief
    guess_below: float
    goal: float
    left_out: tuple[LeftOut, ...]
    together: LeftOut
    """All answers, each judged by the belief that was found without its source."""

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "belief": self.belief.to_json()}


def find_trust(judged: Sequence[Judged], goal: float = TRUSTED) -> Trust:
    """Fits a belief and a threshold on all answers, and measures the belief on every source left out."""
    named = with_sources(judged)
    outside = judged_outside(named)
    threshold = guess_threshold(outside, goal)
    sources = dict.fromkeys(one.source for one in named)
    left_out = [measure(source, [one for one in outside if one.source == source], threshold) for source in sources]
    return Trust(fit(named), threshold, goal, tuple(left_out), measure("all, each left out", outside, threshold))


def with_sources(judged: Sequence[Judged]) -> list[Judged]:
    """The answers with at least two sources; halves of the same source where there is only one. Raises DataError."""
    if len({one.source for one in judged}) > 1:
        return list(judged)
    halves = [one._replace(source=f"half {one.half + 1}") for one in judged]
    if len({one.source for one in halves}) < 2:
        raise DataError(f"a belief needs answers of two sources or two halves; there are {len(judged)} of one")
    return halves


def fit(judged: Sequence[Judged]) -> Belief:
    """A belief in which a source counts by the root of its size: large ones more, but not as much more as they are."""
    sizes = Counter(one.source for one in judged)
    weights = [1 / math.sqrt(sizes[one.source]) for one in judged]
    return fit_belief([one.signals for one in judged], [one.right for one in judged], weights)


def believed(belief: Belief, judged: Sequence[Judged]) -> list[Judged]:
    """The same answers with the confidence that a belief gives them."""
    return [one._replace(log_probability=math.log(max(belief.confidence(one.signals), 1e-9))) for one in judged]


def judged_outside(judged: Sequence[Judged]) -> list[Judged]:
    """Every answer with the confidence of a belief that was fitted on the other sources."""
    found: list[Judged] = []
    for source in dict.fromkeys(one.source for one in judged):
        belief = fit([one for one in judged if one.source != source])
        found += believed(belief, [one for one in judged if one.source == source])
    return found


def guess_threshold(judged: Sequence[Judged], goal: float) -> float:
    """The confidence from which on the goal's share is right, with a margin, and never far below the goal itself."""
    found = find_threshold(judged, 1.0, goal, MARGIN)
    if found is None:
        return NEVER
    if all(one.confidence(1.0) >= found for one in judged):
        # All may be answered, so the least sure of them says nothing about what is less sure than that.
        found = min(found, goal)
    return max(found, goal - SLACK)


def measure_sources(belief: Belief, judged: Sequence[Judged], threshold: float) -> list[LeftOut]:
    """What a finished belief is worth on sources that it was not fitted on: each, and all together."""
    found = believed(belief, judged)
    parts = [
        measure(source, [one for one in found if one.source == source], threshold)
        for source in dict.fromkeys(one.source for one in found)
    ]
    return [*parts, measure("all", found, threshold)]


def measure(source: str, judged: Sequence[Judged], threshold: float) -> LeftOut:
    """What confidences are worth, as they are."""
    accuracy = sum(one.right for one in judged) / len(judged)
    error = expected_error(reliability(judged))
    return LeftOut(source, len(judged), accuracy, error, threshold, *answered(judged, 1.0, threshold))
