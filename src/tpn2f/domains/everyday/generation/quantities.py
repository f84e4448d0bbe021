"""Numbers of templates: what values a placeholder may take, and how a value is written."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tpn2f.domains.everyday.generation.expressions import Expression, compile_expression, plain
from tpn2f.errors import DataError
from tpn2f.numbers import in_words

READY = {
    "@times": "words twice=2, double=2, three times=3, 3 times=3, four times=4, 4 times=4, five times=5, 5 times=5, "
    "six times=6, 6 times=6, 10 times=10, triple=3, twice=2, seven times=7, 8 times=8",
    "@fraction": "words half=1/2, one half=1/2, a third=1/3, one third=1/3, 1/3=1/3, a quarter=1/4, one-fourth=1/4, "
    "1/4=1/4, two-thirds=2/3, 2/3=2/3, three-fourths=3/4, three quarters=3/4, 3/4=3/4, a fifth=1/5, 1/5=1/5, "
    "2/5=2/5, two-fifths=2/5, 3/5=3/5, three-fifths=3/5, 4/5=4/5, one-sixth=1/6, 1/6=1/6, 5/6=5/6, 3/8=3/8, "
    "one-eighth=1/8, 1/8=1/8, 1/10=1/10, one-tenth=1/10, 7/10=7/10, half=1/2, 1/2=1/2",
    "@percent": "5..95 step 5 | 10..90 step 10 | 1..99 | 25..75 step 25 | 10..50 step 5",
}
"""Specifications that templates may name."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value and, for numbers in fixed words such as `twice`, those words."""

    value: Any
    text: str = ""


Source = Callable[[random.Random, Mapping[str, Any]], Quantity]


def parse_source(spec: str) -> tuple[Source, frozenset[str]]:
    """How to draw a number of this specification, and the earlier numbers it is derived from."""
    spec = READY.get(spec, spec).strip()
    if spec.startswith("="):
        return _derived(*compile_expression(spec[1:].strip()))
    if spec.startswith("words "):
        return _worded(spec), frozenset()
    ranges = [_range(part.strip(), spec) for part in spec.split("|")]
    return (lambda chance, _: Quantity(chance.choice(ranges)(chance))), frozenset()


def _derived(expression: Expression, names: frozenset[str]) -> tuple[Source, frozenset[str]]:
    return (lambda _, values: Quantity(plain(expression(values)))), names


def _worded(spec: str) -> Source:
    pairs = []
    for part in spec.removeprefix("words ").split(","):
        text, equals, value = part.strip().rpartition("=")
        if not equals:
            raise DataError(f"number {spec!r}: expected words=value, got {part.strip()!r}")
        pairs.append(Quantity(plain(Fraction(value)), text))
    return lambda chance, _: chance.choice(pairs)


def _range(part: str, spec: str) -> Callable[[random.Random], Any]:
    found = re.fullmatch(r"([\d.]+?)\.\.([\d.]+)(?: step ([\d.]+))?", part)
    if found is None:
        if re.fullmatch(r"[\d.]+", part):
            value = plain(Fraction(part))
            return lambda _: value
        raise DataError(
            f"number {spec!r}: expected `2..20`, `5..50 step 5`, `= a + b` or `words twice=2`, got {part!r}"
        )
    low, high, step = Fraction(found[1]), Fraction(found[2]), Fraction(found[3] or 1)
    count = int((high - low) / step)
    if count < 0:
        raise DataError(f"number {spec!r}: the range {part!r} is empty")
    whole = low.denominator == step.denominator == 1
    start, stride = (int(low), int(step)) if whole else (low, step)
    return lambda chance: plain(start + stride * chance.randint(0, count))


def write(quantity: Quantity, chance: random.Random, *, numeral: bool = False, money: bool = False) -> str:
    """The value as a person would write it: `12`, `twelve`, `1,200`, `2.50`, `3/4`."""
    if quantity.text:
        return quantity.text
    value = quantity.value
    if isinstance(value, int):
        if not numeral and _says_words(value, chance):
            return in_words(value)
        return f"{value:,}" if value >= 1000 and chance.random() < 0.6 else str(value)
    if 100 % value.denominator == 0 or 1000 % value.denominator == 0:
        text = f"{float(value):.3f}"[:-1] if 100 % value.denominator == 0 else f"{float(value):.3f}"
        return text if money else text.rstrip("0")
    whole, rest = divmod(value, 1)
    return f"{whole} {rest}" if whole else str(rest)


def _says_words(value: int, chance: random.Random) -> bool:
    if value < 2:
        return False
    draw = chance.random()
    return draw < 0.22 if value <= 12 else draw < 0.1 if value <= 100 else draw < 0.03 if value % 100 == 0 else False
