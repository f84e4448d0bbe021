"""What an annotation means: the name of a type for masks and messages, and a check of values.

Masks know names only, so every position has exactly one type. Numbers, whole or not, are one type, because a text does
not distinguish them: a position that needs whole numbers reports an error when it gets another number.
"""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args, get_origin

from tpn2f.domain import ANY
from tpn2f.errors import DomainError

NUMBER = "number"
TEXT = "text"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of the language: its name, and what turns a value into one of it or raises ValueError."""

    name: str
    fit: Callable[[Any], object]
    source: object
    """What the annotation came down to: two kinds of one name must have the same."""
    members: tuple[tuple[str, object], ...] = ()
    """The names and values of an Enum, which any program may use."""

    def accepts(self, value: object) -> bool:
        try:
            self.fit(value)
        except ValueError:
            return False
        return True


def typed_parameters(function: Callable[..., object], where: str) -> tuple[dict[str, object], object]:
    """The annotations of the parameters by name, and of the result. Raises DomainError for what has none."""
    try:
        signature = inspect.signature(function)
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise DomainError(f"{where}: the annotations cannot be read: {error}") from error
    found: dict[str, object] = {}
    for name, parameter in signature.parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise DomainError(f"{where}: {parameter} is not one position; expected every argument by name")
        if parameter.default is not parameter.empty:
            raise DomainError(f"{where}: {name} has a default; every argument of a relation is written out")
        if name not in hints:
            raise DomainError(f"{where}: {name} has no annotation; expected a type, such as {name}: float")
        found[name] = hints[name]
    if "return" not in hints:
        raise DomainError(f"{where}: the result has no annotation; expected a type, such as -> float")
    return found, hints["return"]


def kind_of(annotation: Any, where: str) -> Kind:
    """The type that an annotation names. Raises DomainError for one that names none or several."""
    plain = _unwrapped(annotation)
    if plain in (Any, object):
        return Kind(ANY, lambda value: value, object)
    if plain is float or plain is int:
        return Kind(NUMBER, _whole if plain is int else _number, float)
    if plain is str:
        return Kind(TEXT, _instance(str, TEXT), str)
    if isinstance(plain, typing.NewType):
        inner = kind_of(plain.__supertype__, where)
        return Kind(str(plain.__name__), _renamed(inner, str(plain.__name__)), plain)
    if isinstance(plain, type) and not get_origin(plain):
        if plain is type(None):
            raise DomainError(f"{where} is None; every relation gives a value")
        members = tuple((name, member) for name, member in plain.__members__.items()) if issubclass(plain, Enum) else ()
        return Kind(plain.__name__, _instance(plain, plain.__name__), plain, members)
    origin = get_origin(plain)
    if origin in (typing.Union, types.UnionType):
        raise DomainError(f"{where} is {_shown(annotation)}; a position has one type (object takes any value)")
    if isinstance(origin, type) and origin not in (types.GenericAlias, Callable):
        inner = [part for part in get_args(plain) if part is not Ellipsis]
        name = f"{origin.__name__}[{', '.join(kind_of(part, where).name for part in inner)}]"
        return Kind(name, _instance(origin, name), plain)
    raise DomainError(
        f"{where} is {_shown(annotation)}, which is not a type; expected a class, such as float, str, list[float], "
        "an Enum or a class of your own"
    )


def _unwrapped(annotation: Any) -> Any:
    """Without Annotated, and without the name of a `type X = ...` alias."""
    while True:
        if get_origin(annotation) is typing.Annotated:
            annotation = get_args(annotation)[0]
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation


def _shown(annotation: object) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{type(value).__name__}, not a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def _whole(value: object) -> object:
    number = _number(value)
    if isinstance(number, float):
        if not number.is_integer():
            raise ValueError(f"{number:g}, not a whole number")
        return int(number)
    return number


def _instance(expected: type, name: str) -> Callable[[object], object]:
    def fit(value: object) -> object:
        if not isinstance(value, expected):
            raise ValueError(f"{type(value).__name__}, not {name}")
        return value

    return fit


def _renamed(inner: Kind, name: str) -> Callable[[object], object]:
    def fit(value: object) -> object:
        if not inner.accepts(value):
            raise ValueError(f"{type(value).__name__}, not {name}")
        return inner.fit(value)

    return fit
