"""Which candidate of a beam is taken: a choice by signals, fitted on dev, and measured on sources that were left out.

The most probable program is often not the best one: it may take a number away from itself, or leave a result unused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tpn2f.confidence.temperature import Judged
from tpn2f.errors import DataError
from tpn2f.trust.belief import Belief, fit_choice


class Considered(NamedTuple):
    """A question of dev, with all candidates for it, the most probable first."""

    log_probabilities: tuple[float, ...]
    right: tuple[bool, ...]
    signals: tuple[Mapping[str, float], ...]
    sensible: tuple[bool, ...]
    """Whether each has a value that can be the answer."""
    source: str = ""
    half: int = 0

    def taken(self, choice: Belief | None, chooses: bool = True) -> Judged:
        """The candidate that people are answered with: the first one where the domain cannot tell what makes sense."""
        left = [place for place, there in enumerate(self.sensible) if there and chooses] or [0]
        place = left[0] if choice is None else max(left, key=lambda one: choice.score(self.signals[one]))
        return Judged(self.log_probabilities[place], self.right[place], self.signals[place], self.source, self.half)


def find_choice(considered: Sequence[Considered]) -> Belief:
    """The choice in which a source counts by the root of its size. Raises DataError where nothing can be learned."""
    sizes = Counter(one.source for one in considered)
    return fit_choice([_sensible(one) for one in considered], [1 / math.sqrt(sizes[one.source]) for one in considered])


def _sensible(one: Considered) -> tuple[list[Mapping[str, float]], list[bool]]:
    """The candidates among which there is a choice: the others are never taken."""
    left = [place for place, there in enumerate(one.sensible) if there]
    return [one.signals[place] for place in left], [one.right[place] for place in left]


def choose_outside(considered: Sequence[Considered]) -> list[Judged]:
    """Every question answered by a choice that was fitted without its source; by the other half of the questions where
    there is one source only."""
    several = len({one.source for one in considered}) > 1
    groups = [one.source if several else one.half for one in considered]
    choices: dict[object, Belief | None] = {}
    for group in dict.fromkeys(groups):
        try:
            choices[group] = find_choice([one for one, other in zip(considered, groups) if other != group])
        except DataError:
            choices[group] = None
    return [one.taken(choices[group]) for one, group in zip(considered, groups)]
