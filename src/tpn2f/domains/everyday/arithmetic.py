"""Bare arithmetic (`2+2`, `(3 + 4) / 2`, `15% of 240`, `what is twenty-five times 4?`) without a model.

A text that is nothing but arithmetic is parsed into a program with its steps and computed exactly, in fractions. Any
other text is none of this module's business: `parse` gives None. Everything is bounded, so that `9**9**9` and ten
thousand brackets end at once, with an error that says why.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.domain import Problem
from tpn2f.domains.everyday.reading import plain
from tpn2f.errors import DataError, ExecutionError
from tpn2f.numbers.numerals import MAX_DIGITS
from tpn2f.numbers.words import WordTokens, number_words
from tpn2f.program import Program, RelationalTuple, reference

MAX_TOKENS = 600
MAX_DEPTH = 30
"""The deepest brackets, signs and powers."""
MAX_EXPONENT = 1_000
MAX_FACTORIAL = 150
LARGEST = Fraction(10) ** 300
"""No result is larger, and no denominator."""

_TOKEN = re.compile(
    r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
    r"|\*\*|[-+*/^()%!√·×÷:x\[\]]|[a-z]+(?:-[a-z]+)*"
)
_LEAD = re.compile(
    r"^\s*(?:so |please )?(?:what(?:'s| is| are)|how much (?:is|are)|calculate|compute|evaluate|work out|find|solve)?"
    r"\s*(?:the (?:value|result) of)?\s*:?\s*"
)
_UNITS = re.compile(r"[$€£]|\b(?:dollars?|euros?|pounds?|cents?)\b")
_PHRASES = (
    ("multiplied by", "*"),
    ("divided by", "/"),
    ("to the power of", "^"),
    ("to the power", "^"),
    ("raised to", "^"),
    ("the square root of", "√"),
    ("square root of", "√"),
    ("percent", "%"),
    ("per cent", "%"),
)
_SIGNS: Mapping[str, str] = {
    **{"plus": "+", "minus": "-", "less": "-", "times": "*", "x": "*", "×": "*", "·": "*"},
    **{"over": "/", "÷": "/", ":": "/", "**": "^", "sqrt": "√", "[": "(", "]": ")", "of": "of", "mod": "mod"},
    **{"squared": "squared", "cubed": "cubed"},
}
Amount = Fraction | float
"""A fraction, but a float where the value has none, as a root of 2."""


class _NotArithmetic(Exception):
    """Signs and numbers that do not make a calculation, such as `11 : 35 :: 17 : ?`: a model may make sense of it."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """A bare calculation: its program, the numbers it is about, and what it gives."""

    program: Program
    problem: Problem
    results: tuple[Amount, ...]
    """What every step gives."""

    @property
    def value(self) -> Amount:
        return self.results[-1]


def parse(text: str) -> tuple[Program, Problem] | None:
    """The program of a bare calculation; None for any other text. Raises DataError for one that cannot be computed."""
    found = calculate(text)
    return (found.program, found.problem) if found is not None else None


def calculate(text: str) -> Calculation | None:
    """A bare calculation, computed; None for any other text. Raises DataError for one that cannot be computed."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    try:
        return _ArithmeticParser(tokens).calculation()
    except _NotArithmetic:
        return None


def _tokens(text: str) -> list[str | Fraction] | None:
    """Signs and numbers; None as soon as something else comes, or where nothing is to be computed."""
    # Longer than any calculation that is computed: the limit of tokens speaks then, or the first other word.
    told = _UNITS.sub(" ", _LEAD.sub("", plain(text[: 20 * MAX_TOKENS]), count=1).rstrip(" \t\r\n.?="))
    for phrase, sign in _PHRASES:
        told = told.replace(phrase, f" {sign} ")
    found: list[str | Fraction] = []
    place = 0
    while place < len(told):
        if told[place].isspace():
            place += 1
            continue
        match = _TOKEN.match(told, place)
        if match is None:
            return None
        word, place = match.group(), match.end()
        if word[0].isdigit() or word[0] == ".":
            if len(word) > MAX_DIGITS:
                raise DataError(f"a number of {len(word)} digits; at most {MAX_DIGITS} are computed")
            found.append(Fraction(word.replace(",", "")))
        elif word in _SIGNS or not word[0].isalpha():
            found.append(_SIGNS.get(word, word))
        else:
            number = _in_words(word)
            if number is None:
                return None
            found.append(number)
        if len(found) > MAX_TOKENS:
            raise DataError(f"the calculation has more than {MAX_TOKENS} numbers and signs")
    return found if any(isinstance(token, str) for token in found) and _has_number(found) else None


def _has_number(tokens: list[str | Fraction]) -> bool:
    return any(isinstance(token, Fraction) for token in tokens)


def _in_words(word: str) -> Fraction | None:
    """`seven`, `twenty-five`, `two-thirds`; numbers of several words are left to the model."""
    pieces = tuple(piece for piece in re.split("(-)", word))
    found = number_words(WordTokens(pieces, (None,) * len(pieces)), 0)
    return found.value if found is not None and found.end == len(pieces) else None


class _ArithmeticParser:
    """A parser by descent; a word of the program stands for every value."""

    def __init__(self, tokens: list[str | Fraction]) -> None:
        self.tokens = tokens
        self.place = 0
        self.depth = 0
        self.numbers: list[Fraction] = []
        self.steps: list[RelationalTuple] = []

    def calculation(self) -> Calculation | None:
        self._sum()
        if self.place < len(self.tokens):
            raise _NotArithmetic(f"expected a sign such as + or *, got {self.tokens[self.place]}")
        if not self.steps:
            return None
        program = Program(tuple(self.steps))
        names = iter(range(len(self.numbers)))
        words = tuple(token if isinstance(token, str) else f"n{next(names)}" for token in self.tokens)
        values = {f"n{k}": float(number) for k, number in enumerate(self.numbers)}
        return Calculation(program, Problem(words, values), _results(program, self.numbers))

    def _next(self) -> str | Fraction:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _take(self) -> str | Fraction:
        token = self._next()
        self.place += 1
        return token

    def _call(self, relation: str, *arguments: str) -> str:
        self.steps.append(RelationalTuple(relation, arguments))
        return f"#{len(self.steps) - 1}"

    def _sum(self) -> str:
        value = self._product()
        while self._next() in ("+", "-"):
            relation = "add" if self._take() == "+" else "subtract"
            start = len(self.steps)
            other = self._product()
            if other == f"#{start}" and self.tokens[self.place - 1] == "%":
                raise DataError("adding a percentage is not clear: write 100 + 10% of 100")
            value = self._call(relation, value, other)
        return value

    def _product(self) -> str:
        value = self._signed()
        while True:
            token = self._next()
            if token in ("*", "/", "of", "mod"):
                self._take()
                relation = {"/": "divide", "mod": "reminder"}.get(str(token), "multiply")
                value = self._call(relation, value, self._signed())
            elif token in ("(", "√"):
                value = self._call("multiply", value, self._power())
            else:
                return value

    def _deeper(self, part: Callable[[], str]) -> str:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise DataError(f"brackets, signs or powers deeper than {MAX_DEPTH}")
        value = part()
        self.depth -= 1
        return value

    def _signed(self) -> str:
        if self._next() == "+":
            self._take()
            return self._deeper(self._signed)
        if self._next() != "-":
            return self._power()
        self._take()
        alone = isinstance(self._next(), Fraction) and not self._is_base(self.place + 1)
        value = self._deeper(self._signed)
        if alone and value == f"n{len(self.numbers) - 1}":
            self.numbers[-1] = -self.numbers[-1]
            return value
        return self._call("negate", value)

    def _is_base(self, place: int) -> bool:
        """Whether what stands before a place is raised or changed, so that a sign is not its own."""
        return place < len(self.tokens) and self.tokens[place] in ("^", "!", "%", "squared", "cubed")

    def _power(self) -> str:
        value = self._postfix()
        if self._next() == "^":
            self._take()
            value = self._call("power", value, self._deeper(self._signed))
        return value

    def _postfix(self) -> str:
        value = self._atom()
        while self._next() in ("%", "!", "squared", "cubed"):
            token = self._take()
            if token == "%":
                value = self._call("divide", value, "const_100")
            elif token == "!":
                value = self._call("factorial", value)
            else:
                value = self._call("power", value, "const_2" if token == "squared" else "const_3")
        return value

    def _atom(self) -> str:
        token = self._take()
        if isinstance(token, Fraction):
            self.numbers.append(token)
            return f"n{len(self.numbers) - 1}"
        if token == "√":
            return self._call("sqrt", self._deeper(self._signed))
        if token != "(":
            raise _NotArithmetic(f"expected a number, got {token or 'the end of the calculation'}")
        value = self._deeper(self._sum)
        if self._take() != ")":
            raise _NotArithmetic("a bracket is not closed")
        return value


def _results(program: Program, numbers: list[Fraction]) -> tuple[Amount, ...]:
    results: list[Amount] = []
    for step in program.tuples:
        arguments: list[Amount] = []
        for word in step.arguments:
            target = reference(word)
            if target is not None:
                arguments.append(results[target])
            else:
                is_constant = word.startswith("const_")
                arguments.append(Fraction(word.removeprefix("const_")) if is_constant else numbers[int(word[1:])])
        try:
            result = _EXACT[step.relation](*arguments)
        except (ZeroDivisionError, ExecutionError, OverflowError, ValueError) as error:
            raise DataError(f"{step.relation}: {error}") from error
        size = max(abs(result.numerator), result.denominator) if isinstance(result, Fraction) else abs(result)
        if not size < LARGEST:
            raise DataError("the result has more than 300 digits")
        results.append(result)
    return tuple(results)


def _divide(a: Amount, b: Amount) -> Amount:
    if not b:
        raise ZeroDivisionError("nothing can be divided by zero")
    return a / b


def _power(a: Amount, b: Amount) -> Amount:
    if abs(b) > MAX_EXPONENT:
        raise OverflowError(f"the exponent is beyond {MAX_EXPONENT}")
    if isinstance(a, float) or isinstance(b, float) or b.denominator != 1:
        found = float(a) ** float(b)
        if isinstance(found, complex):
            raise ValueError("the power is not real")
        return found
    bits = max(abs(a.numerator), a.denominator).bit_length() * abs(int(b))
    # More bits than the largest result has, and a good deal more: a number of 300 digits has a thousand.
    if bits > 2_000:
        raise OverflowError("the result has more than 300 digits")
    if not a and b < 0:
        raise ZeroDivisionError("nothing can be divided by zero")
    return a ** int(b)


def _root(a: Amount) -> Amount:
    if a < 0:
        raise ValueError("a negative number has no real root")
    if isinstance(a, Fraction):
        above, below = math.isqrt(a.numerator), math.isqrt(a.denominator)
        if above * above == a.numerator and below * below == a.denominator:
            return Fraction(above, below)
    return math.sqrt(a)


def _factorial(a: Amount) -> Amount:
    if isinstance(a, float) or a.denominator != 1 or not 0 <= a <= MAX_FACTORIAL:
        raise ValueError(f"a factorial is of a whole number from 0 to {MAX_FACTORIAL}")
    return Fraction(math.factorial(int(a)))


_EXACT: Mapping[str, Callable[..., Amount]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": _divide,
    "reminder": lambda a, b: a - b * math.floor(_divide(a, b)),
    "power": _power,
    "negate": lambda a: -a,
    "sqrt": _root,
    "factorial": _factorial,
}
