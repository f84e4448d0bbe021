"""Masks of programs that are written as trees, from the root down: which symbols may come next.

A call is followed by its arguments and, if there are fewer than positions, by NONE; END follows the whole tree. What
fits at a place is said by the domain's type system for trees, or here by the signatures of its relations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.domain import ANY, Domain, HasTreeTyping, Problem, Signature, TreeTyping
from tpn2f.program import reference
from tpn2f.vocabulary import END, NONE, SPECIALS

FEW_CALLS = 8
"""How many calls, and how many levels, a tree that came to a dead end may lack where it is taken up again."""
NEVER = 10**6
"""More calls than any program has: what a place costs for which there is nothing."""


class SignaturePartial(NamedTuple):
    """A half-written tree as far as signatures care."""

    expected: tuple[str, ...]
    """The types of the places that are open, the next one last."""
    calls_left: int
    names: Mapping[str, str]
    costs: Mapping[str, int]
    """By type, how many calls the smallest tree of it has."""


class SignatureTreeTyping:
    """What fits by the signatures of relations. No choice leads into a dead end."""

    def __init__(self, domain: Domain, relations: Iterable[str], arguments: Iterable[str]) -> None:
        self._relations = {word: domain.relations[word] for word in relations if word in domain.relations}
        known = {word for word in arguments if reference(word) is None}
        self._constants = {word: kind for word, kind in domain.constants.items() if word in known}
        self._arguments = known
        self._costs: dict[frozenset[str], Mapping[str, int]] = {}

    def start(self, problem: Problem, names: Mapping[str, str], longest: int) -> SignaturePartial:
        offered = self._constants | {name: kind for name, kind in names.items() if name in self._arguments}
        kinds = frozenset(offered.values())
        if kinds not in self._costs:
            self._costs[kinds] = _costs(kinds, self._relations.values())
        return SignaturePartial((ANY,), longest, offered, self._costs[kinds])

    def arity(self, partial: SignaturePartial, relation: str) -> int:
        return self._relations[relation].arity

    def allows(self, partial: SignaturePartial, word: str, call: bool, ahead: bool = True) -> bool:
        return self.feed(partial, word, call) is not None

    def feed(self, partial: SignaturePartial, word: str, call: bool) -> SignaturePartial | None:
        *others, expected = partial.expected
        given, below = partial.names.get(word), ()
        if call:
            signature = self._relations.get(word)
            given, below = (signature.result, signature.arguments) if signature else (None, ())
        left = partial.calls_left - call
        places = (*others, *reversed(below))
        if given is None or not fits(expected, given) or sum(partial.costs[one] for one in places) > left:
            return None
        return partial._replace(expected=places, calls_left=left)

    def needs(self, partial: SignaturePartial) -> int:
        return sum(partial.costs[one] for one in partial.expected)


def fits(expected: str, given: str) -> bool:
    """Whether a type is accepted; `any` fits all and accepts all."""
    return ANY in (expected, given) or expected == given


def _costs(words: frozenset[str], signatures: Iterable[Signature]) -> dict[str, int]:
    """By type, how many calls the smallest tree of it has, if there are words of these types."""
    signatures = list(signatures)
    kinds = {kind for one in signatures for kind in (*one.arguments, one.result)} | {ANY}
    costs = {kind: 0 if any(fits(kind, word) for word in words) else NEVER for kind in kinds}
    changed = True
    while changed:
        changed = False
        for one in signatures:
            cost = 1 + sum(costs[kind] for kind in one.arguments)
            for kind in kinds:
                if fits(kind, one.result) and cost < costs[kind]:
                    costs[kind], changed = cost, True
    return costs


Levels = tuple[tuple[int, bool], ...]
"""For every open call, outermost first, how many arguments it lacks, and whether NONE follows them. The outermost lacks
nothing but the root."""


@dataclass(frozen=True, slots=True)
class TreeProgress:
    """How far each row's tree is."""

    partials: tuple[Any, ...]
    """The type system's own half-written programs; None where a symbol was fed that did not fit."""
    missing: tuple[Levels, ...]
    """Empty when the tree is complete."""

    def select(self, rows: Int[Tensor, "chosen"]) -> TreeProgress:
        chosen = rows.tolist()
        return TreeProgress(tuple(self.partials[row] for row in chosen), tuple(self.missing[row] for row in chosen))


class TreeMasks:
    """Which symbols may come next in trees. Satisfies `Masks`."""

    slots_filled = False

    def __init__(self, domain: Domain, codec: Codec, least: float, longest: int | None, typed: bool) -> None:
        """`least`: what has less than this log-probability, of the best that fits, is not likely."""
        self.codec, self.least = codec, least
        self.longest = longest if longest is not None else 2 * codec.longest
        relations, arguments = (words.tokens[len(SPECIALS) :] for words in (codec.relations, codec.arguments))
        self.dead_ends = typed and isinstance(domain, HasTreeTyping)
        self._typing: TreeTyping
        if typed and isinstance(domain, HasTreeTyping):
            self._typing = domain.tree_typing(relations, arguments, self.longest)
        else:
            self._typing = SignatureTreeTyping(domain, relations, arguments)
        self._none = codec.argument_symbol(NONE)

    def start(
        self, names: Sequence[Mapping[str, str]], problems: Sequence[Problem] = (), longest: Sequence[int | None] = ()
    ) -> TreeProgress:
        """Names are what signatures go by, problems what a type system reads."""
        problems = problems or [Problem((), {})] * len(names)
        limits = [min(one or self.longest, self.longest) for one in longest or [None] * len(names)]
        partials = tuple(map(self._typing.start, problems, names, limits))
        return TreeProgress(partials, (((1, False),),) * len(partials))

    def allowed(
        self,
        progress: TreeProgress,
        log_probabilities: Float[Tensor, "rows n_symbols"] | None = None,
        ahead: bool = True,
    ) -> Bool[Tensor, "rows n_symbols"]:
        """Which joint symbols may come next; as for the masks of tuples, likely ones only where a model has a say."""
        mask = torch.zeros(len(progress.partials), self.codec.n_symbols, dtype=torch.bool)
        ranked = None if log_probabilities is None else log_probabilities.sort(descending=True, stable=True)
        for row, (partial, missing) in enumerate(zip(progress.partials, progress.missing)):
            if partial is None or not missing:
                mask[row, END] = True
            elif missing[-1][0] == 0:
                mask[row, self._none] = True
            else:
                fitting = []
                if ranked is not None:
                    scored = zip(ranked.values[row].tolist(), ranked.indices[row].tolist())
                    fitting = self._likely(partial, len(missing) == 1, scored, ahead)
                if not fitting and (ahead or ranked is None):
                    symbols = range(self.codec.n_symbols)
                    fitting = [one for one in symbols if self._allows(partial, len(missing) == 1, one, ahead)]
                mask[row, fitting] = True
        return mask

    def _likely(self, partial: Any, root: bool, scored: Iterable[tuple[float, int]], ahead: bool) -> list[int]:
        """Of symbols with their log-probabilities, best first, the likely ones that fit. When looking ahead, the best
        that can come to an end leads them, however unlikely it is."""
        least = -torch.inf if ahead else self.least
        fitting: list[int] = []
        for score, symbol in scored:
            if score < least:
                break
            if self._allows(partial, root, symbol, ahead and not fitting):
                fitting.append(symbol)
                least = max(least, score + self.least)
        return fitting

    def _allows(self, partial: Any, root: bool, symbol: int, ahead: bool) -> bool:
        word, call = self._word(symbol)
        if word is None or (root and not call):
            return False
        if not self._typing.allows(partial, word, call, ahead):
            return False
        return not call or self._typing.arity(partial, word) <= self.codec.n_positions

    def _word(self, symbol: int) -> tuple[str | None, bool]:
        """The word of a joint symbol, None for a special, and whether it is a call."""
        call = symbol < len(self.codec.relations)
        vocabulary, place = self.codec.relations, symbol
        if not call:
            vocabulary, place = self.codec.arguments, symbol - len(self.codec.relations)
        return (vocabulary[place] if place >= len(SPECIALS) else None), call

    def feed(self, progress: TreeProgress, symbols: Int[Tensor, "rows"]) -> TreeProgress:
        """After the chosen symbols."""
        after = list(map(self._after, progress.partials, progress.missing, symbols.tolist()))
        return TreeProgress(tuple(partial for partial, _ in after), tuple(missing for _, missing in after))

    def _after(self, partial: Any, missing: Levels, symbol: int) -> tuple[Any, Levels]:
        if partial is None or not missing:
            return None, ()
        *outer, (left, closes) = missing
        if left == 0:
            return (partial, _closed(outer)) if symbol == self._none else (None, ())
        word, call = self._word(symbol)
        after = None if word is None else self._typing.feed(partial, word, call)
        if word is None or after is None:
            return None, ()
        outer.append((left - 1, closes))
        if call:
            arity = self._typing.arity(partial, word)
            outer.append((arity, arity < self.codec.n_positions))
        return after, _closed(outer)

    def hopeful(self, problem: Problem, symbols: Sequence[int]) -> int:
        """How many symbols of a tree that came to nothing may stay."""
        progress = self.start([{}], [problem])
        hopeful = 0
        for place, symbol in enumerate(symbols):
            progress = self.feed(progress, torch.tensor([symbol]))
            partial = progress.partials[0]
            if partial is None:
                break
            # A tree with many open places is a long way from its end.
            if self._typing.needs(partial) <= FEW_CALLS and len(progress.missing[0]) <= FEW_CALLS:
                hopeful = place + 1
        return hopeful


def _closed(levels: list[tuple[int, bool]]) -> Levels:
    """Without the calls that lack nothing."""
    while levels and levels[-1] == (0, False):
        levels.pop()
    return tuple(levels)
