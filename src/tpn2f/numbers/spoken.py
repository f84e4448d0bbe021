"""Plain numbers in words, found in any text: `twenty-five`, `two hundred and five`, `3 million`, `one and a half`.

Words that mean more than a value stay what they are, because a language may have its own use for them: `half`, `twice`,
`a third`, `a dozen`, and ordinals such as `twenty-first`.
"""

from __future__ import annotations

import re
from functools import cache

from tpn2f.numbers.numerals import Numeral, numeral
from tpn2f.numbers.words import SCALES, TENS, UNITS, WordTokens, number_words

MOST_TOKENS = 24
"""The most words of one number that are looked at."""

_BEGINS = frozenset({*UNITS, *TENS, "a"})
_ORDINALS = frozenset(["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"])
_TOKEN = re.compile(r"[^\W\d_]+|\S")
_LAST = re.compile(r"([^\W\d_]+)\W*$")
_FOUND = re.compile(rf"(?<![\w-])(?:[0-9]|(?:{'|'.join(sorted(_BEGINS, key=len, reverse=True))})\b)", re.IGNORECASE)


def spoken_number(text: str, place: int) -> tuple[float | int, int] | None:
    """The number in words that begins at a place of a text, and where it ends; None where none does.

    A numeral is one only with a scale in words behind it: `3 million`.
    """
    if not _FOUND.match(text, place):
        return None
    tokens = _tokens(text.lower(), place)
    before = _LAST.search(text.lower(), 0, place)
    words = (before[1] if before else "", *(word for word, _, _ in tokens))
    if tokens[0][2] is not None and words[2:3] and words[2] not in SCALES:
        return None
    found = number_words(WordTokens(words, (None, *(token[2] for token in tokens))), 1)
    if found is None or found.kept or (found.end == 2 and tokens[0][2] is not None):
        return None
    behind = [word for word in words[found.end : found.end + 2] if word != "-"]
    if words[found.end - 1] in TENS and behind and behind[0] in _ORDINALS:
        return None
    value = int(found.value) if found.value.denominator == 1 else float(found.value)
    return value, tokens[found.end - 2][1]


def in_digits(text: str) -> str:
    """A text with its plain numbers in words as numerals: `add 3 to 25`."""
    parts: list[str] = []
    place = 0
    for found in _FOUND.finditer(text):
        spoken = spoken_number(text, found.start()) if found.start() >= place else None
        if spoken is not None:
            parts += [text[place : found.start()], str(spoken[0])]
            place = spoken[1]
    return "".join(parts) + text[place:]


_SMALL = tuple(UNITS)
_HIGH = tuple(TENS)


@cache
def in_words(number: int) -> str:
    """`twenty-five`, `three hundred`; whole numbers from 0 to 9,999."""
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _HIGH[tens - 2] + (f"-{_SMALL[ones]}" if ones else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    high, low = divmod(number, size)
    return f"{in_words(high)} {name}" + (f" {in_words(low)}" if low else "")


def _tokens(text: str, place: int) -> list[tuple[str, int, Numeral | None]]:
    """Words with where they end, and the numeral that each is."""
    found: list[tuple[str, int, Numeral | None]] = []
    while place < len(text) and len(found) < MOST_TOKENS:
        if text[place].isspace():
            place += 1
            continue
        number = numeral(text, place)
        match = _TOKEN.match(text, place)
        end = number.end if number is not None else match.end() if match else place + 1
        found.append((text[place:end], end, number))
        place = end
    return found
