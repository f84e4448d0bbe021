"""The weights with which a candidate's merits count, fitted so that right candidates win: a conditional logit.

Fitted on the examples that select a model, never on a test split. Which merits count was chosen on MathQA's dev, too,
among some forty trials: scores on that dev are a little too good, even where weights come from the other half.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tpn2f.errors import DataError
from tpn2f.memory.recall import Recalled
from tpn2f.program import Program
from tpn2f.search import Candidate
from tpn2f.trust.nearest import closeness

MERITS = ("log_probability", "closeness", "share", "votes")
FLOOR = -30.0
"""Less log-probability than this is no worse: the model has never heard of it."""
SAME = 1e-9
"""A merit that varies less than this is the same for all candidates."""
RIDGE = 1.0
"""How strongly weights are drawn to 0, with merits of deviation 1."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """A weight for every merit."""

    weights: tuple[float, ...]

    def choose(self, candidates: Sequence[Recalled]) -> Candidate:
        """The candidate whose merits weigh most, with that weight as its score; the first of equals."""
        scores = merits(candidates) @ np.asarray(self.weights)
        best = int(scores.argmax())
        return Candidate(candidates[best].program, candidates[best].log_probability, float(scores[best]))

    def told(self) -> dict[str, float]:
        return {name: round(weight, 4) for name, weight in zip(MERITS, self.weights)}


def merits(candidates: Sequence[Recalled]) -> np.ndarray:
    """A row per candidate."""
    return np.array(
        [(max(one.log_probability, FLOOR), closeness(one.similarity), one.share, one.votes) for one in candidates]
    )


def fit_mixture(questions: Sequence[Sequence[Recalled]], gold: Sequence[Program]) -> Mixture:
    """The weights under which the right candidates are most probable. Questions without a right candidate, or with
    nothing to choose from, teach nothing; raises DataError where no other is left."""
    rows, right = [], []
    for candidates, program in zip(questions, gold, strict=True):
        place = next((place for place, one in enumerate(candidates) if one.program == program), None)
        if place is not None and len(candidates) > 1:
            rows.append(merits(candidates))
            right.append(place)
    if not rows:
        raise DataError("the weights of memory cannot be fitted: no question has a right candidate and a wrong one")
    deviation = np.concatenate(rows).std(0)
    # A merit that is the same for all tells nothing. Divided by next to nothing it would be all rounding errors.
    deviation[deviation < SAME] = 1.0
    scaled = [row / deviation for row in rows]
    weights = np.zeros(len(MERITS))
    value, gradient, hessian = _objective(scaled, right, weights)
    for _ in range(100):
        step = np.linalg.solve(hessian, gradient)
        if np.abs(step).max() < 1e-6:
            break
        # The objective is concave; half a step, or less, is always better where a whole one is too far.
        while True:
            found = _objective(scaled, right, weights + step)
            if found[0] >= value or np.abs(step).max() < 1e-9:
                break
            step = step / 2
        weights, (value, gradient, hessian) = weights + step, found
    return Mixture(tuple((weights / deviation).tolist()))


def _objective(
    rows: Sequence[np.ndarray], right: Sequence[int], weights: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The log-likelihood of the right candidates less the ridge, its gradient, and its negative Hessian."""
    value = -0.5 * RIDGE * float(weights @ weights)
    gradient, hessian = -RIDGE * weights, RIDGE * np.eye(len(weights))
    for row, place in zip(rows, right):
        scores = row @ weights
        top = scores.max()
        powers = np.exp(scores - top)
        total = powers.sum()
        shares = powers / total
        mean = shares @ row
        value += float(scores[place] - top - math.log(total))
        gradient = gradient + row[place] - mean
        hessian = hessian + (row * shares[:, None]).T @ row - np.outer(mean, mean)
    return value, gradient, hessian
