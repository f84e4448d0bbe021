"""Known programs as trees, laid out for a decoder that goes from the root down and from left to right.

A node is a joint symbol: a call, a leaf, or NONE, which closes a call that has fewer arguments than there are
positions. Each node but a root has one predecessor: its previous sibling or, for a first child, its parent. So a batch
of trees is done in waves, each of them the nodes whose predecessors were in the wave before. Knows ids only.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from tpn2f.model.config import END, NONE

MOST_NODES = 20_000
"""The largest tree: what tuples share is written out at each use, which can make a small program a huge tree."""


class Wave(NamedTuple):
    """Nodes whose predecessors are in the wave before: first children, then other children."""

    parents: Int[Tensor, "children"]
    """For each first child where its parent is in the wave before."""
    siblings: Int[Tensor, "others"]
    """For each other child where its previous sibling is."""


class Forest(NamedTuple):
    """The trees of a batch. The roots are the first wave, one for each row."""

    symbols: Int[Tensor, "nodes"]
    rows: Int[Tensor, "nodes"]
    """Which program a node belongs to."""
    places: Int[Tensor, "nodes"]
    """A node's number within its tree, parents first, left to right."""
    waves: list[Wave]
    """All but the first."""


def plant(
    tuples: Int[Tensor, "batch tuples slots"],
    tuple_counts: Int[Tensor, "batch"],
    n_relations: int,
    tuple_of_argument: Sequence[int],
) -> Forest:
    """The trees of programs, each with its end tuple; an empty program is the single node END.

    What several tuples refer to is written at each place, what none refers to is left out.
    """
    # Lists by wave: the first children and the others, each a (symbol, row, place, predecessor). A predecessor is its
    # kind, 0 or 1, and its number in the list.
    found: list[tuple[list, list]] = []

    def add(wave: int, kind: int, node: tuple) -> tuple[int, int]:
        while len(found) <= wave:
            found.append(([], []))
        found[wave][kind].append(node)
        return kind, len(found[wave][kind]) - 1

    for row, (steps, count) in enumerate(zip(tuples.tolist(), tuple_counts.tolist())):
        if count < 2:
            add(0, 0, (END, row, 0, None))
            continue
        place = 0
        # Arguments that are still to be written: their tuple, they, and the node before the first with wave and kind.
        root = add(0, 0, (steps[count - 2][0], row, place, None))
        pending: list[tuple[int, list[int], int, int, tuple[int, int]]] = [
            (count - 2, steps[count - 2][1:], 0, 0, root)
        ]
        while pending:
            index, left, wave, kind, before = pending.pop()
            if not left:
                continue
            argument, *rest = left
            place += 1
            if place > MOST_NODES:
                raise ValueError(f"the tree of a program has more than {MOST_NODES} nodes")
            target = tuple_of_argument[argument]
            call = 0 <= target < index
            symbol = steps[target][0] if call else n_relations + argument
            # The first child comes after its parent, the others after the child before them.
            node = add(wave + 1, kind, (symbol, row, place, before))
            if argument != NONE:
                pending.append((index, rest, wave + 1, 1, node))
            if call:
                pending.append((target, steps[target][1:], wave + 1, 0, node))
    return _lay_out(found, tuples.device)


def _lay_out(found: list[tuple[list, list]], device: torch.device) -> Forest:
    nodes = [node for kinds in found for kind in kinds for node in kind]
    waves = []
    for (first, _), kinds in pairwise(found):
        # The others of a wave stand behind its first children.
        before = [[kind * len(first) + number for *_, (kind, number) in one] for one in kinds]
        waves.append(Wave(*(torch.tensor(one, dtype=torch.long, device=device) for one in before)))
    symbols, rows, places = (torch.tensor([node[part] for node in nodes], device=device) for part in range(3))
    return Forest(symbols, rows, places, waves)
