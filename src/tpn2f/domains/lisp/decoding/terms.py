"""Types of half-written Lisp programs as plain terms that can be hashed: what the masks of decoding are made from.

The rules are those of `types.infer`, which is the specification, turned round: a tuple is typed as soon as it is
written, before the lambda is known that will bind its `arg1`, `arg2` and `self`. What a value needs of them is
kept beside its type until a lambda takes it away. A call takes its arguments one at a time, and everything is numbered
and remembered, because decoding asks the same questions again and again. Nothing here knows a problem or a program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, no_type_check

from tpn2f.domains.lisp.check import LAMBDAS
from tpn2f.domains.lisp.machine import BUILTINS
from tpn2f.domains.lisp.types import PARTIALS, Array, Arrow, Type, Variable, function_type, parse_type, resolve

Term = str | int | tuple[Any, ...]
"""A base type's name; a variable: an even number, or an odd one if its type has an order; ("[]", element);
("->", argument, ..., result). Calls that fit functions of several sizes wait in their own way: ("partial0",) and, with
its value, ("partial0", T); ("combine",) and, with its outer function, ("combine", U, V); ("lambda1",)."""
LARGEST = 64
"""Types with more parts are refused: no program of the data comes near, and they could grow without end."""
_APART = 1 << 20
"""Added to the variables of one term, so that it has none in common with another."""
_FRESH = 2 * _APART
"""The first of the variables that are in neither."""
_BROKEN = -1


class Value(NamedTuple):
    """The type of a value or of a waiting call, and the types that it needs the locals to have; None if unused."""

    type: Term
    arg1: Term | None = None
    arg2: Term | None = None
    itself: Term | None = None
    """That of `self`."""

    def change(self, rewrite: Callable[[Term], Term]) -> Value:
        """The value with each of its types rewritten."""
        needs = (None if part is None else rewrite(part) for part in self[1:])
        return Value(rewrite(self.type), *needs)

    @property
    def is_closed(self) -> bool:
        return self.arg1 is None and self.arg2 is None and self.itself is None

    @property
    def is_plain(self) -> bool:
        """Whether it is data or a function of data: programs have no use for other values."""
        return _order(self.type) < 2

    @property
    def needs_data(self) -> bool:
        """Whether a lambda over data would do: functions of functions lead nowhere."""
        arguments_are_data = all(part is None or _order(part) == 0 for part in (self.arg1, self.arg2))
        return arguments_are_data and (self.itself is None or _order(self.itself) < 2)


LOCAL_VALUES = {"arg1": Value(0, arg1=0), "arg2": Value(0, arg2=0), "self": Value(0, itself=0)}


class Calculus:
    """Values by number, and what becomes of them: every answer is worked out once."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}
        self._steps: dict[tuple[int, int], int] = {}
        self._grounds: dict[int, int] = {}

    def number(self, value: Value) -> int:
        """The number of a value, whose variables must be numbered as `canonical` does."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
        return found

    def step(self, call: int, argument: int) -> int | None:
        """What a waiting call is after its next argument: waiting still, or its result. None if it does not fit."""
        key = (call, argument)
        found = self._steps.get(key)
        if found is None:
            made = apply(self.values[call], self.values[argument])
            found = self._steps[key] = self.number(made) if made is not None and made.needs_data else _BROKEN
        return None if found == _BROKEN else found

    def ground(self, value: int) -> int:
        """The value with every unknown type taken for `int`."""
        found = self._grounds.get(value)
        if found is None:
            found = self._grounds[value] = self.number(self.values[value].change(_fill))
        return found


def word_type(word: str) -> Value:
    """The type of a built-in function as a value."""
    return canonical(Value(_term(function_type(BUILTINS[word].type), {})), {}) or Value(0)


def ground_type(text: str) -> Value:
    """The type of a program's argument or result, from its text, such as `int[]`; what it leaves open is an `int`."""
    return Value(_fill(_term(parse_type(text), {})))


@cache
def relation_type(relation: str) -> Value:
    """A call of a relation before its first argument."""
    if relation in LAMBDAS or relation in PARTIALS or relation == "combine":
        return Value((relation,))
    if relation == "if":
        return Value(("->", "bool", 0, 0, 0))
    if relation == "self":
        return Value(("->", 0, 2), itself=("->", 0, 2))
    return word_type(relation)


def apply(call: Value, argument: Value) -> Value | None:
    """A call after one more argument, the needs of both put together; None if they do not fit."""
    bound: dict[int, Term] = {}
    given = argument.change(_shift)
    needs: list[Term | None] = []
    for mine, theirs in zip(call[1:], given[1:]):
        if mine is not None and theirs is not None and not unify(mine, theirs, bound):
            return None
        needs.append(mine if mine is not None else theirs)
    made = _applied(call.type, given.type, needs, bound)
    return None if made is None else canonical(Value(made, *needs), bound)


def _applied(call: Term, given: Term, needs: list[Term | None], bound: dict[int, Term]) -> Term | None:
    """The type of the call after `given`; a lambda takes from `needs` what it binds."""
    assert isinstance(call, tuple)
    form, *rest = call
    if form == "->":
        if not unify(rest[0], given, bound):
            return None
        return ("->", *rest[1:]) if len(rest) > 2 else rest[1]
    if form in LAMBDAS:
        return _lambda(form, given, needs, bound)
    if form in PARTIALS:
        return _partial(PARTIALS[form], rest[0], given, bound) if rest else (form, given)
    if rest:
        return _combine(rest[0], rest[1], given, bound)
    return ("combine", _FRESH, _FRESH + 2) if unify(given, ("->", _FRESH, _FRESH + 2), bound) else None


def _partial(position: int, value: Term, given: Term, bound: dict[int, Term]) -> Term | None:
    least = max(2, position + 1)
    function = _function(given, least, bound)
    if function is None or len(function) - 2 < least or not unify(value, function[1 + position], bound):
        return None
    return (*function[: 1 + position], *function[2 + position :])


def _combine(taken: Term, result: Term, given: Term, bound: dict[int, Term]) -> Term | None:
    inner = _function(given, 1, bound)
    if inner is None or not unify(taken, inner[-1], bound):
        return None
    return (*inner[:-1], result)


def _function(given: Term, least: int, bound: dict[int, Term]) -> tuple | None:
    """The type as a function's. One that nothing is known of has as few arguments as will do, as in `infer`."""
    function = _outside(given, bound)
    if isinstance(function, int):
        known = ("->", *(_FRESH + 2 * place for place in range(least + 1)))
        return known if unify(function, known, bound) else None
    return function if isinstance(function, tuple) and function[0] == "->" else None


def _lambda(form: str, body: Term, needs: list[Term | None], bound: dict[int, Term]) -> Term | None:
    made: list[Term] = []
    for place, name in enumerate(("arg1", "arg2")):
        if name in LAMBDAS[form]:
            need = needs[place]
            made.append(_FRESH + 2 * place if need is None else need)
            needs[place] = None
    function = ("->", *made, body)
    if needs[2] is not None and not unify(needs[2], function, bound):
        return None
    needs[2] = None
    return function


# --- terms -----------------------------------------------------------------------------------------------------------


def unify(left: Term, right: Term, bound: dict[int, Term]) -> bool:
    """Makes two terms the same by binding variables, as `types.unify` does; says whether that is possible."""
    pairs = [(left, right)]
    while pairs:
        left, right = pairs.pop()
        left, right = _outside(left, bound), _outside(right, bound)
        if left == right:
            continue
        if isinstance(right, int) and (not isinstance(left, int) or left % 2):
            # Of two variables the one without an order is bound.
            left, right = right, left
        if isinstance(left, int):
            if isinstance(right, tuple) and _holds(right, left, bound):
                return False
            if left % 2 and not isinstance(right, int) and right not in ("int", "string"):
                return False
            bound[left] = right
        elif isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right) and left[0] == right[0]:
            pairs.extend(zip(left[1:], right[1:]))
        else:
            return False
    return True


def canonical(value: Value, bound: dict[int, Term]) -> Value | None:
    """The value with what is known put in and its variables numbered in order; None if it is too large."""
    names: dict[int, int] = {}
    parts = 0

    @no_type_check
    def write(term: Term) -> Term:
        nonlocal parts
        term = _outside(term, bound)
        parts += 1
        if isinstance(term, int):
            if term not in names:
                names[term] = 2 * len(names) + term % 2
            return names[term]
        if isinstance(term, str) or parts > LARGEST:
            return term
        return (term[0], *map(write, term[1:]))

    made = value.change(write)
    return made if parts <= LARGEST else None


def size(term: Term) -> int:
    """How many parts a type has."""
    return 1 if not isinstance(term, tuple) else sum(size(part) for part in term[1:]) + 1


def _order(term: Term) -> int:
    """0 for data, 1 for a function of data, 2 for what takes, gives or holds a function."""
    if not isinstance(term, tuple):
        return 0
    inner = max(_order(part) for part in term[1:])
    return min(2, inner + 1) if term[0] == "->" else 2 * inner


def _outside(term: Term, bound: dict[int, Term]) -> Term:
    while isinstance(term, int) and term in bound:
        term = bound[term]
    return term


def _holds(term: Term, variable: int, bound: dict[int, Term]) -> bool:
    pending = [term]
    while pending:
        part = _outside(pending.pop(), bound)
        if part == variable:
            return True
        if isinstance(part, tuple):
            pending.extend(part[1:])
    return False


def _shift(term: Term) -> Term:
    if isinstance(term, int):
        return term + _APART
    return term if isinstance(term, str) else (term[0], *map(_shift, term[1:]))


def _fill(term: Term) -> Term:
    if isinstance(term, int):
        return "int"
    return term if isinstance(term, str) else (term[0], *map(_fill, term[1:]))


def _term(type: Type, names: dict[int, int]) -> Term:
    """A type of `types.py` as a term."""
    type = resolve(type)
    if isinstance(type, Variable):
        return names.setdefault(id(type), 2 * len(names) + type.ordered)
    if isinstance(type, Array):
        return ("[]", _term(type.element, names))
    if isinstance(type, Arrow):
        return ("->", *(_term(part, names) for part in (*type.arguments, type.result)))
    return type
