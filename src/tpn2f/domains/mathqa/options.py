"""The five options of a MathQA problem: from the string of the data to letters, texts and numbers.

Options come as `a ) 24 , b ) 3 1 / 3 days , ...` or as a printed Python list, with units, currencies, percent signs,
ratios, mixed fractions, roots, powers, thousands commas, repeated letters, and words such as `none of these`. An option
that is not one number (two quantities, a formula with letters) has no value: it is never guessed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

LETTERS = "abcde"
_MAX_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen, and what should be."""

    texts: tuple[str, ...]
    """The options a to e; fewer when the data is damaged."""
    correct: str
    """The gold letter."""
    source: str = ""
    """The string of the data, which the published scorer splits in its own way."""

    def __str__(self) -> str:
        """`a) 24  b) 120  *c) 625`: the star marks the right one."""
        return "  ".join(
            f"{'*' * (letter == self.correct)}{letter}) {text}" for letter, text in zip(LETTERS, self.texts)
        )

    @property
    def values(self) -> tuple[float | None, ...]:
        """The number of each option, where it states one."""
        return tuple(read_value(text) for text in self.texts)

    @property
    def place(self) -> int:
        """Where the gold option stands, from 0; -1 when its letter is none of the five."""
        return LETTERS.find(self.correct) if len(self.correct) == 1 else -1

    @property
    def gold(self) -> float | None:
        """The number of the gold option, where it has one."""
        return read_value(self.texts[self.place]) if 0 <= self.place < len(self.texts) else None

    def nearest(self, value: float) -> str | None:
        """The letter of the option nearest to a value; None when no option is a number, or two are equally near."""
        distances = sorted(
            (abs(option - value), letter) for option, letter in zip(self.values, LETTERS) if option is not None
        )
        tied = len(distances) > 1 and distances[0][0] == distances[1][0]
        return distances[0][1] if distances and not tied else None


def read_options(text: str, correct: str) -> Options:
    """The options of a record, split at their letters in order."""
    return Options(split_options(text), correct.strip().lower(), text)


# A letter counts at the start, or behind a comma, a quote or a bracket.
_MARKS = [re.compile(rf"(?:^|[,\['\"])\s*{letter}\s*\)") for letter in LETTERS]


def split_options(text: str) -> tuple[str, ...]:
    """The texts of the options, in order; stops at the first letter that is missing."""
    starts: list[tuple[int, int]] = []
    position = 0
    for mark in _MARKS:
        found = mark.search(text, position)
        if found is None:
            break
        starts.append((found.start(), found.end()))
        position = found.end()
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(_trim(text[start:end]) for (_, start), end in zip(starts, ends))


def _trim(option: str) -> str:
    option = option.strip(" ,'\"[]") if option.count("[") == option.count("]") == 0 else option.strip(" ,'\"")
    # Some options repeat their letter: `a ) a ) 3`.
    return re.sub(r"^[a-e]\s*\)\s*", "", option).removesuffix("']").strip()


_SAME = str.maketrans(
    {"−": "-", "–": "-", "—": "-", "⁄": "/", "÷": "/", "×": "*", "∗": "*", ":": "/", "∏": "π", "[": "(", "]": ")"}
    | {"²": " ^ 2", "³": " ^ 3"}
)
_FRACTIONS = {"½": "1 / 2", "¼": "1 / 4", "¾": "3 / 4", "⅓": "1 / 3", "⅔": "2 / 3"}
_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?|\.\d+|\*\*|[-+*/^()√π=]|pi\b|sqrt\b|[^\W\d_]+|\S")
# Commas of thousands, and those of lakhs: `1,200` and `1,20,000`, but not `8,9`.
_is_grouped = re.compile(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?").fullmatch
_NUMBER_WORDS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBER_WORDS |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_UNIT_LETTERS = "cfghklms"
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7}


@lru_cache(maxsize=1 << 16)
def read_value(option: str) -> float | None:
    """The number that an option states, or None when it does not state exactly one."""
    text = option.lower().strip().rstrip(" .")
    if text in _NUMBER_WORDS:
        return float(_NUMBER_WORDS[text])
    # A currency, a repeated letter, or the name of the unknown: `rs . 400`, `s 400`, `b . 1.2`, `( b ) 1.2`, `x = 5`,
    # or a plus that says nothing.
    text = re.sub(r"^(?:(?:rs|re|s|[a-e]) ?[.:] ?|rs? |s (?=\d)|\( ?[a-e] ?\) ?|[a-z] = ?|\+ ?)(?=\S)", "", text)
    text = text.replace("$", " ")
    text = text.translate(_SAME)
    for sign, words in _FRACTIONS.items():
        text = text.replace(sign, f" {words} ")
    # `1 , 200` and `10 000` are one number; so is `. 001`.
    text = re.sub(r"(?<![\d.,])(\d{1,3}) ?[, ] ?(?=\d{3}(?:[,.]\d|\D|$))(?!\d+ */)", r"\1,", text)
    text = re.sub(r"(?<!\d)(?<!\d )\. (?=\d)", " .", text)
    text = re.sub(r"(?<=\d) e ?([-+]) ?(?=\d)", r"e\1", text)
    tokens = _TOKEN.findall(text)
    if any(_is_variable(token, after) for token, after in pairwise(tokens)):
        return None
    runs, factor = _numeric_runs(tokens)
    value = arithmetic(runs[0]) if len(runs) == 1 else None
    return value * factor if value is not None and math.isfinite(value * factor) else None


def arithmetic(tokens: list[str]) -> float | None:
    """The value of numbers and signs as people write them, or None if they make no sense or no finite number."""
    if not 0 < len(tokens) <= _MAX_TOKENS:
        return None
    try:
        value = _Expression(tokens).value()
    except (ValueError, ArithmeticError, IndexError):
        return None
    return value if math.isfinite(value) else None


def _is_variable(token: str, after: str) -> bool:
    """Whether a letter is part of a formula, as in `10 b ^ 2`, and not a unit."""
    return (
        len(token) == 1 and token.isalpha() and token not in _UNIT_LETTERS + "π" and after in ("^", "*", "/", "+", "-")
    )


def _numeric_runs(tokens: list[str]) -> tuple[list[list[str]], float]:
    """The stretches of tokens that hold a number, without units and their exponents; and the factor of a scale word.

    An expression with a variable in it gives two stretches, so that it is not read as a number.
    """
    runs: list[list[str]] = [[]]
    factor = 1.0
    unit = ""
    for token, after in pairwise([*tokens, ""]):
        if token[-1].isdigit():
            if unit.isalpha() and token in ("2", "3") and runs[-1] in ([], ["^"]) and not after.isalpha():
                runs[-1] = []  # the 2 of `cm 2` and of `m ^ 2`, but not that of `1 hour 2 min`
                continue
            runs[-1].append(token)
            unit = ""
        elif token in "-+*/^()√π**" or token in ("pi", "sqrt"):
            runs[-1].append(token)
        elif token in _SCALES:
            factor *= _SCALES[token]
        elif token[0].isalpha() or token in "=&,;":
            unit = token
            # A letter before any number is a variable: keep it, so that the stretch is not read as a number.
            runs.append([token] if len(token) == 1 and token.isalpha() and not any(runs) else [])
    numeric = [run for run in runs if any(token[-1].isdigit() or token in ("π", "pi") for token in run)]
    return [_drop_dangling(run) for run in numeric], factor


def _drop_dangling(run: list[str]) -> list[str]:
    """Without the signs that a unit leaves behind: the `/` of `60 km / h`.

    What is left of a formula, such as `5 +`, stays and fails to be a number.
    """
    while run and run[-1] == "/":
        run = run[:-1]
    return run


class _Expression:
    """Arithmetic as people write it: 3 1 / 3 is 3 + 1/3, 2 √ 3 and 17 ( 4 ^ 6 ) are products."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = [*tokens, ""]
        self.place = 0

    def value(self) -> float:
        value = self._sum()
        if self._next():
            raise ValueError(f"unexpected {self._next()}")
        return float(value)

    def _next(self) -> str:
        return self.tokens[self.place]

    def _take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def _sum(self) -> float:
        value = self._product()
        while self._next() in ("+", "-"):
            value = value + self._product() if self._take() == "+" else value - self._product()
        return value

    def _product(self) -> float:
        value = self._signed()
        while True:
            if self._next() == "*":
                self._take()
                value *= self._signed()
            elif self._next() == "/":
                self._take()
                value /= self._signed()
            elif self._next() in ("√", "sqrt", "π", "pi", "("):
                value *= self._power()
            else:
                return value

    def _signed(self) -> float:
        if self._next() == "-":
            self._take()
            return -self._signed()
        return self._power()

    def _power(self) -> float:
        value = self._atom()
        if self._next() in ("^", "**"):
            self._take()
            value = float(value) ** self._signed()
            if isinstance(value, complex):
                raise ValueError("not real")
        return value

    def _atom(self) -> float:
        token = self._take()
        if token in ("π", "pi"):
            return math.pi
        if token in ("√", "sqrt"):
            return math.sqrt(self._power())
        if token == "(":
            value = self._sum()
            if self._take() != ")":
                raise ValueError("expected )")
            return value
        if "," in token and not _is_grouped(token):
            raise ValueError(f"{token} is more than one number")
        value = float(token.replace(",", ""))
        return value + self._fraction_after() if value.is_integer() else value

    def _fraction_after(self) -> float:
        """The 1 / 3 of 3 1 / 3 or 3 ( 1 / 3 ), consumed; 0 where no proper fraction follows."""
        ahead = self.tokens[self.place : self.place + 5]
        bracket = ahead[:1] == ["("]
        numbers = ahead[1:] if bracket else ahead
        if len(numbers) < 3 or numbers[1] != "/" or not (numbers[0].isdigit() and numbers[2].isdigit()):
            return 0.0
        if (bracket and numbers[3:4] != [")"]) or not 0 < int(numbers[0]) < int(numbers[2]):
            return 0.0
        self.place += 5 if bracket else 3
        return int(numbers[0]) / int(numbers[2])
