"""A frozen list of tokens: line number = id, on disk as in memory. The first four are the specials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tpn2f.errors import DataError

SPECIALS = ("<pad>", "<start>", "<end>", "<none>")
PAD, START, END, NONE = range(4)
UNKNOWN = NONE
"""Among words the fourth special stands for a word that training did not have."""


class Vocabulary:
    """Tokens and their ids. Two vocabularies are equal when their tokens are."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self.tokens = (*SPECIALS, *tokens)
        self._ids = {token: place for place, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            twice = next(token for token, count in Counter(self.tokens).items() if count > 1)
            raise DataError(f"the token {twice!r} occurs twice in a vocabulary")

    @classmethod
    def count(cls, tokens: Iterable[str], at_least: int = 1) -> Vocabulary:
        """The tokens that occur often enough, the most frequent first, equals in alphabetical order."""
        counter = Counter(tokens)
        kept = sorted((token for token in counter if counter[token] >= at_least), key=lambda t: (-counter[t], t))
        return cls(kept)

    def extended(self, tokens: Iterable[str]) -> Vocabulary:
        """With further tokens at the end; tokens that it already has keep their places."""
        more = [token for token in dict.fromkeys(tokens) if token not in self]
        return Vocabulary([*self, *more]) if more else self

    @classmethod
    def parse(cls, text: str, where: str) -> Vocabulary:
        """Reads what `text` gives: one token per line, the specials first."""
        lines = text.split("\n")
        if tuple(lines[: len(SPECIALS)]) != SPECIALS or lines[-1]:
            raise DataError(f"{where} is not a vocabulary: expected {' '.join(SPECIALS)} first, and one token per line")
        return cls(lines[len(SPECIALS) : -1])

    def text(self) -> str:
        """One token per line: the form on disk."""
        return "".join(f"{token}\n" for token in self.tokens)

    def id(self, token: str) -> int:
        """The token's id; UNKNOWN (which is NONE) for a token that is not there."""
        return self._ids.get(token, UNKNOWN)

    def ids(self, tokens: Sequence[str]) -> list[int]:
        return [self._ids.get(token, UNKNOWN) for token in tokens]

    def __getitem__(self, place: int) -> str:
        return self.tokens[place]

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[str]:
        """The tokens without the specials."""
        return iter(self.tokens[len(SPECIALS) :])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)
