"""A run of a Lisp tree, call by call: what every sub-expression gave. It runs within the limits of any other run.

Only the first values of a call are kept, and they are written in short, so that a trace is small whatever ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import no_type_check

from tpn2f.domain import Traced
from tpn2f.domains.lisp.check import check
from tpn2f.domains.lisp.language import DEFAULT_LIMITS, walk_tree, with_room
from tpn2f.domains.lisp.machine import Function, MachineLimits
from tpn2f.errors import ExecutionError
from tpn2f.program import Tree
from tpn2f.wording import format_value

KEPT = 6
"""How many values of one call are kept."""
LONGEST = 160
"""The longest value that is written, in characters."""
_GIVEN = ("arg1", "arg2")


@no_type_check
class _Notes:
    """What is seen of one run. The methods are called inside of it, so they are short and call nothing."""

    def __init__(self) -> None:
        self.open: list[int] = []
        """The calls that were begun and gave nothing yet, by `id`; the last one is where a failed run ended."""
        self.counts: dict[int, int] = {}
        self.kept: dict[int, list[tuple[Mapping[str, object], object]]] = {}

    def enter(self, node: Tree | list) -> None:
        self.open.append(id(node))

    def leave(self, node: Tree | list, bound: Mapping[str, object], result: object) -> None:
        key = self.open.pop()
        self.counts[key] = self.counts.get(key, 0) + 1
        if self.counts[key] <= KEPT:
            self.kept.setdefault(key, []).append((bound, result))


def trace(tree: Tree | list, values: Mapping[str, object], limits: MachineLimits = DEFAULT_LIMITS) -> list[Traced]:
    """What each call of the tree gave, in the order in which they are written.

    Raises ExecutionError for a tree that cannot run at all; a run that fails is traced up to where it fails.
    """
    with_room(lambda: check(tree, values))
    seen = _Notes()

    def attempt() -> None:
        nonlocal seen
        seen = _Notes()
        try:
            walk_tree(tree, values, limits, seen)
        except ExecutionError:
            if not seen.counts and not seen.open:
                raise

    with_room(attempt)
    found = []
    pending: list[Tree | list] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            continue
        kept = [_note(bound, value) for bound, value in seen.kept.get(id(node), [])]
        failed = bool(seen.open) and seen.open[-1] == id(node)
        found.append(Traced(tuple(kept), seen.counts.get(id(node), 0), failed))
        pending.extend(reversed(node[1:]))
    return found


def _note(bound: Mapping[str, object], value: object) -> str:
    given = ", ".join(f"{name} = {brief(bound[name], LONGEST // 4)}" for name in _GIVEN if name in bound)
    return f"{given}: {brief(value)}" if given else brief(value)


def brief(value: object, most: int = LONGEST) -> str:
    """A value in at most so many characters. Arrays that share their parts can be huge when written out, so what does
    not fit is never written."""
    parts: list[str] = []
    left = most
    # What is still to be written, the next one last: values, and texts that are written as they are.
    pending: list[tuple[bool, object]] = [(True, value)]
    while pending and left > 0:
        is_value, part = pending.pop()
        if is_value and isinstance(part, list):
            pending.append((False, "]"))
            # No more elements than there is room for.
            for place, element in reversed(list(enumerate(part[: left + 1]))):
                pending.append((True, element))
                if place:
                    pending.append((False, ", "))
            text = "["
        elif not is_value:
            text = str(part)
        elif isinstance(part, Function):
            text = f"a function of {part.arity} argument{'s' if part.arity > 1 else ''}"
        else:
            text = format_value(part[:most] if isinstance(part, str) else part)
        parts.append(text)
        left -= len(text)
    written = "".join(parts)
    return written if not pending and left >= 0 else f"{written[: most - 1]}…"
