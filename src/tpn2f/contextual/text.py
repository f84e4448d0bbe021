"""What a pre-trained encoder reads of a problem: its words, with the values back where their names stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from torch import Tensor

from tpn2f.domain import Problem


@runtime_checkable
class WordReader(Protocol):
    """Gives every word of a problem a vector that depends on the whole text."""

    width: int

    def read(self, problems: Sequence[Problem]) -> list[Tensor]:
        """For every problem [words, width]; one row of zeros for a text without words."""
        ...

    def identity(self) -> Mapping[str, object]:
        """What another reader must have in common with this one to give the same vectors."""
        ...


def text_of(problem: Problem) -> tuple[str, ...]:
    """One text a word: a name of a number is read as the number, everything else as it is."""
    return tuple(_written(problem.bindings.get(word, word), word) for word in problem.words)


def _written(value: object, word: str) -> str:
    """A number as people write it; the word itself for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return word
    if isinstance(value, int) or (abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{float(value):.6g}"
