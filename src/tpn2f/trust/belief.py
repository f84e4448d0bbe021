"""How sure an answer is, from named signals: a logistic model, small enough to be read as JSON. A *choice* is one, too:
it tells the right one among the candidates for the same question.

Fitted by Newton's method with a penalty on the weights (L2), on signals that are brought to mean 0 and deviation 1.
The numbers survive JSON exactly, so a stored belief gives the same confidence everywhere. Of signals that the answers
hardly had, nothing is learned; for some of them `caution` has rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tpn2f.errors import CheckpointError, DataError
from tpn2f.trust.caution import RARE, RULES, cautious

PENALTY = 30.0
"""What a weight of 1 costs, in questions: signals that tell little stay near 0."""
MOST_SIGNALS = 1_000
HEAVIEST = 1e6
"""The largest weight: what a stranger's file says beyond it is damaged."""
FARTHEST = 4.0
"""The most deviations from the mean that a signal counts: a text unlike any other is not believed more for it."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A logistic model over signals."""

    names: tuple[str, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def confidence(self, signals: Mapping[str, float]) -> float:
        """The probability that an answer with these signals is right. A signal that is not given counts as usual; one
        that was not learned has its rule, where there is one."""
        total = self.score(signals)
        found = 1 / (1 + math.exp(-total)) if total > -700 else 0.0
        return cautious(found, {name: value for name, value in signals.items() if name not in self.names})

    def score(self, signals: Mapping[str, float]) -> float:
        """The log-odds that an answer with these signals is right; of a choice, what candidates are ranked by."""
        return math.fsum([self.bias, *self.parts(signals).values()])

    def parts(self, signals: Mapping[str, float]) -> dict[str, float]:
        """What each signal adds to the log-odds: below 0 it speaks against the answer."""
        return {
            name: weight * _bounded((signals.get(name, mean) - mean) / deviation)
            for name, mean, deviation, weight in zip(self.names, self.means, self.deviations, self.weights)
        }

    def to_json(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, told: object, where: str) -> Belief:
        """What `to_json` gave. Raises CheckpointError for anything else."""
        try:
            if not isinstance(told, dict):
                raise TypeError("not an object")
            names = tuple(str(name) for name in told["names"])
            means, deviations, weights = (
                tuple(float(value) for value in told[key]) for key in ("means", "deviations", "weights")
            )
            bias = float(told["bias"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CheckpointError(f"{where}: the checkpoint's belief cannot be read ({str(error)[:100]})") from error
        whole = len(names) == len(means) == len(deviations) == len(weights) <= MOST_SIGNALS
        finite = all(map(math.isfinite, (*means, *deviations))) and all(deviation > 0 for deviation in deviations)
        if not whole or not finite or not all(abs(value) <= HEAVIEST for value in (*weights, bias)):
            raise CheckpointError(f"{where}: the checkpoint's belief needs a finite number per name")
        return cls(names, means, deviations, weights, bias)


def probability(log_probability: float, temperature: float | None) -> float:
    """Of a program, from its log-probability at a temperature; 0 where the numbers are none."""
    found = log_probability / (temperature or 1.0)
    return 0.0 if math.isnan(found) else math.exp(min(found, 0.0))


def fit_belief(
    signals: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    weights: Sequence[float] | None = None,
    penalty: float = PENALTY,
) -> Belief:
    """The belief that says best which answers were right. `weights` are what each answer counts; all the same without.

    Signals that never vary are left out, and so are those that have a rule, if few answers have them. With equal
    arguments it is the same, bit for bit.
    """
    if not signals:
        raise DataError("a belief needs at least one answer to be fitted")
    rare = {name for name in RULES if sum(one.get(name, 0.0) != 0 for one in signals) < RARE}
    names, table = _table(signals, rare)
    counts = np.ones(len(signals)) if weights is None else np.asarray(weights, dtype=np.float64)
    counts = counts * (len(signals) / counts.sum())
    scaled, means, deviations = _scaled(table, counts)
    inputs = np.hstack([scaled, np.ones((len(signals), 1))])
    target = np.asarray(right, dtype=np.float64)
    cost = np.diag([penalty] * len(names) + [1e-3])

    def slope_and_curve(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = 1 / (1 + np.exp(-(inputs @ found).clip(-30, 30)))
        slope = inputs.T @ (counts * (chance - target)) + cost @ found
        return slope, (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + cost

    return _belief(names, means, deviations, _newton(slope_and_curve, len(names) + 1))


def fit_choice(
    questions: Sequence[tuple[Sequence[Mapping[str, float]], Sequence[bool]]],
    weights: Sequence[float] | None = None,
    penalty: float = PENALTY,
) -> Belief:
    """What ranks a right candidate above the wrong ones for the same question best; its scores mean nothing else.

    A question is the signals of its candidates and which of them are right; one without a right and a wrong one says
    nothing. Raises DataError where no question says anything.
    """
    counts = [1.0] * len(questions) if weights is None else list(weights)
    told = [
        (*question, count) for question, count in zip(questions, counts) if any(question[1]) and not all(question[1])
    ]
    if not told:
        raise DataError("a choice needs a question with a right and a wrong candidate to be fitted")
    names, table = _table([one for candidates, _, _ in told for one in candidates])
    scaled, means, deviations = _scaled(table, np.ones(len(table)))
    ends = np.cumsum([len(candidates) for candidates, _, _ in told])
    groups = [
        (rows, np.asarray(right, dtype=bool), count * len(told) / sum(count for *_, count in told))
        for rows, (_, right, count) in zip(np.split(scaled, ends[:-1]), told)
    ]

    def slope_and_curve(found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope, curve = penalty * found, penalty * np.eye(len(found))
        for rows, right, count in groups:
            scores = rows @ found
            chance = np.exp(scores - scores.max())
            chance /= chance.sum()
            among = np.where(right, chance, 0.0)
            among /= max(float(among.sum()), 1e-300)
            slope = slope + count * (chance - among) @ rows
            mean = chance @ rows
            # The curve of the wrong ones alone: it is never negative, so that every step goes down.
            curve = curve + count * ((rows * chance[:, None]).T @ rows - np.outer(mean, mean))
        return slope, curve

    found = _newton(slope_and_curve, len(names))
    return _belief(names, means, deviations, np.append(found, 0.0))


def _table(signals: Sequence[Mapping[str, float]], without: Container[str] = ()) -> tuple[list[str], np.ndarray]:
    """The signals that vary, but for some, and their values: a row for every answer."""
    names = [name for name in signals[0] if name not in without and len({one[name] for one in signals}) > 1]
    rows = [[one[name] for name in names] for one in signals]
    return names, np.array(rows, dtype=np.float64).reshape(len(signals), -1)


def _scaled(table: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every column with mean 0 and deviation 1; then the means and deviations that it had."""
    means = (counts @ table) / len(table)
    deviations = np.sqrt((counts @ (table - means) ** 2) / len(table)).clip(min=1e-9)
    return ((table - means) / deviations).clip(-FARTHEST, FARTHEST), means, deviations


def _newton(slope_and_curve: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], size: int) -> np.ndarray:
    found = np.zeros(size)
    for _ in range(50):
        slope, curve = slope_and_curve(found)
        step = np.linalg.solve(curve, slope)
        # Newton's step may be too long far from the best place.
        step *= min(1.0, 5.0 / max(float(np.abs(step).max(initial=0.0)), 1e-12))
        found = found - step
        if float(np.abs(step).max(initial=0.0)) < 1e-9:
            break
    return found


def _belief(names: Sequence[str], means: np.ndarray, deviations: np.ndarray, found: np.ndarray) -> Belief:
    spread, mean, weight = (tuple(map(float, row)) for row in (deviations, means, found[:-1]))
    return Belief(tuple(names), mean, spread, weight, float(found[-1]))


def _bounded(value: float) -> float:
    return max(-FARTHEST, min(FARTHEST, value))
