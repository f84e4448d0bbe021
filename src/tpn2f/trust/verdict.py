"""What people are told of an answer before they read it: sure, a guess, or no answer, in words, with why.

The numbers come from elsewhere. This module only says them, so that every face of the toolkit can say the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["sure", "guess", "none", "open"]
"""`open` is a program that still needs values to run."""
WORDS: dict[State, str] = {
    "sure": "Sure",
    "guess": "A guess",
    "none": "I cannot answer this",
    "open": "The program is ready",
}
LOST = 0.3
"""Below this confidence an answer is not worth showing unasked: more than two of three such answers are wrong."""
UNMEASURED = "nobody measured how often this model is right"
UNWANTED = "I only have a guess, and you asked for no guesses"
NOTHING = "there is no number or other value in this text to work with"
WRONG_TOO_OFTEN = "answers like this are wrong too often"

_COUNTED = re.compile(r"step ([0-9]{1,6}), (.*?): ", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How far to trust an answer."""

    state: State
    chance: str
    """How often such answers are right, as a sentence; empty where that is not known or says nothing."""
    why: tuple[str, ...]
    """The reasons: what speaks against the answer, or why there is none."""

    @property
    def words(self) -> str:
        return WORDS[self.state]


def judge(
    confidence: float,
    calibrated: bool,
    guess_below: float,
    doubts: Sequence[str] = (),
    error: str = "",
    missing: Sequence[str] = (),
    at_home: bool = False,
    abstain: bool = False,
    nothing: bool = False,
) -> Verdict:
    """The verdict on an answer of a model.

    `missing` are arguments that have no value yet. `at_home`: the confidence was only measured on questions like those
    that the model learned from. With `abstain` a guess is no answer. `nothing`: the text has no
    values, and the language does nothing without them.
    """
    if nothing:
        return Verdict("none", "", (NOTHING, *doubts))
    chance = say_chance(confidence, at_home) if calibrated else ""
    if missing:
        return Verdict("open", chance, (f"give {' and '.join(missing)} a value, and it runs",))
    if error:
        return Verdict("none", "", (f"the program that I found does not run: {count_from_one(error)}", *doubts))
    if not calibrated:
        return Verdict("none" if abstain else "guess", "", (UNMEASURED, *doubts))
    if confidence >= guess_below:
        return Verdict("sure", chance, tuple(doubts))
    why = tuple(doubts) or (WRONG_TOO_OFTEN,)
    if confidence < LOST:
        return Verdict("none", chance, why)
    return Verdict("none", chance, (UNWANTED, *why)) if abstain else Verdict("guess", chance, why)


def say_chance(confidence: float, at_home: bool = False) -> str:
    """`Answers like this are right about 6 times in 10.`"""
    times = round(10 * confidence)
    if confidence >= 0.95:
        said = "more than 9 times in 10"
    elif times < 1:
        said = "less than once in 10 times"
    else:
        said = f"about {'once' if times == 1 else f'{times} times'} in 10"
    where = ", on questions like those it learned from" if at_home else ""
    return f"Answers like this are right {said}{where}."


def count_from_one(error: str) -> str:
    """An error of a program as people count its steps: from one, and without the tuple."""
    return _COUNTED.sub(lambda found: f"step {int(found[1]) + 1}: ", error, count=1)
