"""Whether a number can be the answer to an everyday question: above zero, and whole where things are counted."""

from __future__ import annotations

from tpn2f.domain import Problem

_PARTIAL = """
percent % percentage average mean ratio fraction times hour hours minute minutes second seconds day days week weeks
month months year years mile miles km kilometer kilometers kilometre kilometres meter meters metre metres m cm mm
centimeter centimeters centimetre centimetres foot feet inch inches yard yards pound pounds lb lbs ounce ounces kg
kilogram kilograms kilo kilos gram grams g ton tons tonne tonnes gallon gallons quart quarts pint pints cup cups
liter liters litre litres l ml milliliters millilitres tablespoon tablespoons teaspoon teaspoons acre acres degree
degrees dollar dollars cent cents euro euros square cubic calories
"""
PARTIAL = frozenset(_PARTIAL.split())
"""Words after `how many` for what is measured rather than counted: it may come in parts."""
REACH = 3
"""How many words after `how many` are looked at."""


def makes_sense(value: object, problem: Problem) -> bool:
    """Whether a value can be the answer. A debt or a loss is a rare one, so numbers below zero are passed over."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return False
    return abs(value - round(value)) < 1e-6 or not counts_things(problem)


def counts_things(problem: Problem) -> bool:
    """Whether the question asks how many there are of something that comes in wholes, and all its numbers are whole."""
    if any(not float(number).is_integer() for number in problem.bindings.values() if isinstance(number, int | float)):
        return False
    words = problem.words
    asked = [place for place in range(len(words) - 1) if words[place : place + 2] == ("how", "many")]
    return bool(asked) and PARTIAL.isdisjoint(words[asked[-1] + 2 : asked[-1] + 2 + REACH]) and "average" not in words
