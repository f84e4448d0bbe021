"""Conditions and derived numbers of templates: Python's arithmetic over named numbers, compiled without `eval`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from tpn2f.errors import DataError

Values = Mapping[str, Any]
Expression = Callable[[Values], Any]


def _divide(a: Any, b: Any) -> int | Fraction:
    return plain(Fraction(a) / Fraction(b))


def _power(a: Any, b: Any) -> Any:
    if abs(b) > 12:
        raise ValueError(f"{a} ** {b}: exponents of templates go to 12")
    return a**b


_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "gcd": math.gcd, "lcm": math.lcm}


def plain(value: Any) -> Any:
    """A whole number as int, any other as Fraction."""
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def compile_expression(text: str) -> tuple[Expression, frozenset[str]]:
    """The function that an expression such as `a % b == 0` stands for, and the numbers that it names."""
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise DataError(f"{text!r} is not an expression: {error.msg}") from None
    names: set[str] = set()
    return _compile(tree.body, text, names), frozenset(names)


def _compile(node: ast.expr, text: str, names: set[str]) -> Expression:
    match node:
        case ast.Constant(value=value) if isinstance(value, int | float):
            number = plain(Fraction(str(value)))
            return lambda _: number
        case ast.Name(id=name):
            names.add(name)
            return lambda values: values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _apply(_BINARY[type(op)], [left, right], text, names)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _apply(operator.neg, [operand], text, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _apply(operator.not_, [operand], text, names)
        case ast.BoolOp(op=op, values=parts):
            compiled = [_compile(part, text, names) for part in parts]
            join = all if isinstance(op, ast.And) else any
            return lambda values: join(part(values) for part in compiled)
        case ast.Compare(left=left, ops=ops, comparators=rights) if all(type(op) in _BINARY for op in ops):
            sides = [left, *rights]
            pairs = [
                _apply(_BINARY[type(op)], list(pair), text, names)
                for op, pair in zip(ops, pairwise(sides), strict=True)
            ]
            return pairs[0] if len(pairs) == 1 else lambda values: all(pair(values) for pair in pairs)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _apply(_FUNCTIONS[name], arguments, text, names)
        case _:
            raise DataError(f"{text!r}: {ast.unparse(node)} is not allowed in an expression of a template")


def _apply(function: Callable[..., Any], parts: list[ast.expr], text: str, names: set[str]) -> Expression:
    compiled = [_compile(part, text, names) for part in parts]
    if len(compiled) == 2:
        first, second = compiled
        return lambda values: function(first(values), second(values))
    return lambda values: function(*(part(values) for part in compiled))
