"""What tells whether an answer is right, as named numbers: how sure each step was, how familiar the text is, what the
program leaves out, what the answer looks like. And the same for people: what to doubt, in plain words.

Everything here holds for any language; what only a language knows comes from its domain (`DoubtsAnswers`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from tpn2f.domain import Problem
from tpn2f.program import Program, reference
from tpn2f.trust.caution import may_matter, may_turn
from tpn2f.trust.memory import Memory, told
from tpn2f.trust.nearest import Nearest, closeness
from tpn2f.wording import cut

MOST_COUNTED = 10
"""From so many steps or numbers on, one more says nothing."""
HUGE = 10.0
"""How many times larger than every number of the question an answer is that is doubted."""
LEAST = -20.0
"""Below this log-probability a program is as good as impossible."""
UNSURE = 0.5
"""Below this probability a step is as good as tossed."""
UNFAMILIAR = 0.4
"""Below this share of known runs of words a text is unlike what was learned from."""
FAR = 0.35
"""Below this similarity the nearest known question is another kind of question."""
LEANING = (
    "log-probability", "odds of the program", "agreement", "recalled",
    "second opinion", "odds of the second opinion", "agreement of the second",
)  # fmt: skip
"""Signals that count more or less the more familiar a text is to the second model than to the first."""
MOST_WORDS = 12
"""The most unknown words that are named."""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer to be judged, and what is known about its question."""

    problem: Problem
    program: Program | None
    value: object
    """What the program gives; None when it gives nothing."""
    log_probability: float
    weakest: float
    """The log-probability of the least certain symbol of the program."""
    unknown: tuple[str, ...] = ()
    """Words that the model cannot read."""
    familiarity: float | None = None
    """The share of the text's runs of words that training had; None where that is not known."""
    new: tuple[str, ...] = ()
    """Words that training did not have, though the model may have an idea of them."""
    nearest: Nearest | None = None
    agreement: float = 1.0
    """The share of what search held to be probable that gives this value, too."""
    second: float | None = None
    """The log-probability that a second model gives the program; None where none was asked."""
    second_agreement: float = 0.0
    """The share of what the second model holds to be probable that gives this value, too."""
    lead: float = 0.0
    """How much more familiar the text is to the second model than to the first: from -1 to 1."""
    recalled: float = 0.0
    """How like the question is the nearest training question that has this program; 0 where none that is near has."""
    doubts: Mapping[str, bool] = field(default_factory=dict)
    """What the domain looks for in an answer, and whether it is there."""

    @property
    def unused(self) -> tuple[str, ...]:
        """The values of the question that the program does not use."""
        used = {argument for step in self.program or () for argument in step.arguments}
        return tuple(name for name in self.problem.bindings if name not in used)

    @property
    def idle(self) -> int:
        """How many steps have a result that nothing uses, though they are not the last."""
        steps = self.program or ()
        used = {reference(argument) for step in steps for argument in step.arguments}
        return sum(place not in used for place in range(len(steps) - 1))

    @property
    def doubled(self) -> int:
        """How many steps have the same argument twice, such as subtract(n0, n0)."""
        return sum(len(set(step.arguments)) < len(step.arguments) for step in self.program or ())

    @property
    def reused(self) -> int:
        """How many values of the question are used more than once."""
        used = Counter(argument for step in self.program or () for argument in step.arguments)
        return sum(used[name] > 1 for name in self.problem.bindings)

    @property
    def strange(self) -> tuple[str, ...]:
        """The words that training did not have; without a memory of it, those that the model cannot read."""
        return self.unknown if self.familiarity is None else self.new

    @property
    def number(self) -> float | None:
        """The value where it is a finite number."""
        return _number(self.value)

    @property
    def given(self) -> tuple[float, ...]:
        """The numbers of the question."""
        found = (_number(value) for value in self.problem.bindings.values())
        return tuple(value for value in found if value is not None)

    @property
    def huge(self) -> float:
        """How many powers of ten an answer is larger than the largest number of the question; 0 up to `HUGE`."""
        largest = max((abs(value) for value in self.given), default=0.0)
        return max(0.0, math.log10(max(abs(self.number or 0.0), 1.0) / (HUGE * max(largest, 1.0))))


class Known(TypedDict, total=False):
    """What a memory knows of a question: the fields of an `Answered` that come from it."""

    familiarity: float
    new: tuple[str, ...]
    nearest: Nearest | None


class Heard(TypedDict, total=False):
    """What a second model says of an answer: the fields of an `Answered` that come from it."""

    second: float | None
    second_agreement: float
    lead: float


def agreements(values: Sequence[object], log_probabilities: Sequence[float]) -> list[float]:
    """For every candidate the share of the probability of all that falls on its value; no value agrees with none."""
    highest = max(log_probabilities, default=0.0)
    shares = [math.exp(found - highest) if found > -math.inf else 0.0 for found in log_probabilities]
    keys = [f"{number:.6g}" if (number := _number(value)) is not None else repr(value) for value in values]
    together = sum(shares) or 1.0
    return [
        sum(share for other, share in zip(keys, shares) if other == key) / together if value is not None else 0.0
        for key, value in zip(keys, values)
    ]


def look_up(memory: Memory | None, problem: Problem, text: str = "") -> Known:
    """What a memory knows of a question; nothing where there is none."""
    if memory is None:
        return {}
    near = memory.nearest(text or told(problem))
    return {"familiarity": memory.familiarity(problem), "new": memory.unknown(problem), "nearest": near}


def signals(answered: Answered) -> dict[str, float]:
    """The named numbers. Those of a memory are missing where there is none."""
    number, given = answered.number, answered.given
    whole = all(value.is_integer() for value in given)
    steps = len(answered.program or ())
    found = {
        "probability": math.exp(answered.log_probability),
        "log-probability": max(answered.log_probability, LEAST),
        "odds of the program": _odds(answered.log_probability),
        "as good as impossible": float(answered.log_probability <= LEAST),
        "weakest step": math.exp(answered.weakest),
        "odds of the weakest step": _odds(answered.weakest),
        "agreement": answered.agreement,
        "unused numbers": float(min(len(answered.unused), MOST_COUNTED)),
        "any unused number": float(bool(answered.unused)),
        "no value": float(answered.value is None),
        "negative": float(number is not None and number < 0),
        "zero": float(number == 0),
        "long fraction": float(whole and number is not None and abs(100 * number - round(100 * number)) > 1e-7),
        "huge": min(answered.huge, float(MOST_COUNTED)),
        "a number of the question": float(number in given),
        "steps": float(min(steps, MOST_COUNTED)),
        "idle steps": float(min(answered.idle, MOST_COUNTED)),
        "steps with one thing twice": float(min(answered.doubled, MOST_COUNTED)),
        "numbers used again": float(min(answered.reused, MOST_COUNTED)),
        "size": math.log10(min(max(abs(number or 0.0), 1e-3), 1e9)),
        "numbers": float(min(len(answered.problem.bindings), MOST_COUNTED)),
        "words": math.log(max(len(answered.problem.words), 1)),
        "recalled": closeness(answered.recalled),
        **strange_signals(answered),
    }
    if answered.second is not None:
        found["second opinion"] = max(answered.second, LEAST)
        found["odds of the second opinion"] = _odds(answered.second)
        found["agreement of the second"] = answered.second_agreement
        found |= {f"{name}, where the second knows more": found[name] * answered.lead for name in LEANING}
    if answered.familiarity is not None:
        found["familiar"] = answered.familiarity
        found["nearest question"] = answered.nearest.similarity if answered.nearest else 0.0
    return found | {name: float(there) for name, there in answered.doubts.items()}


def strange_signals(answered: Answered) -> dict[str, float]:
    """The signals of words that training did not have."""
    share = len(may_matter(answered.strange)) / max(len(answered.problem.words), 1)
    return {"new words": share, "turning words": float(min(len(may_turn(answered.strange)), MOST_COUNTED))}


def doubts(answered: Answered, told: Mapping[str, str]) -> tuple[str, ...]:
    """What to doubt about an answer, in plain words. `told` are the words for what the domain looks for."""
    found = []
    unused, there = len(answered.unused), len(answered.problem.bindings)
    if answered.program is not None and unused and answered.given:
        found.append(f"the program does not use {unused} of the {there} numbers")
    if answered.unknown:
        found.append(f"it has words that I do not know: {name_some(answered.unknown)}")
    if turning := may_turn(answered.strange):
        found.append(f"what I do not know may turn it around: {name_some(turning)}")
    if answered.familiarity is not None and answered.familiarity < UNFAMILIAR:
        near = answered.nearest.similarity if answered.nearest else 0.0
        if near < FAR:
            found.append("it is far from any question that I know")
    if answered.program is not None and math.exp(answered.weakest) < UNSURE:
        found.append(f"one part of the program was chosen with a probability of only {math.exp(answered.weakest):.2f}")
    if answered.given and answered.number is not None:
        if answered.number < 0:
            found.append("the answer is below zero")
        elif answered.number == 0:
            found.append("the answer is zero")
        elif answered.huge > 1:
            found.append("the answer is much larger than the numbers of the question")
    return (*found, *(told[name] for name, there in answered.doubts.items() if there and name in told))


def name_some(words: Sequence[str]) -> str:
    """`one, two and 5 more`."""
    shown = ", ".join(cut(word, 30) for word in words[:MOST_WORDS])
    return shown if len(words) <= MOST_WORDS else f"{shown} and {len(words) - MOST_WORDS:,} more"


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _odds(log_probability: float) -> float:
    """Log-odds, bounded: beyond these ends nothing more is said by them."""
    probability = min(max(math.exp(log_probability), 0.001), 0.99)
    return math.log(probability / (1 - probability))
