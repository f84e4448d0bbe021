"""Types of AlgoLisp's language: reading, writing and inferring them. Nothing is run here.

A type is written as the data does, `int`, `bool`, `string`, `int[]`, and functions as `(int int -> bool)`. Capital
letters stand for any type, O for what has an order: numbers and strings. Every number is an `int`, also the float that
`sqrt` gives, as the data has no other word. `type` and `dict` are those of the units that the data does not use.

Inference is Hindley and Milner's: built-in functions have a fresh type at each use, lambdas are monomorphic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import no_type_check

from tpn2f.domain import ANY
from tpn2f.domains.lisp.check import LAMBDAS, check, constant
from tpn2f.domains.lisp.language import with_room
from tpn2f.domains.lisp.machine import BUILTINS
from tpn2f.errors import ExecutionError
from tpn2f.program import Tree, write_tree

BASE = ("int", "bool", "string", "dict", "type")
PARTIALS = {"partial0": 0, "partial1": 1, "partial2": 2}


class LispTypeError(ExecutionError):
    """A tree whose parts do not fit together; says which call and which types."""


class Variable:
    """A type that is not known yet. It can be bound once, to a type that does not contain it."""

    __slots__ = ("bound", "ordered")

    def __init__(self, ordered: bool = False) -> None:
        self.bound: Type | None = None
        self.ordered = ordered


@dataclass(frozen=True, slots=True)
class Array:
    """An array of elements of one type."""

    element: Type


@dataclass(frozen=True, slots=True)
class Arrow:
    """A function: the types of its arguments, and of its result."""

    arguments: tuple[Type, ...]
    result: Type


Type = str | Array | Arrow | Variable


def infer(tree: Tree | list, arguments: Mapping[str, str], result: str | None = None) -> str:
    """The type of a tree whose arguments have these types; with `result`, the type it must have.

    Raises LispTypeError if the parts do not fit, and ExecutionError if a name or an argument's number is wrong.
    """
    return with_room(lambda: _infer(tree, arguments, result))


@no_type_check
def _infer(tree: Tree | list, arguments: Mapping[str, str], result: str | None) -> str:
    check(tree, arguments)
    given = {name: parse_type(text) for name, text in arguments.items()}

    def visit(node: Tree | list, local: Mapping[str, Type]) -> Type:
        if isinstance(node, str):
            return word_type(node, local)
        form, parts = str(node[0]), node[1:]
        if form in LAMBDAS:
            names = [name for name in ("arg1", "arg2") if name in LAMBDAS[form]]
            own = Arrow(tuple(Variable() for _ in names), Variable())
            unify(visit(parts[0], {**local, **dict(zip(names, own.arguments)), "self": own}), own.result, node)
            return own
        types = [visit(part, local) for part in parts]
        if form in PARTIALS:
            return _partial_type(PARTIALS[form], types[0], types[1], node)
        if form == "combine":
            return _combine_type(types[0], types[1], node)
        taken = word_type(form, local)
        assert isinstance(taken, Arrow)
        for place, (got, expected) in enumerate(zip(types, taken.arguments), start=1):
            unify(got, expected, node, place)
        return taken.result

    def word_type(word: str, local: Mapping[str, Type]) -> Type:
        if word in local:
            return local[word]
        if word == "if":
            chosen = Variable()
            return Arrow(("bool", chosen, chosen), chosen)
        if word in BUILTINS:
            return function_type(BUILTINS[word].type)
        found = constant(word)
        return found[1] if found else given[word]

    found = visit(tree, {})
    if result is not None:
        unify(found, parse_type(result), tree)
    return format_type(found)


def _partial_type(position: int, value: Type, function: Type, node: Tree | list) -> Type:
    """`partial` fits a function of any number of arguments, which no single type can say."""
    function = resolve(function)
    if isinstance(function, Variable):
        known = Arrow(tuple(Variable() for _ in range(max(2, position + 1))), Variable())
        unify(function, known, node, 2)
        function = known
    if not isinstance(function, Arrow) or len(function.arguments) < max(2, position + 1):
        raise _mismatch(function, f"a function of {max(2, position + 1)} or more arguments", node, 2)
    unify(value, function.arguments[position], node, 1)
    rest = function.arguments[:position] + function.arguments[position + 1 :]
    return Arrow(rest, function.result)


def _combine_type(outer: Type, inner: Type, node: Tree | list) -> Type:
    """`combine` keeps the arguments of the inner function, however many they are."""
    inner = resolve(inner)
    if isinstance(inner, Variable):
        known = Arrow((Variable(),), Variable())
        unify(inner, known, node, 2)
        inner = known
    if not isinstance(inner, Arrow):
        raise _mismatch(inner, "a function", node, 2)
    result = Variable()
    unify(outer, Arrow((inner.result,), result), node, 1)
    return Arrow(inner.arguments, result)


# --- unification -----------------------------------------------------------------------------------------------------


def resolve(type: Type) -> Type:
    """What a type is known to be, at its outside."""
    while isinstance(type, Variable) and type.bound is not None:
        type = type.bound
    return type


def unify(got: Type, expected: Type, node: Tree | list, place: int = 0) -> None:
    """Makes two types the same, or says why they cannot be, for the argument `place` of a call (0: for its result)."""
    pairs = [(got, expected)]
    # Types share their parts, so that they can be far larger to a walk that forgets than they are.
    seen: set[tuple[int, int]] = set()
    while pairs:
        left, right = (resolve(type) for type in pairs.pop())
        if left is right or (id(left), id(right)) in seen:
            continue
        seen.add((id(left), id(right)))
        if isinstance(right, Variable):
            left, right = right, left
        if isinstance(left, Variable):
            if _holds(right, left):
                raise _mismatch(got, format_type(expected), node, place)
            if isinstance(right, Variable):
                right.ordered |= left.ordered
            elif left.ordered and right not in ("int", "string"):
                raise _mismatch(got, "a number or a string, or an array of them", node, place)
            left.bound = right
        elif isinstance(left, Array) and isinstance(right, Array):
            pairs.append((left.element, right.element))
        elif isinstance(left, Arrow) and isinstance(right, Arrow) and len(left.arguments) == len(right.arguments):
            pairs.extend(zip((*left.arguments, left.result), (*right.arguments, right.result)))
        elif left != right:
            raise _mismatch(got, format_type(expected), node, place)


def _holds(type: Type, variable: Variable) -> bool:
    pending, seen = [type], set()
    while pending:
        part = resolve(pending.pop())
        if part is variable:
            return True
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, Array):
            pending.append(part.element)
        elif isinstance(part, Arrow):
            pending.extend((*part.arguments, part.result))
    return False


def _mismatch(got: Type, expected: str, node: Tree | list, place: int) -> LispTypeError:
    text = write_tree(node)
    where = f"argument {place}" if place else "the result"
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return LispTypeError(f"in {shown}: {where} is of type {format_type(got)}; expected {expected}")


# --- text ------------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\s*(\[\]|->|[()]|[A-Za-z]+)")


def parse_type(text: str) -> Type:
    """Reads a type, such as `int[]`. Capital letters become variables."""
    return _parse(text)


def function_type(text: str) -> Arrow:
    """Reads the type of a built-in function, such as `T[] int -> T`, with variables of its own."""
    type = _parse(f"({text})")
    assert isinstance(type, Arrow)
    return type


@cache
def _tokens(text: str) -> tuple[str, ...]:
    if _TOKEN.sub("", text).strip() or len(text) > 200:
        raise ExecutionError(f"{text[:40]!r} is not a type; types are int, bool, string, arrays such as int[], ...")
    return tuple(_TOKEN.findall(text))


def _parse(text: str) -> Type:
    variables: dict[str, Variable] = {}
    stack: list[list[Type | None]] = [[]]
    for token in _tokens(text):
        top = stack[-1]
        if token == "(":
            stack.append([])
        elif token == "->":
            top.append(None)
        elif token == ")" and len(stack) > 1 and len(top) > 2 and top[-2] is None and top.count(None) == 1:
            stack.pop()
            *arguments, _, result = top
            stack[-1].append(Arrow(tuple(arguments), result))  # type: ignore[arg-type]
        elif token == "[]" and top and top[-1] is not None:
            top[-1] = Array(top[-1])
        elif token in BASE:
            top.append(token)
        elif len(token) == 1 and token.isupper():
            top.append(variables.setdefault(token, Variable(ordered=token == "O")))
        else:
            raise ExecutionError(f"{text[:40]!r} is not a type; types are {', '.join(BASE)}, arrays such as int[]")
    if len(stack) != 1 or len(stack[0]) != 1 or stack[0][0] is None:
        raise ExecutionError(f"{text[:40]!r} is not one type")
    return stack[0][0]


def format_type(type: Type) -> str:
    """The text of a type; types that are not known are called T, U and so on, or O if they have an order."""
    names: dict[int, str] = {}

    def write(part: Type, depth: int) -> str:
        part = resolve(part)
        if depth > 8:
            return "..."
        if isinstance(part, str):
            return part
        if isinstance(part, Array):
            return f"{write(part.element, depth + 1)}[]"
        if isinstance(part, Arrow):
            arguments = " ".join(write(argument, depth + 1) for argument in part.arguments)
            return f"({arguments} -> {write(part.result, depth + 1)})"
        letter = "O" if part.ordered else "TUVWXYZABCDEFGHIJKLMN"[len(names) % 21]
        return names.setdefault(id(part), letter)

    return write(type, 0)


def value_type(value: object) -> str:
    """The text of a value's type, for masks: an array is taken for one of its first element's type, or of numbers."""
    levels = ""
    while isinstance(value, list | tuple) and len(levels) < 100:
        value = value[0] if value else 0
        levels += "[]"
    return ("bool" if isinstance(value, bool) else "string" if isinstance(value, str) else "int") + levels


def coarse(type: Type) -> str:
    """The name of a type for decoding masks: `int`, `bool`, `string`, `array`, `function`, or `any`."""
    type = resolve(type)
    if isinstance(type, str):
        return type
    return "array" if isinstance(type, Array) else "function" if isinstance(type, Arrow) else ANY
