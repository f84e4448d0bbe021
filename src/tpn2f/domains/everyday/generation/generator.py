"""Makes everyday word problems: draws a kind, numbers that make sense for it, words, and an order of sentences."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from tpn2f.domain import Example
from tpn2f.domains.everyday.constants import CONSTANTS
from tpn2f.domains.everyday.generation.canonical import bind
from tpn2f.domains.everyday.generation.quantities import Quantity
from tpn2f.domains.everyday.generation.stocks import Stocks, Word, bundled_stocks
from tpn2f.domains.everyday.generation.telling import Telling
from tpn2f.domains.everyday.generation.templates import PARTS, Order, ProblemKind, bundled_kinds, only_for, usable_for
from tpn2f.domains.everyday.generation.wording import TemplateWording, finish
from tpn2f.domains.everyday.generation.written import LATER, SHARE, bundled_stories
from tpn2f.domains.everyday.reading import NumberedText, read
from tpn2f.domains.mathqa.domain import constant_value
from tpn2f.domains.mathqa.operations import OPERATIONS
from tpn2f.errors import DataError
from tpn2f.program import Program, reference

TRIES = 400
"""Draws of numbers before a template is said to have none that fit."""
UNLUCKY = 30
"""So many kinds in a row without numbers that fit are an error."""
MORE_QUESTIONS = 0.4
"""How often another question is asked about the same story and numbers."""
COMMON = 0.02
"""What a sequence of operations may have of all problems for training before it is drawn less often than it would be.
Without this, six of ten problems had one step, and those that first put two amounts together were rare."""
WHOLE_TEXTS = 0.3
"""How often a question of a story that has whole phrasings of its own uses one."""


@dataclass(frozen=True, slots=True)
class ToldText:
    """A text that is told, before it is read: where the numbers stand in it and what it was made of."""

    text: str
    places: Mapping[str, tuple[int, int]]
    wordings: tuple[TemplateWording, ...]


def execute(program: Program, values: Mapping[str, float]) -> float:
    """The value of a program over named numbers."""
    results: list[float] = []
    for step in program:
        arguments = []
        for word in step.arguments:
            k = reference(word)
            arguments.append(results[k] if k is not None else values[word] if word in values else _constant(word))
        results.append(OPERATIONS[step.relation](*arguments))
    return results[-1]


def _constant(word: str) -> float:
    return float(CONSTANTS[word]) if word in CONSTANTS else constant_value(word)


def fits(answer: float, demand: str) -> bool:
    """Whether an answer is above zero and as whole as the kind demands."""
    if not answer > 0 or answer > 1e9:
        return False
    scaled = answer * {"whole": 1, "cents": 100, "any": 0}[demand]
    return abs(scaled - round(scaled)) < 1e-6


def draw_numbers(kind: ProblemKind, chance: random.Random) -> dict[str, Quantity]:
    """Numbers that meet the conditions of a kind."""
    for _ in range(TRIES):
        quantities: dict[str, Quantity] = {}
        values: dict[str, Any] = {}
        for name, source in kind.setting.sources.items():
            try:
                quantities[name] = source(chance, values)
            except ZeroDivisionError:
                break
            values[name] = quantities[name].value
        else:
            if suits(kind, values):
                return quantities
    raise DataError(f"{kind.name}: no numbers met the conditions in {TRIES} draws")


def suits(kind: ProblemKind, values: Mapping[str, Any]) -> bool:
    """Whether numbers meet a kind's conditions and give an answer that makes sense."""
    try:
        if not all(values[name] > 0 for name in kind.needed) or not all(test(values) for test in kind.where):
            return False
        return fits(execute(kind.program, {name: float(value) for name, value in values.items()}), kind.answer)
    except (ValueError, ZeroDivisionError, OverflowError):
        return False


def tell_whole(wording: TemplateWording, telling: Telling) -> ToldText:
    """A phrasing that is a text of its own."""
    text, places = finish(wording.tell(telling), list(telling.quantities))
    return ToldText(text, places, (wording,))


def tell_story(order: Order, facts: Mapping[str, TemplateWording], ask: TemplateWording, telling: Telling) -> ToldText:
    """The facts of a story in this order, with the question at its place."""
    sentences: list[str] = []
    used: list[TemplateWording] = [ask]
    for place, step in enumerate(order.steps):
        if place in order.optional and telling.chance.random() < 0.5:
            continue
        if step == ("?",):
            question = ask.tell(telling)
            if order.conditional and sentences:
                question = f"if {sentences.pop().rstrip('.')}, {question.removeprefix('so ').removeprefix('and ')}"
            sentences.append(question)
            continue
        told = [facts[fact].tell(telling).rstrip(".") for fact in step]
        used += [facts[fact] for fact in step]
        sentences.append(telling.chance.choice((" and ", ", and ")).join(told) + ".")
    text, places = finish(" ".join(sentences), list(telling.quantities))
    return ToldText(text, places, tuple(used))


def place_numbers(draft: ToldText, reading: NumberedText, quantities: Mapping[str, Quantity]) -> dict[str, str] | None:
    """The name n_k of every placeholder; None if a placeholder is not read as one number of its value."""
    names = {}
    for name, (start, end) in draft.places.items():
        found = [k for k, number in enumerate(reading.numbers) if number.start < end and number.end > start]
        if len(found) != 1 or reading.numbers[found[0]].value != quantities[name].value:
            return None
        names[name] = f"n{found[0]}"
    return names if len(set(names.values())) == len(names) else None


class ProblemGenerator:
    """An endless source of examples of one part."""

    def __init__(
        self, seed: int, part: str, kinds: Sequence[ProblemKind] | None = None, stocks: Stocks | None = None
    ) -> None:
        if part not in PARTS:
            raise DataError(f"there is no part {part!r}; expected {', '.join(PARTS)}")
        self._chance = random.Random(f"everyday {part} {seed}")
        self._part = part
        self._stocks = stocks or bundled_stocks()
        everything = (*bundled_kinds(), *bundled_stories()) if kinds is None else kinds
        self._kinds = [kind for kind in everything if self._has_phrasings(kind)]
        if not self._kinds:
            raise DataError(f"no kind has phrasings for {part}")
        self._siblings: dict[int, list[ProblemKind]] = {}
        for kind in self._kinds:
            self._siblings.setdefault(id(kind.setting), []).append(kind)
        weights = _shared_out(self._kinds)
        if part == "train":
            weights = _evened_out(self._kinds, weights)
        # Summed up once: a draw among fifty thousand kinds would take longer than the telling.
        self._weights = list(accumulate(weights))

    def _has_phrasings(self, kind: ProblemKind) -> bool:
        if kind.part == self._part or kind.story:
            return kind.part == self._part
        return kind.part == "train" and bool(only_for(kind.phrasings, self._part) or only_for(kind.asks, self._part))

    def _choices(self, kind: ProblemKind, wordings: tuple[TemplateWording, ...]) -> tuple[TemplateWording, ...]:
        if kind.story:
            return wordings
        if kind.part == self._part:
            return usable_for(wordings, self._part)
        return only_for(wordings, self._part)

    def examples(self) -> Iterator[tuple[ProblemKind, ToldText, Example]]:
        """Examples with the kind and the wordings they were made of; no text comes twice."""
        seen: set[str] = set()
        unlucky = 0
        while True:
            kind = self._chance.choices(self._kinds, cum_weights=self._weights)[0]
            kinds = [kind]
            siblings = self._siblings[id(kind.setting)]
            if len(siblings) > 1 and self._chance.random() < MORE_QUESTIONS:
                others = [other for other in siblings if other is not kind]
                kinds += self._chance.sample(others, min(len(others), self._chance.choice((1, 1, 2))))
            # Conditions that few numbers meet are sometimes not met in all draws; if that goes on, a kind has none.
            try:
                quantities = draw_numbers(kinds[0], self._chance)
            except DataError:
                unlucky += 1
                if unlucky >= UNLUCKY:
                    raise
                continue
            unlucky = 0
            for kind, draft, example in self._tell(kinds, quantities):
                if example.text not in seen:
                    seen.add(example.text)
                    yield kind, draft, example

    def _tell(
        self, kinds: list[ProblemKind], quantities: Mapping[str, Quantity]
    ) -> Iterator[tuple[ProblemKind, ToldText, Example]]:
        """One question, or several over the same words and numbers."""
        setting = kinds[0].setting
        exact = {name: quantity.value for name, quantity in quantities.items()}
        values = {name: float(value) for name, value in exact.items()}
        facts = {name: self._chance.choice(usable_for(texts, self._part)) for name, texts in setting.facts.items()}
        words: dict[str, Word] = {}
        told: frozenset[str] = frozenset()
        for kind in kinds:
            if kind is not kinds[0] and not suits(kind, exact):
                continue
            telling = Telling(self._stocks, setting.slots, quantities, self._chance, words)
            order = self._order(kind, told)
            told = order.facts if order else told
            draft = self._draft(kind, order, facts, telling)
            reading = read(draft.text)
            names = place_numbers(draft, reading, quantities)
            if names is None or not kind.needed <= set(names):
                continue
            yield (
                kind,
                draft,
                Example(
                    reading.problem,
                    bind(kind.program, names),
                    execute(kind.program, values),
                    draft.text,
                    self._id(kind),
                ),
            )

    def _order(self, kind: ProblemKind, told: frozenset[str]) -> Order | None:
        """An order for a story, if there are any; the next question about it prefers to be asked of the same facts."""
        same = [order for order in kind.orders if order.facts == told]
        return self._chance.choice(same or kind.orders) if kind.orders else None

    def _draft(
        self, kind: ProblemKind, order: Order | None, facts: Mapping[str, TemplateWording], telling: Telling
    ) -> ToldText:
        phrasings, asks = self._choices(kind, kind.phrasings), self._choices(kind, kind.asks)
        if self._part == "train":
            phrasings, asks = phrasings + kind.taught, asks + kind.taught_asks
        if order is None or not asks or (phrasings and self._chance.random() < WHOLE_TEXTS):
            return tell_whole(self._chance.choice(phrasings), telling)
        return tell_story(order, facts, self._chance.choice(asks), telling)

    def _id(self, kind: ProblemKind) -> str:
        """`dev:kind:name` for a kind that training never shows, `dev:phrasing:name` for a phrasing of a known kind,
        `dev:story:name` for a written story."""
        new = "story" if kind.story else "kind" if kind.part != "train" else "phrasing"
        return f"{self._part}:{new}:{kind.name}"


def _shared_out(kinds: Sequence[ProblemKind]) -> list[float]:
    """How often each kind is drawn: written stories have their share of all, where there are others beside them."""
    written = sum(kind.weight for kind in kinds if kind.story)
    others = sum(kind.weight for kind in kinds if not kind.story)
    factor = SHARE / (1 - SHARE) * others / written if written and others else 1.0
    return [kind.weight * (factor if kind.story else 1.0) for kind in kinds]


def _evened_out(kinds: Sequence[ProblemKind], weights: Sequence[float]) -> list[float]:
    """Weights with which common sequences of operations come less often: by the root of what they have too much."""
    sequences = [tuple(step.relation for step in kind.program) for kind in kinds]
    shares = dict.fromkeys(sequences, 0.0)
    total = sum(weights)
    for sequence, weight in zip(sequences, weights):
        shares[sequence] += weight / total
    return [weight * min(1.0, COMMON / shares[sequence]) ** 0.5 for sequence, weight in zip(sequences, weights)]


def generate(seed: int, count: int, part: str = "train") -> Iterator[Example]:
    """So many examples for train, dev or test; the same seed gives the same ones."""
    examples = ProblemGenerator(seed, part).examples()
    for _ in range(count):
        yield next(examples)[2]


def generate_later(seed: int, count: int) -> Iterator[Example]:
    """So many examples of the stories that were written after the bundled models were trained."""
    kinds = bundled_stories(LATER)
    parts = [ProblemGenerator(seed, part, kinds).examples() for part in PARTS]
    weights = [sum(kind.part == part for kind in kinds) for part in PARTS]
    chance = random.Random(f"everyday later {seed}")
    for part in chance.choices(parts, weights, k=count):
        yield next(part)[2]
