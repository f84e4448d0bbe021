"""A space of settings to search: which settings of a config may vary, and between what.

    training.learning_rate=log 1e-3 1e-2        between these, evenly in the logarithm
    model.dropout_words=uniform 0 0.3           between these, evenly
    model.n_roles=int 10 50 10                  whole numbers, in steps of 10
    model.encoder=choice tpr lstm               one of these

Also as the table `[search]` of a TOML file, where a list is a choice. Everything is checked against the config that
varies, before anything is trained. Nothing is searched here.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tpn2f.config import WATCHING, Config, change_config, read_value, write_value
from tpn2f.errors import ConfigError

FORMS = "log LOW HIGH, uniform LOW HIGH, int LOW HIGH [STEP] or choice A B ..."
FIXED = {
    "name": "it is the name of the run",
    "data.domain": "trials on different problems cannot be compared",
    "data.dev": "all trials must be scored on the same examples",
    "training.evaluate_examples": "all trials must be scored on the same examples",
    **{f"training.{name}": "it changes nothing of what is learned" for name in WATCHING},
}
"""Settings that cannot vary within a study, and why."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One setting that varies: over a range, or over choices."""

    key: str
    low: float = 0
    high: float = 0
    log: bool = False
    step: int = 0
    """Of a range of whole numbers; 0 for a range of all numbers."""
    choices: tuple[Any, ...] = ()

    def __str__(self) -> str:
        """As an option writes it. Two dimensions that mean the same are written the same."""
        if self.choices:
            return f"{self.key}=choice {' '.join(map(write_value, self.choices))}"
        kind = "log" if self.log else "int" if self.step else "uniform"
        step = f" {self.step}" if kind == "int" else ""
        return f"{self.key}={kind} {self.low!r} {self.high!r}{step}"

    @property
    def ends(self) -> tuple[Any, ...]:
        """What must be right for all between to be right."""
        return self.choices or (self.low, self.high)


def read_space(texts: Sequence[str], path: Path | None, config: Config) -> tuple[Dimension, ...]:
    """The dimensions of options such as `training.clip=uniform 1 9`, and of the table `[search]` of a file."""
    space: dict[str, Dimension] = {}
    for where, key, form in (*_read_options(texts), *(_read_file(path) if path else ())):
        if key in space:
            raise ConfigError(f"{where}: {key} occurs twice")
        space[key] = _make_dimension(where, key, form, config)
    if not space:
        raise ConfigError(f"there is nothing to search: expected --search KEY={FORMS}; or --space FILE")
    return tuple(space.values())


def _read_options(texts: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    for text in texts:
        key, sign, form = text.partition("=")
        if not sign or not key.strip():
            raise ConfigError(f"--search {text!r}: expected KEY={FORMS}")
        yield f"--search {text!r}", key.strip(), form


def _read_file(path: Path) -> Iterator[tuple[str, str, Any]]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the space {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    if tables.keys() != {"search"} or not isinstance(tables["search"], dict):
        raise ConfigError(f"{path} has {', '.join(tables) or 'nothing'}; expected only the table [search]")
    for key, form in _flatten(tables["search"], ""):
        yield f"{path}: {key}", key, form


def _flatten(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _make_dimension(where: str, key: str, form: Any, config: Config) -> Dimension:
    if key in FIXED:
        raise ConfigError(f"{where}: {key} cannot vary, because {FIXED[key]}")
    whole = isinstance(now := _value(config, key, where), int) and not isinstance(now, bool)
    if isinstance(form, list):
        dimension = _choice(where, key, form)
    elif isinstance(form, str) and form.split():
        kind, *words = form.split()
        values = [read_value(word) for word in words]
        if kind == "choice":
            dimension = _choice(where, key, values)
        elif kind in ("log", "uniform", "int"):
            dimension = _range(where, key, kind, values, whole)
        else:
            raise ConfigError(f"{where}: {kind!r} is not a kind of range; expected {FORMS}")
    else:
        raise ConfigError(f"{where}: got {form!r}; expected {FORMS}")
    for value in dimension.ends:
        change_config(config, {key: value}, where)
    return dimension


def _value(config: Config, key: str, where: str) -> Any:
    """What a setting is now. Raises ConfigError, with the nearest name, for one that does not exist."""
    value: Any = asdict(config)
    for name in key.split("."):
        if not isinstance(value, dict) or name not in value:
            change_config(config, {key: 0}, where)
            raise ConfigError(f"{where}: there is no {key}")
        value = value[name]
    if isinstance(value, dict):
        raise ConfigError(f"{where}: {key} is a table; expected a setting of it")
    return value


def _choice(where: str, key: str, values: Sequence[Any]) -> Dimension:
    if len(values) < 2 or any(isinstance(value, list | dict) for value in values):
        raise ConfigError(f"{where}: got {list(values)!r}; expected two choices or more, each a single value")
    if len({repr(value) for value in values}) < len(values):
        raise ConfigError(f"{where}: a choice occurs twice")
    return Dimension(key, choices=tuple(values))


def _range(where: str, key: str, kind: str, values: Sequence[Any], whole: bool) -> Dimension:
    """A range of whole numbers where the setting is one, or where it is called one."""
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    if not numbers or len(values) not in ((2, 3) if kind == "int" else (2,)):
        raise ConfigError(f"{where}: got {' '.join(map(str, values)) or 'no numbers'}; expected {FORMS}")
    whole = whole or kind == "int"
    if whole and not all(isinstance(value, int) for value in values):
        raise ConfigError(f"{where}: {key} is a whole number; expected whole numbers")
    low, high, *step = values
    if not low < high or (kind == "log" and low <= 0) or (step and not 1 <= step[0] <= high - low):
        expected = "two numbers above 0" if kind == "log" else "two numbers"
        raise ConfigError(f"{where}: expected {expected}, the smaller first{', and a step between' * bool(step)}")
    if not whole:
        return Dimension(key, float(low), float(high), kind == "log")
    # Optuna reaches the top of a range only by whole steps.
    stride = step[0] if step else 1
    return Dimension(key, low, low + (high - low) // stride * stride, kind == "log", stride)
