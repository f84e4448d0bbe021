"""Values, steps and texts as people write them: plain text for the terminal, Python and the page. Knows no terminal.

A domain may offer `notation`, a mapping from a relation to a template such as `"{} / {}"`, and `describe(tuple)`, which
says in words what a tuple does.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from enum import Enum
from string import Formatter
from types import NoneType

from tpn2f.domain import Step, Unit

_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def format_value(value: object) -> str:
    """A value as a person writes it: 0.6, 1250, [1, 2, 3]."""
    if isinstance(value, int) and value.bit_length() > 64:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, Enum):
        return value.name
    # A class of the domain knows best how its values are written.
    if type(value) not in (str, bool, int, list, tuple, dict, NoneType):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(value)


def format_answer(value: object, unit: Unit | None = None) -> str:
    """An answer as a person says it: `$12.50`, `60 km per hour`, `about 33.33`.

    Whole numbers stay what they are; very small and very large ones are not rounded here.
    """
    unit = unit or Unit()
    if not isinstance(value, float) or not 0.01 <= abs(value) < 1e9:
        return f"{unit.before}{format_value(value)}{unit.behind}"
    nearest = round(value)
    if abs(value - nearest) < 1e-9 * max(1.0, abs(value)):
        written, exact = str(nearest), True
    elif unit.decimals == 2 and unit.before:
        written, exact = f"{value:.2f}", abs(100 * value - round(100 * value)) < 1e-6
    else:
        # Four digits that count, and two behind the point at least.
        places = max(2, 3 - math.floor(math.log10(abs(value))))
        written, exact = f"{value:.{places}f}".rstrip("0").rstrip("."), abs(value - round(value, places)) < 1e-9
    sign = "-" if written.startswith("-") else ""
    return f"{'' if exact else 'about '}{sign}{unit.before}{written.removeprefix('-')}{unit.behind}"


def format_step(step: Step, notation: Mapping[str, str] | None = None) -> str:
    """`divide(n1, const_100) = 60 / 100 = 0.6`. Long values are cut: every step shows its own result."""
    return f"{step.tuple} = {format_sum(step, notation)}"


def format_sum(step: Step, notation: Mapping[str, str] | None = None) -> str:
    """`60 / 100 = 0.6`, or `lcm(4, 6) = 12` where the relation has no sign."""
    return "".join(text for text, _ in sum_parts(step, notation))


def sum_parts(step: Step, notation: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """The same in pieces: each text, and the argument whose value it is; signs and the result are nobody's value."""
    values = [cut(format_value(value), 30) for value in step.values]
    template = (notation or {}).get(step.tuple.relation)
    if template is None:
        template = f"{_literal(step.tuple.relation)}({', '.join('{}' for _ in values)})"
    else:
        # A negative number beside a sign looks like a typing error.
        values = [f"({value})" if value.startswith("-") else value for value in values]
    parts: list[tuple[str, str]] = []
    place = 0
    for sign, field, _, _ in Formatter().parse(template):
        if sign:
            parts.append((sign, ""))
        if field is not None:
            which = int(field) if field else place
            parts.append((values[which], step.tuple.arguments[which]))
            place += 1
    return [*parts, (" = ", ""), (cut(format_value(step.result), 80), "")]


def _literal(text: str) -> str:
    """A text that stays as it is in a template."""
    return text.replace("{", "{{").replace("}", "}}")


def format_duration(seconds: float) -> str:
    """A length of time as people say it: 40 s, 12 min, 1 h 10 min, 2 d 3 h."""
    if seconds < 59.5:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} d {hours % 24} h"


def cut(text: str, most: int) -> str:
    """A text on one line, of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4].rstrip()} ..."


def clean(text: str) -> str:
    """A text without characters that could control a terminal or cannot be written: control signs, lone surrogates."""
    if text.isascii() and text.isprintable():
        return text.strip()
    kept = (
        " " if sign.isspace() else "\ufffd" if unicodedata.category(sign) in ("Cc", "Cs") else sign
        for sign in text
        if sign not in _BIDIRECTIONAL
    )
    return "".join(kept).strip()


def json_value(value: object) -> object:
    """The value if JSON can hold it, else its text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return format_value(value)
    return format_value(value) if isinstance(value, Enum) else value
