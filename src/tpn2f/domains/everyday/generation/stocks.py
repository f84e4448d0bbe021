"""The words that fill the slots of templates: nouns, verbs, phrases, people and scenes, read from `words/*.toml`."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tpn2f.domains.everyday.generation.english import article, plural
from tpn2f.errors import DataError

FOLDER = Path(__file__).parent / "words"


@dataclass(frozen=True, slots=True)
class Noun:
    """A countable noun in both numbers."""

    one: str
    many: str


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in its base form, `pick up`."""

    base: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that never change."""

    text: str


@dataclass(frozen=True, slots=True)
class Person:
    """Who acts: how they are called first and later, their pronouns, and how verbs agree with them."""

    first: str
    later: str
    he: str
    him: str
    his: str
    role: str = ""
    """`the boy`, where the name can be replaced by it."""
    agreement: str = "he"
    """`he`, `they` or `I`."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Words that belong together: a place, what lies there, what is done there."""

    fields: Mapping[str, tuple[Noun | Verb | Phrase, ...]] = field(hash=False)


Word = Noun | Verb | Phrase | Person | Scene

_PRONOUNS = {"male": ("he", "him", "his"), "female": ("she", "her", "her"), "they": ("they", "them", "their")}
_KINDS = ("nouns", "verbs", "phrases")


def _noun(text: str) -> Noun:
    one, _, many = text.partition("|")
    return Noun(one, many or plural(one))


_MAKE = {"nouns": _noun, "verbs": Verb, "phrases": Phrase}
_SCENE_FIELDS = {
    "things": "nouns", "containers": "nouns", "get": "verbs", "lose": "verbs", "places": "phrases",
    "first": "phrases", "second": "phrases", "third": "phrases",
}  # fmt: skip
SCENES = ("scene", "times")
"""Tables of words that belong together: places with their things, and times that follow each other."""


def _items(value: str | list[str]) -> list[str]:
    parts = value.split(",") if isinstance(value, str) else value
    return [part.strip() for part in parts if part.strip()]


def _scene(table: Mapping) -> Scene:
    return Scene(
        {
            name: tuple(_MAKE[kind](item) for item in _items(table[name]))
            for name, kind in _SCENE_FIELDS.items()
            if name in table
        }
    )


class Stocks:
    """All word stocks by name, and the people."""

    def __init__(self, tables: Iterable[Mapping]) -> None:
        self._raw: dict[str, tuple[str, list[str]]] = {}
        self._people: dict[str, list[str]] = {}
        self._words: dict[str, tuple[Word, ...]] = {}
        scenes: dict[str, list[Mapping]] = {name: [] for name in SCENES}
        for table in tables:
            for kind in _KINDS:
                for name, value in table.get(kind, {}).items():
                    if name in self._raw:
                        raise DataError(f"the word stock {name!r} is defined twice")
                    self._raw[name] = kind, _items(value)
            for name, value in table.get("people", {}).items():
                self._people[name] = _items(value)
            for name in SCENES:
                scenes[name] += table.get(name, [])
        self._words |= {name: tuple(map(_scene, found)) for name, found in scenes.items()}

    def words(self, spec: str) -> tuple[Word, ...]:
        """The words of `fruit`, of `fruit, vegetable` or of `nouns: box, bag`."""
        if spec not in self._words:
            kind, colon, rest = spec.partition(":")
            if colon:
                if kind not in _MAKE:
                    raise DataError(f"slot {spec!r}: expected {', '.join(_KINDS)} before the colon")
                found = [_MAKE[kind](item) for item in _items(rest)]
            else:
                found = [word for name in _items(spec) for word in self._stock(name, ())]
            self._words[spec] = tuple(dict.fromkeys(found))
        return self._words[spec]

    def _stock(self, name: str, path: tuple[str, ...]) -> list[Word]:
        if name not in self._raw or name in path:
            raise DataError(f"there is no word stock {name!r}; known: {', '.join(sorted(self._raw))}")
        kind, items = self._raw[name]
        found: list[Word] = []
        for item in items:
            found += self._stock(item[1:], (*path, name)) if item.startswith("@") else [_MAKE[kind](item)]
        return found

    def names(self) -> tuple[str, ...]:
        """The names of all stocks."""
        return tuple(self._raw)

    def person(self, kind: str, chance: random.Random) -> Person:
        """Somebody of the class `name`, `female`, `male`, `person`, `worker`, `family`, `group` or `anyone`."""
        draws = {
            "name": self._draw_name,
            "female": lambda chance: self._of("female", chance.choice(self._people["female"])),
            "male": lambda chance: self._of("male", chance.choice(self._people["male"])),
            "worker": self._draw_worker,
            "family": self._draw_family,
            "person": self._draw_person,
            "group": self._draw_group,
            "anyone": self._draw_anyone,
        }
        return draws[kind](chance)

    def _of(self, gender: str, first: str, later: str = "", role: str = "") -> Person:
        return Person(
            first, later or first, *_PRONOUNS[gender], role=role, agreement="they" if gender == "they" else "he"
        )

    def _gender(self, chance: random.Random) -> str:
        return "female" if chance.random() < 0.5 else "male"

    def _draw_name(self, chance: random.Random) -> Person:
        gender = self._gender(chance)
        return self._of(gender, chance.choice(self._people[gender]), role="the boy" if gender == "male" else "the girl")

    def _draw_worker(self, chance: random.Random) -> Person:
        job = chance.choice(self._people["worker"])
        return self._of(self._gender(chance), f"{article(job)} {job}", f"the {job}")

    def _draw_family(self, chance: random.Random) -> Person:
        gender = self._gender(chance)
        relative = chance.choice(self._people[f"{gender}_relative"])
        if chance.random() < 0.5:
            return self._of(gender, f"my {relative}")
        owner = chance.choice(self._people[self._gender(chance)])
        return self._of(gender, f"{owner}'s {relative}", f"{owner}'s {relative}")

    def _draw_title(self, chance: random.Random) -> Person:
        gender = self._gender(chance)
        title = chance.choice(self._people[f"{gender}_title"])
        return self._of(gender, f"{title} {chance.choice(self._people['surname'])}")

    def _draw_stranger(self, chance: random.Random) -> Person:
        gender = self._gender(chance)
        role = chance.choice(self._people[f"{gender}_stranger"])
        return self._of(gender, f"{article(role)} {role}", f"the {role}")

    def _draw_person(self, chance: random.Random) -> Person:
        draw = chance.choices(
            (self._draw_name, self._draw_title, self._draw_family, self._draw_worker, self._draw_stranger),
            (70, 8, 6, 10, 6),
        )[0]
        return draw(chance)

    def _draw_group(self, chance: random.Random) -> Person:
        group = chance.choice(self._people["group"])
        return self._of("they", group, group)

    def _draw_pair(self, chance: random.Random) -> Person:
        first, second = chance.sample(self._people["female"] + self._people["male"], 2)
        return self._of("they", f"{first} and {second}")

    def _draw_anyone(self, chance: random.Random) -> Person:
        draw = chance.random()
        if draw < 0.72:
            return self._draw_person(chance)
        if draw < 0.84:
            return Person("I", "I", "I", "me", "my", agreement="I")
        if draw < 0.88:
            return Person("you", "you", "you", "you", "your", agreement="they")
        if draw < 0.91:
            return Person("we", "we", "we", "us", "our", agreement="they")
        return self._draw_pair(chance) if draw < 0.96 else self._draw_group(chance)


PEOPLE = frozenset({"name", "female", "male", "person", "worker", "family", "group", "anyone"})
"""Classes of slots that are people."""


@cache
def bundled_stocks() -> Stocks:
    """The stocks that come with the package."""
    tables = []
    for path in sorted(FOLDER.glob("*.toml")):
        with path.open("rb") as file:
            tables.append(tomllib.load(file))
    return Stocks(tables)
