"""Do fillers follow meaning, and roles structure? Purity and mutual information against classes, with a control.

Purity is the part of all units that are of the commonest class of their group. It grows with the number of groups, and
so does mutual information, by chance alone: what counts is the distance from the shuffled control.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tpn2f.domain import Domain
from tpn2f.explain.classes import asked_part, relation_classes, word_class
from tpn2f.explain.observe import ChosenVectors, Tokens
from tpn2f.explain.relations import RelationMap

SHUFFLES = 999
SEED = 0
MOST_PLACES = 20_000
"""How many places of words, drawn at random, are compared by the part of the question: shuffling more is slow."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well a grouping follows classes."""

    groups: str
    """What is grouped by, such as `fillers`."""
    classes: str
    """What it is compared with, such as `word class`."""
    unit: str
    """What is counted: distinct words, words in their places, or relations."""
    units: int
    n_groups: int
    n_classes: int
    purity: float
    largest_class: float
    """The purity of a single group: the part of the commonest class."""
    mutual_information: float
    """Normalised by the mean of both entropies: 0 for independent, 1 for the same grouping."""
    control_purity: float
    """The mean over the shuffles."""
    control_mutual_information: float
    p_value: float
    """How often a shuffle has at least as much mutual information, the true one counted in."""
    shuffles: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def purity_of_words(tokens: Tokens, known: Callable[[str], bool], shuffles: int = SHUFFLES) -> tuple[Agreement, ...]:
    """Fillers and roles against the class of the words, and against the part of the question they stand in.

    Word classes are shuffled among distinct words, each with the filler it selects most often: many tokens of one word
    are no evidence. Words of no closed list are left out there: that they are content says nothing of what they mean.
    Parts are shuffled among the places of one and the same word: what is left is what the place adds.
    Words that training did not have are left out, because the model cannot distinguish them.
    """
    asked = _asked(tokens)
    by_class, by_part = [], []
    for kind, chosen in (("fillers", tokens.fillers), ("roles", tokens.roles)):
        for direction in range(chosen.best.shape[1]):
            name = kind if direction == 0 else f"{kind}, right to left"
            by_class.append(_against_word_class(name, tokens, chosen, direction, known, shuffles))
            by_part.append(_against_part(name, tokens, chosen, direction, asked, known, shuffles))
    return tuple(found for found in (*by_class, *by_part) if found is not None)


def purity_of_relations(relations: RelationMap, domain: Domain, shuffles: int = SHUFFLES) -> tuple[Agreement, ...]:
    """The clusters of relations against what the relations are about; nothing if the domain does not say it."""
    classes, _ = relation_classes(domain)
    known = [place for place, name in enumerate(relations.relations) if name in classes]
    if len({classes[relations.relations[place]] for place in known}) < 2:
        return ()
    about = [classes[relations.relations[place]] for place in known]
    return tuple(
        agreement(
            [clustering.labels[place] for place in known],
            about,
            (f"{clustering.k} clusters of relations", "operation class", "relations"),
            shuffles,
        )
        for clustering in relations.clusterings
    )


def agreement(
    groups: Sequence[int] | np.ndarray,
    classes: Sequence[str],
    names: tuple[str, str, str],
    shuffles: int = SHUFFLES,
    within: np.ndarray | None = None,
) -> Agreement:
    """Compares a grouping with classes, one per unit; `within` says among which units classes may be shuffled, as whole
    numbers."""
    if not len(classes) or len(groups) != len(classes):
        raise ValueError(f"{len(groups)} groups and {len(classes)} classes; expected equal numbers, and at least one")
    _, group = np.unique(np.asarray(groups), return_inverse=True)
    class_names, kind = np.unique(np.asarray(classes), return_inverse=True)
    shape = (int(group.max()) + 1, len(class_names))
    purity, information = _compare(group, kind, shape)
    random = np.random.default_rng(SEED)
    order = None if within is None else np.argsort(within, kind="stable")
    controls = np.array([_compare(group, _shuffle(kind, within, order, random), shape) for _ in range(shuffles)])
    at_least = int((controls[:, 1] >= information - 1e-12).sum()) if shuffles else 0
    mean = controls.mean(0) if shuffles else np.full(2, np.nan)
    return Agreement(
        *names,
        len(classes),
        *shape,
        purity,
        float(np.bincount(kind).max() / len(kind)),
        information,
        float(mean[0]),
        float(mean[1]),
        (1 + at_least) / (1 + shuffles),
        shuffles,
    )


def _compare(group: np.ndarray, kind: np.ndarray, shape: tuple[int, int]) -> tuple[float, float]:
    """Purity, and mutual information over the mean of the entropies."""
    table = np.bincount(group * shape[1] + kind, minlength=shape[0] * shape[1]).reshape(shape) / len(group)
    groups, kinds = _entropy(table.sum(1)), _entropy(table.sum(0))
    shared = groups + kinds - _entropy(table.ravel())
    return float(table.max(1).sum()), float(2 * shared / (groups + kinds)) if groups + kinds > 0 else 1.0


def _entropy(parts: np.ndarray) -> float:
    parts = parts[parts > 0]
    return float(-(parts * np.log(parts)).sum())


def _shuffle(
    kind: np.ndarray, within: np.ndarray | None, order: np.ndarray | None, random: np.random.Generator
) -> np.ndarray:
    if within is None or order is None:
        return random.permutation(kind)
    shuffled = np.empty_like(kind)
    # Both orders go through `within` in the same way; the second one at random inside.
    shuffled[order] = kind[np.argsort(within + random.random(len(kind)))]
    return shuffled


def _against_word_class(
    name: str, tokens: Tokens, chosen: ChosenVectors, direction: int, known: Callable[[str], bool], shuffles: int
) -> Agreement | None:
    votes: dict[tuple[str, str], Counter[int]] = {}
    for word, is_name, number in zip(tokens.words, tokens.is_name.tolist(), chosen.best[:, direction].tolist()):
        kind = word_class(word, is_name)
        if known(word) and kind != "content":
            votes.setdefault((word, kind), Counter())[number] += 1
    groups = [max(counter.items(), key=lambda item: (item[1], -item[0]))[0] for counter in votes.values()]
    kinds = [kind for _, kind in votes]
    return agreement(groups, kinds, (name, "word class", "distinct words"), shuffles) if kinds else None


def _against_part(
    name: str,
    tokens: Tokens,
    chosen: ChosenVectors,
    direction: int,
    asked: np.ndarray,
    known: Callable[[str], bool],
    shuffles: int,
) -> Agreement | None:
    kept = np.array([known(word) for word in tokens.words])
    words, within = np.unique(np.array(tokens.words)[kept], return_inverse=True)
    # A word that stands in one part only cannot be shuffled: it says nothing of the place.
    parts = np.stack([np.bincount(within[asked[kept] == part], minlength=len(words)) for part in (False, True)])
    mixed = np.flatnonzero((parts.min(0) > 0)[within])
    if len(mixed) > MOST_PLACES:
        mixed = np.sort(np.random.default_rng(SEED).choice(mixed, MOST_PLACES, replace=False))
    group = chosen.best[:, direction][kept][mixed]
    classes = np.where(asked[kept][mixed], "asked", "given").tolist()
    if not classes:
        return None
    return agreement(group, classes, (name, "part of the question", "places of words"), shuffles, within[mixed])


def _asked(tokens: Tokens) -> np.ndarray:
    parts: list[bool] = []
    bounds = [0, *(np.flatnonzero(np.diff(tokens.text)) + 1).tolist(), len(tokens.words)]
    for start, end in pairwise(bounds):
        parts += asked_part(tokens.words[start:end])
    return np.array(parts)
