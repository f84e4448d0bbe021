"""Where the labels of points stand, so that a crowded picture stays readable. Knows boxes in pixels, not words."""

from __future__ import annotations

import numpy as np

RINGS, TURNS = 10, 16
_STEP = 8.0
"""How much farther from its point each ring of places is, in pixels."""


def place_labels(spots: np.ndarray, radii: np.ndarray, sizes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """The middles of labels of these sizes, which cover neither one another nor the points, as far as possible.

    `frame` is left, bottom, right, top. Greedy: the points with the most neighbours choose first, among places in rings
    around them; near is better than far, above is better than aside. The same points give the same places.
    """
    spots, radii, sizes = (np.asarray(values, dtype=float) for values in (spots, radii, sizes))
    turns = 2 * np.pi * (np.arange(TURNS) + TURNS / 4) / TURNS
    directions = np.stack([np.cos(turns), np.sin(turns)], axis=1)
    distances = np.linalg.norm(spots[:, None] - spots[None], axis=-1)
    marks = np.concatenate([spots - radii[:, None], spots + radii[:, None]], axis=1)
    preference = (0.35 * np.arange(RINGS)[:, None] + 0.02 * np.arange(TURNS)).ravel()
    taken = np.empty((0, 4))
    middles = np.zeros_like(spots)
    for place in np.argsort(-(distances < 60).sum(1), kind="stable").tolist():
        half = sizes[place] / 2 + 1.5
        away = half + radii[place] + _STEP * np.arange(RINGS)[:, None]
        candidates = (spots[place] + directions * away[:, None, :]).reshape(-1, 2)
        boxes = np.concatenate([candidates - half, candidates + half], axis=1)
        outside = (boxes[:, :2] < frame[:2]).any(1) | (boxes[:, 2:] > frame[2:]).any(1)
        cost = preference + 6 * overlaps(boxes, taken).sum(1) + 3 * overlaps(boxes, marks).sum(1) + 100 * outside
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
