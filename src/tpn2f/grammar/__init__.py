"""Masks: which symbols may come next, for many half-written programs at once. Holds no model.

`Grammar` makes them from the signatures of a domain's relations, `TypedGrammar` from the type system that a domain
brings along; search treats them alike. Both allow every well-formed program and nothing else. `trees` has the masks of
programs that are written from the root down.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.domain import ANY, Choices, Domain, HasTyping, Problem, Signature
from tpn2f.grammar.trees import TreeMasks
from tpn2f.program import reference
from tpn2f.vocabulary import END, NONE, SPECIALS

LEAST = math.log(1e-4)
"""A symbol with less than this log-probability, of the best that fits, is not likely."""
Names = Sequence[Mapping[str, str]]
"""The words that each problem adds, with their types."""
Lengths = Sequence[int | None]
Scores = Float[Tensor, "rows n_symbols"]
Allowed = Bool[Tensor, "rows n_symbols"]
MOST_MASKS = 100_000
"""How many masks are kept, a few hundred bytes each, before all are dropped."""


@runtime_checkable
class Masks(Protocol):
    """What search asks: which symbols may come next, for many half-written programs at once."""

    slots_filled: bool
    longest: int
    dead_ends: bool
    """Whether a program that is allowed so far may be unable to come to an end."""

    def start(self, names: Names, problems: Sequence[Problem] = (), longest: Lengths = ()) -> Any:
        """Before the first symbol of problems that offer these names, by type.

        `longest` is how many tuples each program may have, if not the usual number.
        """
        ...

    def allowed(self, progress: Any, log_probabilities: Scores | None = None, ahead: bool = True) -> Allowed:
        """Which joint symbols may come next, for every row; with a model's `log_probabilities`, of the likely ones.

        Without looking `ahead` what is allowed may lead into a dead end.
        """
        ...

    def feed(self, progress: Any, symbols: Int[Tensor, "rows"]) -> Any:
        """After the chosen symbols."""
        ...

    def hopeful(self, problem: Problem, symbols: Sequence[int]) -> int:
        """How many of the symbols of a program that came to nothing may stay, so that it can still come to an end."""
        return len(symbols)


def make_grammar(
    domain: Domain, codec: Codec, slots_filled: bool, longest: int | None = None, typed: bool = True
) -> Masks:
    """The masks of a domain: by its type system if it has one and `typed`, else by the signatures of its relations.

    A codec of trees has masks of trees, for which `slots_filled` does not matter.
    """
    if codec.trees:
        return TreeMasks(domain, codec, LEAST, longest, typed)
    if typed and isinstance(domain, HasTyping):
        return TypedGrammar(domain, codec, slots_filled, longest)
    return Grammar(domain.relations, domain.constants, codec, slots_filled, longest)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far each row's program is: what the grammar needs to know of it."""

    relation: Int[Tensor, "rows"]
    """The relation whose arguments are being written; END before a relation is chosen."""
    position: Int[Tensor, "rows"]
    """How many slots of the tuple are filled: 0 means that a relation is next."""
    count: Int[Tensor, "rows"]
    """How many tuples are complete."""
    available: Bool[Tensor, "rows n_arguments"]
    """Which arguments may be used at all."""
    types: Int[Tensor, "rows n_arguments"]
    """The type of every argument; that of a reference is the type of its tuple's result."""

    def select(self, rows: Int[Tensor, "chosen"]) -> Progress:
        return Progress(
            self.relation[rows], self.position[rows], self.count[rows], self.available[rows], self.types[rows]
        )


class Grammar(Masks):
    """Which symbols may come next, by the signatures of relations: fixed types, and `any`."""

    dead_ends = False

    def __init__(
        self,
        relations: Mapping[str, Signature],
        constants: Mapping[str, str],
        codec: Codec,
        slots_filled: bool,
        longest: int | None = None,
    ) -> None:
        """`slots_filled`: whether every tuple is written with all its positions, NONE included, as a tuple decoder
        does; a flat decoder writes only the arguments that there are. Programs of `longest` tuples are made to end."""
        self.codec = codec
        self.slots_filled = slots_filled
        self.longest = longest if longest is not None else 2 * codec.longest
        names = {ANY: 0}
        signatures = [relations.get(relation) for relation in codec.relations.tokens]
        for signature in signatures:
            for name in (*signature.arguments, signature.result) if signature else ():
                names.setdefault(name, len(names))
        for name in constants.values():
            names.setdefault(name, len(names))
        self._type_ids = names
        same = torch.eye(len(names), dtype=torch.bool)
        same[0, :] = same[:, 0] = True
        self._fits = same
        """[expected, given]: whether a type is accepted; `any` fits all and accepts all."""
        self._arity = torch.tensor([signature.arity if signature else 0 for signature in signatures])
        self._known = torch.tensor([signature is not None for signature in signatures])
        self._known &= self._arity <= codec.n_positions
        self._result = torch.tensor([names[signature.result] if signature else 0 for signature in signatures])
        self._expected = torch.zeros(len(signatures), codec.n_positions, dtype=torch.long)
        for place, signature in enumerate(signatures):
            for position, name in enumerate(signature.arguments[: codec.n_positions] if signature else ()):
                self._expected[place, position] = names[name]
        arguments = codec.arguments.tokens
        self._constant = torch.tensor([argument in constants for argument in arguments])
        self._constant_type = torch.tensor([names[constants.get(argument, ANY)] for argument in arguments])
        self._reference = torch.full((self.longest + 1,), NONE)
        for place, argument in enumerate(arguments):
            target = reference(argument)
            if target is not None and target <= self.longest:
                self._reference[target] = place

    def start(self, names: Names, problems: Sequence[Problem] = (), longest: Lengths = ()) -> Progress:
        """Nothing but the names matters."""
        rows = len(names)
        available = self._constant.repeat(rows, 1)
        types = self._constant_type.repeat(rows, 1)
        for row, offered in enumerate(names):
            for name, kind in offered.items():
                if name in self.codec.arguments:
                    place = self.codec.arguments.id(name)
                    available[row, place] = True
                    types[row, place] = self._type_ids.get(kind, 0)
        zero = torch.zeros(rows, dtype=torch.long)
        return Progress(torch.full((rows,), END), zero, zero.clone(), available, types)

    def allowed(self, progress: Progress, log_probabilities: Scores | None = None, ahead: bool = True) -> Allowed:
        """Looks at all symbols in any case."""
        n_relations = len(self.codec.relations)
        mask = torch.zeros(len(progress.position), self.codec.n_symbols, dtype=torch.bool)
        opening = progress.position == 0
        if opening.any():
            mask[opening, :n_relations] = self._relations(progress.select(opening.nonzero().squeeze(1)))
        inside = ~opening
        if inside.any():
            mask[inside, n_relations:] = self._arguments(progress.select(inside.nonzero().squeeze(1)))
        return mask

    def feed(self, progress: Progress, symbols: Int[Tensor, "rows"]) -> Progress:
        opening = progress.position == 0
        relation = torch.where(opening, symbols, progress.relation)
        position = progress.position + 1
        slots = self.codec.n_positions if self.slots_filled else self._arity[relation]
        complete = (position > slots) & (relation != END)
        available, types = progress.available, progress.types
        if complete.any():
            available, types = available.clone(), types.clone()
            rows = complete.nonzero().squeeze(1)
            places = self._reference[progress.count[rows].clamp(max=self.longest)]
            there = places != NONE
            available[rows[there], places[there]] = True
            types[rows[there], places[there]] = self._result[relation[rows[there]]]
        count = progress.count + complete
        return Progress(relation, torch.where(complete, 0, position), count, available, types)

    def _relations(self, progress: Progress) -> Bool[Tensor, "rows n_relations"]:
        """Relations for each of whose positions there is something to put; the end once there is a tuple."""
        # given[row, type]: whether an argument of that type is available.
        given = torch.zeros(len(progress.count), len(self._type_ids), dtype=torch.bool)
        given.scatter_(1, torch.where(progress.available, progress.types, 0), progress.available)
        given[:, 0] = (progress.available & (progress.types == 0)).any(1)
        servable = (given[:, None, :] & self._fits).any(2)
        filled = servable[:, self._expected]  # rows, relations, positions
        beyond = torch.arange(self.codec.n_positions) >= self._arity[:, None]
        mask = (filled | beyond).all(2) & self._known
        mask &= (progress.count < self.longest)[:, None]
        mask[:, : len(SPECIALS)] = False
        mask[:, END] = (progress.count > 0) | ~mask.any(1)
        return mask

    def _arguments(self, progress: Progress) -> Bool[Tensor, "rows n_arguments"]:
        """What fits the position: available and of the right type, or NONE behind the last argument."""
        place = (progress.position - 1).clamp(max=self.codec.n_positions - 1)
        expected = self._expected[progress.relation, place]
        mask = progress.available & self._fits[expected[:, None], progress.types]
        done = progress.position > self._arity[progress.relation]
        mask[done] = False
        mask[:, NONE] = done
        return mask


@dataclass(frozen=True, slots=True)
class TypedProgress:
    """How far each row's program is: what the type system says of it, and the slots of its tuple that are filled."""

    partials: tuple[Any, ...]
    """The domain's own half-written programs; None where a symbol was fed that did not fit."""
    positions: tuple[int, ...]
    """How many slots of the tuple are filled: 0 means that a relation is next."""

    def select(self, rows: Int[Tensor, "chosen"]) -> TypedProgress:
        chosen = rows.tolist()
        return TypedProgress(tuple(self.partials[row] for row in chosen), tuple(self.positions[row] for row in chosen))


class TypedGrammar(Masks):
    """Which symbols may come next, by a domain's type system. Masks are remembered by the choices that they show."""

    dead_ends = True

    def __init__(self, domain: HasTyping, codec: Codec, slots_filled: bool, longest: int | None = None) -> None:
        """As for `Grammar`."""
        self.codec = codec
        self.slots_filled = slots_filled
        self.longest = longest if longest is not None else 2 * codec.longest
        relations, arguments = (words.tokens[len(SPECIALS) :] for words in (codec.relations, codec.arguments))
        self._typing = domain.typing(relations, arguments, codec.n_positions, self.longest)
        self._references = {
            target: codec.argument_symbol(place)
            for place, argument in enumerate(codec.arguments.tokens)
            if (target := reference(argument)) is not None
        }
        self._none = self._mask([codec.argument_symbol(NONE)])
        self._lost = self._mask([END])
        self._masks: dict[Choices, Tensor] = {}

    def start(self, names: Names, problems: Sequence[Problem] = (), longest: Lengths = ()) -> TypedProgress:
        """Names and types are read from the problems themselves."""
        partials = map(self._typing.start, problems, longest or [None] * len(problems))
        return TypedProgress(tuple(partials), (0,) * len(problems))

    def allowed(self, progress: TypedProgress, log_probabilities: Scores | None = None, ahead: bool = True) -> Allowed:
        """Which joint symbols may come next, for every row. A row that can become nothing any more can only end.

        With a model's `log_probabilities` only likely symbols are looked at, which is much faster, and only the best is
        sure to be able to come to an end; others may lead into a dead end. Without looking `ahead`, which is faster
        still, the best may too; in a dead end nothing may come.
        """
        mask = torch.zeros(len(progress.partials), self.codec.n_symbols, dtype=torch.bool)
        ranked = None if log_probabilities is None else log_probabilities.sort(descending=True, stable=True)
        rows: list[int] = []
        symbols: list[int] = []
        for row, (partial, position) in enumerate(zip(progress.partials, progress.positions)):
            if partial is None:
                mask[row] = self._lost
                continue
            begins = self._typing.begins(partial)
            if begins and position:
                mask[row] = self._none
                continue
            fitting = []
            if ranked is not None:
                scored = zip(ranked.values[row].tolist(), ranked.indices[row].tolist())
                fitting = self._likely(partial, begins, scored, ahead)
            if not fitting and ahead:
                mask[row] = self._shown(self._typing.choices(partial))
                fitting = [] if begins else [self._references[one] for one in self._typing.references(partial)]
            rows.extend([row] * len(fitting))
            symbols.extend(fitting)
        if rows:
            mask[rows, symbols] = True
        return mask

    def _likely(self, partial: Any, begins: bool, scored: Iterable[tuple[float, int]], ahead: bool) -> list[int]:
        """Of symbols with their log-probabilities, best first, the likely ones that fit.

        When looking ahead, the best that can come to an end leads them, however unlikely it is.
        """
        least = -torch.inf if ahead else LEAST
        fitting: list[int] = []
        for score, symbol in scored:
            if score < least:
                break
            if self._allows(partial, begins, symbol, ahead and not fitting):
                fitting.append(symbol)
                least = max(least, score + LEAST)
        return fitting

    def _allows(self, partial: Any, begins: bool, symbol: int, ahead: bool) -> bool:
        """Whether the type system lets a joint symbol come next."""
        relations = len(self.codec.relations)
        if begins != (symbol < relations):
            return False
        if symbol == END:
            return self._typing.allows(partial, None, ahead)
        vocabulary, place = (self.codec.relations, symbol) if begins else (self.codec.arguments, symbol - relations)
        return place >= len(SPECIALS) and self._typing.allows(partial, vocabulary[place], ahead)

    def hopeful(self, problem: Problem, symbols: Sequence[int]) -> int:
        progress = self.start([{}], [problem])
        before: list[tuple[int, Any, bool, int]] = []  # where the type system had a say, and in what
        for place, symbol in enumerate(symbols):
            partial, position = progress.partials[0], progress.positions[0]
            begins = self._typing.begins(partial)
            if not (begins and position):
                before.append((place, partial, begins, symbol))
            progress = self.feed(progress, torch.tensor([symbol]))
        # What comes after a symbol that leads nowhere leads nowhere, too.
        good = bisect_left(before, True, key=lambda one: not self._allows(*one[1:], ahead=True))
        return before[good][0] if good < len(before) else len(symbols)

    def feed(self, progress: TypedProgress, symbols: Int[Tensor, "rows"]) -> TypedProgress:
        partials: list[Any] = []
        positions: list[int] = []
        slots = self.codec.n_positions if self.slots_filled else 0
        for before, position, symbol in zip(progress.partials, progress.positions, symbols.tolist()):
            after = None if before is None else self._after(before, position, symbol)
            complete = position >= slots and after is not None and self._typing.begins(after)
            partials.append(after)
            positions.append(0 if complete else position + 1)
        return TypedProgress(tuple(partials), tuple(positions))

    def _after(self, partial: Any, position: int, symbol: int) -> Any:
        argument = symbol - len(self.codec.relations)
        if position and self._typing.begins(partial):
            # The tuple is complete; what follows are the slots that it has no use for.
            return partial if argument == NONE else None
        if position:
            return self._typing.feed(partial, self.codec.arguments[argument]) if argument >= 0 else None
        return self._typing.feed(partial, self.codec.relations[symbol]) if argument < 0 else None

    def _shown(self, choices: Choices) -> Tensor:
        """The mask of choices."""
        found = self._masks.get(choices)
        if found is None:
            if len(self._masks) > MOST_MASKS:
                self._masks.clear()
            symbols = [self.codec.relations.id(word) for word in choices.relations]
            symbols += [self.codec.argument_symbol(self.codec.arguments.id(word)) for word in choices.arguments]
            found = self._masks[choices] = self._mask([*symbols, END] if choices.ends else symbols)
        return found

    def _mask(self, symbols: Sequence[int]) -> Tensor:
        mask = torch.zeros(self.codec.n_symbols, dtype=torch.bool)
        mask[list(symbols)] = True
        return mask
