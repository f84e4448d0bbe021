"""What the answer of a question is a number of: dollars, km per hour, percent, apples; only where the text is clear.

A few safe rules over the words of the question, tried in order. Where two units are possible there is none: a wrong
unit is worse than no unit.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tpn2f.domain import Unit

MOST_WORDS = 3
"""The most words that name what is counted: `small red apples`."""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LENGTHS = {
    "km": r"km|kms|kilometers?|kilometres?",
    "miles": r"miles?|mi",
    "meters": r"m|meters?|metres?",
    "cm": r"cm|cms|centimeters?|centimetres?",
    "feet": r"feet|foot|ft",
    "inches": r"inch|inches",
    "yards": r"yards?",
}
_TIMES = {
    "hours": r"hours?|hrs?|h",
    "minutes": r"minutes?|mins?",
    "seconds": r"seconds?|secs?",
    "days": r"days?",
    "weeks": r"weeks?",
    "months": r"months?",
    "years": r"years?|yrs?",
}
_WEIGHTS = {"kg": r"kg|kgs|kilograms?|kilos?", "grams": r"g|grams?", "pounds": r"pounds?|lbs?", "ounces": r"ounces?|oz"}
_VOLUMES = {"liters": r"liters?|litres?|l", "ml": r"ml|milliliters?", "gallons": r"gallons?", "cups": r"cups?"}
_PER = {"hours": "hour", "minutes": "minute", "seconds": "second", "days": "day"}
_SIGNS = {"$": r"\$|\bdollars?\b", "€": r"€|\beuros?\b", "£": r"£"}
_SPEEDS = {
    "km per hour": r"km ?/ ?h|km ?/ ?hr|kmph|kmh|kph|(?:km|kilometers?|kilometres?) (?:per|an) hour",
    "miles per hour": r"mph|miles ?/ ?h(?:ou)?r|miles (?:per|an) hour",
    "meters per second": r"m ?/ ?s(?:ec)?|(?:m|meters?|metres?) per second",
    "meters per minute": r"(?:m|meters?|metres?) per minute",
    "feet per second": r"(?:feet|ft) per second",
}
_MONEY = re.compile(
    r"how much (?:money|change|cash)|\b(?:pay|paid|cost|costs|price|spend|spent|earn|earns|earned|owe|owes|tip|bill|"
    r"profit|make|made|charged?|save|saved|fare|salary|wages?|revenue|rent|selling|sale|worth|loss|donated?|raised?)\b"
)
_NOT_MONEY = re.compile(r"how (?:many|long|old|far|fast|tall|heavy)|what (?:fraction|part|ratio)|what time")
_PERCENT = re.compile(
    r"\b(?:what|which|how many|in|as a|by what|find the|the) (?:percent|percentage|per cent|%)|"
    r"percent(?:age)? (?:of|is|did|does|was|change|increase|decrease|profit)"
)
_GIVEN_PERCENT = re.compile(r"\d\s*(?:%|percent|per cent)")
_COUNT = re.compile(r"\bhow many\s+(?:(?:more|fewer|less|extra|additional|total|other|whole|full)\s+)?([a-z][a-z' -]*)")
_IRREGULAR = _set_of("people children men women feet sheep fish mice geese teeth deer times")
_STOPS = _set_of(
    "do does did are is were was will would can could has have had in on at left remain remains remaining must should "
    "may might per for to of and or he she they we you i it the a an each every did't than from with if after before "
    "when by there that this these those his her their my our your not all altogether who which what still now then "
    "so be been fit needed required used bought sold"
)
_SENTENCE = re.compile(r"[^.?!]*(?:\.\d[^.?!]*)*[.?!]?")
_ASKS = re.compile(r"\?|\b(?:how|what|which|find|calculate|determine|compute)\b")
_WEIGHING = re.compile(r"\b(?:weigh|weight|heavy|heavier)\b")


def unit_of(text: str, value: object) -> Unit | None:
    """What the answer of a text is a number of; None where that is not clear."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    whole = " ".join(text.lower().translate(str.maketrans("’‐–", "'--")).split())
    asked = question_of(whole)
    for rule in _RULES:
        found = rule(asked, whole)
        if found is not None:
            # `1 apples` is no English, and the singular is not always the word without its last letter.
            plural = found.behind.startswith(" ") and found.behind.split()[0] not in ("km", "cm", "kg", "ml")
            return None if not any(found[:2]) or (plural and value == 1) else found
    return None


def question_of(text: str) -> str:
    """The last sentence that asks something, or the whole text."""
    sentences = [found for found in _SENTENCE.findall(text) if found.strip()]
    return next((one.strip() for one in reversed(sentences) if _ASKS.search(one)), text)


_CLEAR_NOT = Unit()
"""A rule that knows that no later rule may answer."""


def _percent(asked: str, text: str) -> Unit | None:
    if not _PERCENT.search(asked):
        return None
    # `What is the percentage` asks for percent; `the percent of 80 that is 15 percent of it` is not clear.
    return _CLEAR_NOT if _GIVEN_PERCENT.search(asked) else Unit(behind="%", decimals=2)


def _stated(asked: str, text: str) -> Unit | None:
    """`in km per hour`, `in hours`: the question says it itself."""
    for name, words in _SPEEDS.items():
        if re.search(rf"\bin (?:{words})(?![\w/])", asked):
            return Unit(behind=f" {name}")
    if found := re.search(r"\bin (square |cubic |sq\.? |cu\.? )?([a-z]+)\s*(?:\?|\.|$)", asked):
        for group in (_LENGTHS, _TIMES, _WEIGHTS, _VOLUMES):
            for name, words in group.items():
                if re.fullmatch(words, found[2]):
                    power = {"s": "square ", "c": "cubic "}.get((found[1] or " ")[0], "")
                    return Unit(behind=f" {power}{name}")
        if found[2] in ("dollars", "dollar"):
            return Unit(before="$", decimals=2)
        if found[2] == "cents":
            return Unit(behind=" cents")
    return None


def _speed(asked: str, text: str) -> Unit | None:
    if not re.search(r"\bhow fast\b|\bspeed\b", asked):
        return None
    said = {name for name, words in _SPEEDS.items() if re.search(rf"(?<![a-z])(?:{words})(?![\w/])", text)}
    if len(said) == 1:
        return Unit(behind=f" {said.pop()}")
    length, time = _only(_LENGTHS, text), _only(_TIMES, text)
    clear = not said and length and time in _PER
    return Unit(behind=f" {length} per {_PER[time]}") if clear and time else _CLEAR_NOT


def _count(asked: str, text: str) -> Unit | None:
    found = _COUNT.search(asked)
    if found is None:
        return None
    words: list[str] = []
    rest = found[1].split()
    for word in rest[:MOST_WORDS]:
        if word in _STOPS or word.endswith("ing"):
            break
        words.append(word)
        if _is_plural(word):
            break
    if not words or not _is_plural(words[-1]):
        return _CLEAR_NOT
    if words == ["dollars"]:
        return Unit(before="$", decimals=2)
    after = rest[len(words) :]
    if after[:1] in (["and"], ["or"]):
        return _CLEAR_NOT
    rate = f" per {after[1]}" if len(after) > 1 and after[0] == "per" else ""
    return Unit(behind=f" {' '.join(words)}{rate}")


def _is_plural(word: str) -> bool:
    return word in _IRREGULAR or (word.endswith("s") and not word.endswith(("ss", "'s", "us", "is")))


def _money(asked: str, text: str) -> Unit | None:
    if not _MONEY.search(asked) or _NOT_MONEY.search(asked):
        return None
    signs = [sign for sign, words in _SIGNS.items() if re.search(words, text)]
    return Unit(before=signs[0], decimals=2) if len(signs) == 1 and not re.search(r"\bcents?\b", text) else _CLEAR_NOT


def _age(asked: str, text: str) -> Unit | None:
    if not re.search(r"\bhow old\b|\bpresent age\b|\b's age\b", asked):
        return None
    return _CLEAR_NOT if re.search(r"\b(?:months?|weeks?|days?) old\b|\bratio\b", text) else Unit(behind=" years")


def _by_one_measure(pattern: str, group: dict[str, str], power: str = "") -> Callable[[str, str], Unit | None]:
    """A rule: what is asked is measured in this group's units, and the text has only one of them."""

    def rule(asked: str, text: str) -> Unit | None:
        if not re.search(pattern, asked):
            return None
        name = _only(group, text)
        return Unit(behind=f" {power}{name}") if name else _CLEAR_NOT

    return rule


def _only(group: dict[str, str], text: str) -> str | None:
    """The one unit of a group that a text has, as in `180 miles`, `miles per hour`; None for none or several."""
    found = [name for name, words in group.items() if re.search(rf"(?<![a-z'])(?:{words})(?![\w'])", text)]
    return found[0] if len(found) == 1 else None


_RULES: tuple[Callable[[str, str], Unit | None], ...] = (
    _stated,
    _percent,
    _speed,
    _count,
    _age,
    _by_one_measure(r"\bhow far\b|\bwhat (?:is the )?(?:total )?distance\b", _LENGTHS),
    _by_one_measure(r"\bhow (?:long|much time) (?:does|did|do|will|would)\b.*\b(?:take|last)\b", _TIMES),
    _by_one_measure(r"\b(?:what is|find) the area\b", _LENGTHS, "square "),
    _by_one_measure(r"\b(?:what is|find) the volume\b", _LENGTHS, "cubic "),
    _by_one_measure(r"\b(?:what is|find) the perimeter\b|\bhow (?:tall|wide|deep|high)\b", _LENGTHS),
    _by_one_measure(r"\bhow much\b.*\bweigh\b|\bwhat is the (?:total )?weight\b", _WEIGHTS),
    _money,
)
