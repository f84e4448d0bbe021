"""How people write and say MathQA's operations: the signs of the steps, and what a tuple does in plain words."""

from __future__ import annotations

from collections.abc import Mapping

from tpn2f.program import RelationalTuple, reference

NOTATION: Mapping[str, str] = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} × {}",
    "divide": "{} / {}",
    "speed": "{} / {}",
    "power": "{} ^ {}",
    "sqrt": "√{}",
    "factorial": "{}!",
    "negate": "-{}",
    "inverse": "1 / {}",
    "rectangle_area": "{} × {}",
    "square_area": "{0} × {0}",
    "volume_rectangular_prism": "{} × {} × {}",
    "volume_cube": "{} ^ 3",
    "square_perimeter": "4 × {}",
    "rhombus_perimeter": "4 × {}",
    "rectangle_perimeter": "2 × ({} + {})",
    "triangle_perimeter": "{} + {} + {}",
    "triangle_area": "{} × {} / 2",
    "circle_area": "π × {} ^ 2",
    "circumface": "2 × π × {}",
    "surface_cube": "6 × {} ^ 2",
    "percent": "{} / 100 × {}",
    "negate_prob": "1 - {}",
}
"""Operations that have signs of their own; the others are written as they are called."""

_PHRASES: Mapping[str, str] = {
    "add": "add {0} and {1}",
    "subtract": "take {1} away from {0}",
    "multiply": "multiply {0} by {1}",
    "divide": "divide {0} by {1}",
    "speed": "divide {0}, a distance, by {1}, a time",
    "power": "raise {0} to the power {1}",
    "sqrt": "take the square root of {0}",
    "log": "take the logarithm of {0} to the base 2",
    "factorial": "multiply all whole numbers from 1 to {0}",
    "gcd": "find the largest number that divides {0} and {1}",
    "lcm": "find the smallest number that {0} and {1} divide",
    "max": "take the larger of {0} and {1}",
    "min": "take the smaller of {0} and {1}",
    "reminder": "see what is left when {0} is divided by {1}",
    "negate": "change the sign of {0}",
    "inverse": "divide 1 by {0}",
    "round": "round {0} to a whole number",
    "floor": "round {0} down to a whole number",
    "circle_area": "find the area of a circle whose radius is {0}",
    "circumface": "find the way around a circle whose radius is {0}",
    "rectangle_perimeter": "find the way around a rectangle whose sides are {0} and {1}",
    "rectangle_area": "find the area of a rectangle whose sides are {0} and {1}",
    "square_perimeter": "find the way around a square whose side is {0}",
    "square_area": "find the area of a square whose side is {0}",
    "triangle_perimeter": "add the three sides {0}, {1} and {2}",
    "triangle_area": "find the area of a triangle whose base is {0} and whose height is {1}",
    "square_edge_by_area": "find the side of a square whose area is {0}",
    "square_edge_by_perimeter": "find the side of a square when the way around it is {0}",
    "volume_cube": "find how much a cube holds whose edge is {0}",
    "volume_rectangular_prism": "find how much a box holds whose edges are {0}, {1} and {2}",
    "volume_cylinder": "find how much a cylinder holds whose radius is {0} and whose height is {1}",
    "choose": "count the ways to choose {1} of {0} things",
    "permutation": "count the ways to put {1} of {0} things in a row",
    "percent": "take {0} percent of {1}",
    "negate_prob": "find the chance that it does not happen: 1 less {0}",
}
_ORDINALS = ("1st", "2nd", "3rd")


def describe(step: RelationalTuple) -> str:
    """What a tuple does, in words: `divide the 2nd number by 100`."""
    arguments = [_name(word) for word in step.arguments]
    phrase = _PHRASES.get(step.relation)
    if phrase is None or phrase.count("{") != len(arguments):
        return f"find {step.relation.replace('_', ' ')} of {' and '.join(arguments) or 'nothing'}"
    return phrase.format(*arguments)


def _name(word: str) -> str:
    target = reference(word)
    if target is not None:
        return f"the result of step {target + 1}"
    if word.startswith("n") and word[1:].isdigit():
        place = int(word[1:])
        return f"the {_ORDINALS[place] if place < 3 else f'{place + 1}th'} number"
    if word == "const_deg_to_rad":
        return "π / 180"
    return word.removeprefix("const_").replace("_", ".").replace("pi", "π")
