"""The constants of everyday programs, and the words of a text that explain why one is meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

EXPLAINED_BY: Mapping[str, str] = {
    "0.01": "penny pennies cent cents",
    "0.05": "nickel nickels",
    "0.1": "dime dimes",
    "0.25": "",
    "0.5": "halfway midway",
    "0": "",
    "1": "himself herself themselves itself myself yourself including includes another extra additional plus",
    "1.5": "",
    "2": "pair pairs both couple couples twins twin average mean bicycle bicycles bike bikes motorcycle motorcycles "
    "arms eyes hands ears wings shoes socks earrings gloves round return back parents either equally biweekly duplex "
    "even evenly split halfway alternate perimeter rectangle rectangular other",
    "3": "yard yards tricycle tricycles triplets trio triangle triangular average",
    "4": "quart quarts gallon gallons square squares rectangle rectangular dog dogs cat cats cow cows horse horses car "
    "cars legs paws quadrilateral tires month months weeks season seasons quarterly quartet average goat goats sheep",
    "5": "nickel nickels weekday weekdays weekly workweek workday workdays school work week weeks average fingers "
    "monday friday pentagon",
    "6": "insect insects ant ants hexagon cube spiders half-dozen average sunday sundays",
    "7": "week weeks weekly daily day days everyday",
    "8": "spider spiders octopus octopuses pint pints cup cups gallon octagon workday full-time legs",
    "9": "baseball",
    "10": "dime dimes decade decades tenth tens mm cm centimeters millimeters decagon",
    "12": "foot feet inch inches month months monthly year years yearly annual annually annum dozen dozens clock",
    "16": "pound pounds ounce ounces cup cups gallon",
    "20": "score",
    "24": "day days daily hour hours",
    "25": "",
    "28": "february",
    "30": "month months monthly june april september november day days",
    "31": "month january march may july august october december",
    "36": "yard yards",
    "50": "states",
    "52": "week weeks weekly year years yearly annual annually cards deck",
    "60": "hour hours hourly minute minutes second seconds mph",
    "75": "",
    "90": "right angle",
    "100": "% cent cents century centuries penny pennies meter meters centimeters cm dollar $ percentage",
    "128": "gallon gallons ounce ounces",
    "180": "triangle angle angles degrees",
    "360": "circle degrees revolution",
    "365": "year years yearly annual annually day days daily",
    "1000": "kg kilogram kilograms kilogramme gram grams km kilometer kilometers kilometre liter liters litre litres "
    "ml milliliters ton tons meters mg m milligrams kilo kilos g",
    "2000": "ton tons",
    "3600": "hour hours second seconds",
    "5280": "mile miles",
    "1000000": "million",
}
"""Constant -> the words that explain it, as `reading.read` gives them."""

COINS: Mapping[str, str] = {"0.25": "quarter quarters", "25": "quarter quarters"}

CONSTANTS: Mapping[str, Fraction] = {f"const_{name}": Fraction(name) for name in EXPLAINED_BY}
"""What everyday programs may use beside the numbers of the text; MathQA's own come on top."""

_WORDS = {
    f"const_{name}": frozenset((words + " " + COINS.get(name, "")).split()) for name, words in EXPLAINED_BY.items()
}
_NAMES = {amount: name for name, amount in CONSTANTS.items()}


def constant(amount: Fraction) -> str | None:
    """The name of the constant of that value, if there is one."""
    return _NAMES.get(amount)


def is_explained(name: str, words: Iterable[str]) -> bool:
    """Whether a word of the text explains the constant."""
    return not _WORDS[name].isdisjoint(words)
