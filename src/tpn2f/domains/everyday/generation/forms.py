"""How words and people are written in a text: plural or singular, name or pronoun, and verbs that agree."""

from __future__ import annotations

from collections.abc import Callable

from tpn2f.domains.everyday.generation.english import article, base_form, verb_form
from tpn2f.domains.everyday.generation.stocks import Noun, Person, Phrase, Verb, Word
from tpn2f.domains.everyday.generation.telling import Telling
from tpn2f.errors import DataError

Form = Callable[[Telling, str], str]
"""Writes the person of a slot."""

WORD_FORMS = ("", "one", "s", "a", "pres", "past", "ing", "pp")


def write_word(word: Word, form: str) -> str:
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


def agree(telling: Telling, slot: str, verb: str) -> str:
    """The verb, given as what he does or as a slot, as it agrees with the person."""
    if verb in telling.slots:
        verb = write_word(telling.word(verb), "pres")
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


def _vary(pronoun: Form, name: Form, *, owner: bool = False) -> Form:
    """Now the pronoun, now the name, now what the person is: `the boy`."""

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


PEOPLE_FORMS: dict[str, Form] = {
    "": _name,
    "he": _he,
    "him": _him,
    "his": _his,
    "'s": _whose,
    "subj": _vary(_he, _name),
    "obj": _vary(_him, _name),
    "poss": _vary(_his, _whose, owner=True),
}
