"""Reading like a person: every number of a text gets a name, however it is written.

`Tom has 1,200 stamps and half of them are red.` becomes `tom has n0 stamps and n1 half of them are red .`, where n0 is
1200 and n1 is 1/2. The names n0, n1, ... follow the order of the text, so that two texts that differ only in their
numbers have the same words. What the words keep of a number:

* A plain number (`25`, `$2.50`, `twenty-five`, `2 1/2`, `3 million`, `1:30`) is its name and nothing else.
* `half`, `quarter`, `twice`, `double`, `triple`, `dozen` ... mean more than their value and stay behind the name:
  `n1 half`, `n1 twice`, `n1 dozen`. Every other fraction (`3/4`, `two thirds`, `one-fifth`) is `n1 fraction`.
* `percent`, `per cent` and `%` are the word `%` behind the name of the number: `60%` is `n0 %` with the value 60.

The judgements: `3/4` is one number but `3 / 4`, with spaces, is two, as MathQA writes it. `1:30` is a time in hours,
but two numbers in a text that speaks of a ratio. `one` is a number unless it stands for a thing (`which one`, `one of`,
`one has`). `a third` is a fraction only before `of`, `as`, `the` and their like. Ordinal words (`second`, `fifth`) are
no numbers, ordinal numerals (`5th`) are. A minus sign counts where it touches the number and follows a space.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.domain import Problem
from tpn2f.errors import DataError
from tpn2f.numbers.numerals import Numeral, numeral
from tpn2f.numbers.words import WordTokens, number_words

MAX_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a text: what it is worth, and the characters that say it."""

    value: Fraction
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NumberedText:
    """The words of a text with every number as its name, and the numbers; `numbers[k]` is `n{k}`."""

    words: tuple[str, ...]
    numbers: tuple[Number, ...]

    @property
    def problem(self) -> Problem:
        """What the encoder reads, with the values as floats."""
        return Problem(self.words, {f"n{k}": float(number.value) for k, number in enumerate(self.numbers)})


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, a sign or a numeral, with its place."""

    word: str
    start: int
    end: int
    numeral: Numeral | None = None


# Sign for sign, so that places stay what they are.
_PLAIN = str.maketrans("’‘ʼ`´“”„«»–—−‐‑‒⁄…\u00a0\u2009\u202f", "'''''\"\"\"\"\"------/.   ")
_WORD = re.compile(
    r"n't\b|' ?(?:s|ll|re|ve|d|m)\b|per cent\b|[^\W\d_]+?(?=n't\b)|[^\W\d_]+|_+|[^\w\s]|\w",
)
_SAME = {"percent": "%", "per cent": "%", "n ' t": "n't"}


def read(text: str) -> NumberedText:
    """The words and the numbers of a person's text. Raises DataError for one that is too long."""
    if len(text) > MAX_CHARACTERS:
        raise DataError(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read")
    tokens = _tokens(plain(text))
    view = WordTokens(tuple(token.word for token in tokens), tuple(token.numeral for token in tokens))
    words: list[str] = []
    numbers: list[Number] = []
    place = 0
    while place < len(tokens):
        found = number_words(view, place)
        if found is None:
            words.append(_SAME.get(tokens[place].word, tokens[place].word))
            place += 1
            continue
        words.append(f"n{len(numbers)}")
        words.extend(found.kept)
        numbers.append(Number(found.value, tokens[place].start, tokens[found.end - 1].end))
        place = found.end
    return NumberedText(tuple(words), tuple(numbers))


def plain(text: str) -> str:
    """Lower case, with plain quotes, dashes and spaces; every character stays at its place."""
    if text.isascii():
        return text.translate(_PLAIN).lower()
    return "".join(low if len(low := sign.lower()) == 1 else sign for sign in text.translate(_PLAIN))


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    ratio = "ratio" in text or "proportion" in text
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        found = numeral(text, place, ratio)
        if found is not None:
            tokens.append(_Token(text[place : found.end], place, found.end, found))
            place = found.end
            continue
        match = _WORD.match(text, place)
        end = match.end() if match else place + 1
        tokens.append(_Token(text[place:end].replace("' ", "'"), place, end))
        place = end
    return tokens
