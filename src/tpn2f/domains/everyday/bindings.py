"""Which number is meant: the literals of a solution become numbers of the text, earlier results or constants.

The value 4 of a step may be the first or the third number of the text, an earlier result, or a constant. Every literal
has a list of candidates, and the choice is made for the whole solution at once (a beam over the literals): every number
is used once before any is used twice, the latest result is continued, and the words of a step stand near the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from tpn2f.domains.everyday.constants import constant, is_explained
from tpn2f.domains.everyday.reading import NumberedText

BEAM = 48
FIRST_USE = -1.0
AGAIN = 1.0
FIRST_RESULT = -1.6
RESULT_AGAIN = 0.3
OLDER_RESULT = 0.05
EXPLAINED = 0.5
UNEXPLAINED = 4.0
INDIRECT = 0.25
STRANGER = 2.0
"""The costs of a choice: a number or a result for the first time and again, a constant, a number that is changed, and a
result where the same literal divided or multiplied before and was none."""
NEAR = 1.0
"""What words in common are worth, at most."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a literal may be: a word of the program, and how it is changed on the way."""

    word: str
    """n3, #2 or const_7."""
    how: str = "is"
    """`is`; `inverse`; of a percentage `percent` (w/100), `more`, `less` (1 + w/100, 1 - w/100), `rest`, `whole`
    (100 - w, 100 + w); of a fraction `one more`, `one less` (1 + w, 1 - w); or a sign and another word: `*const_60`."""
    cost: float = 0.0
    unclear: str = ""
    """Why a program with this meaning is not of the clear grade."""


@dataclass(frozen=True, slots=True)
class Use:
    """A literal at its place: its value, the step, what stands around it, and its candidates."""

    value: Fraction
    step: int
    inverse: bool = False
    """Whether it multiplies or divides, so that dividing by its inverse means the same."""
    part: bool = False
    """Whether it is taken with a fraction, as the 1 of `1 - 1/4`."""
    alone: bool = False
    """Whether it is all that the step says, so that a constant would come from nowhere."""
    near: frozenset[str] = frozenset()
    """Words that follow the number where the solution writes it."""


@dataclass(frozen=True, slots=True)
class Story:
    """What the numbers of a text stand among."""

    reading: NumberedText
    words: frozenset[str]
    percents: frozenset[int]
    """Which numbers are percentages."""
    cents: frozenset[int]
    around: tuple[dict[str, float], ...]
    """Beside each number the stems near it, with a weight that falls with the distance."""
    after: tuple[frozenset[str], ...]
    """Beside each number the stems of the words that follow it."""

    @classmethod
    def of(cls, reading: NumberedText) -> Story:
        words = reading.words
        places = [place for place, word in enumerate(words) if _is_name(word)]
        follows = [words[place + 1] if place + 1 < len(words) else "" for place in places]
        percents = frozenset(k for k, word in enumerate(follows) if word == "%")
        cents = frozenset(k for k, word in enumerate(follows) if word in ("cent", "cents", "¢"))
        around = tuple(_around(words, place) for place in places)
        after = tuple(frozenset(stem(word) for word in words[p + 1 : p + 4] if is_content(word)) for p in places)
        return cls(reading, frozenset(words), percents, cents, around, after)


def _is_name(word: str) -> bool:
    return len(word) > 1 and word[0] == "n" and word[1:].isdigit()


def _around(words: Sequence[str], place: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for step in (-1, 1):
        for distance in range(1, 13):
            at = place + step * distance
            if not 0 <= at < len(words) or (words[at] in ".?!" and distance > 1):
                break
            if is_content(words[at]):
                name = stem(words[at])
                found[name] = max(found.get(name, 0.0), 1 / (1 + distance / 4))
    return found


_WORDS = """
    a an the of to in on at for and or is are was were has have had her his their its it he she they them him this that
    with by from as if then than be been do does did how many much what so there who whose which each every per total
    all altogether get got need needs take takes
"""
_EMPTY = frozenset(_WORDS.split())


def is_content(word: str) -> bool:
    """Whether a word says what is spoken of."""
    return word not in _EMPTY and word.isalpha() and len(word) > 1


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A word without its ending, roughly."""
    for ending in ("ies", "ing", "ed", "es", "s", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def meanings(use: Use, story: Story, results: Sequence[Fraction]) -> list[Meaning]:
    """The candidates of a literal: numbers of the text, percentages, inverses, earlier results, constants."""
    found = [*_numbers(use, story), *_results(use, story, results)]
    name = constant(use.value)
    if name is not None:
        clear = is_explained(name, story.words) or (use.part and use.value in (1, 100))
        clear = clear and not use.alone
        cost = EXPLAINED if clear else UNEXPLAINED
        found.append(Meaning(name, cost=cost, unclear="" if clear else f"{name} is not explained"))
    return found


def _numbers(use: Use, story: Story) -> Iterable[Meaning]:
    for k, number in enumerate(story.reading.numbers):
        name, amount = f"n{k}", number.value
        if same(use.value, amount):
            yield Meaning(name)
        elif use.inverse and amount and amount.numerator == 1 and same(use.value, 1 / amount):
            yield Meaning(name, "inverse", INDIRECT)
        elif 0 < amount < 1 and same(use.value, 1 - amount):
            yield Meaning(name, "one less", INDIRECT)
        elif 0 < amount < 1 and same(use.value, 1 + amount):
            yield Meaning(name, "one more", INDIRECT)
        if k in story.percents:
            for how, worth in _percent(amount):
                if same(use.value, worth):
                    yield Meaning(name, how, 0.0 if how == "percent" else INDIRECT)
        elif k in story.cents and same(use.value, amount / 100):
            yield Meaning(name, "percent", INDIRECT)


def _percent(amount: Fraction) -> tuple[tuple[str, Fraction], ...]:
    return (
        ("percent", amount / 100),
        ("more", 1 + amount / 100),
        ("less", 1 - amount / 100),
        ("rest", 100 - amount),
        ("whole", 100 + amount),
    )


def _results(use: Use, story: Story, results: Sequence[Fraction]) -> Iterable[Meaning]:
    hundredths = not _HUNDREDTHS.isdisjoint(story.words)
    for j in range(use.step):
        if same(use.value, results[j]):
            yield Meaning(f"#{j}", cost=OLDER_RESULT * (use.step - 1 - j))
        elif hundredths and results[j] and same(use.value, results[j] / 100):
            yield Meaning(f"#{j}", "percent", INDIRECT)


_HUNDREDTHS = frozenset(("%", "percentage", "cent", "cents", "¢"))


def same(written: Fraction, amount: Fraction) -> bool:
    """Whether a literal is a number, exactly or as rounded in writing."""
    if written == amount:
        return True
    # A literal such as 0.33 or 16.67 stands for what no decimal says.
    return (
        (amount.denominator > 8 or amount.denominator in (3, 6, 7))
        and written != 0
        and abs(written - amount) <= min(Fraction(1, 180), abs(amount) / 60)
    )


@dataclass(slots=True)
class _Choice:
    cost: float
    chosen: tuple[Meaning, ...] = ()
    used: frozenset[str] = field(default_factory=frozenset)


def choose(uses: Sequence[Use], options: Sequence[Sequence[Meaning]], story: Story, near: Sequence[frozenset[str]]):
    """The best choices of meanings for all literals together, best first, with their costs.

    `near[s]` are the stems of the words of step s.
    """
    beam = [_Choice(0.0)]
    for index, (use, candidates) in enumerate(zip(uses, options)):
        # The 4 of `20/4`, `16/4`, `8/4` is one and the same, though 16/4 is 4 as well.
        before = [k for k in range(index) if use.inverse and uses[k].inverse and uses[k].value == use.value]
        gains = [closeness(meaning, use, story, near) for meaning in candidates]
        grown = [
            _Choice(
                choice.cost
                + meaning.cost
                + _use_cost(meaning.word, gain, choice.used)
                + _habit(meaning, choice, before),
                (*choice.chosen, meaning),
                choice.used | {meaning.word},
            )
            for choice in beam
            for meaning, gain in zip(candidates, gains)
        ]
        grown.sort(key=lambda choice: choice.cost)
        beam = grown[:BEAM]
    return beam


def _habit(meaning: Meaning, choice: _Choice, before: Sequence[int]) -> float:
    strange = meaning.word.startswith("#") and any(not choice.chosen[k].word.startswith("#") for k in before)
    return STRANGER if strange else 0.0


def _use_cost(word: str, gain: float, used: frozenset[str]) -> float:
    """Words in common count less for a number that is used already: they have been spent on it."""
    again = word in used
    if word.startswith("n"):
        return AGAIN - gain / 2 if again else FIRST_USE - gain
    if word.startswith("#"):
        return RESULT_AGAIN - gain if again else FIRST_RESULT - gain
    return 0.0


def closeness(meaning: Meaning, use: Use, story: Story, near: Sequence[frozenset[str]]) -> float:
    """How much the step's words speak of what stands around the number, from 0."""
    if meaning.word.startswith("n"):
        k = int(meaning.word[1:])
        around = story.around[k]
        shared = sum(weight for name, weight in around.items() if name in near[use.step])
        follows = len(use.near & story.after[k])
        return NEAR * (min(shared, 2.0) / 2 + min(follows, 2) / 2)
    if meaning.word.startswith("#"):
        shared = len(near[int(meaning.word[1:])] & near[use.step])
        return NEAR * min(shared, 4) / 8
    return 0.0
