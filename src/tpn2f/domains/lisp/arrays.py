"""AlgoLisp's functions of arrays, functions and dictionaries, entered in the machine's table.

No function changes a value that it is given. Each is total within the machine's limits, and looks at a limit before it
does the work that would pass it. A function that calls another one leaves the counting of levels to that one: whatever
can nest (lambdas, `combine`, `partial` of such) pays for itself when it is called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import no_type_check

from tpn2f.domains.lisp.machine import CALL_LEVELS, TYPE, Function, Machine, builtin, kind, refuse
from tpn2f.domains.lisp.scalars import same, truncated
from tpn2f.errors import ExecutionError

# --- arrays --------------------------------------------------------------------------------------------------------


def _array(name: str, array: object) -> list:
    if type(array) is not list:
        raise refuse(name, "an array", array)
    return array


@builtin("len", "T[] -> int")
def length(m, array):
    """The number of elements."""
    return len(_array("len", array))


@builtin("head", "T[] -> T")
def head(m, array):
    """The first element."""
    if not _array("head", array):
        raise ExecutionError("head: the array is empty")
    return array[0]


@builtin("tail", "T[] -> T[]")
def tail(m, array):
    """All elements but the first."""
    m.spend(len(_array("tail", array)))
    return array[1:]


def _define_element(name: str, type_: str, doc: str) -> None:
    @builtin(name, type_, doc=doc)
    def run(m, array, index):
        if type(array) is not list or type(index) is not int:
            raise refuse(name, "an array and a whole number", array, index)
        if 0 <= index < len(array):
            return array[index]
        raise ExecutionError(f"{name}: the index is outside of an array of {len(array)} elements")


_define_element("deref", "T[] int -> T", "The element at an index, from 0.")
_define_element("int-deref", "int[] int -> int", "The number at an index, from 0.")


@builtin("slice", "T[] int int -> T[]")
def cut(m, array, low, high):
    """The elements from one index up to, not including, another; a negative end counts from the back."""
    if type(low) is not int or type(high) is not int:
        raise refuse("slice", "an array and two whole numbers", array, low, high)
    m.spend(len(_array("slice", array)))
    return array[max(0, low) : high]


@builtin("append", "T[] T -> T[]")
def append(m, array, value):
    """The array with one more element at its end."""
    m.check_length(len(_array("append", array)) + 1)
    m.spend(1 + len(array))
    return [*array, value]


@builtin("array-new", "type -> int[]")
def new_array(m, element):
    """An empty array of a type."""
    if element is not TYPE:
        raise refuse("array-new", "a type", element)
    return []


def _ordered(m: Machine, name: str, array: object) -> list:
    m.spend(1 + len(_array(name, array)))
    assert isinstance(array, list)
    types = set(map(type, array))
    if types <= {int, float} or types <= {str}:
        return array
    raise ExecutionError(f"{name} takes an array of numbers or of strings; its elements are of other kinds")


@builtin("sort", "O[] -> O[]")
def sort(m, array):
    """The elements in increasing order."""
    return sorted(_ordered(m, "sort", array))


@builtin("is_sorted", "O[] -> bool")
def is_sorted(m, array):
    """Whether no element is smaller than the one before it."""
    _ordered(m, "is_sorted", array)
    return all(map(operator.le, array, array[1:]))


@builtin("reverse", "T[] -> T[]")
def reverse(m, array):
    """The elements from last to first."""
    m.spend(len(_array("reverse", array)))
    return array[::-1]


@builtin("contains", "T[] T -> bool")
def contains(m, array, value):
    """Whether an element is equal to the value."""
    m.spend(1 + len(_array("contains", array)))
    return any(same(m, "contains", element, value) for element in array)


@builtin("range", "int int -> int[]")
def numbers(m, low, high):
    """The whole numbers from one up to, not including, another."""
    low, high = truncated("range", low), truncated("range", high)
    m.check_length(high - low)
    m.spend(max(0, high - low))
    return list(range(low, high))


# --- functions -----------------------------------------------------------------------------------------------------


def _function(name: str, function: object, arity: int) -> Callable:
    if type(function) is not Function:
        raise refuse(name, "a function", function)
    if function.arity != arity:
        raise ExecutionError(f"{name} takes a function of {arity} argument(s); {function.name} has {function.arity}")
    return function.call


@builtin("map", "T[] (T -> U) -> U[]")
def map_array(m, array, function):
    """What the function gives for every element."""
    call = _function("map", function, 1)
    m.spend(len(_array("map", array)))
    return [call(m, element) for element in array]


@builtin("filter", "T[] (T -> bool) -> T[]")
def filter_array(m, array, function):
    """The elements for which the function gives true."""
    call = _function("filter", function, 1)
    m.spend(len(_array("filter", array)))
    kept = []
    for element in array:
        verdict = call(m, element)
        if verdict is True:
            kept.append(element)
        elif verdict is not False:
            raise ExecutionError(f"filter takes a function that gives booleans; it gave {kind(verdict)}")
    return kept


@builtin("reduce", "T[] U (U T -> U) -> U")
def reduce_array(m, array, value, function):
    """Folds the array from the left: f(f(start, first), second) and so on."""
    call = _function("reduce", function, 2)
    m.spend(len(_array("reduce", array)))
    for element in array:
        value = call(m, value, element)
    return value


@builtin("invoke1", "(T -> U) T -> U")
def invoke(m, function, value):
    """The function's result for a value."""
    return _function("invoke1", function, 1)(m, value)


@no_type_check
def _nested(call: Callable) -> Callable:
    """A function that pays for the levels of the stack that it takes, because it may be made of many others."""

    def paid(m, *values):
        m.enter(1, CALL_LEVELS)
        result = call(m, *values)
        m.depth += CALL_LEVELS
        return result

    return paid


def _define_partial(name: str, position: int, type_: str, doc: str) -> None:
    @builtin(name, type_, doc=doc)
    def run(m, value, function):
        if type(function) is not Function:
            raise refuse(name, "a value and a function", value, function)
        least = max(2, position + 1)
        if function.arity < least:
            raise ExecutionError(f"{name} takes a function of {least} or more arguments; {function.name} has fewer")
        inner = function.call
        if function.plain and function.arity == 2:
            call = (lambda m, x: inner(m, x, value)) if position else (lambda m, x: inner(m, value, x))
        elif function.plain:
            call = lambda m, x, y: inner(m, *(x, y)[:position], value, *(x, y)[position:])  # noqa: E731
        else:
            call = _nested(lambda m, *rest: inner(m, *rest[:position], value, *rest[position:]))
        # A plain function stays plain: each `partial` takes one argument away, so that no long chain can arise.
        return Function(name, function.arity - 1, call, function.plain)


_define_partial("partial0", 0, "T (T U -> V) -> (U -> V)", "The function with its first argument filled in.")
_define_partial("partial1", 1, "T (U T -> V) -> (U -> V)", "The function with its second argument filled in.")
_define_partial("partial2", 2, "T (U V T -> W) -> (U V -> W)", "The function with its third argument filled in.")


@builtin("combine", "(U -> V) (T -> U) -> (T -> V)")
def combine(m, outer, inner):
    """The first function after the second."""
    after = _function("combine", outer, 1)
    if type(inner) is not Function:
        raise refuse("combine", "two functions", outer, inner)
    before = inner.call
    return Function("combine", inner.arity, _nested(lambda m, *values: after(m, before(m, *values))))


# --- dictionaries ----------------------------------------------------------------------------------------------------


@builtin("dict-new", "type type -> dict")
def new_dictionary(m, key, value):
    """An empty dictionary."""
    if key is not TYPE or value is not TYPE:
        raise refuse("dict-new", "two types", key, value)
    return {}


@builtin("dict-insert", "dict int int -> dict")
def insert(m, dictionary, key, value):
    """A dictionary in which the key has the value; the given one stays as it is."""
    if type(dictionary) is not dict:
        raise refuse("dict-insert", "a dictionary", dictionary)
    if type(key) not in (int, str) or type(value) not in (int, str):
        raise refuse("dict-insert", "whole numbers or strings", key, value)
    m.check_length(len(dictionary) + 1)
    m.spend(1 + len(dictionary))
    return {**dictionary, key: value}


@builtin("dict-keys", "dict -> int[]")
def keys(m, dictionary):
    """The keys in increasing order."""
    if type(dictionary) is not dict:
        raise refuse("dict-keys", "a dictionary", dictionary)
    return sorted(_ordered(m, "dict-keys", list(dictionary)))
