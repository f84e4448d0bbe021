"""A training question that is like another text. It stands apart, so that whoever only shows one loads little."""

from typing import NamedTuple


class Nearest(NamedTuple):
    """A training question that is like another text."""

    text: str
    similarity: float
    """From 0, no word in common that tells anything, to 1, the same words; values do not count."""
