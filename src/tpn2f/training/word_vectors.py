"""Word vectors from the neighbours of words in the training texts: where word embeddings may start from.

Words that stand among the same words, `truck` and `car`, `broad` and `wide`, begin alike: what is learned of one then
holds for the other. Positive mutual information of words and their neighbours, left and right apart, reduced by a
singular value decomposition (Levy and Goldberg, 2014). Knows ids of words, not words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

WINDOW = 4
"""The largest distance of a neighbour; each counts one over its distance."""
SPARE = 16
"""Directions beyond those asked for, which make the decomposition exact enough."""
SMOOTHING = 0.75
"""Rare neighbours count less than their frequency says."""


def word_vectors(texts: Iterable[Sequence[int]], n_words: int, width: int) -> Float[Tensor, "n_words width"]:
    """A vector of length 1 for every word whose neighbours are informative, zero for the others.

    Draws from torch's random numbers.
    """
    places, values = _information(*_neighbours(texts, n_words))
    found = torch.zeros(n_words, width)
    known = torch.from_numpy(np.unique(places[0]))
    rank = min(width, len(known))
    if rank:
        cells, information = torch.from_numpy(places), torch.from_numpy(values)
        matrix = torch.sparse_coo_tensor(cells, information, (n_words, 2 * n_words), check_invariants=True)
        left, strengths, _ = torch.svd_lowrank(matrix.coalesce(), min(rank + SPARE, n_words), niter=4)
        found[known, :rank] = torch.nn.functional.normalize((left * strengths.sqrt())[known, :rank])
    return found


def _neighbours(texts: Iterable[Sequence[int]], n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """How often a word has a neighbour: (word, neighbour) as columns; those to the left have numbers of their own."""
    pairs: list[np.ndarray] = []
    counts: list[np.ndarray] = []
    for text in texts:
        words = np.asarray(text, dtype=np.int64)
        for distance in range(1, min(WINDOW, len(words) - 1) + 1):
            before, after = words[:-distance], words[distance:]
            pairs += [before * 2 * n_words + after, after * 2 * n_words + n_words + before]
            counts += [np.full(2 * len(before), 1 / distance)]
    if not pairs:
        return np.zeros((2, 0), dtype=np.int64), np.zeros(0)
    cells, owners = np.unique(np.concatenate(pairs), return_inverse=True)
    sums = np.bincount(owners, np.concatenate(counts))
    return np.stack([cells // (2 * n_words), cells % (2 * n_words)]), sums


def _information(places: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positive pointwise mutual information, where there is any."""
    if not len(counts):
        return places, counts.astype(np.float32)
    rows = np.bincount(places[0], counts)
    columns = np.bincount(places[1], counts) ** SMOOTHING
    information = np.log(counts / rows[places[0]] / (columns[places[1]] / columns.sum()))
    kept = information > 0
    return places[:, kept], information[kept].astype(np.float32)
