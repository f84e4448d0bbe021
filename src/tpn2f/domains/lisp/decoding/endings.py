"""How many tuples bring a half-written Lisp program to an end: what keeps the masks of decoding out of dead ends.

A way to the end takes the last of the values that wait, with those before it as far as a call has room, until one value
is left that needs no lambda and has the type that is asked for. Unknown types are taken for `int` and the rest of each
call is filled with words, so that a shorter end may be overlooked; but a way that is found can be gone, and after its
first tuple the place is one tuple nearer. Nothing here chooses anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from tpn2f.domains.lisp.check import LAMBDAS
from tpn2f.domains.lisp.decoding.terms import Calculus, Term, Value, size, unify

FARTHEST = 12
"""Ways that are longer are not gone. No gold program of AlgoLisp is ever more than 7 tuples from its nearest end."""
SIMPLE = 4
"""Ways lead through types of so few parts, (int int -> int) having four, unless a lambda is closed."""
NOWHERE = 1 << 20


class TypedRelation(NamedTuple):
    """A relation with the type of a call of it, and its number of arguments."""

    name: str
    call: int
    arity: int


Needs = tuple[Term | None, ...]
"""The types that a value needs arg1, arg2 and self to have."""
NOTHING: Needs = (None, None, None)
Reached = tuple[tuple[int, int], ...]
"""Types with the numbers of tuples that lead to them, the fewest first."""


class Move(NamedTuple):
    """Some tuples that make one value of the last and of some that wait below it."""

    tuples: int
    taken: int
    """How many of those that wait are used up."""
    type: int
    needs: Needs


class Moves:
    """What one more tuple makes of values, where programs have words of some types.

    A type is given as the number of a closed value that has it.
    """

    def __init__(self, calculus: Calculus, relations: Collection[TypedRelation], words: Collection[int]) -> None:
        self.calculus = calculus
        self._lambdas = [relation.call for relation in relations if relation.name in LAMBDAS]
        others = [one for one in relations if one.name not in LAMBDAS and one.name != "self"]
        self._relations = [[one for one in others if one.arity >= least] for least in range(4)]
        self._words = [word for word in words if calculus.values[word].is_closed and calculus.values[word].is_plain]
        self._made: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._enclosed: dict[tuple[int, Needs], tuple[tuple[int, Needs], ...]] = {}
        self._alone: dict[tuple[int, Needs], Mapping[Needs, Reached]] = {}
        self._after: dict[tuple[tuple[int, ...], Reached], Reached] = {}
        self._taking: dict[tuple[tuple[int, ...], int, Needs], tuple[Move, ...]] = {}

    def alone(self, type: int, needs: Needs) -> Mapping[Needs, Reached]:
        """What a value becomes by calls and lambdas that take nothing else that waits, by the needs that it keeps.

        A lambda takes some of its needs away; a value that has none may be the body of one all the same.
        """
        found = self._alone.get((type, needs))
        if found is None:
            reached: dict[Needs, dict[int, int]] = {needs: {type: 0}}
            frontier = [(type, needs)]
            for tuples in range(1, FARTHEST + 1):
                after = [(made, rest) for one, rest in frontier for made in self.calls((one,))]
                after += [made for one in frontier for made in self.closed(*one)]
                frontier = [(one, rest) for one, rest in dict.fromkeys(after) if one not in reached.get(rest, ())]
                for one, rest in frontier:
                    reached.setdefault(rest, {})[one] = tuples
            found = self._alone[type, needs] = {rest: tuple(types.items()) for rest, types in reached.items()}
        return found

    def taking(self, below: tuple[int, ...], type: int, needs: Needs) -> tuple[Move, ...]:
        """What a value becomes when, after calls of it alone, a call takes the last or the last two of those below."""
        key = (below, type, needs)
        found = self._taking.get(key)
        if found is None:
            least: dict[tuple[int, int, Needs], int] = {}
            for rest, reached in self.alone(type, needs).items():
                taken: tuple[int, ...] = ()
                merged: Needs | None = rest
                for number in reversed(below):
                    value = self.calculus.values[number]
                    merged = _merge(value[1:], merged)
                    if merged is None:
                        break
                    taken = (self.calculus.number(Value(value.type)), *taken)
                    for made, tuples in self._calls_after(taken, reached):
                        outcome = (len(taken), made, merged)
                        least[outcome] = min(tuples, least.get(outcome, tuples))
            moves = [Move(tuples, *outcome) for outcome, tuples in least.items()]
            found = self._taking[key] = tuple(sorted(moves, key=lambda move: move.tuples))
        return found

    def _calls_after(self, taken: tuple[int, ...], reached: Reached) -> Reached:
        """The types that calls make of values and one that became one of several types, with all tuples counted."""
        found = self._after.get((taken, reached))
        if found is None:
            least: dict[int, int] = {}
            for one, tuples in reached:
                for made in self.calls((*taken, one)):
                    least.setdefault(made, tuples + 1)
            found = self._after[taken, reached] = tuple(least.items())
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

    def _filled(self, relation: TypedRelation, values: tuple[int, ...]) -> Iterator[int]:
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
        self._ends: dict[tuple[int, Needs], int] = {}
        # By the values that wait below, and type and needs of the last: how many tuples are known to be enough, or not.
        self._enough: dict[tuple[tuple[int, ...], int, Needs], int] = {}
        self._too_few: dict[tuple[tuple[int, ...], int, Needs], int] = {}

    def is_result(self, value: Value) -> bool:
        """Whether a value may be that of the program."""
        if not value.is_closed:
            return False
        return _is_data(value.type) if self._result is None else unify(value.type, self._result, {})

    def reaches(self, waiting: tuple[int, ...], tuples: int) -> bool:
        """Whether this many tuples are enough to reach an end from these waiting values, oldest first."""
        *below, last = map(self.calculus.ground, waiting)
        value = self.calculus.values[last]
        return self._reaches(tuple(below), self.calculus.number(Value(value.type)), value[1:], min(tuples, FARTHEST))

    def _reaches(self, below: tuple[int, ...], type: int, needs: Needs, tuples: int) -> bool:
        if not below:
            return self._end(type, needs) <= tuples
        # Each tuple can take two of the values below.
        if tuples < (len(below) + 1) // 2:
            return False
        state = (below, type, needs)
        if tuples >= self._enough.get(state, NOWHERE):
            return True
        if tuples <= self._too_few.get(state, -1):
            return False
        for move in self._moves.taking(below[-2:], type, needs):
            if move.tuples > tuples:
                break
            if self._reaches(below[: -move.taken], move.type, move.needs, tuples - move.tuples):
                self._enough[state] = tuples
                return True
        self._too_few[state] = tuples
        return False

    def _end(self, type: int, needs: Needs) -> int:
        """The fewest tuples that make a result of a value when nothing else waits."""
        found = self._ends.get((type, needs))
        if found is None:
            reached = self._moves.alone(type, needs).get(NOTHING, ())
            ends = (tuples for one, tuples in reached if self.is_result(self.calculus.values[one]))
            found = self._ends[type, needs] = next(ends, NOWHERE)
        return found


def _merge(one: Needs, other: Needs) -> Needs | None:
    """What two values need of the locals together; None if they cannot have the same."""
    if one in (NOTHING, other):
        return other
    if any(a is not None and b is not None and a != b for a, b in zip(one, other)):
        return None
    return tuple(b if a is None else a for a, b in zip(one, other))


def _is_data(type: Term) -> bool:
    """Whether a value of the type can be a result: neither a function nor a type."""
    while isinstance(type, tuple) and type[0] == "[]":
        type = type[1]
    return isinstance(type, int) or type in ("int", "bool", "string")
