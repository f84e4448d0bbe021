"""A training question that is like another text. It stands apart, so that whoever only shows one loads little."""

import math
from typing import NamedTuple

NEAREST = 1.02
"""Closeness is -log(this - similarity)."""


class Nearest(NamedTuple):
    """A training question that is like another text."""

    text: str
    similarity: float
    """From 0, no word in common that tells anything, to 1, the same words; values do not count."""


def closeness(similarity: float) -> float:
    """How much a similarity says: between 0.9 and 1 there is more than between 0.3 and 0.4."""
    return -math.log(NEAREST - min(similarity, 1.0))
