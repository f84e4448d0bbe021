"""Classes of words and relations, by rules that know nothing of the model: to compare fillers and roles with.

The classes of words are closed lists of English, coarse on purpose: a doubtful word is `content`. A domain may say
itself what its relations are about with an attribute `relation_classes`, a mapping from relation to class; else the
types of their signatures say it, else the words of their descriptions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from tpn2f.domain import ANY, Domain, HasRelationClasses, Signature

_LISTS: dict[str, str] = {
    "question": (
        "what how which who whom whose when where why find calculate compute determine evaluate solve output return "
        "what's"
    ),
    "number word": (
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty "
        "fifty hundred thousand thousands million billion lakh lakhs crore half halves third thirds quarter fourth "
        "fifth sixth seventh tenth once twice thrice double triple dozen first single pair digit digits"
    ),
    "unit": (
        "km kms kmph kmh kmhr km/h km/hr kilometer kilometers kilometre kilometres m ms meter meters metre metres "
        "cm cms centimeter centimeters mm mph mile miles foot feet ft inch inches yard yards hour hours hr hrs "
        "minute minutes min mins second seconds sec secs day days week weeks month months year years annum liter "
        "liters litre litres l ml gallon gallons gram grams kg kgs kilogram kilograms pound pounds ton tons rs rs. "
        "rupee rupees paise dollar dollars $ cent cents % percent percentage degree degrees sq acre acres hectare "
        "hectares decimeters dm"
    ),
    "operation": (
        "sum difference product quotient remainder add adds added adding addition subtract subtracts subtracted "
        "subtraction plus minus times multiply multiplied multiplying divide divides divided dividing division "
        "divisible increase increases increased increment incremented decrease decreases decreased decrement "
        "decremented decrements increments average mean median ratio ratios proportion total square squared cube "
        "cubed root power factorial factor factors multiple multiples lcm hcf gcd maximum minimum largest smallest "
        "greatest least sort sorted reverse reversed reversing replace replaced replacing filter inclusive exceeds "
        "less more than fewer larger smaller greater equal equals exactly"
    ),
    "function": (
        "a an the this that these those it its itself he she they them his her their we our you your i my me one's "
        "and or but nor if then else so because since while as than of in on at by for from to into onto with "
        "without within under over between among after before during until till per via about around through across "
        "off out up down against toward towards along each every all both any some no none not only also just even "
        "other another such same be is are was were been being am do does did done has have had having will would "
        "shall should can could may might must there here let given consider now again still yet too very many much "
        "few most least more less itself respectively thus hence therefore however either neither respectively "
        "whose upon that's it's let's"
    ),
}
_CLASS_OF = {word: name for name, words in reversed(_LISTS.items()) for word in words.split()}
_is_numeral = re.compile(r"[-+]?[\d.,/]*\d[\d.,/]*").fullmatch
_is_mark = re.compile(r"[^\w$%]+|_+").fullmatch
_SENTENCE_ENDS = frozenset(".?!;")
_GIVEN_AGAIN = frozenset({",", "if", "when", "given", "such"})

_ABOUT: dict[str, str] = {
    "geometry": (
        "area perimeter circumference volume surface circle arc sector rectangle square triangle rhombus trapezium "
        "quadrilateral diagonal cube cone cylinder sphere box edge radius"
    ),
    "percent and price": "percent price gain loss profit discount interest",
    "chance and counting": "chance probability ways choose order event",
    "motion and work": "speed distance stream water work alone",
    "angles": "sine cosine tangent radians degrees",
}


def word_class(word: str, is_name: bool = False) -> str:
    """What kind of word it is; `is_name` says that the problem's programs may use it as an argument, such as n0."""
    if is_name:
        return "name"
    if _is_mark(word):
        return "punctuation"
    if _is_numeral(word):
        return "numeral"
    return _CLASS_OF.get(word, "content")


def asked_part(words: Sequence[str]) -> list[bool]:
    """Which words of a question say what is asked for: from a question word to the end of its clause.

    The rest says what is given. A word that opens a new condition, such as `if`, ends what is asked.
    """
    asked = False
    parts = []
    for word in words:
        if _CLASS_OF.get(word) == "question":
            asked = True
        elif word in _GIVEN_AGAIN:
            asked = False
        parts.append(asked)
        if word in _SENTENCE_ENDS:
            asked = False
    return parts


def relation_classes(domain: Domain) -> tuple[dict[str, str], str]:
    """What every relation is about, and the source of this; no classes when nothing distinguishes relations."""
    if isinstance(domain, HasRelationClasses):
        return dict(domain.relation_classes), "given by the domain"
    found, source = _by_type(domain.relations), "the rarest type of the signature"
    if len(set(found.values())) < 2:
        found, source = _by_words(domain.relations), "the words of the description"
    return (
        (found, source) if len(set(found.values())) > 1 else ({}, "nothing distinguishes the relations of this domain")
    )


def _by_type(relations: Mapping[str, Signature]) -> dict[str, str]:
    """The type that says most: the one that the fewest relations deal in."""
    types = {name: {*signature.arguments, signature.result} - {ANY} for name, signature in relations.items()}
    counts = Counter(kind for kinds in types.values() for kind in kinds)
    return {name: min(kinds, key=lambda kind: (counts[kind], kind), default=ANY) for name, kinds in types.items()}


def _by_words(relations: Mapping[str, Signature]) -> dict[str, str]:
    found = {}
    for name, signature in relations.items():
        words = re.findall(r"[a-z]+", signature.doc.lower())
        about = [subject for subject, known in _ABOUT.items() if not set(known.split()).isdisjoint(words)]
        found[name] = about[0] if about else "arithmetic"
    return found
