"""Numerals as people write them: `1,200`, `2.50`, `.5`, `3/4`, `2 1/2`, `1½`, `1:30`, `-5`."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.errors import DataError

MAX_DIGITS = 250
"""The longest numeral; more would not fit into a float."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """The value of a numeral and where it ends in the text; whether it is written as a fraction below or above 1."""

    value: Fraction
    end: int
    is_fraction: bool = False


_MIXED = re.compile(r"([0-9]+)[ -]([0-9]+)/([0-9]+)(?![0-9/])")
_FRACTION = re.compile(r"([0-9]+)/([0-9]+)(?![0-9/])")
_TIME = re.compile(r"([0-9]{1,2}):([0-5][0-9])(?![0-9:])")
_DECIMAL = re.compile(r"-?(?:[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?![0-9])|[0-9]+)(?:\.[0-9]+)?|-?\.[0-9]+")
_SIGNED = re.compile(r"([0-9]+)? ?([½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])")
_AFTER_NUMBER = re.compile(r"[0-9)] *$")


def numeral(text: str, place: int, ratio: bool = False) -> Numeral | None:
    """The numeral that begins at a place, if one does. In a text about a `ratio`, 3:20 is no time."""
    sign = text[place]
    if not (sign.isdigit() or sign in "-.½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"):
        return None
    before = text[place - 1] if place else " "
    if sign == "." and (before.isalnum() or before == "."):
        return None
    if sign == "-" and (
        not (before.isspace() or before == "(") or _AFTER_NUMBER.search(text, max(0, place - 4), place)
    ):
        return None
    found = _fraction(text, place) or _time(text, place, ratio)
    if found is not None:
        return found
    match = _DECIMAL.match(text, place)
    if match is None:
        return None
    return Numeral(_whole(match.group().replace(",", "")), match.end())


def _fraction(text: str, place: int) -> Numeral | None:
    match = _SIGNED.match(text, place)
    if match is not None:
        part = Fraction(unicodedata.numeric(match.group(2))).limit_denominator(10)
        whole = _whole(match.group(1) or "0")
        return Numeral(whole + part, match.end(), not whole)
    match = _MIXED.match(text, place)
    if match is not None and 0 < _whole(match.group(2)) < _whole(match.group(3)):
        whole, above, below = (_whole(part) for part in match.groups())
        return Numeral(whole + above / below, match.end())
    match = _FRACTION.match(text, place)
    if match is not None and _whole(match.group(2)) and not (place and text[place - 1] == "/"):
        return Numeral(_whole(match.group(1)) / _whole(match.group(2)), match.end(), True)
    return None


def _time(text: str, place: int, ratio: bool) -> Numeral | None:
    match = _TIME.match(text, place)
    if match is None or ratio or int(match.group(1)) > 24 or (place and text[place - 1] == ":"):
        return None
    return Numeral(int(match.group(1)) + Fraction(int(match.group(2)), 60), match.end())


def _whole(digits: str) -> Fraction:
    if len(digits) > MAX_DIGITS:
        raise DataError(f"a number of {len(digits)} digits; at most {MAX_DIGITS} are read")
    return Fraction(digits)
