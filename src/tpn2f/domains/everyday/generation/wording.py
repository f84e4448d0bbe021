"""The language of templates: `{a O}`, `{P.he}`, `[optional]`, `(this|that)`, parsed once and written many times."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tpn2f.domains.everyday.generation.english import article, plural
from tpn2f.domains.everyday.generation.forms import PEOPLE_FORMS, WORD_FORMS, agree, write_word
from tpn2f.domains.everyday.generation.quantities import write
from tpn2f.domains.everyday.generation.stocks import PEOPLE, Noun
from tpn2f.domains.everyday.generation.telling import Telling
from tpn2f.errors import DataError

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around a number in a text that is not finished: OPEN, one character for the placeholder, the number, CLOSE."""
_FIRST = 0xE100


Part = str | Callable[[Telling], str]


@dataclass(frozen=True, slots=True)
class TemplateWording:
    """A parsed template text with the placeholders and slots that it names."""

    source: str
    parts: tuple[Part, ...]
    numbers: tuple[str, ...]
    slots: frozenset[str]

    def tell(self, telling: Telling) -> str:
        """The text with numbers still marked."""
        return _join(self.parts, telling)


def _join(parts: tuple[Part, ...], telling: Telling) -> str:
    return "".join([part if isinstance(part, str) else part(telling) for part in parts])


def finish(marked: str, names: list[str]) -> tuple[str, dict[str, tuple[int, int]]]:
    """The plain text, with capitals and articles right, and the place of every number in it."""
    marked = _tidy(marked)
    pieces: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    length = 0
    for piece in re.split(rf"({OPEN}[^{CLOSE}]*{CLOSE})", marked):
        marks = piece.startswith(OPEN)
        plain = piece[2:-1] if marks else piece
        if marks:
            name = names[ord(piece[1]) - _FIRST]
            if name in places:
                raise DataError(f"the number {name} stands twice in {unmarked(marked)!r}")
            places[name] = (length, length + len(plain))
        pieces.append(plain)
        length += len(plain)
    return "".join(pieces), places


def unmarked(marked: str) -> str:
    """The text without marks."""
    return re.sub(rf"{OPEN}.|{CLOSE}", "", marked)


_ARTICLE = re.compile(rf"\b([Aa])n? (?=((?:{OPEN}.)?([\w-]+)))")
_SENTENCE = re.compile(rf"(?:^|(?<=[.?!] )|(?<=[.?!]\" ))((?:{OPEN}.)?)([a-z])")


def _fix_article(found: re.Match[str]) -> str:
    right = article(found[3])
    return (right.capitalize() if found[1] == "A" else right) + " "


def _tidy(marked: str) -> str:
    marked = re.sub(r" {2,}", " ", marked).strip()
    marked = re.sub(r" (?=[,.?!])", "", marked)
    marked = _ARTICLE.sub(_fix_article, marked)
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), marked)


class _Parser:
    """Reads one template text; knows which names are slots and which are numbers."""

    def __init__(self, text: str, slots: Mapping[str, str], numbers: list[str]) -> None:
        self.text, self.slots, self.numbers = text, slots, numbers
        self.at = 0
        self.used_numbers: list[str] = []
        self.used_slots: set[str] = set()

    def parse(self) -> TemplateWording:
        parts = self._sequence("")
        return TemplateWording(self.text, parts, tuple(self.used_numbers), frozenset(self.used_slots))

    def fail(self, why: str) -> DataError:
        return DataError(f"template {self.text!r}, character {self.at}: {why}")

    def _sequence(self, stops: str) -> tuple[Part, ...]:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in stops:
            char = self.text[self.at]
            if char == "{":
                parts.append(self._placeholder())
            elif char in "[(":
                parts.append(self._choice(char))
            elif char in "])}":
                raise self.fail(f"{char!r} closes nothing")
            else:
                end = self.at
                while end < len(self.text) and self.text[end] not in "{[(])}" + stops:
                    end += 1
                parts.append(self.text[self.at : end])
                self.at = end
        return tuple(parts)

    def _choice(self, opening: str) -> Part:
        close = "])"[opening == "("]
        options: list[tuple[Part, ...]] = []
        while True:
            self.at += 1
            options.append(self._sequence("|" + close))
            if self.at >= len(self.text):
                raise self.fail(f"{opening!r} is not closed")
            if self.text[self.at] == close:
                break
        self.at += 1
        if opening == "[":
            options += [()] * len(options)
        return lambda telling: _join(telling.chance.choice(options), telling)

    def _placeholder(self) -> Part:
        start, end = self.at, self.text.find("}", self.at)
        if end < 0:
            raise self.fail("'{' is not closed")
        body = self.text[start + 1 : end]
        self.at = end + 1
        before, after = self.text[start - 1 : start], self.text[self.at : self.at + 1]
        if not body:
            raise self.fail("empty placeholder")
        return self._number(body, before, after) if body[0].islower() else self._slot(body)

    def _number(self, body: str, before: str, after: str) -> Part:
        agree = re.fullmatch(r"(\w+):([^|]*)\|([^|]*)", body)
        if agree:
            name, one, many = agree.groups()
            self._known(name)
            return lambda telling: one if telling.quantities[name].value == 1 else many
        head, *rest = body.split(" ")
        name = head.rstrip("#")
        self._known(name)
        self.used_numbers.append(name)
        mark = OPEN + chr(_FIRST + self.numbers.index(name))
        money = before == "$" or (bool(rest) and rest[-1] in ("dollar", "euro", "pound"))
        numeral = head.endswith("#") or before in ("$", "-", "/", ":") or (not rest and after in tuple("%-/:"))
        # Not a function with a name: types are checked in tests, and that takes long for each of many thousands.
        figure: Part = lambda telling: (  # noqa: E731
            mark + write(telling.quantities[name], telling.chance, numeral=numeral, money=money) + CLOSE
        )
        if not rest:
            return figure
        parts = [figure, *(part for word in rest[:-1] for part in (" ", self._middle(word))), " "]
        noun = self._counted(rest[-1], name)
        return lambda telling: _join((*parts, noun), telling)

    def _known(self, name: str) -> None:
        if name not in self.numbers:
            raise self.fail(f"there is no number {name!r}")

    def _middle(self, word: str) -> Part:
        return self._slot(word) if word in self.slots else word

    def _counted(self, word: str, name: str) -> Callable[[Telling], str]:
        if word in self.slots:
            self.used_slots.add(word)
            return lambda telling: self._count(telling, word, name)
        if word[:1].isupper():
            raise self.fail(f"there is no slot {word!r}")
        many = plural(word)
        return lambda telling: word if telling.quantities[name].value == 1 else many

    def _count(self, telling: Telling, word: str, name: str) -> str:
        noun = telling.word(word)
        if not isinstance(noun, Noun):
            raise DataError(f"template {self.text!r}: {word} is no noun")
        return noun.one if telling.quantities[name].value == 1 else noun.many

    def _slot(self, body: str) -> Part:
        found = re.fullmatch(r"([A-Z]\w*?)(?:\.(\w+)|('s)|~(.+))?", body)
        if found is None or found[1] not in self.slots:
            raise self.fail(f"there is no slot {body!r}; known: {', '.join(self.slots)}")
        slot, form, possessive, verb = found.groups()
        self.used_slots.add(slot)
        if verb is not None:
            if verb in self.slots:
                self.used_slots.add(verb)
            return lambda telling: agree(telling, slot, verb)
        form = form or ("'s" if possessive else "")
        if self.slots[slot] in PEOPLE:
            if form not in PEOPLE_FORMS:
                raise self.fail(f"people have no form {form!r}; expected {', '.join(filter(None, PEOPLE_FORMS))}")
            write_person = PEOPLE_FORMS[form]
            return lambda telling: write_person(telling, slot)
        if form not in WORD_FORMS:
            raise self.fail(f"words have no form {form!r}; expected {', '.join(filter(None, WORD_FORMS))}")
        return lambda telling: write_word(telling.word(slot), form)


def parse_wording(text: str, slots: Mapping[str, str], numbers: list[str]) -> TemplateWording:
    """Reads a template text; unknown slots, numbers and forms are errors that say where."""
    return _Parser(text, slots, numbers).parse()
