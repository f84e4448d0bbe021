"""The words of a split, grouped by the filler and by the role that they select."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from tpn2f.errors import DataError
from tpn2f.explain.observe import ChosenVectors, Tokens, observe_words, take
from tpn2f.solver import Solver

MOST_WORDS = 12
"""How many words of a group are kept."""
NO_ROLES = "the encoder is a plain LSTM: it has no fillers and no roles"


@dataclass(frozen=True, slots=True)
class GroupedWord:
    """A word of a group."""

    word: str
    count: int
    """How often the word is in the group."""
    share: float
    """The part of all occurrences of the word that is in the group."""


@dataclass(frozen=True, slots=True)
class WordGroup:
    """The words that select one filler or one role with a weight above 0.1."""

    number: int
    tokens: int
    share: float
    """The part of all tokens that is in the group; groups overlap where a word selects several."""
    words: tuple[GroupedWord, ...]
    """The most typical words first: frequent in the group, and more frequent there than elsewhere."""


@dataclass(frozen=True, slots=True)
class WordGroups:
    """The groups of all fillers and roles that are used, the largest first."""

    tokens: int
    fillers: tuple[WordGroup, ...]
    roles: tuple[WordGroup, ...]
    n_fillers: int
    """How many fillers there are to choose from, in one reading direction."""
    n_roles: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def group_words(solver: Solver, split: str, limit: int = 0) -> WordGroups:
    """Groups the words of a split. Raises DataError for an encoder that has no roles."""
    tokens = observe_words(solver, take(solver, split, limit))
    if tokens is None:
        raise DataError(NO_ROLES)
    return group_tokens(tokens)


def group_tokens(tokens: Tokens) -> WordGroups:
    """The groups of words that were already looked at."""
    return WordGroups(
        len(tokens.words),
        _groups(tokens.words, tokens.fillers),
        _groups(tokens.words, tokens.roles),
        tokens.fillers.size,
        tokens.roles.size,
    )


def _groups(words: tuple[str, ...], chosen: ChosenVectors) -> tuple[WordGroup, ...]:
    everywhere = Counter(words)
    members: dict[int, Counter[str]] = {}
    for token, number in zip(chosen.token.tolist(), chosen.number.tolist()):
        members.setdefault(number, Counter())[words[token]] += 1
    groups = []
    for number, counts in members.items():
        size = sum(counts.values())
        # A word's part in the information that the group has of its words: rare and common words are both fairly seen.
        weight = {word: n * log(n * len(words) / (size * everywhere[word])) for word, n in counts.items()}
        ranked = sorted(counts, key=lambda word, weight=weight: (-weight[word], word))[:MOST_WORDS]
        typical = tuple(GroupedWord(word, counts[word], counts[word] / everywhere[word]) for word in ranked)
        groups.append(WordGroup(number, size, size / len(words), typical))
    return tuple(sorted(groups, key=lambda group: (-group.tokens, group.number)))
