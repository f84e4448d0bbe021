"""What a setting may be, declared beside it as its type: `epochs: Size`, `dropout_words: Rate`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints


class Bounds(NamedTuple):
    """The valid values of a setting, which neither fail later nor silently do nothing: in words, and as a test."""

    words: str
    hold: Callable[[Any], bool]


MOST = 2**31
"""No size or count is as large as this; more would not fit where torch and Python count."""
is_plain_name = re.compile(r"(?!\.)[^/\\:\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,100}").fullmatch
"""Whether a text is the name of a file or folder and cannot lead to another place: no separators, no dot first."""

Size = Annotated[int, Bounds("at least 1 and below 2^31", lambda value: 1 <= value < MOST)]
Count = Annotated[int, Bounds("at least 0 and below 2^31", lambda value: 0 <= value < MOST)]
Layers = Annotated[int, Bounds("from 1 to 100", lambda value: 1 <= value <= 100)]
Name = Annotated[str, Bounds("a plain name: no / \\ : and no dot first", lambda value: bool(is_plain_name(value)))]
Amount = Annotated[float, Bounds("at least 0", lambda value: value >= 0)]
Positive = Annotated[float, Bounds("above 0", lambda value: value > 0)]
Part = Annotated[float, Bounds("from 0 to 1", lambda value: 0 <= value <= 1)]
Rate = Annotated[float, Bounds("from 0 to below 1", lambda value: 0 <= value < 1)]
Seed = Annotated[int, Bounds("from 0 to below 2^24", lambda value: 0 <= value < 2**24)]
"""It has to fit beside the number of a process and of a step; see `training.loop`."""


def check_settings(settings: object) -> None:
    """Raises ValueError if a field of a dataclass is not within its Bounds, or not one of its Literals."""
    for name, hint in _declared(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"{name} is {value!r}; expected one of {', '.join(map(str, get_args(hint)))}")
        for bounds in getattr(hint, "__metadata__", ()):
            if value is not None and not bounds.hold(value):
                raise ValueError(f"{name} is {value!r}; expected {bounds.words}")


@cache
def _declared(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
