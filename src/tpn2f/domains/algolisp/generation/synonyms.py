"""Wordings that may take each other's place in AlgoLisp's texts: `elements` and `values`, `till` and `to`.

Two phrases of one program that differ in one span of words show that the spans mean the same there. Spans that do so
several times become a class, `<3>`, bound to the words it was seen between; phrases are then rewritten with it, which
brings more phrases together, and so on. Classes nest: a member may hold an earlier class. Spans hold no holes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

Phrase = tuple[str, ...]
"""Words, holes `{0}`, the text's own name `{x}`, classes `<3>`, and one `|` between clauses and the phrase proper."""
BAR = "|"
LONGEST = 7
"""Words of the longest span."""
EVIDENCE = 3
"""Pairs of phrases that must show two spans to be alike."""
START, END = "^", "$"
EDGES = frozenset((START, END, BAR, "{}"))
Context = tuple[Hashable, ...]
"""The words before and after a span, `{}` for any hole. Between two edges they say nothing, and the group is added."""


@dataclass(frozen=True, slots=True)
class Synonyms:
    """A class of spans, and where it may stand."""

    name: str
    members: tuple[Phrase, ...]
    """Longest first."""
    contexts: frozenset[Context]


def find_synonyms(phrases: Iterable[tuple[Hashable, Iterable[Phrase]]]) -> list[Synonyms]:
    """The classes of spans that phrases of the same group show."""
    current = {key: set(group) for key, group in phrases}
    classes: list[Synonyms] = []
    while True:
        found = _best_classes(current, len(classes))
        if not found:
            return classes
        classes += found
        current = {key: {rewrite(phrase, found, key) for phrase in group} for key, group in current.items()}


def _best_classes(phrases: Mapping[Hashable, set[Phrase]], number: int) -> list[Synonyms]:
    """The classes with the most evidence that do not touch each other's words."""
    pairs: dict[tuple[Phrase, Phrase], Counter[Context]] = defaultdict(Counter)
    seen: set[tuple[Phrase, Context]] = set()
    for key, group in phrases.items():
        frames: dict[tuple[Phrase, Phrase], list[Phrase]] = defaultdict(list)
        for phrase in sorted(group):
            for before, span, after in _spans(phrase):
                frames[before, after].append(span)
                seen.add((span, _context(before[-1], after[0], key)))
        for (before, after), spans in frames.items():
            context = _context(before[-1], after[0], key)
            for index, first in enumerate(spans):
                for second in spans[index + 1 :]:
                    if first[0] != second[0] and first[-1] != second[-1]:
                        pairs[min(first, second), max(first, second)][context] += 1
    totals = {pair: contexts.total() for pair, contexts in pairs.items()}
    best = max(totals.values(), default=0)
    if best < EVIDENCE:
        return []
    likes: dict[Phrase, set[Phrase]] = defaultdict(set)
    for (first, second), total in totals.items():
        if total >= 2:
            likes[first].add(second)
            likes[second].add(first)
    strong = [pair for pair, total in totals.items() if total >= max(EVIDENCE, best / 2)]
    classes: list[Synonyms] = []
    touched: set[str] = set()
    for pair in sorted(strong, key=lambda pair: (-totals[pair], len(pair[0]) + len(pair[1]), pair)):
        members, contexts = _extend(pair, pairs[pair], likes, seen)
        words = {word for member in members for word in member}
        words |= {str(word) for context in contexts for word in context[:2]}
        if touched & (words - EDGES):
            continue
        touched |= words
        members = sorted(members, key=lambda member: (-len(member), member))
        classes.append(Synonyms(f"<{number + len(classes)}>", tuple(members), frozenset(contexts)))
    return classes


def _extend(
    pair: tuple[Phrase, Phrase],
    weights: Counter[Context],
    likes: Mapping[Phrase, set[Phrase]],
    seen: set[tuple[Phrase, Context]],
) -> tuple[list[Phrase], set[Context]]:
    """More spans that are like both, as long as they are seen between most of the same words."""
    members = list(pair)
    contexts = set(weights)
    for span in sorted(likes[pair[0]] & likes[pair[1]]):
        if not all(member in likes[span] for member in members):
            continue
        kept = {context for context in contexts if (span, context) in seen}
        if sum(weights[context] for context in kept) >= 0.7 * weights.total():
            members.append(span)
            contexts = kept
    return members, contexts


def _spans(phrase: Phrase) -> Iterable[tuple[Phrase, Phrase, Phrase]]:
    """Every span without holes, with what stands before and after it."""
    whole = (START, *phrase, END)
    for start in range(1, len(whole) - 1):
        for stop in range(start + 1, min(start + LONGEST, len(whole) - 1) + 1):
            if whole[stop - 1][0] == "{" or whole[stop - 1] in (BAR, ","):
                break
            yield whole[:start], whole[start:stop], whole[stop:]


def _context(before: str, after: str, key: Hashable) -> Context:
    left = "{}" if before[0] == "{" else before
    right = "{}" if after[0] == "{" else after
    return (left, right, key) if left in EDGES and right in EDGES else (left, right)


def rewrite(
    phrase: Phrase, classes: Sequence[Synonyms], key: Hashable, uses: Counter[tuple[str, Phrase]] | None = None
) -> Phrase:
    """A group's phrase with the members of the classes replaced by their names, in order; `uses` counts the members."""
    for group in classes:
        if all(member[0] not in phrase for member in group.members):
            continue
        whole = (START, *phrase, END)
        made = [START]
        place = 1
        while place < len(whole) - 1:
            for member in group.members:
                stop = place + len(member)
                if whole[place:stop] == member and _context(made[-1], whole[stop], key) in group.contexts:
                    made.append(group.name)
                    place = stop
                    if uses is not None:
                        uses[group.name, member] += 1
                    break
            else:
                made.append(whole[place])
                place += 1
        phrase = tuple(made[1:])
    return phrase


def expressions(classes: Iterable[Synonyms]) -> dict[str, str]:
    """The regular expression of each class."""
    found: dict[str, str] = {}
    for group in classes:
        members = [" ".join(found.get(word, re.escape(word)) for word in member) for member in group.members]
        found[group.name] = f"(?:{'|'.join(members)})"
    return found
