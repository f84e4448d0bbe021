"""AlgoLisp's functions of numbers, booleans and strings, entered in the machine's table.

Each is total within the machine's limits, and looks at a limit before it does the work that would pass it; whatever
else goes wrong is an ExecutionError that names the function. There are no functions of arrays here but `digits` and
`str_split`, which make one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from tpn2f.domains.lisp.machine import TYPE, Function, Machine, builtin, kind, refuse
from tpn2f.errors import ExecutionError, LimitError

PRIME_BOUND = 3_317_044_064_679_887_385_961_981
"""Below this the first thirteen primes are witnesses enough (Sorenson and Webster, 2015)."""
_DIGITS = bytes(max(0, code - ord("0")) for code in range(256))
WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)


# --- numbers: whole ones come first, `_number` is for the rest -----------------------------------------------------


def _number(m: Machine, name: str, compute: Callable, *values: object) -> object:
    for value in values:
        if type(value) is not int and type(value) is not float:
            raise refuse(name, "numbers", *values)
    m.spend(1)
    try:
        result = compute(*values)
    except ZeroDivisionError:
        raise ExecutionError(f"{name}: division by zero") from None
    except (OverflowError, ValueError):
        result = math.inf
    if type(result) is int:
        return m.integer(result)
    if math.isfinite(result):
        return result
    raise ExecutionError(f"{name}: the result is not a finite number")


def _spend_bits(m: Machine, bits: int) -> None:
    """Long numbers cost more than a step."""
    if bits > 64:
        m.spend(bits // 64)


def truncated(name: str, number: object) -> int:
    """A whole number where an index or a bound is expected; floats lose their fraction."""
    if type(number) is int:
        return number
    if type(number) is float and math.isfinite(number):
        return int(number)
    raise refuse(name, "finite numbers", number)


@builtin("+", "int int -> int", commutative=True)
def add(m, a, b):
    """Sum."""
    if type(a) is int and type(b) is int:
        # Both are within the limit already, so that the sum is at most one bit too long.
        c = a + b
        return c if m.low < c < m.high else m.integer(c)
    return _number(m, "+", operator.add, a, b)


@builtin("-", "int int -> int")
def subtract(m, a, b):
    """Difference."""
    if type(a) is int and type(b) is int:
        c = a - b
        return c if m.low < c < m.high else m.integer(c)
    return _number(m, "-", operator.sub, a, b)


@builtin("*", "int int -> int", commutative=True)
def multiply(m, a, b):
    """Product."""
    if type(a) is int and type(b) is int:
        bits = a.bit_length() + b.bit_length()
        if bits - 1 > m.bits:
            raise m.too_many_bits()
        _spend_bits(m, bits)
        return m.integer(a * b)
    return _number(m, "*", operator.mul, a, b)


@builtin("/", "int int -> int")
def divide(m, a, b):
    """Quotient, rounded down if the first number is whole."""
    if type(a) is int and type(b) is int and b:
        _spend_bits(m, a.bit_length())
        return m.integer(a // b)
    return _number(m, "/", operator.floordiv if type(a) is int else operator.truediv, a, b)


@builtin("%", "int int -> int")
def remainder(m, a, b):
    """Remainder, with the sign of the second number."""
    if type(a) is int and type(b) is int and b:
        _spend_bits(m, a.bit_length())
        return a % b
    return _number(m, "%", operator.mod, a, b)


@builtin("pow", "int int -> int")
def power(m, a, b):
    """The first number to the power of the second."""
    if type(a) is int and type(b) is int and b >= 0:
        # a ** b has more than this many bits, and at most about twice as many unless a is -1, 0 or 1.
        bits = (a.bit_length() - 1) * b
        if bits >= m.bits:
            raise m.too_many_bits()
        m.spend(1 + max(bits, b.bit_length()) // 64)
        return m.integer(a**b)
    return _number(m, "pow", math.pow, a, b)


@builtin("square", "int -> int")
def square(m, a):
    """The number times itself."""
    return multiply(m, a, a)


@builtin("sqrt", "int -> int")
def square_root(m, a):
    """Square root, a float."""
    return _number(m, "sqrt", math.sqrt, a)


@builtin("floor", "int -> int")
def floor(m, a):
    """The whole part, towards zero."""
    return _number(m, "floor", int, a)


@builtin("abs", "int -> int")
def absolute(m, a):
    """Absolute value."""
    return _number(m, "abs", abs, a)


@builtin("is_prime", "int -> bool")
def is_prime(m, a):
    """Whether the number is prime."""
    if type(a) is not int:
        raise refuse("is_prime", "a whole number", a)
    for prime in WITNESSES:
        if a % prime == 0:
            return a == prime
    if a < 43 * 43:
        return a > 1
    if a >= PRIME_BOUND:
        raise LimitError("is_prime decides numbers of at most 81 bits, below 3.3e24")
    m.spend(len(WITNESSES) * a.bit_length() // 4)
    twos = ((a - 1) & (1 - a)).bit_length() - 1
    for witness in WITNESSES:
        x = pow(witness, (a - 1) >> twos, a)
        if x in (1, a - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % a
            if x == a - 1:
                break
        else:
            return False
    return True


@builtin("digits", "int -> int[]")
def digits(m, a):
    """The decimal digits of the absolute value."""
    if type(a) is not int:
        raise refuse("digits", "a whole number", a)
    # A digit has between three and four bits.
    m.check_length(a.bit_length() // 4)
    m.spend(1 + a.bit_length() // 3)
    result = list(str(abs(a)).encode().translate(_DIGITS))
    m.check_length(len(result))
    return result


# --- comparing, choosing and logic ---------------------------------------------------------------------------------


def _define_comparison(name: str, compare: Callable, doc: str) -> None:
    @builtin(name, "O O -> bool", doc=doc)
    def run(m, a, b):
        if type(a) is int and type(b) is int:
            return compare(a, b)
        if kind(a) != kind(b) or kind(a) not in ("a number", "a string"):
            raise refuse(name, "two numbers or two strings", a, b)
        return compare(a, b)


_define_comparison("<", operator.lt, "Whether the first is smaller.")
_define_comparison(">", operator.gt, "Whether the first is larger.")
_define_comparison("<=", operator.le, "Whether the first is not larger.")
_define_comparison(">=", operator.ge, "Whether the first is not smaller.")


def _define_choice(name: str, type_: str, values: tuple[type, ...], choose: Callable, doc: str) -> None:
    main = values[0]

    @builtin(name, f"{type_} {type_} -> {type_}", commutative=True, doc=doc)
    def run(m, a, b):
        if type(a) is main and type(b) is main:
            return choose(a, b)
        if type(a) not in values or type(b) not in values:
            raise refuse(name, f"two arguments of type {type_}", a, b)
        return choose(a, b)


_define_choice("min", "int", (int, float), min, "The smaller number.")
_define_choice("max", "int", (int, float), max, "The larger number.")
_define_choice("str_min", "string", (str,), min, "The string that comes first.")
_define_choice("str_max", "string", (str,), max, "The string that comes last.")
_define_choice("&&", "bool", (bool,), operator.and_, "And; both sides are evaluated.")
_define_choice("||", "bool", (bool,), operator.or_, "Or; both sides are evaluated.")


@builtin("!", "bool -> bool")
def negate(m, a):
    """Not."""
    if type(a) is not bool:
        raise refuse("!", "a boolean", a)
    return not a


@builtin("==", "T T -> bool", commutative=True)
def equal(m, a, b):
    """Whether both are the same; values of different kinds never are."""
    return a == b if type(a) is int and type(b) is int else same(m, "==", a, b)


@builtin("!=", "T T -> bool", commutative=True)
def unequal(m, a, b):
    """Whether they differ."""
    return not same(m, "!=", a, b)


def same(m: Machine, name: str, a: object, b: object) -> bool:
    """Equality of any two values. It keeps its own stack, because arrays of arrays can be nested at will."""
    m.spend(1)
    pairs = [(a, b)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is Function or type(b) is Function or a is TYPE or b is TYPE:
            raise refuse(name, "no functions and no types", a, b)
        if kind(a) != kind(b):
            return False
        if type(a) is list and type(b) is list:
            if len(a) != len(b):
                return False
            m.spend(1 + len(a))
            pairs.extend(zip(a, b))
        elif type(a) is dict and type(b) is dict:
            m.spend(1 + len(a))
            if a != b:
                return False
        elif a != b:
            return False
    return True


# --- strings ---------------------------------------------------------------------------------------------------------


def _string(name: str, text: object) -> str:
    if type(text) is not str:
        raise refuse(name, "a string", text)
    return text


@builtin("strlen", "string -> int")
def string_length(m, text):
    """The number of characters."""
    return len(_string("strlen", text))


@builtin("str_index", "int string -> string")
def character(m, index, text):
    """The character at an index, from 0; a negative index counts from the back."""
    place = truncated("str_index", index)
    if -len(_string("str_index", text)) <= place < len(text):
        return text[place]
    raise ExecutionError(f"str_index: the index is outside of a string of {len(text)} characters")


@builtin("str_concat", "string string -> string")
def concatenate(m, a, b):
    """The second string after the first."""
    characters = len(_string("str_concat", a)) + len(_string("str_concat", b))
    m.check_characters(characters)
    m.spend(1 + characters)
    return a + b


@builtin("str_split", "string string -> string[]")
def split(m, text, separator):
    """The parts of the first string between occurrences of the second, without empty ones."""
    m.spend(1 + len(_string("str_split", text)))
    if not _string("str_split", separator):
        raise ExecutionError("str_split: the separator is empty")
    m.check_length(text.count(separator) + 1)
    return [part for part in text.split(separator) if part]
