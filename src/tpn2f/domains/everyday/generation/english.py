"""English word forms: plurals, articles, verbs."""

from __future__ import annotations

import re
from functools import cache

_IRREGULAR_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "person": "people", "foot": "feet", "tooth": "teeth",
    "goose": "geese", "mouse": "mice", "ox": "oxen", "sheep": "sheep", "deer": "deer", "fish": "fish",
    "moose": "moose", "shrimp": "shrimp", "salmon": "salmon", "trout": "trout", "knife": "knives", "wife": "wives",
    "life": "lives", "leaf": "leaves", "loaf": "loaves", "half": "halves", "shelf": "shelves", "wolf": "wolves",
    "calf": "calves", "thief": "thieves", "scarf": "scarves", "elf": "elves", "potato": "potatoes",
    "tomato": "tomatoes", "hero": "heroes", "echo": "echoes", "mango": "mangoes", "mosquito": "mosquitoes",
    "aircraft": "aircraft", "spacecraft": "spacecraft", "series": "series", "species": "species", "dozen": "dozen",
    "squid": "squid", "bison": "bison", "cactus": "cacti", "buffalo": "buffaloes", "volcano": "volcanoes",
    "quiz": "quizzes", "bus": "buses", "gas": "gases", "swine": "swine", "reindeer": "reindeer", "cod": "cod",
    "snowman": "snowmen", "fireman": "firemen", "fisherman": "fishermen", "policeman": "policemen",
    "bookshelf": "bookshelves", "cloverleaf": "cloverleaves", "passer-by": "passers-by", "foot long": "feet long",
}  # fmt: skip
_IRREGULAR_VERBS = {
    word.split()[0]: tuple(word.split())
    for word in """be was been;become became become;begin began begun;bend bent bent;bite bit bitten;blow blew blown;
break broke broken;bring brought brought;build built built;burn burned burned;buy bought bought;catch caught caught;
choose chose chosen;come came come;cost cost cost;cut cut cut;deal dealt dealt;dig dug dug;do did done;draw drew drawn;
drink drank drunk;drive drove driven;eat ate eaten;fall fell fallen;feed fed fed;feel felt felt;find found found;
fly flew flown;forget forgot forgotten;freeze froze frozen;get got gotten;give gave given;go went gone;grow grew grown;
hang hung hung;have had had;hear heard heard;hide hid hidden;hit hit hit;hold held held;keep kept kept;know knew known;
lay laid laid;lead led led;leave left left;lend lent lent;let let let;lose lost lost;make made made;mean meant meant;
meet met met;pay paid paid;put put put;read read read;ride rode ridden;ring rang rung;rise rose risen;run ran run;
say said said;see saw seen;sell sold sold;send sent sent;set set set;sew sewed sewn;shake shook shaken;shoot shot shot;
show showed shown;sing sang sung;sink sank sunk;sit sat sat;sleep slept slept;speak spoke spoken;spend spent spent;
spread spread spread;stand stood stood;steal stole stolen;stick stuck stuck;sweep swept swept;swim swam swum;
take took taken;teach taught taught;tear tore torn;tell told told;think thought thought;throw threw thrown;
understand understood understood;wear wore worn;weave wove woven;win won won;write wrote written""".replace(
        "\n", ""
    ).split(";")
}
_DOUBLED = """ chop clap cut dig drop get grab hit hop jog knit let mop pat plan plot pop put rip rob rub run scrub set
ship shop shred sip sit skip slip snap spin split step stir stop strip swap swim tap tip trap trim trip unwrap win wrap
zip hug pin """.replace("\n", " ")
"""Verbs whose last letter is doubled."""
_SILENT_H = ("hour", "honest", "heir", "honor", "honour")
_HARD_U = ("uni", "use", "usu", "euro", "one", "once", "ukulele", "ute", "unit", "eucalyptus", "ewe")


@cache
def plural(noun: str) -> str:
    """`apples`, `boxes`, `loaves of bread`; of several words the last is changed, or the one before `of`."""
    if " of " in noun:
        head, tail = noun.split(" of ", 1)
        return f"{plural(head)} of {tail}"
    for irregular, form in _IRREGULAR_PLURALS.items():
        if noun == irregular or noun.endswith((" " + irregular, "-" + irregular)):
            return noun[: len(noun) - len(irregular)] + form
    if noun.endswith("fish"):
        return noun
    if re.search(r"[^aeiou]y$", noun):
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


@cache
def article(word: str) -> str:
    """`a` or `an`, by the sound of the word or numeral that follows."""
    low = word.lower()
    if low[:1].isdigit():
        digits = re.match(r"\d+", low.replace(",", ""))
        text = digits.group() if digits else low
        return "an" if text.startswith("8") or text in ("11", "18") or re.fullmatch(r"1[18]\d{3}", text) else "a"
    if low.startswith(_HARD_U) and not low.startswith(("unin", "unim", "unid")):
        return "a"
    return "an" if low[:1] in tuple("aeiou") or low.startswith(_SILENT_H) else "a"


def _on_head(verb: str, change: str) -> str | None:
    """`pick up` is changed in its first word."""
    head, _, tail = verb.partition(" ")
    return None if not tail else f"{verb_form(head, change)} {tail}"


@cache
def verb_form(verb: str, change: str) -> str:
    """The `pres` (he-form), `past`, `pp` or `ing` of a verb given in its base form."""
    phrase = _on_head(verb, change)
    if phrase is not None:
        return phrase
    if change == "pres":
        return _third_person(verb)
    if change == "ing":
        return _ing(verb)
    if verb in _IRREGULAR_VERBS:
        return _IRREGULAR_VERBS[verb][1 if change == "past" else 2]
    if verb.endswith("e"):
        return verb + "d"
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ied"
    return verb + (verb[-1] if f" {verb} " in _DOUBLED else "") + "ed"


def _third_person(verb: str) -> str:
    special = {"have": "has", "be": "is", "do": "does", "go": "goes"}.get(verb)
    if special:
        return special
    if re.search(r"[^aeiou]y$", verb):
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _ing(verb: str) -> str:
    if verb.endswith("ie"):
        return verb[:-2] + "ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")) and verb != "be":
        return verb[:-1] + "ing"
    return verb + (verb[-1] if f" {verb} " in _DOUBLED else "") + "ing"


@cache
def base_form(verb: str) -> str:
    """What I or they do, from what he does: `has` gives `have`, `watches` gives `watch`."""
    head, _, tail = verb.partition(" ")
    if tail:
        return f"{base_form(head)} {tail}"
    special = {"has": "have", "is": "are", "was": "were", "does": "do", "goes": "go", "hasn't": "haven't",
               "doesn't": "don't", "isn't": "aren't", "wasn't": "weren't"}.get(verb)  # fmt: skip
    if special:
        return special
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if verb.endswith(("sses", "xes", "zes", "ches", "shes")):
        return verb[:-2]
    return verb.removesuffix("s")
