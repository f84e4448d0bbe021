"""The language of templates: `{a O}`, `{P.he}`, `[optional]`, `(this|that)`, parsed once and written many times."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tpn2f.domains.everyday.generation.english import article, base_form, plural, verb_form
from tpn2f.domains.everyday.generation.quantities import Quantity, write
from tpn2f.domains.everyday.generation.stocks import PEOPLE, Noun, Person, Phrase, Scene, Stocks, Verb, Word
from tpn2f.errors import DataError

OPEN, CLOSE = "\ue000", "\ue001"
"""Marks around a number in a text that is not finished: OPEN, one character for the placeholder, the number, CLOSE."""
_FIRST = 0xE100


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


Part = str | Callable[[Telling], str]


@dataclass(frozen=True, slots=True)
class Wording:
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
        if piece.startswith(OPEN):
            name = names[ord(piece[1]) - _FIRST]
            if name in places:
                raise DataError(f"the number {name} stands twice in {unmarked(marked)!r}")
            piece = piece[2:-1]
            places[name] = (length, length + len(piece))
        pieces.append(piece)
        length += len(piece)
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

    def parse(self) -> Wording:
        parts = self._sequence("")
        return Wording(self.text, parts, tuple(self.used_numbers), frozenset(self.used_slots))

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

        def figure(telling: Telling) -> str:
            return mark + write(telling.quantities[name], telling.chance, numeral=numeral, money=money) + CLOSE

        if not rest:
            return figure
        middle, noun = [self._middle(word) for word in rest[:-1]], self._counted(rest[-1], name)
        return lambda telling: " ".join([figure(telling), *(_join((m,), telling) for m in middle), noun(telling)])

    def _known(self, name: str) -> None:
        if name not in self.numbers:
            raise self.fail(f"there is no number {name!r}")

    def _middle(self, word: str) -> Part:
        return self._slot(word) if word in self.slots else word

    def _counted(self, word: str, name: str) -> Callable[[Telling], str]:
        if word in self.slots:
            self.used_slots.add(word)

            def counted(telling: Telling) -> str:
                noun = telling.word(word)
                if not isinstance(noun, Noun):
                    raise DataError(f"template {self.text!r}: {word} is no noun")
                return noun.one if telling.quantities[name].value == 1 else noun.many

            return counted
        if word[:1].isupper():
            raise self.fail(f"there is no slot {word!r}")
        many = plural(word)
        return lambda telling: word if telling.quantities[name].value == 1 else many

    def _slot(self, body: str) -> Part:
        found = re.fullmatch(r"([A-Z]\w*?)(?:\.(\w+)|('s)|~(.+))?", body)
        if found is None or found[1] not in self.slots:
            raise self.fail(f"there is no slot {body!r}; known: {', '.join(self.slots)}")
        slot, form, possessive, verb = found.groups()
        self.used_slots.add(slot)
        if verb is not None:
            if verb in self.slots:
                self.used_slots.add(verb)
            return lambda telling: _agree(telling, slot, verb)
        form = form or ("'s" if possessive else "")
        if self.slots[slot] in PEOPLE:
            if form not in _PEOPLE_FORMS:
                raise self.fail(f"people have no form {form!r}; expected {', '.join(filter(None, _PEOPLE_FORMS))}")
            write_person = _PEOPLE_FORMS[form]
            return lambda telling: write_person(telling, slot)
        if form not in _WORD_FORMS:
            raise self.fail(f"words have no form {form!r}; expected {', '.join(filter(None, _WORD_FORMS))}")
        return lambda telling: _form(telling.word(slot), form)


_WORD_FORMS = ("", "one", "s", "a", "pres", "past", "ing", "pp")


def _form(word: Word, form: str) -> str:
    match word, form:
        case Noun(one=one), "one":
            return one
        case Noun(many=many), "s" | "":
            return many
        case Noun(one=one), "a":
            return f"{article(one)} {one}"
        case Phrase(text=text), "":
            return text
        case Verb(base=base), "":
            return base
        case Verb(base=base), "pres" | "past" | "ing" | "pp":
            return verb_form(base, form)
    raise DataError(f"{word} has no form {form!r}")


def _agree(telling: Telling, slot: str, verb: str) -> str:
    """The verb, given as what he does or as a slot, as it agrees with the person."""
    if verb in telling.slots:
        verb = _form(telling.word(verb), "pres")
    person = telling.word(slot)
    if not isinstance(person, Person) or person.agreement == "he":
        return verb
    if person.agreement == "I" and verb in ("is", "was"):
        return "am" if verb == "is" else "was"
    return base_form(verb)


def _person(telling: Telling, slot: str) -> Person:
    person = telling.word(slot)
    if not isinstance(person, Person):
        raise DataError(f"slot {slot} is nobody")
    return person


def _name(telling: Telling, slot: str) -> str:
    person = _person(telling, slot)
    known = slot in telling.mentioned
    if known:
        telling.mentioned.remove(slot)
    telling.mentioned.append(slot)
    return person.later if known else person.first


def _rivals(telling: Telling, slot: str) -> list[str]:
    """Others whom the same pronoun could mean."""
    he = _person(telling, slot).he
    return [other for other in telling.mentioned if other != slot and _person(telling, other).he == he]


def _clear(telling: Telling, slot: str) -> bool:
    """Whether a pronoun would be understood: mentioned, and last of those it could mean."""
    if slot not in telling.mentioned:
        return False
    place = telling.mentioned.index(slot)
    return all(telling.mentioned.index(other) < place for other in _rivals(telling, slot))


def _possessive(name: str) -> str:
    return name + ("'" if name.endswith("s") else "'s")


def _he(telling: Telling, slot: str) -> str:
    return _person(telling, slot).he if _clear(telling, slot) else _name(telling, slot)


def _him(telling: Telling, slot: str) -> str:
    person = _person(telling, slot)
    if person.agreement == "I" or person.him in ("you", "us"):
        return person.him
    return person.him if _clear(telling, slot) else _name(telling, slot)


def _his(telling: Telling, slot: str) -> str:
    person = _person(telling, slot)
    if person.agreement == "I" or person.his in ("your", "our") or slot in telling.mentioned:
        return person.his
    return _possessive(_name(telling, slot))


def _whose(telling: Telling, slot: str) -> str:
    person = _person(telling, slot)
    if person.agreement == "I" or person.his in ("your", "our"):
        return person.his
    return _possessive(_name(telling, slot))


def _vary(pronoun: Callable[[Telling, str], str], name: Callable[[Telling, str], str], owner: bool = False):
    def told(telling: Telling, slot: str) -> str:
        person = _person(telling, slot)
        if person.agreement == "I" or person.him in ("you", "us"):
            return pronoun(telling, slot)
        draw = telling.chance.random()
        if slot in telling.mentioned and not _rivals(telling, slot):
            if draw < 0.5:
                return pronoun(telling, slot)
            if draw < 0.6 and person.role:
                return _possessive(person.role) if owner else person.role
        return name(telling, slot)

    return told


_PEOPLE_FORMS: dict[str, Callable[[Telling, str], str]] = {
    "": _name,
    "he": _he,
    "him": _him,
    "his": _his,
    "'s": _whose,
    "subj": _vary(_he, _name),
    "obj": _vary(_him, _name),
    "poss": _vary(_his, _whose, owner=True),
}


def parse_wording(text: str, slots: Mapping[str, str], numbers: list[str]) -> Wording:
    """Reads a template text; unknown slots, numbers and forms are errors that say where."""
    return _Parser(text, slots, numbers).parse()
