"""The baseline that every model has to beat: it answers with the program of the most similar training problem.

Nothing is learned. A problem whose words occur in training gets the program most often given there; any other gets the
program of the nearest text by TF-IDF over words and pairs of words. The choice of features was made on dev.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tpn2f.domain import Example, Problem
from tpn2f.errors import DataError, N2FError
from tpn2f.program import Program


class Neighbour(NamedTuple):
    """A training text that is near a problem."""

    similarity: float
    """From 0 to 1."""
    programs: Mapping[Program, float]
    """Its programs, the most frequent first, each with its share."""


class Retrieval:
    """A memory of training examples. Needs scikit-learn, of the extra `analysis`."""

    def __init__(self, examples: Iterable[Example]) -> None:
        try:
            from sklearn.feature_extraction.text import TfidfVectorizer
        except ImportError as error:
            raise N2FError("retrieval needs scikit-learn: pip install 'tpn2f[analysis]'") from error
        programs: dict[tuple[str, ...], Counter[Program]] = defaultdict(Counter)
        for example in examples:
            programs[example.problem.words][example.program] += 1
        if not programs:
            raise DataError("retrieval needs at least one training example")
        self.texts = list(programs)
        self._counts = list(programs.values())
        # Of programs that are equally frequent the first one stands, so that the answer never depends on hashing.
        self.programs = [counter.most_common(1)[0][0] for counter in programs.values()]
        self._exact = dict(zip(self.texts, self.programs))
        self._vectorizer = TfidfVectorizer(analyzer=_words_and_pairs, sublinear_tf=True)  # type: ignore[arg-type]
        self._vectors = self._vectorizer.fit_transform(self.texts)

    def predict(self, problems: Sequence[Problem]) -> list[Program]:
        """The program of the same words where they were seen, else of the most similar ones."""
        unseen = [problem for problem in problems if problem.words not in self._exact]
        nearest = iter(self._nearest(unseen))
        return [self._exact[p.words] if p.words in self._exact else next(nearest) for p in problems]

    def nearest(self, problems: Sequence[Problem], count: int) -> list[list[Neighbour]]:
        """The most similar training texts of every problem, nearest first; of equal ones the first stands first."""
        found = []
        for similarities in self._similarities(problems):
            for row in range(similarities.shape[0]):  # one at a time: the whole would be large
                dense = similarities[row : row + 1].toarray().ravel()
                order = np.argsort(-dense, kind="stable")[:count]
                found.append([self._neighbour(place, dense[place]) for place in order.tolist()])
        return found

    def _neighbour(self, place: int, similarity: float) -> Neighbour:
        counts = self._counts[place]
        shares = {program: times / counts.total() for program, times in counts.most_common()}
        return Neighbour(min(max(float(similarity), 0.0), 1.0), shares)

    def _nearest(self, problems: Sequence[Problem]) -> Iterable[Program]:
        for similarities in self._similarities(problems):
            for place in np.asarray(similarities.argmax(axis=1)).ravel().tolist():
                yield self.programs[place]

    def _similarities(self, problems: Sequence[Problem]) -> Iterator[Any]:
        """Sparse matrices of up to 1,000 problems by all texts."""
        for start in range(0, len(problems), 1_000):
            queries = self._vectorizer.transform([p.words for p in problems[start : start + 1_000]])
            yield queries @ self._vectors.T


def _words_and_pairs(words: Sequence[str]) -> list[str]:
    return [*words, *(f"{one} {two}" for one, two in pairwise(words))]
