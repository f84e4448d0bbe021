"""One telling of a template: which words fill its slots, and who has been mentioned so far."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from tpn2f.domains.everyday.generation.quantities import Quantity
from tpn2f.domains.everyday.generation.stocks import PEOPLE, Noun, Person, Phrase, Scene, Stocks, Verb, Word
from tpn2f.errors import DataError


@dataclass(slots=True)
class Telling:
    """One telling of a template: the words and numbers drawn for it, and who has been mentioned so far."""

    stocks: Stocks
    slots: Mapping[str, str]
    quantities: Mapping[str, Quantity]
    chance: random.Random
    words: dict[str, Word] = field(default_factory=dict)
    mentioned: list[str] = field(default_factory=list)

    def word(self, slot: str) -> Word:
        """The word of a slot, drawn when first needed; two slots never share one."""
        if slot not in self.words:
            self.words[slot] = self._draw(self.slots[slot])
        return self.words[slot]

    def _draw(self, spec: str) -> Word:
        taken = set(map(_key, self.words.values()))
        for _ in range(50):
            if spec in PEOPLE:
                word: Word = self.stocks.person(spec, self.chance)
            else:
                word = self.chance.choice(self._choices(spec))
            if _key(word) not in taken:
                return word
        raise DataError(f"slot {spec!r} has too few words: all were taken in 50 draws")

    def _choices(self, spec: str) -> tuple[Word, ...]:
        slot, dot, name = spec.partition(".")
        if not dot or ":" in spec:
            return self.stocks.words(spec)
        scene = self.word(slot)
        if not isinstance(scene, Scene) or name not in scene.fields:
            raise DataError(f"slot {spec!r}: {slot} is no scene with {name}")
        return scene.fields[name]


def _key(word: Word) -> str:
    match word:
        case Noun(one=text) | Verb(base=text) | Phrase(text=text) | Person(he="I" | "you" | "we" as text):
            return text
        case Person(first=first):
            return first
        case _:
            return str(id(word))
