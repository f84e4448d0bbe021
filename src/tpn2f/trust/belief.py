"""How sure an answer is, from named signals: a logistic model, small enough to be read as JSON.

Fitted by Newton's method with a penalty on the weights (L2), on signals that are brought to mean 0 and deviation 1.
The numbers survive JSON exactly, so a stored belief gives the same confidence everywhere. Of signals that the answers
hardly had, nothing is learned; for some of them `caution` has rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
        total = math.fsum([self.bias, *self.parts(signals).values()])
        found = 1 / (1 + math.exp(-total)) if total > -700 else 0.0
        return cautious(found, {name: value for name, value in signals.items() if name not in self.names})

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
    names = [name for name in signals[0] if name not in rare and len({one[name] for one in signals}) > 1]
    table = np.array([[one[name] for name in names] for one in signals], dtype=np.float64).reshape(len(signals), -1)
    counts = np.ones(len(signals)) if weights is None else np.asarray(weights, dtype=np.float64)
    counts = counts * (len(signals) / counts.sum())
    means = (counts @ table) / len(signals)
    deviations = np.sqrt((counts @ (table - means) ** 2) / len(signals)).clip(min=1e-9)
    scaled = ((table - means) / deviations).clip(-FARTHEST, FARTHEST)
    inputs = np.hstack([scaled, np.ones((len(signals), 1))])
    target = np.asarray(right, dtype=np.float64)
    cost = np.diag([penalty] * len(names) + [1e-3])
    found = np.zeros(len(names) + 1)
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(inputs @ found).clip(-30, 30)))
        slope = inputs.T @ (counts * (chance - target)) + cost @ found
        curve = (inputs * (counts * chance * (1 - chance))[:, None]).T @ inputs + cost
        step = np.linalg.solve(curve, slope)
        # Newton's step may be too long far from the best place.
        step *= min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        found = found - step
        if float(np.abs(step).max()) < 1e-9:
            break
    spread, mean, weight = (tuple(map(float, row)) for row in (deviations, means, found[:-1]))
    return Belief(tuple(names), mean, spread, weight, float(found[-1]))


def _bounded(value: float) -> float:
    return max(-FARTHEST, min(FARTHEST, value))
