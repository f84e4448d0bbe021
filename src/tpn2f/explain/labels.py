"""What makes a crowded picture readable: where the labels of points stand, and which panels say something new.

Knows boxes in pixels and numbers of clusters, not words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

RINGS, TURNS = 18, 20
_STEP = 6.0
"""How much farther from its point each ring of places is, in pixels."""


def place_labels(
    spots: np.ndarray, radii: np.ndarray, sizes: np.ndarray, frame: np.ndarray, marks: np.ndarray | None = None
) -> np.ndarray:
    """The middles of labels of these sizes, which cover neither one another nor the points, as far as possible.

    `frame` is left, bottom, right, top; `marks` are boxes that are to stay free, those of the points where none are
    given. Greedy: the points with the most neighbours and the longest labels choose first, among places in rings around
    them; near is better than far, above is better than aside. The same points give the same places.
    """
    spots, radii, sizes = (np.asarray(values, dtype=float) for values in (spots, radii, sizes))
    turns = 2 * np.pi * (np.arange(TURNS) + TURNS / 4) / TURNS
    directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    distances = np.linalg.norm(spots[:, None] - spots[None], axis=-1)
    if marks is None:
        marks = np.concatenate([spots - radii[:, None], spots + radii[:, None]], axis=1)
    preference = (0.35 * np.arange(RINGS)[:, None] + 0.02 * np.arange(TURNS)).ravel()
    taken = np.empty((0, 4))
    middles = np.zeros_like(spots)
    for place in np.argsort(-(distances < 60).sum(1) * sizes[:, 0], kind="stable").tolist():
        half = sizes[place] / 2 + 1.5
        away = half + radii[place] + _STEP * np.arange(RINGS)[:, None]
        candidates = (spots[place] + directions * away[:, None, :]).reshape(-1, 2)
        boxes = np.concatenate([candidates - half, candidates + half], axis=1)
        outside = (boxes[:, :2] < frame[:2]).any(1) | (boxes[:, 2:] > frame[2:]).any(1)
        cost = preference + 20 * overlaps(boxes, taken).sum(1) + 6 * overlaps(boxes, marks).sum(1) + 100 * outside
        best = int(cost.argmin())
        middles[place] = candidates[best]
        taken = np.concatenate([taken, boxes[best : best + 1]])
    return middles


def overlaps(boxes: np.ndarray, others: np.ndarray) -> np.ndarray:
    """[box, other]: 0 where they do not touch, else from 0.5 to 1.5 with the covered part of the smaller one."""
    shared = np.minimum(boxes[:, None, 2:], others[None, :, 2:]) - np.maximum(boxes[:, None, :2], others[None, :, :2])
    areas = [(values[:, 2:] - values[:, :2]).prod(1) for values in (boxes, others)]
    smaller = np.maximum(np.minimum(areas[0][:, None], areas[1][None]), 1e-9)
    return np.where((shared > 0).all(-1), 0.5 + shared.prod(-1) / smaller, 0.0)


def differing(clusterings: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], Collection[int]]]:
    """The clusterings of the same points that differ from the one before, and which points are elsewhere in each.

    Clusters are numbered so that as many points as possible keep their number from one clustering to the next. All
    points of the first clustering are new.
    """
    found: list[tuple[tuple[int, ...], Collection[int]]] = []
    for labels in clusterings:
        if not found:
            found.append((tuple(labels), range(len(labels))))
            continue
        before = found[-1][0]
        named: dict[int, int] = {}
        for (old, new), _ in Counter(zip(before, labels)).most_common():
            if new not in named and old not in named.values():
                named[new] = old
        fresh = (number for number in range(len(before)) if number not in named.values())
        for new in sorted(set(labels) - named.keys()):
            named[new] = next(fresh)
        after = tuple(named[label] for label in labels)
        if moved := [place for place, (one, other) in enumerate(zip(before, after)) if one != other]:
            found.append((after, moved))
    return found
