"""What an encoder reads at once, and from the vectors of pieces to those of words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

MOST_PIECES = 4096
"""The most pieces, padding included, that are read at once: what bounds memory."""


class Window(NamedTuple):
    """Pieces that are read at once, and the words that they belong to."""

    text: int
    pieces: list[int]
    words: list[int]


def in_batches(windows: Sequence[Window], read: Callable[[list[int]], Sequence[Tensor]]) -> list[Tensor]:
    """What `read` gives for every window. It gets places of windows of similar length, so many as fit together."""
    found: dict[int, Tensor] = {}
    part: list[int] = []
    for place in sorted(range(len(windows)), key=lambda place: len(windows[place].pieces)):
        if part and (len(part) + 1) * (len(windows[place].pieces) + 2) > MOST_PIECES:
            found.update(zip(part, read(part)))
            part = []
        part.append(place)
    if part:
        found.update(zip(part, read(part)))
    return [found[place] for place in range(len(windows))]


def in_words(
    texts: Sequence[Sequence[str]], windows: Sequence[Window], vectors: Sequence[Tensor], width: int
) -> list[Tensor]:
    """For every text [words, width]: the mean over a word's pieces. `vectors` has a row for every piece of a window."""
    lengths = [max(len(text), 1) for text in texts]
    if not windows:
        return list(torch.zeros(sum(lengths), width).split(lengths))
    starts = [0, *accumulate(lengths)]
    # A word has all its pieces in one window.
    rows = torch.tensor([starts[window.text] + word for window in windows for word in window.words])
    counts = torch.bincount(rows, minlength=starts[-1])[rows].unsqueeze(1)
    pieces = torch.cat(list(vectors))
    rows, counts = rows.to(pieces.device), counts.to(pieces.device)
    found = torch.zeros(starts[-1], width, device=pieces.device).index_add(0, rows, pieces / counts)
    return list(found.split(lengths))
