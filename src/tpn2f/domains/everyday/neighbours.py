"""Near duplicates: texts that are the same but for numbers and a few words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

SIMILAR = 0.5
"""The Jaccard similarity of runs of four words from which on two texts are near duplicates."""


def runs(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """All runs of four words, with the numbers masked."""
    masked = ["n" if word[0] == "n" and word[1:].isdigit() else word for word in words]
    return frozenset(tuple(masked[k : k + 4]) for k in range(max(1, len(masked) - 3)))


class Neighbours:
    """Finds among the texts that are for judging the one that a text nearly repeats."""

    def __init__(self, texts: Iterable[tuple[str, Sequence[str]]]) -> None:
        self._ids: list[str] = []
        self._sizes: list[int] = []
        self._where: dict[tuple[str, ...], list[int]] = {}
        for index, (id, words) in enumerate(texts):
            found = runs(words)
            self._ids.append(id)
            self._sizes.append(len(found))
            for run in found:
                self._where.setdefault(run, []).append(index)

    def near(self, words: Sequence[str]) -> str:
        """The id of the most similar text, if it is a near duplicate; else nothing."""
        found = runs(words)
        shared = Counter(index for run in found for index in self._where.get(run, ()))
        best, similarity = "", SIMILAR
        for index, count in shared.items():
            found_similarity = count / (len(found) + self._sizes[index] - count)
            if found_similarity >= similarity:
                best, similarity = self._ids[index], found_similarity
        return best
