"""Which words may come next in a Lisp tree that is being written from the root down, by the types of the language.

The rules are those of `types.infer`, with a type expected at every open place: a word fits if its type can be made the
expected one. `partial` and `combine` fit functions of any number of arguments; where nothing is known of the function
they make, its number of arguments is the least, as in `infer`. Looking ahead is not exact: it asks for every open place
by itself whether a small tree fits there. Nothing here knows tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from tpn2f.domain import Problem
from tpn2f.domains.lisp.check import FORMS, FUNCTIONS, LAMBDAS, constant
from tpn2f.domains.lisp.machine import BUILTINS
from tpn2f.domains.lisp.types import (
    PARTIALS,
    Array,
    Arrow,
    LispTypeError,
    Type,
    Variable,
    format_type,
    function_type,
    parse_type,
    resolve,
    unify,
)

LEVELS = 3
"""How deep the trees are that looking ahead tries at an open place."""
NEVER = 10**6
"""More calls than any program has: what a place costs for which no such tree is found."""
MOST_ARGUMENTS = 4
"""The most arguments of a function, and levels of an array, that are expected at a place."""
MOST_COSTS = 200_000
"""How many costs are kept before all are dropped."""
Locals = Mapping[str, Type]
"""What a lambda binds around a place."""
_NODE = ("?",)
"""Stands for a call in errors that nobody reads."""


class Hole(NamedTuple):
    """A place where something is to be written."""

    type: Type
    locals: Locals = MappingProxyType({})
    cost: int = 0
    """How many calls a small tree has that fits."""


@dataclass(frozen=True, slots=True, eq=False)
class LispPartial:
    """A half-written tree. Its types are its own: no other tree shares a variable with it."""

    names: Mapping[str, str]
    """The arguments of the program, with their types."""
    kinds: tuple[str, ...]
    """The types alone, of those that the vocabulary has."""
    calls_left: int
    holes: tuple[Hole, ...]
    """The open places, the next one last."""


class LispTreeTyping:
    """The masks of the language's types for trees over these words."""

    def __init__(
        self,
        relations: Collection[str],
        arguments: Collection[str],
        longest: int,
        types: Callable[[Problem], Mapping[str, str]],
    ) -> None:
        self._relations = [word for word in relations if word in FUNCTIONS or word in FORMS or word == "self"]
        self._words = dict.fromkeys(arguments)
        self._longest, self._types = longest, types
        self._costs: dict[tuple, int] = {}

    def start(self, problem: Problem, names: Mapping[str, str], longest: int) -> LispPartial:
        """The names and their types are read from the problem itself."""
        types = dict(self._types(problem))
        kinds = tuple(sorted({type for name, type in types.items() if name in self._words}))
        root = Hole(parse_type(problem.result) if problem.result else Variable())
        return LispPartial(types, kinds, min(longest, self._longest), (root,))

    def arity(self, partial: LispPartial, relation: str) -> int:
        if relation in FUNCTIONS:
            return FUNCTIONS[relation].arity
        if relation in FORMS:
            return FORMS[relation]
        own = partial.holes[-1].locals["self"]
        return len(own.arguments) if isinstance(own, Arrow) else 1

    def allows(self, partial: LispPartial, word: str, call: bool, ahead: bool = True) -> bool:
        if not partial.holes:
            return False
        *others, hole = partial.holes
        left = partial.calls_left - call - sum(one.cost for one in others)
        if left < 0:
            return False
        with _tried(hole):
            try:
                below = _fill(partial.names, hole, word, call)
            except LispTypeError:
                return False
            # A word may say more of what other places expect.
            return not ahead or self._costs_of(partial.kinds, (*others, *below)) <= partial.calls_left - call

    def feed(self, partial: LispPartial, word: str, call: bool) -> LispPartial | None:
        if not self.allows(partial, word, call, ahead=False):
            return None
        *others, hole = partial.holes
        with _tried(hole):
            below = _fill(partial.names, hole, word, call)
            below = [one._replace(cost=self._cost(partial.kinds, one)) for one in (*others, *reversed(below))]
            # Hypotheses of a beam go different ways from the same tree, so each has its own variables.
            holes = _copied(below)
        return LispPartial(partial.names, partial.kinds, partial.calls_left - call, holes)

    def needs(self, partial: LispPartial) -> int:
        return sum(hole.cost for hole in partial.holes)

    def _costs_of(self, kinds: tuple[str, ...], holes: Iterable[Hole]) -> int:
        return sum(self._cost(kinds, hole) for hole in holes)

    def _cost(self, kinds: tuple[str, ...], hole: Hole, levels: int = LEVELS) -> int:
        """How many calls a small tree has that fits in a hole, if the program has arguments of these kinds."""
        shown = ((name, format_type(type)) for name, type in hole.locals.items())
        key = (kinds, format_type(hole.type), *sorted(shown), levels)
        if key not in self._costs:
            if len(self._costs) > MOST_COSTS:
                self._costs.clear()
            self._costs[key] = self._search(kinds, hole, levels)
        return self._costs[key]

    def _search(self, kinds: tuple[str, ...], hole: Hole, levels: int) -> int:
        # A name of each kind is enough.
        names = {f"a name of {kind}": kind for kind in kinds}
        for word in (*names, *self._words):
            with _tried(hole):
                try:
                    _fill(names, hole, word, False)
                    return 0
                except LispTypeError:
                    continue
        best = NEVER
        for word in self._relations if levels else ():
            with _tried(hole):
                try:
                    below = _fill(names, hole, word, True)
                except LispTypeError:
                    continue
                best = min(best, 1 + sum(self._cost(kinds, one, levels - 1) for one in below))
            if best == 1:
                break
        return best


def _fill(names: Mapping[str, str], hole: Hole, word: str, call: bool) -> list[Hole]:
    """Puts a word into a hole, which may bind variables; the holes that it opens. Raises LispTypeError."""
    below = _open(word, hole) if call else []
    if not call:
        unify(_word_type(word, names, hole.locals), hole.type, _NODE)
    if not all(_is_plain(one.type) for one in (hole, *below)):
        raise LispTypeError("programs have no use for functions of functions")
    return below


def _is_plain(type: Type) -> bool:
    """Whether it is data or a function of data of few arguments, as far as it is known."""
    type = resolve(type)
    if not isinstance(type, Arrow):
        return not isinstance(type, Array) or _is_data(type)
    return len(type.arguments) <= MOST_ARGUMENTS and all(map(_is_data, (*type.arguments, type.result)))


def _is_data(type: Type) -> bool:
    type = resolve(type)
    levels = 0
    while isinstance(type, Array) and levels <= MOST_ARGUMENTS:
        type, levels = resolve(type.element), levels + 1
    return levels <= MOST_ARGUMENTS and not isinstance(type, Arrow)


def _open(form: str, hole: Hole) -> list[Hole]:
    """The holes of a call that is put into a hole."""
    if form in LAMBDAS:
        names = [name for name in ("arg1", "arg2") if name in LAMBDAS[form]]
        own = Arrow(tuple(Variable() for _ in names), Variable())
        unify(own, hole.type, _NODE)
        return [Hole(own.result, {**hole.locals, **dict(zip(names, own.arguments)), "self": own})]
    if form in PARTIALS or form == "combine":
        position = PARTIALS.get(form, 0)
        made = _made(hole.type, max(1, position))
        middle = Variable()
        if form == "combine":
            outer, inner = Arrow((middle,), made.result), Arrow(made.arguments, middle)
            return [Hole(outer, hole.locals), Hole(inner, hole.locals)]
        arguments = (*made.arguments[:position], middle, *made.arguments[position:])
        return [Hole(middle, hole.locals), Hole(Arrow(arguments, made.result), hole.locals)]
    if form == "if":
        chosen = Variable()
        taken = Arrow(("bool", chosen, chosen), chosen)
    elif form == "self":
        taken = hole.locals.get("self")
    else:
        taken = function_type(BUILTINS[form].type) if form in BUILTINS else None
    if not isinstance(taken, Arrow):
        raise LispTypeError(f"there is no function {form} here")
    unify(taken.result, hole.type, _NODE)
    return [Hole(argument, hole.locals) for argument in taken.arguments]


def _made(expected: Type, least: int) -> Arrow:
    """The function that `partial` or `combine` must make; of `least` arguments if nothing is known of it."""
    expected = resolve(expected)
    if isinstance(expected, Variable):
        known = Arrow(tuple(Variable() for _ in range(least)), Variable())
        unify(expected, known, _NODE)
        return known
    if not isinstance(expected, Arrow) or len(expected.arguments) < least:
        raise LispTypeError("expected another type than a function's of so many arguments")
    return expected


def _word_type(word: str, names: Mapping[str, str], local: Locals) -> Type:
    if word in local:
        return local[word]
    if word in BUILTINS:
        return function_type(BUILTINS[word].type)
    found = constant(word)
    if found is None and word not in names:
        raise LispTypeError(f"there is no {word} here")
    return found[1] if found else parse_type(names[word])


@contextmanager
def _tried(hole: Hole) -> Iterator[None]:
    """Whatever is bound within is not bound afterwards."""
    free: dict[int, Variable] = {}
    pending = [hole.type, *hole.locals.values()]
    while pending:
        part = resolve(pending.pop())
        if isinstance(part, Variable):
            free[id(part)] = part
        elif isinstance(part, Array):
            pending.append(part.element)
        elif isinstance(part, Arrow):
            pending.extend((*part.arguments, part.result))
    before = [(variable, variable.ordered) for variable in free.values()]
    try:
        yield
    finally:
        for variable, ordered in before:
            variable.bound, variable.ordered = None, ordered


def _copied(holes: list[Hole]) -> tuple[Hole, ...]:
    """The same holes with variables of their own, shared as before."""
    variables: dict[int, Variable] = {}
    scopes: dict[int, Locals] = {}

    def copy(type: Type) -> Type:
        type = resolve(type)
        if isinstance(type, Variable):
            return variables.setdefault(id(type), Variable(type.ordered))
        if isinstance(type, Array):
            return Array(copy(type.element))
        if isinstance(type, Arrow):
            return Arrow(tuple(map(copy, type.arguments)), copy(type.result))
        return type

    def scope(local: Locals) -> Locals:
        if id(local) not in scopes:
            scopes[id(local)] = {name: copy(type) for name, type in local.items()}
        return scopes[id(local)]

    return tuple(Hole(copy(hole.type), scope(hole.locals), hole.cost) for hole in holes)
