"""Splits: what each is for, several read as one, and each read only once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from tpn2f.domain.offers import HasRoles, Roles
from tpn2f.domain.protocol import Domain, Example
from tpn2f.errors import DataError


def split_roles(domain: Domain) -> Roles:
    """What a domain's splits are for; without a word from the domain, all but `train` and `dev` are for tests."""
    if isinstance(domain, HasRoles):
        return domain.roles()
    usual = Roles()
    tests = tuple(split for split in domain.splits if split not in (usual.learn, usual.select))
    return Roles(usual.learn, usual.select, tests)


def split_parts(names: str) -> list[str]:
    """The splits that are joined by a plus."""
    return [name.strip() for name in names.split("+")]


def known_splits(domain: Domain, split: str) -> list[str]:
    """The splits that a model scored on `split` may have seen: what it learned from, then what selected it."""
    roles = split_roles(domain)
    return [
        name
        for name in (roles.learn, roles.select)
        if set(split_parts(name)) <= set(domain.splits) and split not in split_parts(name)
    ]


def read_splits(domain: Domain, names: str) -> Iterable[Example]:
    """The examples of a split, or of several joined by a plus, one split after the other."""
    for name in split_parts(names):  # checked before anything is read, also those that a limit would never reach
        check_split(domain, name)
    for name in split_parts(names):
        yield from domain.examples(name)


def check_split(domain: Domain, name: str) -> None:
    """Raises DataError for a split that the domain does not have."""
    if name not in domain.splits:
        raise DataError(f"{domain.name} has no split {name!r}; it has {', '.join(domain.splits)}")


class Splits:
    """The splits of a domain, each read at most once."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._examples: dict[str, list[Example]] = {}
        self._rest: dict[str, Iterator[Example]] = {}
        self._templates: dict[str, set[tuple[str, ...]]] = {}

    def take(self, split: str, limit: int = 0) -> list[Example]:
        """The first examples of a split, or of several joined by a plus; 0 for all."""
        if split not in self._rest:
            self._rest[split], self._examples[split] = iter(read_splits(self.domain, split)), []
        there = self._examples[split]
        limit = min(limit, sys.maxsize)
        try:
            there.extend(islice(self._rest[split], max(limit - len(there), 0) if limit else None))
        except DataError:
            del self._rest[split]
            raise
        return there[: limit or None]

    def check(self, name: str) -> None:
        """Raises DataError for a split that the domain does not have."""
        check_split(self.domain, name)

    def templates(self, split: str) -> set[tuple[str, ...]]:
        """The words of a split's problems. Examples that were not taken are not kept."""
        if split not in self._templates:
            examples = self.take(split) if split in self._rest else read_splits(self.domain, split)
            self._templates[split] = {example.problem.words for example in examples}
        return self._templates[split]
