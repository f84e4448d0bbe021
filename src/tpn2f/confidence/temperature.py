"""Confidence from a program's probability alone: temperature, reliability, how much may be answered at a precision.

The confidence of a program is its probability to the power 1 / temperature. The temperature and the threshold are
fitted on one half of dev and judged on the other; questions with the same words are in the same half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from tpn2f.errors import DataError

GOAL = 0.95
"""The precision at which coverage is reported."""
MARGIN = 1.645
"""Standard deviations by which the safe threshold reaches the goal: one side of 95 %."""
BINS = 10
COLDEST, HOTTEST = 0.02, 50.0
"""Between which temperatures the best one is looked for."""


class Judged(NamedTuple):
    """A prediction: how probable its model holds it, and whether it is right."""

    log_probability: float
    right: bool
    signals: Mapping[str, float] = {}
    """What else tells whether it is right."""
    source: str = ""
    """Where its question comes from."""
    half: int = 0

    def confidence(self, temperature: float) -> float:
        return math.exp(self.log_probability / temperature)


@dataclass(frozen=True, slots=True)
class Bin:
    """Predictions of similar confidence. In a calibrated model the mean confidence is the accuracy."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Abstention:
    """Answering only from a confidence on, and what that is worth on the reported half."""

    threshold: float
    coverage: float
    """The share that is answered."""
    precision: float
    """How many of these answers are right."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted on one half, and what it is worth on the other."""

    temperature: float
    goal: float
    fitted: int
    reported: int
    accuracy: float
    """Of the reported half, everything answered."""
    error_before: float
    """Expected calibration error at temperature 1."""
    error_after: float
    plain: Abstention | None
    """Answering the largest share of the fitted half that reaches the goal there; None when no share does."""
    safe: Abstention | None
    """The same with a margin for chance, so that the goal is likely to be reached elsewhere too."""
    before: tuple[Bin, ...]
    after: tuple[Bin, ...]


def fit_temperature(judged: Sequence[Judged]) -> float:
    """The temperature with the least mean negative log-likelihood of being right or wrong.

    That is convex in 1 / temperature, so narrowing an interval finds it.
    """
    low, high = 1 / HOTTEST, 1 / COLDEST
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    cost_left, cost_right = _cost(judged, left), _cost(judged, right)
    while high - low > 1e-6:
        if cost_left <= cost_right:
            high, right, cost_right = right, left, cost_left
            left = high - golden * (high - low)
            cost_left = _cost(judged, left)
        else:
            low, left, cost_left = left, right, cost_right
            right = low + golden * (high - low)
            cost_right = _cost(judged, right)
    return 2 / (low + high)


def _cost(judged: Sequence[Judged], inverse: float) -> float:
    """Negative log-likelihood at 1 / temperature. A model that is certain and wrong costs much, not everything."""
    total = 0.0
    for one in judged:
        scaled = one.log_probability * inverse
        total -= scaled if one.right else math.log(max(-math.expm1(scaled), 1e-12))
    return total


def reliability(judged: Sequence[Judged], temperature: float = 1.0, bins: int = BINS) -> tuple[Bin, ...]:
    """The predictions by confidence, in bins of the same width; the last one has both its ends."""
    parts: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for one in judged:
        confidence = one.confidence(temperature)
        parts[min(int(confidence * bins), bins - 1)].append((confidence, one.right))
    return tuple(
        Bin(
            place / bins,
            (place + 1) / bins,
            len(part),
            sum(confidence for confidence, _ in part) / max(len(part), 1),
            sum(right for _, right in part) / max(len(part), 1),
        )
        for place, part in enumerate(parts)
    )


def expected_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: the mean over the predictions of |confidence - accuracy| of their bin."""
    total = sum(part.count for part in bins)
    return sum(part.count * abs(part.confidence - part.accuracy) for part in bins) / max(total, 1)


def find_threshold(
    judged: Sequence[Judged], temperature: float, goal: float = GOAL, deviations: float = 0.0
) -> float | None:
    """The confidence from which on the most predictions are answered while the goal's share of them is right.

    With `deviations` it is the lower end of Wilson's interval, so many standard deviations wide, that is to reach the
    goal: what was found on few predictions by chance is not enough then.
    """
    ranked = sorted(((one.confidence(temperature), one.right) for one in judged), reverse=True)
    right, found = 0, None
    for place, (confidence, good) in enumerate(ranked, 1):
        right += good
        # Equal confidences are answered together or not at all.
        last = place == len(ranked) or ranked[place][0] < confidence
        if last and _lower_end(right, place, deviations) >= goal:
            found = confidence
    return found


def _lower_end(right: int, count: int, deviations: float) -> float:
    """The lower end of Wilson's interval of a share; the share itself for no deviations."""
    share, square = right / count, deviations**2
    spread = deviations * math.sqrt(share * (1 - share) / count + square / (4 * count**2))
    return (share + square / (2 * count) - spread) / (1 + square / count)


def answered(judged: Sequence[Judged], temperature: float, threshold: float) -> tuple[float, float]:
    """Coverage and precision of answering from a confidence on; the precision of no answer at all is 1."""
    kept = [one.right for one in judged if one.confidence(temperature) >= threshold]
    return len(kept) / max(len(judged), 1), sum(kept) / len(kept) if kept else 1.0


def calibrate(fit: Sequence[Judged], report: Sequence[Judged], goal: float = GOAL) -> Calibration:
    """Fits on the first half, judges on the second."""
    if not fit or not report:
        raise DataError(f"calibration needs two halves; they have {len(fit)} and {len(report)} examples")
    temperature = fit_temperature(fit)
    thresholds = (find_threshold(fit, temperature, goal, deviations) for deviations in (0.0, MARGIN))
    plain, safe = (
        None if threshold is None else Abstention(threshold, *answered(report, temperature, threshold))
        for threshold in thresholds
    )
    before, after = reliability(report), reliability(report, temperature)
    accuracy = sum(one.right for one in report) / len(report)
    errors = expected_error(before), expected_error(after)
    return Calibration(temperature, goal, len(fit), len(report), accuracy, *errors, plain, safe, before, after)


def facts(calibration: Calibration) -> dict[str, Any]:
    """For JSON."""
    return asdict(calibration)
