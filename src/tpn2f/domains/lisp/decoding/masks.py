"""Which symbols may come next in a Lisp program that is being written, by the types of the language.

Every program that is written under these masks is a tree in the order of `Program.from_tree`, each value used once, and
has a type by `types.infer`: that of the task where it is known. No choice leads into a dead end: a symbol is
offered only if the program can still be brought to an end, its lambdas closed and nothing left over, within the tuples
that are left. Nothing here knows tensors; `grammar.py` makes masks of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from tpn2f.domain import Choices, Problem
from tpn2f.domains.lisp.check import FORMS, FUNCTIONS, constant
from tpn2f.domains.lisp.decoding.endings import FARTHEST, NOWHERE, Moves, TypedRelation, Ways
from tpn2f.domains.lisp.decoding.terms import (
    LOCAL_VALUES,
    Calculus,
    Value,
    ground_type,
    relation_type,
    word_type,
)
from tpn2f.program import MAX_DEPTH, reference

MOST_PLACES = 200_000
"""The most places that are kept, about 300 MB, before all are dropped; the gold programs of dev need fewer."""


@dataclass(slots=True, eq=False)
class Place:
    """A place in a half-written program, without its names and numbers."""

    waiting: tuple[int, ...]
    """The types of the values that no call has taken, oldest first."""
    due: tuple[int, ...] = ()
    """Those that the call being written must still take, in this order: they were written after one that it took."""
    begun: bool = False
    """Whether the call has taken a value that waited."""
    call: int | None = None
    """The call being written; None where a tuple begins."""
    left: int = 0
    """How many arguments it lacks."""
    after: dict[int, Place | None] = field(default_factory=dict)
    """The place after an argument: by its type, or minus its distance from the end if it is a value that waited."""
    enough: int = NOWHERE
    """This many tuples are known to be enough to reach an end."""
    too_few: int = 0
    """This many are known not to be enough."""
    options: dict[int, SlotOptions] = field(default_factory=dict)
    """By the number of tuples that may still be completed."""


class SlotOptions(NamedTuple):
    """What may come next at a place."""

    relations: tuple[str, ...] = ()
    types: tuple[int, ...] = ()
    """The types of words that fit."""
    distances: tuple[int, ...] = ()
    """The values that fit among those that wait, counted from the end."""
    ends: bool = False


class Space:
    """The places of all programs over words of some types that give a result of some type. It knows no names."""

    def __init__(self, relations: Collection[TypedRelation], words: Collection[int], ways: Ways) -> None:
        self._calculus = calculus = ways.calculus
        self._relations = relations
        # Words that only a lambda makes sense of come last: the others lead to an end sooner.
        self._words = sorted(words, key=lambda word: (not calculus.values[word].is_closed, word))
        self.ways = ways
        self._places: dict[tuple, Place] = {}

    def place(
        self,
        waiting: tuple[int, ...],
        due: tuple[int, ...] = (),
        begun: bool = False,
        call: int | None = None,
        left: int = 0,
    ) -> Place:
        key = (waiting, due, begun, call, left)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = Place(*key)
        return found

    @property
    def size(self) -> int:
        """How many places are kept."""
        return len(self._places)

    def open(self, place: Place, relation: TypedRelation) -> Place:
        """After a relation."""
        return self.place(place.waiting, call=relation.call, left=relation.arity)

    def give(self, place: Place, type: int) -> Place | None:
        """After a word of some type as an argument."""
        if type not in place.after:
            place.after[type] = self._argue(place, type, place.waiting, place.due, place.begun)
        return place.after[type]

    def take(self, place: Place, distance: int) -> Place | None:
        """After a value that waited as an argument: the last has distance 1. Those behind it are due then."""
        if -distance not in place.after:
            waiting, due = place.waiting, place.due
            if not place.begun and 1 <= distance <= len(waiting):
                waiting, due = waiting[:-distance], waiting[-distance:]
            fits = due and len(due) == distance
            place.after[-distance] = self._argue(place, due[0], waiting, due[1:], True) if fits else None
        return place.after[-distance]

    def _argue(
        self, place: Place, type: int, waiting: tuple[int, ...], due: tuple[int, ...], begun: bool
    ) -> Place | None:
        if place.call is None or len(due) >= place.left:
            return None
        call = self._calculus.step(place.call, type)
        if call is None:
            return None
        if place.left == 1:
            return self.place((*waiting, call)) if self._calculus.values[call].is_plain else None
        return self.place(waiting, due, begun, call, place.left - 1)

    def options(self, place: Place, tuples: int) -> SlotOptions:
        """What may come next if at most this many tuples can still be completed."""
        tuples = min(tuples, FARTHEST + 1)
        found = place.options.get(tuples)
        if found is None:
            found = place.options[tuples] = self._options(place, tuples)
        return found

    def _options(self, place: Place, tuples: int) -> SlotOptions:
        if place.call is None:
            opened = [one.name for one in self._relations if self._hopeful(self.open(place, one), tuples)]
            return SlotOptions(relations=tuple(opened), ends=self.is_done(place))
        types = [type for type in self._words if self._leads_on(self.give(place, type), tuples)]
        distances = [distance for distance in _reach(place) if self._leads_on(self.take(place, distance), tuples)]
        return SlotOptions(types=tuple(types), distances=tuple(distances))

    def is_done(self, place: Place) -> bool:
        """Whether the program may end here."""
        return len(place.waiting) == 1 and self.ways.is_result(self._calculus.values[place.waiting[0]])

    def leads_on(self, place: Place, after: Place, tuples: int) -> bool:
        """Whether the step from a place to the one after it can reach an end, with this many tuples from the first."""
        tuples = min(tuples, FARTHEST + 1)
        return self._hopeful(after, tuples) if place.call is None else self._leads_on(after, tuples)

    def _leads_on(self, place: Place | None, tuples: int) -> bool:
        """Whether there is such a place, after an argument, and it can reach an end."""
        return place is not None and self._hopeful(place, tuples if place.call is not None else tuples - 1)

    def _hopeful(self, place: Place, tuples: int) -> bool:
        """Whether this many tuples, with the one being written, are enough to reach an end."""
        if place.call is None:
            return self.ways.reaches(place.waiting, tuples)
        if tuples >= place.enough or tuples <= place.too_few:
            return tuples >= place.enough
        found = any(self._leads_on(self.take(place, distance), tuples) for distance in _reach(place))
        found = found or any(self._leads_on(self.give(place, type), tuples) for type in self._words)
        if found:
            place.enough = tuples
        else:
            place.too_few = tuples
        return found


def _reach(place: Place) -> Iterable[int]:
    """The distances of the values that the call may take next."""
    if place.begun:
        return (len(place.due),) if place.due else ()
    return range(1, min(place.left, len(place.waiting)) + 1)


# --- with names and numbers ------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class TypedTask:
    """The words of one kind of problem."""

    space: Space
    types: Mapping[str, int]
    """Of every word that programs may use as an argument."""
    words: Mapping[int, frozenset[str]]
    choices: dict[tuple[Place, int], Choices] = field(default_factory=dict)


class Partial(NamedTuple):
    """A half-written program."""

    task: TypedTask
    place: Place
    numbers: tuple[int, ...] = ()
    """The tuples whose values wait or are due, oldest first."""
    complete: int = 0
    """How many tuples are complete."""
    longest: int = 0
    """How many there may be at most."""


class LispTyping:
    """The masks of a vocabulary: `tpn2f.domain.Typing` for the Lisp."""

    def __init__(
        self,
        relations: Collection[str],
        arguments: Collection[str],
        n_positions: int,
        longest: int,
        types: Callable[[Problem], Mapping[str, str]],
    ) -> None:
        """For programs of these relations and arguments, with at most `n_positions` per tuple and `longest` tuples.

        `types` gives the types of a problem's arguments.
        """
        self._calculus = Calculus()
        self._types = types
        arity = {name: function.arity for name, function in FUNCTIONS.items()} | FORMS | {"self": 1}
        self._relations = {
            name: TypedRelation(name, self._calculus.number(relation_type(name)), arity[name])
            for name in sorted(relations)
            if arity.get(name, n_positions + 1) <= n_positions
        }
        self._arguments = frozenset(arguments)
        values = {word: value for word in arguments if (value := _word_value(word)) is not None}
        self._constants = {word: self._calculus.number(value) for word, value in values.items()}
        # A value that no word refers to can only be the last, and deeper trees than this are not built.
        named = next(number for number in count() if f"#{number}" not in self._arguments)
        self._longest = min(longest, named + 1, MAX_DEPTH - 1)
        self._forget()

    def _forget(self) -> None:
        """Half-written programs keep what they need, so that nothing changes for them."""
        self._tasks: dict[tuple, TypedTask] = {}
        self._moves: dict[frozenset[int], Moves] = {}
        self._spaces: dict[tuple[frozenset[int], str], Space] = {}

    def start(self, problem: Problem, longest: int | None = None) -> Partial:
        """Before the first symbol; the program must have the result that the problem asks for, if it says so."""
        if sum(space.size for space in self._spaces.values()) > MOST_PLACES:
            self._forget()
        names = self._types(problem)
        key = (tuple(sorted(names.items())), problem.result)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = self._task(names, problem.result)
        most = self._longest if longest is None else min(longest, self._longest)
        return Partial(task, task.space.place(()), longest=most)

    def _task(self, names: Mapping[str, str], result: str) -> TypedTask:
        number = self._calculus.number
        named = {name: type for name, type in names.items() if name in self._arguments}
        given = {name: number(ground_type(type)) for name, type in named.items()}
        types = given | self._constants
        words: dict[int, set[str]] = {}
        for word, type in types.items():
            words.setdefault(type, set()).add(word)
        kinds, relations = frozenset(words), self._relations.values()
        if kinds not in self._moves:
            self._moves[kinds] = Moves(self._calculus, relations, kinds)
        if (kinds, result) not in self._spaces:
            ways = Ways(self._moves[kinds], ground_type(result).type if result else None)
            self._spaces[kinds, result] = Space(relations, kinds, ways)
        return TypedTask(self._spaces[kinds, result], types, {type: frozenset(those) for type, those in words.items()})

    def choices(self, partial: Partial) -> Choices:
        """What may come next, but for references. Where nothing may, the program is made to end."""
        task, place = partial.task, partial.place
        tuples = min(partial.longest - partial.complete, FARTHEST + 1)
        found = task.choices.get((place, tuples))
        if found is None:
            options = task.space.options(place, tuples)
            fitting = frozenset[str]().union(*(task.words[type] for type in options.types))
            stuck = place.call is None and not options.relations
            found = Choices(frozenset(options.relations), fitting, options.ends or stuck)
            task.choices[place, tuples] = found
        return found

    def references(self, partial: Partial) -> tuple[int, ...]:
        """The earlier tuples that may come next as arguments."""
        if partial.place.call is None:
            return ()
        options = partial.task.space.options(partial.place, partial.longest - partial.complete)
        return tuple(partial.numbers[-distance] for distance in options.distances)

    def begins(self, partial: Partial) -> bool:
        """Whether a tuple would begin here, or the program end."""
        return partial.place.call is None

    def allows(self, partial: Partial, word: str | None, ahead: bool = True) -> bool:
        """Whether a word, or for None the end, may come next. A program that is stuck is not made to end.

        Without looking `ahead`, whether it fits here: the program may come to no end then.
        """
        space, place = partial.task.space, partial.place
        if word is None:
            return place.call is None and space.is_done(place)
        after = self.feed(partial, word)
        left = partial.longest - partial.complete
        return after is not None and left > 0 and (not ahead or space.leads_on(place, after.place, left))

    def feed(self, partial: Partial, word: str) -> Partial | None:
        """After a relation or an argument; None if it does not fit at all."""
        task, place, numbers, complete, longest = partial
        if place.call is None:
            relation = self._relations.get(word)
            return None if relation is None else partial._replace(place=task.space.open(place, relation))
        target = reference(word)
        if target is not None:
            if target not in numbers:
                return None
            index = numbers.index(target)
            after = task.space.take(place, len(numbers) - index)
            numbers = numbers[:index] + numbers[index + 1 :]
        else:
            type = task.types.get(word)
            after = task.space.give(place, type) if type is not None else None
        if after is None:
            return None
        if after.call is None:
            return Partial(task, after, (*numbers, complete), complete + 1, longest)
        return Partial(task, after, numbers, complete, longest)


def _word_value(word: str) -> Value | None:
    """The type of a word that means the same in every program."""
    if word in LOCAL_VALUES:
        return LOCAL_VALUES[word]
    if word in FUNCTIONS:
        return word_type(word)
    found = constant(word)
    return Value(found[1]) if found else None
