"""What AlgoLisp's language runs on: limits, the machine that counts, values, and the empty table of functions.

Values are Python's: int, float (from `sqrt` alone), bool, str, list for arrays, dict for dictionaries, and `Function`.
This module knows no trees; `scalars` and `arrays` fill the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import unwrap

from tpn2f.errors import ExecutionError, LimitError

MAX_BITS = 14_000
"""Python refuses to write integers of more than 4,300 digits, so no limit may let one through."""
MAX_LEVELS = 700
"""Each level takes one frame of Python's stack, which has room for a thousand; one tree may need 128 more."""
CALL_LEVELS = 5
"""The most Python frames from a call to the function that it reaches through others: `combine`, `reduce`, `map`."""
MAX_NESTING = 16
"""How deep the arrays of a result may be nested, so that it is safe to print."""
TYPE = object()
"""The value of the word `int`: a type, which `array-new` and `dict-new` ask for."""


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """What one run may use. Every gold program of AlgoLisp stays far below."""

    steps: int = 300_000
    """Calls and leaves of the bodies that are run, plus one for every element or character that is touched."""
    depth: int = MAX_LEVELS
    """Levels of trees that are open while functions call functions; what calls none takes no level."""
    length: int = 10_000
    """Elements of an array."""
    characters: int = 10_000
    """Characters of a string."""
    bits: int = 4_096
    """Binary digits of an integer."""

    def __post_init__(self) -> None:
        if min(self.steps, self.depth, self.length, self.characters, self.bits) < 1:
            raise ValueError(f"limits are positive; got {self}")
        if self.bits > MAX_BITS or self.depth > MAX_LEVELS:
            raise ValueError(f"at most {MAX_BITS} bits and depth {MAX_LEVELS} are safe in Python; got {self}")


class Machine:
    """What one run has left, and the arguments of the program. One machine serves one run."""

    __slots__ = ("bits", "characters", "depth", "found", "high", "inputs", "length", "limits", "low", "steps")

    def __init__(self, limits: MachineLimits) -> None:
        self.limits = limits
        self.inputs: tuple[object, ...] = ()
        self.found: list[object] = []
        """The values that are computed once per run."""
        self.steps = limits.steps
        self.depth = limits.depth
        self.length = limits.length
        self.characters = limits.characters
        self.bits = limits.bits
        self.high = 1 << limits.bits
        self.low = -self.high

    def spend(self, steps: int) -> None:
        """Takes steps for work that is about to be done."""
        self.steps -= steps
        if self.steps < 0:
            raise self.overdrawn()

    def enter(self, steps: int, levels: int) -> None:
        """Takes the cost of calling a function; the caller gives the levels back with `depth += levels`."""
        self.steps -= steps
        self.depth -= levels
        if self.steps < 0 or self.depth < 0:
            raise self.overdrawn()

    def overdrawn(self) -> LimitError:
        """The error for whichever of steps and depth has run out."""
        if self.steps < 0:
            return LimitError(f"the program takes more than {self.limits.steps} steps")
        return LimitError(f"the program's calls nest deeper than the depth limit, {self.limits.depth} levels")

    def integer(self, value: int) -> int:
        """The value, if its bits are within the limit."""
        if self.low < value < self.high:
            return value
        raise self.too_many_bits()

    def too_many_bits(self) -> LimitError:
        return LimitError(f"an integer would have more than {self.bits} bits")

    def check_length(self, length: int) -> None:
        """Refuses an array before it is made."""
        if length > self.length:
            raise LimitError(f"an array would be over the length limit, {self.length} elements")

    def check_characters(self, characters: int) -> None:
        """Refuses a string before it is made."""
        if characters > self.characters:
            raise LimitError(f"a string would be over the length limit, {self.characters} characters")

    def accept(self, name: str, value: object) -> object:
        """A value from outside, as the argument `name`: within the limits, tuples taken for arrays."""
        if type(value) is list and set(map(type, value)) == {int}:
            self.check_length(len(value))
            if self.low < min(value) and max(value) < self.high:
                return value
            raise self.too_many_bits()
        if isinstance(value, list | tuple):
            _measure(self, value)
            return [self.accept(name, element) for element in value]
        if isinstance(value, str):
            self.check_characters(len(value))
            return str(value)
        if isinstance(value, bool):
            return value
        if isinstance(value, int):
            return self.integer(int(value))
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        raise ExecutionError(f"the argument {name} is a {type(value).__name__}; expected numbers, strings or arrays")

    def release(self, value: object) -> object:
        """The result, if it is finite, not a function, and small even when its shared parts are written out."""
        if type(value) is int or type(value) is bool or type(value) is str:
            return value
        if type(value) is list:
            _measure(self, value)
            if set(map(type, value)) == {int}:
                return value
        self.spend(sum(len(element) for element in _scalars(value) if type(element) is str))
        for element in _scalars(value):
            if type(element) is float and not math.isfinite(element):
                raise ExecutionError("the result is not a finite number")
            if type(element) is Function or element is TYPE:
                raise ExecutionError(f"the result is {kind(element)}, not a value")
        return value


class Function:
    """A function as a value: a built-in one, a lambda, or one made of others by `partial` and `combine`."""

    __slots__ = ("arity", "call", "name", "plain")

    def __init__(self, name: str, arity: int, call: Callable[..., object], plain: bool = False) -> None:
        self.name = name
        self.arity = arity
        self.call = call
        """Takes the machine, then the arguments."""
        self.plain = plain
        """Whether it is built in and calls no other function, so that calls of it cannot nest."""


_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "a dictionary",
    Function: "a function",
}


def kind(value: object) -> str:
    """The kind of a value, for messages and for deciding what may be compared with what."""
    return _KINDS.get(type(value), "a type")


@dataclass(frozen=True, slots=True)
class Builtin:
    """A row of the table: its name, its type as `types.py` reads it, and its meaning."""

    name: str
    type: str
    run: Callable[..., object]
    """Takes the machine, then the arguments."""
    commutative: bool
    doc: str


BUILTINS: dict[str, Builtin] = {}
"""The functions of the language, by name."""
CONSTANTS: dict[str, tuple[object, str]] = {
    **{word: (int(word), "int") for word in ("0", "1", "2", "10", "40", "1000000000")},
    "inf": (math.inf, "int"),
    "true": (True, "bool"),
    "false": (False, "bool"),
    '""': ("", "string"),
    '" "': (" ", "string"),
    '"z"': ("z", "string"),
    "int": (TYPE, "type"),
}
"""The words that stand for a value, with the value's type."""


def builtin(name: str, type: str, commutative: bool = False, doc: str = ""):
    """Enters a function in the table. `int` is the type of every number; an O is a number or a string."""

    def enter(run: Callable[..., object]) -> Callable[..., object]:
        # Checks that tests wrap around functions would take frames of the stack, whose depth is counted.
        run = unwrap(run)
        BUILTINS[name] = Builtin(name, type, run, commutative, doc or (run.__doc__ or "").strip())
        return run

    return enter


def refuse(name: str, expected: str, *values: object) -> ExecutionError:
    """The error for arguments of the wrong kinds."""
    return ExecutionError(f"{name} takes {expected}; got {' and '.join(map(kind, values))}")


def _measure(machine: Machine, array: list | tuple) -> None:
    """Refuses an array that is too long or too deep, counting all that it holds as if nothing were shared."""
    level, total = [array], 0
    for _ in range(MAX_NESTING):
        total += sum(map(len, level))
        machine.check_length(total)
        level = [element for inner in level for element in inner if isinstance(element, list | tuple)]
        if not level:
            return
    raise LimitError(f"arrays are nested deeper than the depth limit, {MAX_NESTING} levels")


def _scalars(value: object) -> Iterator[object]:
    if type(value) is list:
        for element in value:
            yield from _scalars(element)
    elif type(value) is dict:
        yield from value.values()
    else:
        yield value
