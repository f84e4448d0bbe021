"""How many tuples bring a half-written Lisp program to an end: what keeps the masks of decoding out of dead ends.

A way to the end takes the last of the values that wait, with those before it as far as a call has room, until one value
is left that needs no lambda and has the type that is asked for. Unknown types are taken for `int` and the rest of each
call is filled with words, so that a shorter end may be overlooked; but a way that is found can be gone, and after its
first tuple the place is one tuple nearer. Nothing here chooses anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from tpn2f.domains.lisp_check import LAMBDAS
from tpn2f.domains.lisp_terms import Calculus, Term, Value, size, unify

FARTHEST = 12
"""Ways that are longer are not gone. No gold program of AlgoLisp is ever more than 7 tuples from its nearest end."""
SIMPLE = 4
"""Ways lead through types of so few parts, (int int -> int) having four, unless a lambda is closed."""
NOWHERE = 1 << 20


class Relation(NamedTuple):
    """A relation with the type of a call of it, and its number of arguments."""

    name: str
    call: int
    arity: int


Needs = tuple[Term | None, ...]
"""The types that a value needs arg1, arg2 and self to have."""
NOTHING: Needs = (None, None, None)


class State(NamedTuple):
    """Where a way goes on: the values that wait below the last, the type of the last, and its needs."""

    below: tuple[int, ...]
    type: int
    needs: Needs


class Moves:
    """What one more tuple makes of values, where programs have words of some types.

    A type is given as the number of a closed value that has it.
    """

    def __init__(self, calculus: Calculus, relations: Collection[Relation], words: Collection[int]) -> None:
        self.calculus = calculus
        self._lambdas = [relation.call for relation in relations if relation.name in LAMBDAS]
        others = [one for one in relations if one.name not in LAMBDAS and one.name != "self"]
        self._relations = [[one for one in others if one.arity >= least] for least in range(4)]
        self._words = [word for word in words if calculus.values[word].is_closed and calculus.values[word].is_plain]
        self._made: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._enclosed: dict[tuple[int, Needs], tuple[tuple[int, Needs], ...]] = {}
        self._chains: dict[tuple[int, bool], dict[int, int]] = {}

    def chain(self, type: int, constant: bool) -> dict[int, int]:
        """The types that a value becomes by calls that take nothing else that waits, with the number of calls.

        `constant`: whether it may also become the body of a lambda that it does not need.
        """
        found = self._chains.get((type, constant))
        if found is None:
            found = self._chains[type, constant] = {type: 0}
            frontier = [type]
            for steps in range(1, FARTHEST + 1):
                reached = {made for one in frontier for made in self.calls((one,))}
                if constant:
                    reached |= {made for one in frontier for made, _ in self.closed(one, NOTHING)}
                frontier = sorted(reached - found.keys())
                found.update(dict.fromkeys(frontier, steps))
        return found

    def closed(self, type: int, needs: Needs) -> tuple[tuple[int, Needs], ...]:
        """What lambdas make of a value, if they take some of its needs away or it has none."""
        found = self._enclosed.get((type, needs))
        if found is None:
            calculus = self.calculus
            body = calculus.number(Value(calculus.values[type].type, *needs))
            made = [calculus.step(call, body) for call in self._lambdas]
            values = [calculus.values[calculus.ground(one)] for one in made if one is not None]
            fewer = [value for value in values if value.is_plain and value[1:] != needs]
            small = [value for value in values if needs == NOTHING and self._is_small(value)]
            found = tuple((calculus.number(Value(value.type)), value[1:]) for value in (*fewer, *small))
            self._enclosed[type, needs] = found
        return found

    def calls(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The types that one call makes of just these values, in this order, and words."""
        found = self._made.get(values)
        if found is None:
            calculus = self.calculus
            made = {calculus.ground(call) for one in self._relations[len(values)] for call in self._filled(one, values)}
            found = self._made[values] = tuple(sorted(one for one in made if self._is_small(calculus.values[one])))
        return found

    def _filled(self, relation: Relation, values: tuple[int, ...]) -> Iterator[int]:
        """The results of a call that takes the values and fills its other positions with words."""
        step = self.calculus.step
        calls = {(relation.call, 0)}
        for left in range(relation.arity - 1, -1, -1):
            after: set[tuple[int | None, int]] = set()
            for call, used in calls:
                if used < len(values):
                    after.add((step(call, values[used]), used + 1))
                if len(values) - used <= left:
                    after.update((step(call, word), used) for word in self._words)
            calls = {(call, used) for call, used in after if call is not None}
        return (call for call, used in calls if used == len(values))

    def _is_small(self, value: Value) -> bool:
        return value.is_plain and size(value.type) <= SIMPLE


class Ways:
    """The ways of programs to a result of some type; any data if it is None."""

    def __init__(self, moves: Moves, result: Term | None) -> None:
        self._moves = moves
        self.calculus = moves.calculus
        self._result = result
        # Remembered by what waits below, a tuple of values, and by type and needs of the last: the distance, or minus
        # one more than the limit up to which there is none.
        self._left: dict[State, int] = {}
        self._next: dict[State, int] = {}

    def is_result(self, value: Value) -> bool:
        """Whether a value may be that of the program."""
        if not value.is_closed:
            return False
        return _is_data(value.type) if self._result is None else unify(value.type, self._result, {})

    def distance(self, waiting: tuple[int, ...], limit: int = FARTHEST) -> int:
        """The number of tuples from where these values wait, oldest first, to an end; NOWHERE if none is found.

        Over the limit none is looked for.
        """
        *below, last = map(self.calculus.ground, waiting)
        value = self.calculus.values[last]
        state = State(tuple(below), self.calculus.number(Value(value.type)), value[1:])
        limit = min(limit, FARTHEST)
        found = self._distance(state, limit)
        return found if found <= limit else NOWHERE

    def _distance(self, state: State, limit: int) -> int:
        """From a last value of some type and needs: some calls of it alone, then one that brings it further."""
        known = self._left.get(state, 0)
        if known > 0:
            return known - 1
        if -known > limit:
            return NOWHERE
        below, type, needs = state
        found, least = NOWHERE, _least(state)
        for made, steps in self._moves.chain(type, needs == NOTHING).items():
            # The chain begins with the fewest steps.
            if steps + least > limit or steps + least >= found:
                break
            found = min(found, steps + self._turn(State(below, made, needs), min(limit, found) - steps))
        self._left[state] = found + 1 if found <= limit else -limit - 1
        return found

    def _turn(self, state: State, limit: int) -> int:
        """The distance if the next tuple takes a value that waits below, or gives a lambda what it needs."""
        known = self._next.get(state, 0)
        if known > 0:
            return known - 1
        if -known > limit:
            return NOWHERE
        below, type, needs = state
        found = NOWHERE
        if not below and needs == NOTHING and self.is_result(self.calculus.values[type]):
            found = 0
        elif needs != NOTHING:
            for made, rest in self._moves.closed(type, needs):
                found = min(found, 1 + self._distance(State(below, made, rest), min(limit, found) - 1))
        taken: tuple[int, ...] = ()
        merged: Needs | None = needs
        for place in range(1, min(len(below), 2) + 1):
            value = self.calculus.values[below[-place]]
            merged = _merge(value[1:], merged)
            if merged is None:
                break
            taken = (self.calculus.number(Value(value.type)), *taken)
            rest_below = below[:-place]
            if 1 + (len(rest_below) + 1) // 2 > limit:
                continue
            for made in self._moves.calls((*taken, type)):
                found = min(found, 1 + self._distance(State(rest_below, made, merged), min(limit, found) - 1))
        self._next[state] = found + 1 if found <= limit else -limit - 1
        return found


def _least(state: State) -> int:
    """No way is shorter: each tuple can take two of the values below, and what is needed takes a lambda."""
    return max((len(state.below) + 1) // 2, state.needs != NOTHING)


def _merge(one: Needs, other: Needs) -> Needs | None:
    """What two values need of the locals together; None if they cannot have the same."""
    if any(a is not None and b is not None and a != b for a, b in zip(one, other)):
        return None
    return tuple(b if a is None else a for a, b in zip(one, other))


def _is_data(type: Term) -> bool:
    """Whether a value of the type can be given away: no function, no type."""
    while isinstance(type, tuple) and type[0] == "[]":
        type = type[1]
    return isinstance(type, int) or type in ("int", "bool", "string")
