"""Cutting examples into splits that share nothing: the same cut on every machine, and no record in two places.

A record's place depends on a hash of what it is cut by, not on the order or the number of records, so examples that are
added later do not move the others, but for the few that keep the splits from being empty or a kind from being unseen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from tpn2f.domain import Example

Rule = Literal["template", "program"]
CUT = ("train", "dev", "test")
COMBINATIONS = "combinations"
"""The split of programs whose set of relations training never has."""


def cut(
    examples: Sequence[Example], rule: Rule, share: float, combinations: float, salt: str
) -> dict[str, list[Example]]:
    """`share` of the templates, or programs, goes to dev and to test each, and `combinations` of the sets of relations
    to a split of its own. By program, what is in dev and test is of a kind (a sequence of relations) that train has."""
    held = _held_sets(examples, combinations, salt)
    places: dict[object, str] = {}
    for example in examples:
        key = _key(example, rule)
        if _relations(example) in held:
            places[key] = COMBINATIONS
        elif places.get(key) != COMBINATIONS:
            drawn = _draw(f"{salt} {_text(key)}")
            places[key] = "test" if drawn < share else "dev" if drawn < 2 * share else "train"
    if rule == "program":
        kinds = {_kind(e) for e in examples if places[_key(e, rule)] == "train"}
        for example in examples:
            if places[_key(example, rule)] in ("dev", "test") and _kind(example) not in kinds:
                places[_key(example, rule)] = "train"
    _fill_empty(places, salt)
    splits: dict[str, list[Example]] = {name: [] for name in (*CUT, COMBINATIONS)}
    for example in examples:
        splits[places[_key(example, rule)]].append(example)
    if not combinations:
        del splits[COMBINATIONS]
    return splits


def _fill_empty(places: dict[object, str], salt: str) -> None:
    """Few examples can leave dev or test empty by chance: each then takes one of train's, while train has two."""
    for split in ("dev", "test"):
        train = sorted((key for key, place in places.items() if place == "train"), key=lambda k: _draw(salt + _text(k)))
        if split not in places.values() and len(train) > 1:
            places[train[0]] = split


def _held_sets(examples: Sequence[Example], combinations: float, salt: str) -> set[frozenset[str]]:
    """The sets of two or more relations that are held out. Every relation keeps a set that is not."""
    every = sorted({_relations(example) for example in examples}, key=sorted)
    drawn = {relations: _draw(f"{salt} {' '.join(sorted(relations))}") for relations in every if len(relations) > 1}
    held = {relations for relations, draw in drawn.items() if draw < combinations}
    for relations in sorted(held, key=lambda held_set: (-drawn[held_set], sorted(held_set))):
        others = set().union(*(other for other in every if other not in held))
        if not relations <= others:
            held.discard(relations)
    return held


def _key(example: Example, rule: Rule) -> object:
    return example.problem.words if rule == "template" else example.program


def _text(key: object) -> str:
    return " ".join(key) if isinstance(key, tuple) else str(key)


def _relations(example: Example) -> frozenset[str]:
    return frozenset(step.relation for step in example.program)


def _kind(example: Example) -> tuple[str, ...]:
    return tuple(step.relation for step in example.program)


def _draw(text: str) -> float:
    """From 0 to below 1, the same everywhere."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
