"""The baseline that every model has to beat: it answers with the program of the most similar training problem.

Nothing is learned. A problem whose words occur in training gets the program most often given there; any other gets the
program of the nearest text by TF-IDF over words and pairs of words. The choice of features was made on dev.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from tpn2f.domain import Example, Problem
from tpn2f.errors import DataError, N2FError
from tpn2f.program import Program


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

    def _nearest(self, problems: Sequence[Problem]) -> Iterable[Program]:
        for start in range(0, len(problems), 1_000):
            queries = self._vectorizer.transform([p.words for p in problems[start : start + 1_000]])
            similarities = queries @ self._vectors.T
            for place in np.asarray(similarities.argmax(axis=1)).ravel().tolist():
                yield self.programs[place]


def _words_and_pairs(words: Sequence[str]) -> list[str]:
    return [*words, *(f"{one} {two}" for one, two in pairwise(words))]
