"""The execution accuracy of the paper's Table 1, as published: the authors' operators, numbers, options and credits.

Only for comparison with published numbers. Its operators are wrong in places (`choose`, `sine`, `gcd` of coprimes), a
step without a value is forgotten so that later `#k` shift, and a program that says nothing earns the chance of one in
five. Re-implemented from a description of the behaviour of the published script under Python 3.7; units in options are
removed by a rule instead of its list of some 150 words. Never use it to train or to select.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from tpn2f.domains.mathqa.operations import OPERATIONS
from tpn2f.domains.mathqa.options import LETTERS, Options, arithmetic
from tpn2f.errors import ExecutionError
from tpn2f.program import Program, reference

CHANCE = 0.2
"""The credit for any result that points to no option, or to three and more."""


def published_credit(program: Program, text: str, options: Options) -> float:
    """The credit of the published scorer for one prediction: 1, 1/2, 0.2 or 0."""
    values = _option_values(options.source)
    if not any(re.fullmatch(r"n\d+", word) for step in program.tuples for word in step.arguments):
        return CHANCE
    result = _run(program, published_numbers(text))
    numeric = [value for value in values if value is not None]
    if result is None or not numeric:
        return CHANCE
    for threshold in (0.1, 1.0, min(max(numeric) / 4 + 1, 10.0)):
        near = [place for place, value in enumerate(values) if value is not None and abs(result - value) < threshold]
        if near:
            if len(near) >= 3:
                return CHANCE
            return 1 / len(near) if options.place in near else 0.0
    return CHANCE


def published_numbers(text: str) -> list[float]:
    """Numbers as the published script reads them: some fractions merged, a minus before a number taken for its sign."""
    for fraction, decimal in (("1 / 2", "0.5"), ("1 / 4", "0.25"), ("1 / 3", "0.33")):
        text = text.replace(fraction, decimal)
    words = text.split()
    numbers = []
    for previous, word in zip(["", *words], words):
        if re.fullmatch(r"\d[\d,]*(\.\d*)?|\.\d+", word):
            value = float(word.replace(",", ""))
            numbers.append(-value if previous == "-" else value)
    return numbers


def _run(program: Program, numbers: Sequence[float]) -> float | None:
    stored: list[float] = []
    for step in program.tuples:
        arguments = [value for word in step.arguments if (value := _word_value(word, stored, numbers)) is not None]
        operator = _OPERATORS.get(step.relation)
        try:
            value = operator(*arguments) if operator else None
        except (ArithmeticError, ValueError, TypeError, ExecutionError):
            value = None
        # A step without a value leaves no trace: what follows counts its results from one less.
        if isinstance(value, int | float) and math.isfinite(value):
            stored.append(float(value))
    return stored[-1] if stored else None


def _word_value(word: str, stored: Sequence[float], numbers: Sequence[float]) -> float | None:
    target = reference(word)
    if target is not None:
        return stored[target] if target < len(stored) else None
    if re.fullmatch(r"n\d{1,6}", word):
        place = int(word[1:])
        return numbers[place] if place < len(numbers) else None
    if word == "const_pi":
        return 3.1415
    if word == "const_deg_to_rad":
        return 0.0055
    name = word.removeprefix("const_")
    for decimal in ("0_3937", "0_33", "0_25", "0_2778", "0_6", "1_6", "3_6"):
        name = name.replace(decimal, decimal.replace("_", "."))
    try:
        return float(name)  # Python reads 2_54 as 254, and so did the script
    except ValueError:
        return None


def _option_values(source: str) -> list[float | None]:
    text = re.sub(r"[\[\]'\"]", "", source).replace("  ", ", ")
    return [_option_value(option) for option in text.split(", ")]


def _option_value(option: str) -> float | None:
    text = option.replace(" ", "").lower()
    for letter in LETTERS:
        text = text.replace(f"{letter}){letter})", f"{letter})")
    text = text.partition(")")[2] if ")" in text else text
    text = text.replace(",", "").translate(str.maketrans({"×": "*", "–": "-", "−": "-", ":": "/", "⁄": "/"}))
    text = re.sub(r"^[a-z]=", "", text)
    if re.search(r"none|and|only|or|&|cannot|inadequate", text):
        return None
    text = text.replace("sqrt", "√").replace("pi", "π").replace("∏", "π")
    # The script had a list of some 150 unit words; dropping letters, and what can only belong to a unit, does the same.
    text = re.sub(r"(?<=[a-z])[/^]?[23²³]?(?![\d√π(])|[a-z%$°²³]+\.?|\.$", "", text)
    if not re.search(r"\d", text):
        return None
    text = re.sub(r"(?<=\d)π", "*π", re.sub(r"(?<=[\d)])(?=[(√])", "*", text))
    tokens = re.findall(r"\d+\.?\d*|\.\d+|[-+*/^()√π]", text)
    return arithmetic(tokens) if "".join(tokens) == text else None


def _when(condition: Callable[..., bool], function: Callable[..., float]) -> Callable[..., float | None]:
    """An operator that has no value outside its condition."""
    return lambda *arguments: function(*arguments) if condition(*arguments) else None


def _gcd(a: float, b: float) -> float | None:
    divisor = math.gcd(int(a), int(b))
    return divisor if divisor != 1 else None


def _choose(a: float, b: float) -> float | None:
    n, k = max(int(a), int(b)), min(int(a), int(b))
    return math.factorial(n) / math.factorial(k) * math.factorial(n - k) if n < 100 and k > 0 else None


def _permutation(a: float, b: float) -> float | None:
    n, k = max(int(a), int(b)), min(int(a), int(b))
    return math.factorial(n) / math.factorial(n - k) if n < 20 and k >= 0 else None


def _sum_below(low: int, high: int) -> float:
    """low + ... + (high - 1), in one step."""
    return float((high - low) * (low + high - 1) // 2) if high > low else 0.0


def _rate(a: float) -> float:
    return 1 / a if a > 1 else a


def _round(a: float) -> float:
    return float(f"{a + 0.0001 if (1000 * a) % 10 > 4 else a:.4f}")


def _heron(a: float, b: float, c: float) -> float | None:
    if a + b <= c or a + c <= b or b + c <= a:
        return None
    s = (a + b + c) / 2
    return math.sqrt(s * (s - a) * (s - b) * (s - c))


# Names that the published script did not know: two are fused by a missing comma, one is tested for twice.
_UNKNOWN = {"combination", "degree_to_radians", "p_after_loss", "price_after_gain"}
# Where it agrees with mathematics the table of mathematics serves; below is what it does differently.
_OPERATORS: dict[str, Callable[..., float | None]] = {
    **{name: operation for name, operation in OPERATIONS.items() if name not in _UNKNOWN},
    "divide": _when(lambda a, b: abs(b) > 0.001, lambda a, b: a / b),
    "power": _when(lambda a, b: a > 0 and 0 < b < 10, lambda a, b: math.pow(a, b)),
    "log": _when(lambda a: a > 0, lambda a: math.log2(a)),
    "sqrt": _when(lambda a: a >= 0, lambda a: math.sqrt(a)),
    "factorial": _when(lambda a: a < 100, lambda a: math.factorial(int(a))),
    "gcd": _gcd,
    "lcm": lambda a, b: a * b / math.gcd(int(a), int(b)),
    "reminder": _when(lambda a, b: b != 0, lambda a, b: a % b),
    "remindar": _when(lambda a, b: b != 0, lambda a, b: a % b),
    "inverse": _when(lambda a: a != 0, lambda a: 1 / a),
    "round": _round,
    "sine": _when(lambda a: a <= 1, lambda a: math.asin(a)),
    "cosine": _when(lambda a: a <= 1, lambda a: math.acos(a)),
    "tangent": lambda a: math.atan(a),
    "radians_to_degree": lambda a: a * 180,
    "sum_consecutive_number": lambda a, b: _sum_below(int(a), int(b)),
    "circle_sector_area": _when(lambda r, a: 0 <= a <= 360, lambda r, a: a / 360 * math.pi * r**2),
    "cube_edge_by_volume": lambda v: math.pow(v, 0.33333),
    "triangle_area_three_edges": _heron,
    "union_prob": _when(lambda a, b, c: 0 <= a <= 1 and 0 <= b <= 1, lambda a, b, c: a + b - c),
    "choose": _choose,
    "permutation": _permutation,
    "percent": _when(lambda a, b: 0 <= a <= 100, lambda a, b: a / 100 * b),
    "original_price_before_loss": lambda a, b: 100 * b / (100.00001 - a),
    "combined_work": lambda a, b: 1 / (_rate(a) + _rate(b)),
    "find_work": lambda a, b: 1 / abs(_rate(a) - _rate(b)),
}
