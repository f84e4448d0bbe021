"""The operations of MathQA with correct mathematics, as a table from name to function.

All operations of the data and of the official list, with arguments in the order in which the data uses them. Numbers
are floats, so every operation is bounded in time and memory; what has no finite value raises. The published executor,
with its mistakes, is in `published.py`. `to_binary` is the paper's rewriting of ternary operations.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable

from tpn2f.domain import Signature
from tpn2f.errors import LimitError, ProgramSyntaxError
from tpn2f.program import Program, RelationalTuple, reference

MAX_COUNT = 1_000
"""The largest n of a binomial coefficient or a permutation."""


def _power(a: float, b: float) -> float:
    value = a**b
    if isinstance(value, complex):
        raise ValueError(f"{a:g} to the power {b:g} is not real")
    return value


def _root(a: float) -> float:
    if a < 0:
        raise ValueError(f"{a:g} has no real square root")
    return math.sqrt(a)


def _log(a: float) -> float:
    if a <= 0:
        raise ValueError(f"{a:g} has no logarithm")
    return math.log2(a)


def _whole(a: float) -> int:
    if not math.isclose(a, round(a), abs_tol=1e-6):
        raise ValueError(f"{a:g} is not a whole number")
    return round(a)


def _factorial(a: float) -> float:
    n = _whole(a)
    if not 0 <= n <= 170:
        raise LimitError(f"the factorial of {n} is outside 0! to 170!")
    return float(math.factorial(n))


def _choose(a: float, b: float) -> float:
    return float(math.comb(*_counts(a, b)))


def _permutation(a: float, b: float) -> float:
    return float(math.perm(*_counts(a, b)))


def _counts(a: float, b: float) -> tuple[int, int]:
    n, k = _whole(a), _whole(b)
    if not (0 <= n <= MAX_COUNT and 0 <= k <= MAX_COUNT):
        raise LimitError(f"{k} of {n}: at most {MAX_COUNT} things are counted")
    return n, k


def _gcd(a: float, b: float) -> float:
    return float(math.gcd(_whole(a), _whole(b)))


def _lcm(a: float, b: float) -> float:
    return float(math.lcm(_whole(a), _whole(b)))


def _divide(a: float, b: float) -> float:
    if b == 0:
        raise ValueError("division by zero")
    return a / b


def _remainder(a: float, b: float) -> float:
    if b == 0:
        raise ValueError("division by zero")
    return a % b


def _heron(a: float, b: float, c: float) -> float:
    s = (a + b + c) / 2
    return _root(s * (s - a) * (s - b) * (s - c))


def _rate(a: float) -> float:
    """Work done in a unit of time, given the time (above 1) or already the rate."""
    return _divide(1, a) if abs(a) > 1 else a


# (operation, what it computes). The arity is the function's; a star marks operations whose arguments may change places.
_TABLE: dict[str, tuple[Callable[..., float], str]] = {
    "add*": (lambda a, b: a + b, "a + b"),
    "subtract": (lambda a, b: a - b, "a - b"),
    "multiply*": (lambda a, b: a * b, "a × b"),
    "divide": (_divide, "a / b"),
    "power": (_power, "a ^ b"),
    "sqrt": (_root, "√a"),
    "log": (_log, "logarithm of a to the base 2"),
    "factorial": (_factorial, "a!"),
    "gcd*": (_gcd, "greatest common divisor of a and b"),
    "lcm*": (_lcm, "least common multiple of a and b"),
    "max*": (lambda a, b: max(a, b), "the larger of a and b"),
    "min*": (lambda a, b: min(a, b), "the smaller of a and b"),
    "reminder": (_remainder, "remainder of a / b"),
    "negate": (lambda a: -a, "-a"),
    "inverse": (lambda a: _divide(1, a), "1 / a"),
    "round": (lambda a: float(round(a)), "a rounded to a whole number"),
    "floor": (lambda a: float(math.floor(a)), "a rounded down"),
    "sine": (lambda a: math.sin(a), "sine of a radians"),
    "cosine": (lambda a: math.cos(a), "cosine of a radians"),
    "tangent": (lambda a: math.tan(a), "tangent of a radians"),
    "radians_to_degree": (lambda a: math.degrees(a), "a radians in degrees"),
    "degree_to_radians": (lambda a: math.radians(a), "a degrees in radians"),
    "sum_consecutive_number": (
        lambda a, b: (_whole(b) - _whole(a) + 1) * (a + b) / 2 if b >= a else 0.0,
        "a + (a + 1) + ... + b",
    ),
    # Plane figures
    "circle_area": (lambda r: math.pi * r * r, "area of a circle of radius a"),
    "circumface": (lambda r: 2 * math.pi * r, "circumference of a circle of radius a"),
    "circle_arc": (lambda a, r: a / 360 * 2 * math.pi * r, "arc of a degrees on a circle of radius b"),
    "semi_circle_perimiter": (lambda r: math.pi * r + 2 * r, "perimeter of a half circle of radius a"),
    "circle_sector_area": (lambda r, a: a / 360 * math.pi * r * r, "sector of b degrees of a circle of radius a"),
    "rectangle_perimeter*": (lambda a, b: 2 * (a + b), "perimeter of a rectangle with sides a and b"),
    "rectangle_area*": (lambda a, b: a * b, "area of a rectangle with sides a and b"),
    "square_perimeter": (lambda a: 4 * a, "perimeter of a square with side a"),
    "square_area": (lambda a: a * a, "area of a square with side a"),
    "trapezium_area": (lambda h, a, b: h * (a + b) / 2, "area of a trapezium of height a with sides b and c"),
    "quadrilateral_area": (lambda d, a, b: d * (a + b) / 2, "area of a quadrilateral, diagonal a and offsets b and c"),
    "rhombus_perimeter": (lambda a: 4 * a, "perimeter of a rhombus with side a"),
    "rhombus_area*": (lambda a, b: a * b / 2, "area of a rhombus with diagonals a and b"),
    "triangle_perimeter*": (lambda a, b, c: a + b + c, "perimeter of a triangle with sides a, b and c"),
    "triangle_area*": (lambda a, b: a * b / 2, "area of a triangle with base a and height b"),
    "triangle_area_three_edges*": (_heron, "area of a triangle with sides a, b and c"),
    "diagonal*": (lambda a, b: math.hypot(a, b), "diagonal of a rectangle with sides a and b"),
    "side_by_diagonal": (lambda d, a: _root(d * d - a * a), "other side of a rectangle with diagonal a and side b"),
    "square_edge_by_perimeter": (lambda p: p / 4, "side of a square with perimeter a"),
    "square_edge_by_area": (_root, "side of a square with area a"),
    # Solids
    "volume_cone": (lambda r, h: math.pi * r * r * h / 3, "volume of a cone of radius a and height b"),
    "volume_rectangular_prism*": (lambda a, b, c: a * b * c, "volume of a box with edges a, b and c"),
    "volume_cube": (lambda a: a**3, "volume of a cube with edge a"),
    "volume_sphere": (lambda r: 4 / 3 * math.pi * r**3, "volume of a sphere of radius a"),
    "volume_cylinder": (lambda r, h: math.pi * r * r * h, "volume of a cylinder of radius a and height b"),
    "surface_cone": (lambda r, h: math.pi * r * (r + math.hypot(r, h)), "surface of a cone of radius a and height b"),
    "surface_cylinder": (lambda r, h: 2 * math.pi * r * (r + h), "surface of a cylinder of radius a and height b"),
    "surface_cube": (lambda a: 6 * a * a, "surface of a cube with edge a"),
    "surface_rectangular_prism*": (
        lambda a, b, c: 2 * (a * b + b * c + a * c),
        "surface of a box with edges a, b and c",
    ),
    "surface_sphere": (lambda r: 4 * math.pi * r * r, "surface of a sphere of radius a"),
    "cube_edge_by_volume": (lambda v: math.cbrt(v), "edge of a cube with volume a"),
    # Counting and chance
    "choose": (_choose, "ways to choose b of a things"),
    "combination": (_choose, "ways to choose b of a things"),
    "permutation": (_permutation, "ways to order b of a things"),
    "count_interval": (lambda a, b: a - b + 1, "whole numbers from b to a"),
    "union_prob": (lambda a, b, c: a + b - c, "chance of a or b, when both have the chance c"),
    "negate_prob": (lambda a: 1 - a, "chance that an event of chance a does not happen"),
    # Percentages and prices
    "percent": (lambda a, b: a / 100 * b, "a percent of b"),
    "p_after_gain": (lambda a, b: (1 + a / 100) * b, "price b raised by a percent"),
    "p_after_loss": (lambda a, b: (1 - a / 100) * b, "price b lowered by a percent"),
    "price_after_gain": (lambda a, b: (1 + a / 100) * b, "price b raised by a percent"),
    "price_after_loss": (lambda a, b: (1 - a / 100) * b, "price b lowered by a percent"),
    "from_percent": (lambda a: a / 100, "a percent as a fraction"),
    "to_percent": (lambda a: 100 * a, "the fraction a in percent"),
    "gain_percent": (lambda a: 100 + a, "percent left after a gain of a percent"),
    "loss_percent": (lambda a: 100 - a, "percent left after a loss of a percent"),
    "negate_percent": (lambda a: 100 - a, "100 percent less a percent"),
    "original_price_before_gain": (
        lambda a, b: _divide(100 * b, 100 + a),
        "price that became b by a gain of a percent",
    ),
    "original_price_before_loss": (
        lambda a, b: _divide(100 * b, 100 - a),
        "price that became b by a loss of a percent",
    ),
    # Work and motion
    "speed": (_divide, "distance a in time b"),
    "combined_work*": (lambda a, b: _divide(1, _rate(a) + _rate(b)), "time of two who need a and b alone"),
    "find_work*": (lambda a, b: _divide(1, abs(_rate(a) - _rate(b))), "time of one, when both need a and the other b"),
    "speed_ratio_steel_to_stream": (lambda a, b: _divide(a + b, a - b), "still water to stream, from times a and b"),
    "speed_in_still_water*": (lambda a, b: (a + b) / 2, "speed in still water from those down- and upstream"),
    "stream_speed": (lambda a, b: (a - b) / 2, "speed of the stream from those down- and upstream"),
}

OPERATIONS: dict[str, Callable[..., float]] = {name.rstrip("*"): function for name, (function, _) in _TABLE.items()}
RELATIONS: dict[str, Signature] = {
    name.rstrip("*"): Signature(
        ("number",) * len(inspect.signature(function).parameters), "number", commutative=name.endswith("*"), doc=doc
    )
    for name, (function, doc) in _TABLE.items()
}


def to_binary(program: Program) -> Program:
    """The paper's rewriting: every ternary operation becomes unary and binary ones, and later `#k` are renumbered.

    The authors' hand-encoded rules were never published; these are the definitions of the operations themselves. The
    value of a program does not change, but its text does: score predictions against a gold rewritten likewise.
    """
    tuples: list[RelationalTuple] = []
    moved: list[str] = []  # moved[k] is where the value of the old tuple k stands now
    for step in program.tuples:
        arguments = []
        for argument in step.arguments:
            k = reference(argument)
            if k is not None and k >= len(moved):
                raise ProgramSyntaxError(f"tuple {len(moved)}, {step}: {argument} does not point backwards")
            arguments.append(argument if k is None else moved[k])
        if len(arguments) == 3 and step.relation in _BINARY:
            first = len(tuples)
            names = dict(zip("abc", arguments))
            for relation, *places in _BINARY[step.relation]:
                words = tuple(
                    names.get(place, f"#{first + int(place)}" if place.isdigit() else place) for place in places
                )
                tuples.append(RelationalTuple(relation, words))
        else:
            tuples.append(RelationalTuple(step.relation, tuple(arguments)))
        moved.append(f"#{len(tuples) - 1}")
    return Program(tuple(tuples))


# The rules of `to_binary`: a, b, c are the arguments, a digit is the value of that step of the rule.
_AVERAGE_TIMES = (("add", "b", "c"), ("multiply", "a", "0"), ("divide", "1", "const_2"))
_BINARY: dict[str, tuple[tuple[str, ...], ...]] = {
    "volume_rectangular_prism": (("multiply", "a", "b"), ("multiply", "0", "c")),
    "triangle_perimeter": (("add", "a", "b"), ("add", "0", "c")),
    "quadrilateral_area": _AVERAGE_TIMES,
    "trapezium_area": _AVERAGE_TIMES,
    "union_prob": (("add", "a", "b"), ("subtract", "0", "c")),
    "surface_rectangular_prism": (
        ("multiply", "a", "b"),
        ("multiply", "b", "c"),
        ("multiply", "a", "c"),
        ("add", "0", "1"),
        ("add", "3", "2"),
        ("multiply", "4", "const_2"),
    ),
    "triangle_area_three_edges": (
        ("add", "a", "b"),
        ("add", "0", "c"),
        ("divide", "1", "const_2"),
        ("subtract", "2", "a"),
        ("subtract", "2", "b"),
        ("subtract", "2", "c"),
        ("multiply", "2", "3"),
        ("multiply", "6", "4"),
        ("multiply", "7", "5"),
        ("sqrt", "8"),
    ),
}
