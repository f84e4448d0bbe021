"""Expressions over numbers, as the sources write their solutions: `48/2`, `(70.0-27.0)`, `20*.01*30`, `x=3-1.5`.

An expression is a tree: a literal, or a sign with two sides. NumberedText is bounded and never evaluates text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.errors import DataError

MAX_TOKENS = 200
MAX_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Literal:
    """A number as it is written in a solution."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Operation:
    """One of `+ - * /` between two expressions."""

    sign: str
    left: Expression
    right: Expression


Expression = Literal | Operation

_TOKEN = re.compile(r"\s*([0-9]+(?:,[0-9]{3})*(?:\.[0-9]*)?|\.[0-9]+|[-+*/()%])")
_SAME = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "$": " ", "[": "(", "]": ")"})


def parse(text: str) -> Expression:
    """The expression of a text without letters. Raises DataError."""
    tokens = _tokens(text.translate(_SAME))
    tree, place = _sum(tokens, 0, 0)
    if place != len(tokens):
        raise DataError(f"{text[:60]!r}: unexpected {tokens[place]!r}")
    return tree


def value(tree: Expression) -> Fraction:
    """What an expression is worth. Raises DataError for a division by zero."""
    if isinstance(tree, Literal):
        return tree.value
    left, right = value(tree.left), value(tree.right)
    if tree.sign == "+":
        return left + right
    if tree.sign == "-":
        return left - right
    if tree.sign == "*":
        return left * right
    if not right:
        raise DataError("a division by zero")
    return left / right


def literals(tree: Expression) -> list[Literal]:
    """The literals from left to right, each as often as it is written."""
    if isinstance(tree, Literal):
        return [tree]
    return literals(tree.left) + literals(tree.right)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    place = 0
    text = text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise DataError(f"{text[:60]!r} is no expression: unexpected {text[place : place + 10]!r}")
        tokens.append(match.group(1))
        place = match.end()
    if not 0 < len(tokens) <= MAX_TOKENS:
        raise DataError(f"an expression has 1 to {MAX_TOKENS} signs and numbers; got {len(tokens)}")
    return tokens


def _sum(tokens: list[str], place: int, depth: int) -> tuple[Expression, int]:
    tree, place = _product(tokens, place, depth)
    while place < len(tokens) and tokens[place] in "+-":
        right, end = _product(tokens, place + 1, depth)
        tree, place = Operation(tokens[place], tree, right), end
    return tree, place


def _product(tokens: list[str], place: int, depth: int) -> tuple[Expression, int]:
    tree, place = _atom(tokens, place, depth)
    while place < len(tokens) and tokens[place] in "*/(":
        sign = tokens[place]
        # A bracket without a sign is a product: 35(2/5).
        right, end = _atom(tokens, place + (sign != "("), depth)
        tree, place = Operation("*" if sign == "(" else sign, tree, right), end
    return tree, place


def _atom(tokens: list[str], place: int, depth: int) -> tuple[Expression, int]:
    if depth > MAX_DEPTH:
        raise DataError(f"brackets deeper than {MAX_DEPTH}")
    if place >= len(tokens):
        raise DataError("the expression ends where a number is expected")
    token = tokens[place]
    if token == "-":
        tree, end = _atom(tokens, place + 1, depth + 1)
        return (Literal(-tree.value) if isinstance(tree, Literal) else Operation("-", Literal(Fraction(0)), tree)), end
    if token == "(":
        tree, end = _sum(tokens, place + 1, depth + 1)
        if end >= len(tokens) or tokens[end] != ")":
            raise DataError("a bracket is not closed")
        place = end + 1
    elif token[0].isdigit() or token[0] == ".":
        tree, place = Literal(Fraction(token.replace(",", "").rstrip("."))), place + 1
    else:
        raise DataError(f"unexpected {token!r} where a number is expected")
    if place < len(tokens) and tokens[place] == "%":
        tree, place = Literal(value(tree) / 100), place + 1
    return tree, place
