"""The skeletons of AlgoLisp's programs: the trees with holes that its programs are put together from.

Every program of the data is a composition of a few dozen skeletons, such as `(reduce (slice (sort {0}) 0 {1}) 0 +)`:
`{k}` is a hole that an argument or another program fills, the same one wherever it stands. Nothing says what they are
but the label of each record's outermost skeleton, so they are found here from trees and labels alone. No text is read.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tpn2f.program import Tree

is_hole = re.compile(r"\{\w+\}").fullmatch
"""Whether a word is a hole of a skeleton, or stands for an argument or for a part that is already understood."""
LOCALS = frozenset(("arg1", "arg2", "self"))
FUNCTIONS = frozenset(("lambda1", "lambda2", "combine", "partial0", "partial1"))
"""Calls that give functions, which no text describes by themselves."""
MIN_HEADS = 3
"""This many different calls at one place of a labelled skeleton show that the place is a hole."""
MIN_HOSTS = 3
"""A part that stands in the holes of this many skeletons is a skeleton, not a variant of one of them."""
RARE = 3
"""A skeleton of fewer records than this is looked at for parts that are skeletons themselves."""


def mark_arguments(tree: Tree | list, names: Collection[str]) -> Tree:
    """The tree with its arguments as `{a}`, so that they cannot be taken for words of the language."""
    if isinstance(tree, str):
        return f"{{{tree}}}" if tree in names else tree
    return (str(tree[0]), *(mark_arguments(part, names) for part in tree[1:]))


def is_closed(tree: Tree) -> bool:
    """Whether the tree means the same outside of the lambda that it stands in."""
    if isinstance(tree, str):
        return tree not in LOCALS
    if tree[0] in ("lambda1", "lambda2"):
        return True
    return tree[0] != "self" and all(is_closed(part) for part in tree[1:])


def is_expression(tree: Tree) -> bool:
    """Whether the tree is a call with a value that a text can speak of."""
    return not isinstance(tree, str) and tree[0] not in FUNCTIONS and is_closed(tree)


def calls(tree: Tree) -> Iterator[tuple]:
    """The calls of a tree, the inner ones first."""
    if not isinstance(tree, str):
        for part in tree[1:]:
            yield from calls(part)
        yield tree


def holes_of(tree: Tree) -> tuple[str, ...]:
    """The holes of a tree, in the order in which they stand."""
    found: dict[str, None] = {}
    pending: list[Tree] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            if is_hole(node):
                found[node] = None
        else:
            pending.extend(reversed(node[1:]))
    return tuple(found)


def replace(tree: Tree, old: Tree, new: Tree) -> Tree:
    """The tree with `new` wherever `old` stands."""
    if tree == old:
        return new
    return tree if isinstance(tree, str) else (tree[0], *(replace(part, old, new) for part in tree[1:]))


def fill(skeleton: Tree, parts: Mapping[str, Tree]) -> Tree:
    """The skeleton with its holes filled."""
    if isinstance(skeleton, str):
        return parts.get(skeleton, skeleton)
    return (skeleton[0], *(fill(part, parts) for part in skeleton[1:]))


def abstract(tree: Tree, is_part: Callable[[Tree], bool], keep: int = 1) -> tuple[Tree, dict[Tree, str]]:
    """The tree with holes instead of arguments and of the parts that `is_part` knows; the first `keep` levels stay."""
    parts: dict[Tree, str] = {}
    return _abstract(tree, is_part, keep, parts), parts


def _abstract(node: Tree, is_part: Callable[[Tree], bool], level: int, parts: dict[Tree, str]) -> Tree:
    if isinstance(node, str):
        return parts.setdefault(node, f"{{{len(parts)}}}") if is_hole(node) else node
    if level <= 0 and is_expression(node) and is_part(node):
        return parts.setdefault(node, f"{{{len(parts)}}}")
    return (node[0], *(_abstract(part, is_part, level - 1, parts) for part in node[1:]))


def generalise(tree: Tree) -> tuple[Tree, tuple[str, ...]]:
    """The tree with its arguments as numbered holes, and the arguments in that order."""
    skeleton, parts = abstract(tree, lambda part: False)
    return skeleton, tuple(map(str, parts))


def match(skeleton: Tree, tree: Tree) -> dict[str, Tree] | None:
    """What fills the holes where the tree is the skeleton filled, else None. A constant fills no hole."""
    found: dict[str, Tree] = {}
    return found if _matches(skeleton, tree, found) else None


def _matches(pattern: Tree, node: Tree, found: dict[str, Tree]) -> bool:
    if isinstance(pattern, str):
        if not is_hole(pattern):
            return pattern == node
        if not (is_hole(node) if isinstance(node, str) else is_expression(node)):
            return False
        return found.setdefault(pattern, node) == node
    if isinstance(node, str) or len(pattern) != len(node):
        return False
    return all(_matches(one, other, found) for one, other in zip(pattern, node))


@dataclass(frozen=True)
class Inventory:
    """A set of skeletons, and what can be made of them. Answers are remembered: an inventory never changes."""

    counts: Mapping[Tree, int]
    """The skeletons with the number of records that begin with each."""

    def __post_init__(self) -> None:
        heads: dict[str, list[Tree]] = defaultdict(list)
        for skeleton in self.counts:
            heads[str(skeleton[0])].append(skeleton)
        object.__setattr__(self, "_heads", dict(heads))
        object.__setattr__(self, "_known", {})

    def __contains__(self, skeleton: Tree) -> bool:
        return skeleton in self.counts

    def derives(self, tree: Tree) -> bool:
        """Whether the tree is an argument or a composition of the skeletons."""
        if isinstance(tree, str):
            return bool(is_hole(tree))
        known: dict[Tree, bool] = self._known  # type: ignore[attr-defined]
        if tree not in known:
            known[tree] = False
            known[tree] = next(self.derivations(tree), None) is not None
        return known[tree]

    def derivations(self, tree: Tree) -> Iterator[tuple[Tree, dict[str, Tree]]]:
        """The skeletons that the tree can begin with, each with what fills its holes."""
        heads: dict[str, list[Tree]] = self._heads  # type: ignore[attr-defined]
        for skeleton in heads.get(str(tree[0]), ()) if not isinstance(tree, str) else ():
            parts = match(skeleton, tree)
            if parts is not None and all(map(self.derives, parts.values())):
                yield skeleton, parts


def find_skeletons(trees: Iterable[tuple[Tree, str]]) -> Inventory:
    """The skeletons of programs whose arguments are marked, from each program and the label of its outermost one."""
    labelled = list(trees)
    counts = _cut_by_label(labelled)
    weights = Counter(tree for tree, _ in labelled)
    while (more := _missing(counts, weights)) is not None:
        counts[more[0]] += more[1]
    return _prune(_take_apart(counts), weights)


def _cut_by_label(labelled: list[tuple[Tree, str]]) -> Counter[Tree]:
    """Cuts every tree below its outermost skeleton.

    A place, known by label and path, is a hole if an argument ever stands there, or many different calls do.
    """
    holes: set[tuple] = set()
    heads: dict[tuple, set[str]] = defaultdict(set)

    def look(node: Tree, place: tuple) -> None:
        if isinstance(node, str):
            if is_hole(node):
                holes.add(place)
            return
        if len(place) > 1 and is_expression(node):
            heads[place].add(str(node[0]))
        for index, part in enumerate(node[1:]):
            look(part, (*place, (node[0], index)))

    for tree, label in labelled:
        look(tree, (label,))
    holes |= {place for place, found in heads.items() if len(found) >= MIN_HEADS}

    def cut(node: Tree, place: tuple, parts: dict[Tree, str]) -> Tree:
        if place in holes and (not isinstance(node, str) or is_hole(node)):
            return parts.setdefault(node, f"{{{len(parts)}}}")
        if isinstance(node, str):
            return node
        return (node[0], *(cut(part, (*place, (node[0], index)), parts) for index, part in enumerate(node[1:])))

    return Counter(cut(tree, (label,), {}) for tree, label in labelled)


def _missing(counts: Counter[Tree], weights: Counter[Tree]) -> tuple[Tree, int] | None:
    """The skeleton that makes most of the underivable trees derivable, and how many; None if none helps.

    It is either a part that stands in many skeletons' holes, or a skeleton grown by what stands in one of its holes:
    `(range 0 {0})` and `(+ {0} 1)` make `(range 0 (+ {0} 1))`.
    """
    inventory = Inventory(counts)
    rest = {tree: weight for tree, weight in weights.items() if not inventory.derives(tree)}
    parts: Counter[Tree] = Counter()
    grown: Counter[Tree] = Counter()
    hosts: dict[Tree, set[Tree]] = defaultdict(set)
    for tree, weight in rest.items():
        nodes = (call for call in calls(tree) if is_expression(call) and not inventory.derives(call))
        for node in dict.fromkeys(nodes):
            inner = [call for call in calls(node) if is_expression(call) and not inventory.derives(call)]
            if inner == [node]:
                parts[abstract(node, inventory.derives)[0]] += weight
                continue
            for skeleton in counts:
                filled = match(skeleton, node) or {}
                wrong = {part for part in filled.values() if not inventory.derives(part)}
                if len(wrong) == 1:
                    (part,) = wrong
                    hosts[abstract(part, inventory.derives)[0]].add(skeleton)
                    grown[_grow(skeleton, filled, part, inventory)] += weight
    candidates = [part for part, _ in parts.most_common(10) if len(hosts[part]) >= MIN_HOSTS]
    candidates += [skeleton for skeleton, _ in grown.most_common(15)]
    best: tuple[Tree, int] | None = None
    for candidate in candidates:
        with_it = Inventory({**counts, candidate: 1})
        gain = sum(weight for tree, weight in rest.items() if with_it.derives(tree))
        if gain > (best[1] if best else 0):
            best = (candidate, gain)
    return best


def _grow(skeleton: Tree, filled: Mapping[str, Tree], part: Tree, inventory: Inventory) -> Tree:
    """The skeleton with the call that `part` begins with instead of a hole."""
    top = fill(skeleton, {hole: part for hole, found in filled.items() if found == part})
    others = {hole: found for hole, found in filled.items() if found != part}
    # What fills the other holes may stand in the part too: the same hole, then.
    marks = {found: f"{{part{index}}}" for index, found in enumerate(others.values())}
    for hole, found in others.items():
        top = replace(replace(top, hole, marks[found]), found, marks[found])
    marked = replace_all(part, marks)
    kept: dict[Tree, Tree] = {
        child: f"{{child{index}}}"
        for index, child in enumerate(marked[1:])
        if not isinstance(child, str) and is_expression(child) and inventory.derives(child)
    }
    return generalise(replace_all(top, kept))[0]


def replace_all(tree: Tree, marks: Mapping[Tree, Tree]) -> Tree:
    """The tree with every key of `marks` replaced by its value."""
    for old, new in marks.items():
        tree = replace(tree, old, new)
    return tree


def _take_apart(counts: Counter[Tree]) -> Counter[Tree]:
    """Takes skeletons apart that are two in one.

    A rare one loses the parts that others derive. One that is another with a string-valued part in its hole leaves
    that part as a skeleton: strings have no skeletons of their own before this.
    """
    result = Counter(counts)
    for skeleton, count in counts.items():
        if count < RARE:
            others = Inventory({other: 1 for other in counts if other != skeleton})
            simpler, _ = abstract(skeleton, others.derives)
            if simpler != skeleton:
                del result[skeleton]
                result[simpler] += count
                continue
        for part in skeleton[1:]:
            host = generalise(replace(skeleton, part, "{part}"))[0]
            if not isinstance(part, str) and is_expression(part) and host in counts and _is_string(part):
                del result[skeleton]
                result[generalise(part)[0]] += count
                result[host] += count
                break
    return result


def _is_string(tree: Tree) -> bool:
    return str(tree[0]).startswith("str_") or (tree[0] == "reduce" and str(tree[2]).startswith('"'))


def _prune(counts: Counter[Tree], weights: Iterable[Tree]) -> Inventory:
    """Without the skeletons that no tree needs."""
    inventory = Inventory(counts)
    used: set[Tree] = set()
    seen: set[Tree] = set()
    pending = list(weights)
    while pending:
        tree = pending.pop()
        if tree in seen:
            continue
        seen.add(tree)
        found = list(inventory.derivations(tree))
        for skeleton, parts in found:
            # A skeleton of which only a special case is needed, two of its holes always alike, is that special case.
            if not any(other != skeleton and _is_special_case(other, skeleton) for other, _ in found):
                used.add(skeleton)
            pending.extend(parts.values())
    return Inventory({skeleton: count for skeleton, count in counts.items() if skeleton in used})


def _is_special_case(skeleton: Tree, general: Tree) -> bool:
    parts = match(general, skeleton)
    return parts is not None and all(isinstance(part, str) for part in parts.values())
