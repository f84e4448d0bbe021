"""Kinds of word problems as data: plain ones and the questions of stories, read from TOML and checked while read."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from tpn2f.domains.everyday.generation.canonical import spell_out
from tpn2f.domains.everyday.generation.expressions import Expression, compile_expression
from tpn2f.domains.everyday.generation.quantities import Source, parse_source
from tpn2f.domains.everyday.generation.stocks import PEOPLE, SCENES, Stocks, bundled_stocks
from tpn2f.domains.everyday.generation.wording import TemplateWording, parse_wording
from tpn2f.errors import DataError
from tpn2f.program import Program, reference

FOLDERS = (Path(__file__).parent / "kinds", Path(__file__).parent / "stories")
TAUGHT = "taught"
"""The folder, within one of kinds or stories, of what only training has. What dev and test are made of stays the same
when it grows, so that a model can be compared with the one before it."""
PARTS = ("train", "dev", "test")
Part = Literal["train", "dev", "test"]
HELD_OUT_PHRASINGS = 8
"""Percent of all phrasings that are for dev alone, and as many for test."""
HELD_OUT_KINDS = 4
"""Percent of all kinds that are for dev alone, and as many for test."""
ANSWERS = ("whole", "cents", "any")
Lists = Mapping[str, list[str]]
USUAL_SLOTS = {
    "P": "anyone", "Q": "name", "R": "name", "X": "thing", "Y": "thing", "K": "colour", "L": "colour", "D": "weekday",
    "Z": "place", "E": "event", "M": "month", "H": "shop", "U": "city",
}  # fmt: skip
"""Slots that every story has."""
USUAL_NUMBERS = {"x": "2..12 | 3..40 | 20..200", "y": "2..12 | 5..60", "z": "6..15 | 5..80"}
"""Numbers that every story has, for sentences that the question does not need."""


@dataclass(frozen=True, slots=True)
class Order:
    """One way to tell a story: steps are sentences, each of them facts that are joined; `?` is the question."""

    steps: tuple[tuple[str, ...], ...]
    optional: frozenset[int]
    """Steps that are told half of the time."""
    conditional: bool
    """The fact before the question is told as `If ..., `."""

    @property
    def facts(self) -> frozenset[str]:
        return frozenset(fact for step in self.steps for fact in step) - {"?"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What the questions of one story share: slots, numbers, conditions and facts."""

    name: str
    slots: Mapping[str, str]
    sources: Mapping[str, Source]
    where: tuple[Expression, ...]
    facts: Mapping[str, tuple[TemplateWording, ...]]
    behind: frozenset[str]
    """Numbers that others are derived from or compared with, such as the whole result of a division."""

    @property
    def numbers(self) -> list[str]:
        return list(self.sources)


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of problem: a program, and all the ways to say it."""

    name: str
    theme: str
    setting: Setting
    where: tuple[Expression, ...]
    program: Program
    answer: str
    phrasings: tuple[TemplateWording, ...]
    orders: tuple[Order, ...]
    asks: tuple[TemplateWording, ...]
    extra: frozenset[str]
    core: bool
    weight: float
    story: str = ""
    """The written story that it asks about: its questions are for one part, and its phrasings are not divided."""
    taught: tuple[TemplateWording, ...] = ()
    """Further phrasings, for training alone."""
    taught_asks: tuple[TemplateWording, ...] = ()

    @property
    def needed(self) -> frozenset[str]:
        """The numbers that the program uses."""
        words = {word for step in self.program for word in step.arguments}
        return frozenset(words & set(self.setting.sources))

    @property
    def part(self) -> Part:
        """Where the kind as a whole may be used: `train` kinds are used everywhere."""
        return "train" if self.core else held_out(self.story or f"kind {self.name}", HELD_OUT_KINDS)


def held_out(text: str, percent: int) -> Part:
    """The part that a text belongs to, by a hash that does not change from run to run."""
    place = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % 100
    return "dev" if place < percent else "test" if place < 2 * percent else "train"


@cache
def _split(wordings: tuple[TemplateWording, ...]) -> dict[str, tuple[TemplateWording, ...]]:
    parts = {part: tuple(w for w in wordings if held_out(w.source, HELD_OUT_PHRASINGS) == part) for part in PARTS}
    return parts if parts["train"] else {"train": wordings, "dev": (), "test": ()}


def only_for(wordings: tuple[TemplateWording, ...], part: str) -> tuple[TemplateWording, ...]:
    """Those that belong to this part alone; nothing is held out where nothing would be left for training."""
    return _split(wordings)[part]


def usable_for(wordings: tuple[TemplateWording, ...], part: str) -> tuple[TemplateWording, ...]:
    """Those of training and, for dev and test, those held out for it."""
    return only_for(wordings, "train") + (() if part == "train" else only_for(wordings, part))


def read_kinds(table: Mapping[str, Any], theme: str, stocks: Stocks, lists: Lists | None = None) -> list[ProblemKind]:
    """The kinds of one TOML file; `lists` are sentences that several stories share, `"@name"` in a story's lists."""
    kinds = []
    for entry in table.get("kind", []):
        kinds.append(_kind(entry, _setting(entry, theme, stocks), entry["name"], theme))
    for entry in table.get("story", []):
        story = _with_shared(entry, lists or {})
        setting = _setting(story, theme, stocks)
        for question in story["question"]:
            kinds.append(_kind(question, setting, f"{story['name']}/{question['name']}", theme))
    return kinds


def _with_shared(entry: Mapping[str, Any], lists: Lists) -> dict[str, Any]:
    """The story with the usual slots and numbers, where it has none of its own, and shared sentences put in."""

    def full(texts: list[str]) -> list[str]:
        found = []
        for text in texts:
            if text.startswith("@") and text[1:] not in lists:
                raise DataError(f"{entry.get('name')}: there is no list {text!r}; known: {', '.join(lists)}")
            found += lists[text[1:]] if text.startswith("@") else [text]
        return found

    return {
        **entry,
        "slots": USUAL_SLOTS | entry.get("slots", {}),
        "numbers": USUAL_NUMBERS | entry.get("numbers", {}),
        "facts": {fact: full(texts) for fact, texts in entry.get("facts", {}).items()},
        "question": [question | {"ask": full(question.get("ask", []))} for question in entry["question"]],
    }


def _setting(entry: Mapping[str, Any], theme: str, stocks: Stocks) -> Setting:
    where = f"{theme}: {entry.get('name')}"
    slots = entry.get("slots", {})
    for slot, spec in slots.items():
        if not slot[:1].isupper():
            raise DataError(f"{where}: the slot {slot!r} must begin with a capital letter")
        if spec not in PEOPLE and spec not in SCENES and not ("." in spec and ":" not in spec):
            stocks.words(spec)
    sources, behind = compile_numbers(entry.get("numbers", {}), where)
    for text in entry.get("where", []):
        behind |= compile_expression(text)[1]
    names = list(sources)
    facts = {fact: _wordings(texts, slots, names, where) for fact, texts in entry.get("facts", {}).items()}
    conditions = compile_conditions(entry.get("where", []), names, where)
    return Setting(entry["name"], slots, sources, conditions, facts, behind)


def compile_numbers(specs: Mapping[str, str], where: str) -> tuple[dict[str, Source], frozenset[str]]:
    """How to draw the numbers of a template, and those that others are derived from."""
    sources: dict[str, Source] = {}
    behind: set[str] = set()
    for name, spec in specs.items():
        source, earlier = parse_source(spec)
        if not name[:1].islower() or not earlier <= set(sources):
            raise DataError(
                f"{where}: number {name!r} = {spec!r} must begin with a small letter and use earlier numbers"
            )
        sources[name] = source
        behind |= earlier
    return sources, frozenset(behind)


def compile_conditions(texts: Iterable[str], numbers: list[str], where: str) -> tuple[Expression, ...]:
    """What the numbers of a template must fulfil."""
    conditions = []
    for text in texts:
        expression, names = compile_expression(text)
        if not names <= set(numbers):
            raise DataError(
                f"{where}: the condition {text!r} names {', '.join(names - set(numbers))}, which is no number"
            )
        conditions.append(expression)
    return tuple(conditions)


def _wordings(
    texts: Iterable[str], slots: Mapping[str, str], numbers: list[str], where: str
) -> tuple[TemplateWording, ...]:
    try:
        return tuple(parse_wording(text, slots, numbers) for text in texts)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


_KEYS = {
    "name",
    "core",
    "weight",
    "slots",
    "numbers",
    "where",
    "answer",
    "program",
    "extra",
    "phrasings",
    "orders",
    "ask",
}


def _kind(entry: Mapping[str, Any], setting: Setting, name: str, theme: str) -> ProblemKind:
    unknown = set(entry) - _KEYS
    if unknown:
        raise DataError(f"{theme}: {name}: unknown keys {', '.join(unknown)}; expected {', '.join(sorted(_KEYS))}")
    answer = entry.get("answer", "whole")
    if answer not in ANSWERS:
        raise DataError(f"{theme}: {name}: answer is {answer!r}; expected {', '.join(ANSWERS)}")
    program = spell_out(Program.parse(entry["program"]))
    for step in program:
        for word in step.arguments:
            if word not in setting.sources and not word.startswith("const_") and reference(word) is None:
                raise DataError(f"{theme}: {name}: {word!r} in {step} is no number of the template")
    numbers = setting.numbers
    return ProblemKind(
        name,
        theme,
        setting,
        setting.where
        if "slots" in entry
        else setting.where + compile_conditions(entry.get("where", []), numbers, name),
        program,
        answer,
        _wordings(entry.get("phrasings", []), setting.slots, numbers, name),
        tuple(_order(text, setting, name) for text in entry.get("orders", [])),
        _wordings(entry.get("ask", []), setting.slots, numbers, name),
        frozenset(entry.get("extra", ())),
        entry.get("core", False),
        entry.get("weight", 1.0),
    )


def _order(text: str, setting: Setting, name: str) -> Order:
    steps, optional, conditional = [], set(), False
    for token in text.split():
        if token.startswith("["):
            optional.add(len(steps))
        if token.startswith("if:"):
            conditional = True
        facts = tuple(token.strip("[]").removeprefix("if:").split("+"))
        if not set(facts) <= {*setting.facts, "?"}:
            raise DataError(f"{name}: order {text!r}: {token!r} is no fact; known: {', '.join(setting.facts)}")
        steps.append(facts)
    if steps.count(("?",)) != 1:
        raise DataError(f"{name}: order {text!r} needs the question, ?, exactly once")
    return Order(tuple(steps), frozenset(optional), conditional)


@cache
def bundled_kinds() -> tuple[ProblemKind, ...]:
    """All kinds that come with the package, by name."""
    tables: dict[Path, dict[str, Any]] = {}
    for path in sorted(path for folder in FOLDERS for path in folder.glob("*.toml")):
        with path.open("rb") as file:
            try:
                tables[path] = tomllib.load(file)
            except tomllib.TOMLDecodeError as error:
                raise DataError(f"{path}: {error}") from None
    lists = {name: texts for table in tables.values() for name, texts in table.get("lists", {}).items()}
    kinds: list[ProblemKind] = []
    for path, table in tables.items():
        try:
            kinds += read_kinds(table, path.stem, bundled_stocks(), lists)
        except KeyError as error:
            raise DataError(f"{path}: the key {error} is missing") from None
    names = [kind.name for kind in kinds]
    kinds = with_taught(kinds, sorted(path for folder in FOLDERS for path in (folder / TAUGHT).glob("*.toml")))
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise DataError(f"kinds with the same name: {', '.join(sorted(twice))}")
    return tuple(kinds)


def with_taught(kinds: Iterable[ProblemKind], files: Iterable[Path]) -> list[ProblemKind]:
    """The kinds with the phrasings that only training has, `[NAME] phrasings = [...], ask = [...]` in TOML files."""
    found = {kind.name: kind for kind in kinds}
    for path in files:
        with path.open("rb") as file:
            try:
                table = tomllib.load(file)
            except tomllib.TOMLDecodeError as error:
                raise DataError(f"{path}: {error}") from None
        for name, entry in table.items():
            if name not in found:
                raise DataError(f"{path}: there is no kind {name!r}")
            if unknown := set(entry) - {"phrasings", "ask"}:
                raise DataError(f"{path}: {name}: unknown keys {', '.join(unknown)}; expected phrasings, ask")
            kind = found[name]
            whole, asks = (
                _wordings(entry.get(key, []), kind.setting.slots, kind.setting.numbers, f"{path.name}: {name}")
                for key in ("phrasings", "ask")
            )
            if asks and not kind.asks:
                raise DataError(f"{path}: {name} is no question of a story: it has phrasings only")
            found[name] = replace(kind, taught=kind.taught + whole, taught_asks=kind.taught_asks + asks)
    return list(found.values())
