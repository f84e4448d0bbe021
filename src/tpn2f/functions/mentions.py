"""How texts name values: what is taken out of a text, under which name, and the words that are left.

    "walk 3 steps to 'home'"     walk n0 steps to s0        n0 = 3, s0 = "home"
    "walk twenty-five steps"     walk n0 steps              n0 = 25

Equal values of one kind share a name, so a text may come back to what it mentioned: in "the total price by region,
sorted by price", the price is c0 both times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tpn2f.errors import DataError, DomainError
from tpn2f.functions.kinds import Kind, kind_of
from tpn2f.numbers import spoken_number

MAX_TEXT = 10_000
"""The longest text that is read, in characters."""
MAX_DIGITS = 18
"""Whole numbers of more digits are read as floats."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\S")
_NUMERAL = r"(?<!\S)-?{0}|{0}".format(
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
)
_QUOTED = r"\"([^\"\n]*)\"|(?<![\w'])'([^'\n]*)'(?!\w)|“([^”\n]*)”"


@dataclass(frozen=True, slots=True)
class Mention:
    """A kind of value that texts name: a pattern that finds it, and what turns the found text into the value."""

    prefix: str
    """The values are called prefix0, prefix1, ... in the order of the text."""
    kind: Kind
    pattern: str | Callable[..., str]
    """A regular expression, or what makes one from inputs that are given beside the text."""
    convert: Callable[..., object]
    """From the found text, and inputs, to the value. What raises ValueError is no mention after all."""
    pattern_inputs: tuple[str, ...] = ()
    convert_inputs: tuple[str, ...] = ()
    doc: str = ""
    whole_words: bool = True
    """Whether a mention ends where a word ends: `price` is not in `priced`."""
    spoken: Callable[[str, int], tuple[object, int] | None] | None = None
    """What also finds values, in words: from a text and a place in it to the value and its end."""


@dataclass(frozen=True, slots=True)
class TextReading:
    """A text read: its words, the values by name, and which name each found text has."""

    words: tuple[str, ...]
    bindings: dict[str, object]
    sources: dict[str, list[str]]
    """Found text in lowercase -> names, one per kind."""


def number(found: str) -> float | int:
    """1,250 or -3 or 0.5; whole numbers stay whole."""
    digits = found.replace(",", "")
    value = int(digits) if digits.lstrip("-").isdecimal() and len(digits) <= MAX_DIGITS else float(digits)
    if not math.isfinite(value):
        raise DataError(f"the number {found[:20]}... is too large")
    return value


def unquoted(found: str) -> str:
    return found[1:-1]


QUOTED = Mention("s", kind_of(str, "quoted texts"), _QUOTED, unquoted, doc="a quoted text", whole_words=False)
# Letters may follow: 20km is 20 and km.
NUMBERS = Mention(
    "n", kind_of(float, "numbers"), _NUMERAL, number, doc="a number", whole_words=False, spoken=spoken_number
)


def read_text(
    text: str, mentions: Sequence[Mention], inputs: Mapping[str, object], language: Container[str] = ()
) -> TextReading:
    """Takes the mentions out of a text, the first kind of `mentions` that fits first; other words are made small.

    A word of the `language` is not read as a number: where `one` is a constant, it stays `one`.
    """
    if len(text) > MAX_TEXT:
        raise DataError(f"the problem has {len(text)} characters; at most {MAX_TEXT} are read")
    patterns = [(mention, _compiled(mention, inputs)) for mention in mentions]
    words: list[str] = []
    bindings: dict[str, object] = {}
    sources: dict[str, list[str]] = {}
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        found = _find(text, position, patterns, inputs, language)
        if found is None:
            word = _WORD.match(text, position)
            assert word is not None  # every sign that is not a space is a word at least
            words.append(word.group().lower())
            position = word.end()
            continue
        mention, value, end = found
        name = _name(mention.prefix, value, bindings)
        bindings[name] = value
        for source in dict.fromkeys((text[position:end].lower(), *written(value))):
            names = sources.setdefault(source, [])
            if name not in names:
                names.append(name)
        words.append(name)
        position = end
    if not words:
        raise DataError("the problem is empty")
    return TextReading(tuple(words), bindings, sources)


def _find(
    text: str,
    position: int,
    patterns: Sequence[tuple[Mention, re.Pattern[str]]],
    inputs: Mapping[str, object],
    language: Container[str],
) -> tuple[Mention, object, int] | None:
    """The first mention that begins here, its value and its end."""
    for mention, pattern in patterns:
        said = mention.spoken(text, position) if mention.spoken is not None else None
        if said is not None and text[position : said[1]].lower() not in language:
            return mention, mention.kind.fit(said[0]), said[1]
        match = pattern.match(text, position)
        if match is None or match.end() == position:
            continue
        inside = mention.whole_words and text[match.end() - 1].isalnum()
        if inside and match.end() < len(text) and (text[match.end()].isalnum() or text[match.end()] == "_"):
            continue
        try:
            value = mention.convert(match.group(), *(inputs[name] for name in mention.convert_inputs))
            return mention, mention.kind.fit(value), match.end()
        except ValueError:
            continue
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"{match.group()[:40]!r} was found as {mention.prefix}0 but not read: {type(error).__name__}: {error}"
            ) from error
    return None


def written(value: object) -> tuple[str, ...]:
    """How a program may write a value, in small letters: 1250 for 1,250, and 1250.0 as well."""
    return (str(value).lower(), repr(float(value))) if isinstance(value, int | float) else (str(value).lower(),)


def _name(prefix: str, value: object, bindings: Mapping[str, object]) -> str:
    """The name that an equal value has already, or the next one."""
    count = 0
    while (name := f"{prefix}{count}") in bindings:
        if type(bindings[name]) is type(value) and bindings[name] == value:
            return name
        count += 1
    return name


def _compiled(mention: Mention, inputs: Mapping[str, object]) -> re.Pattern[str]:
    pattern: Any = mention.pattern
    if callable(pattern):
        pattern = pattern(*(inputs[name] for name in mention.pattern_inputs))
    try:
        return _compile(pattern)
    except (re.error, TypeError) as error:
        raise DomainError(f"the pattern of the mentions {mention.prefix}0, {mention.prefix}1, ...: {error}") from error


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern or r"(?!)", re.IGNORECASE)
