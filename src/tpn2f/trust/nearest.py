"""A training question that is like another text. Apart from what finds it: whoever only shows it loads little."""

from typing import NamedTuple


class Nearest(NamedTuple):
    """A training question that is like another text."""

    text: str
    similarity: float
    """From 0, no word in common that tells anything, to 1, the same words; values do not count."""
