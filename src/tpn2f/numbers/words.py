"""Numbers in words: `twenty-five`, `a dozen`, `two thirds`, `one and a half`, `3 million`, `twice`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from tpn2f.numbers.numerals import Numeral

_BELOW_TWENTY = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_PARTS = """
    third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
    seventeenth eighteenth nineteenth twentieth
"""
UNITS: Mapping[str, int] = {word: value for value, word in enumerate(_BELOW_TWENTY.split())}
TENS: Mapping[str, int] = {word: 10 * value for value, word in enumerate(_TENS.split(), start=2)} | {"fourty": 40}
SCALES: Mapping[str, int] = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_DENOMINATORS = {word: value for value, word in enumerate(_PARTS.split(), start=3)}
_DENOMINATORS |= {"half": 2, "halve": 2, "quarter": 4, "hundredth": 100, "thousandth": 1000}
_DENOMINATORS |= {f"{word}s": value for word, value in _DENOMINATORS.items()}
TELLING: Mapping[str, Fraction] = {
    word: value
    for value, words in {
        Fraction(1, 2): "half halves halved halve halving",
        Fraction(1, 4): "quarter quarters",
        Fraction(2): "twice double doubled doubles doubling",
        Fraction(3): "thrice triple tripled triples tripling",
        Fraction(4): "quadruple quadrupled quadruples",
        Fraction(12): "dozen dozens",
    }.items()
    for word in words.split()
}
"""Words that mean more than their value, and so stay readable."""

# What makes `a third` a part and not the third of a row.
_PART_FOLLOWS = "of as the less more fewer what that his her its their full larger longer . , ; ?"
# `one` is a thing and not a number behind these words, and before those.
_BEFORE = """
    which each this that the every no any another other last next first second third new old big small large little
    bigger smaller larger older younger red blue green black white yellow good right wrong same
"""
_AFTER = "of another who whom which that is was has had can could will would 's ' does did costs gets got . ? ! )"
_IS_PART, _THING_BEFORE, _THING_AFTER = (frozenset(words.split()) for words in (_PART_FOLLOWS, _BEFORE, _AFTER))


@dataclass(frozen=True, slots=True)
class WordTokens:
    """A text's words, and beside each the numeral that it is."""

    words: tuple[str, ...]
    numerals: tuple[Numeral | None, ...]

    def word(self, place: int) -> str:
        return self.words[place] if 0 <= place < len(self.words) else ""

    def numeral(self, place: int) -> Numeral | None:
        return self.numerals[place] if 0 <= place < len(self.numerals) else None


@dataclass(frozen=True, slots=True)
class NumberWords:
    """A number that begins at some token: its value, the token after it, and the words that stay behind its name."""

    value: Fraction
    end: int
    kept: tuple[str, ...] = ()


def number_words(tokens: WordTokens, place: int) -> NumberWords | None:
    """The number that begins at a token, if one does: the longest reading, numerals included."""
    word = tokens.word(place)
    if word in ("a", "an"):
        return _after_article(tokens, place)
    whole = _counted(tokens, place)
    if whole is not None:
        part = _part(tokens, whole, place)
        if part is not None:
            return part
        more = _and_a_half(tokens, whole.end) if not whole.kept else None
        if more is not None:
            return NumberWords(whole.value + more.value, more.end)
        if word == "one" and whole.end == place + 1 and _is_thing(tokens, place):
            return None
        return whole
    if word in TELLING:
        return NumberWords(TELLING[word], place + 1, (word,))
    return None


def _after_article(tokens: WordTokens, place: int) -> NumberWords | None:
    """`a dozen`, `a hundred and five`, `a half`, `a third of`; an article alone is no number."""
    word = tokens.word(place + 1)
    if word in SCALES:
        return _scaled(tokens, Fraction(1), place + 1)
    if word in ("half", "quarter", "dozen"):
        return NumberWords(TELLING[word], place + 2, (word,))
    if word in _DENOMINATORS and not word.endswith("s") and tokens.word(place + 2) in _IS_PART:
        return NumberWords(Fraction(1, _DENOMINATORS[word]), place + 2, ("fraction",))
    return None


def _counted(tokens: WordTokens, place: int) -> NumberWords | None:
    """A numeral or a whole number in words, with its scale: `25`, `2.5 million`, `one hundred and five`."""
    written = tokens.numeral(place)
    if written is not None:
        if written.is_fraction:
            return NumberWords(written.value, place + 1, ("fraction",))
        if tokens.word(place + 1) in SCALES:
            return _scaled(tokens, written.value, place + 1)
        return NumberWords(written.value, place + 1)
    small = _below_hundred(tokens, place)
    if small is None:
        return None
    return _scaled(tokens, small.value, small.end)


def _below_hundred(tokens: WordTokens, place: int) -> NumberWords | None:
    word = tokens.word(place)
    if word in UNITS:
        return NumberWords(Fraction(UNITS[word]), place + 1)
    if word not in TENS:
        return None
    hyphen = tokens.word(place + 1) == "-"
    unit = place + 1 + hyphen
    digit = UNITS.get(tokens.word(unit), 0)
    # `seventy-four quarters` are coins; `fifty three quarters` may be anything, and is two numbers.
    if 0 < digit < 10 and (hyphen or not _is_denominator(tokens, unit + 1)):
        return NumberWords(Fraction(TENS[word] + digit), unit + 1)
    return NumberWords(Fraction(TENS[word]), place + 1)


def _scaled(tokens: WordTokens, count: Fraction, place: int) -> NumberWords:
    """What follows a count: `hundred`, `thousand`, and smaller numbers behind them, each scale below the one before."""
    total, current, limit = Fraction(0), count, 10**15
    while (scale := SCALES.get(tokens.word(place), limit)) < limit:
        place += 1
        if scale == 100:
            if current >= 100:
                place -= 1
                break
            current *= 100
            rest = place + (tokens.word(place) == "and")
        else:
            total, current, limit, rest = total + current * scale, Fraction(0), scale, place
        following = _below_hundred(tokens, rest)
        if following is not None and following.value and not _is_denominator(tokens, following.end):
            current, place = current + following.value, following.end
        elif not current and tokens.word(place) == "hundred":
            break
    return NumberWords(total + current, place)


def _is_denominator(tokens: WordTokens, place: int) -> bool:
    return tokens.word(place + (tokens.word(place) == "-")) in _DENOMINATORS


def _part(tokens: WordTokens, whole: NumberWords, place: int) -> NumberWords | None:
    """`two thirds`, `one-fifth`, `3 fourths`: a count of parts. `three quarters` is one only before `of` or `as`."""
    hyphen = tokens.word(whole.end) == "-"
    below = whole.end + hyphen
    name = tokens.word(below)
    if whole.kept or name not in _DENOMINATORS or whole.value.denominator != 1 or not 0 < whole.value < 1000:
        return None
    if tokens.word(below + 1).startswith("grade") or (whole.value > 1) != name.endswith("s"):
        return None
    if tokens.numeral(place) is not None and name in ("halves", "half"):
        return None
    if name in ("quarter", "quarters") and not hyphen and tokens.word(below + 1) not in ("of", "as", "the"):
        return None
    if whole.value == 1 and name in ("half", "quarter"):
        return NumberWords(TELLING[name], below + 1, (name,))
    return NumberWords(whole.value / _DENOMINATORS[name], below + 1, ("fraction",))


def _and_a_half(tokens: WordTokens, place: int) -> NumberWords | None:
    """The `and a half`, `and three quarters`, `and 1/2` behind a number."""
    if tokens.word(place) != "and":
        return None
    if tokens.word(place + 1) == "a" and tokens.word(place + 2) in ("half", "quarter", "third"):
        return NumberWords(Fraction(1, _DENOMINATORS[tokens.word(place + 2)]), place + 3)
    written = tokens.numeral(place + 1)
    if written is not None:
        return NumberWords(written.value, place + 2) if written.is_fraction and written.value < 1 else None
    above = UNITS.get(tokens.word(place + 1), 0)
    if not above:
        return None
    part = _part(tokens, NumberWords(Fraction(above), place + 2), place + 1)
    return part if part is not None and part.value < 1 else None


def _is_thing(tokens: WordTokens, place: int) -> bool:
    """Whether `one` stands for a thing: `which one`, `one of them`, `one has 5`."""
    return tokens.word(place - 1) in _THING_BEFORE or tokens.word(place + 1) in _THING_AFTER
