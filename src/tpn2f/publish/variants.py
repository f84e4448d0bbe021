"""Rows that are a preset with a few changes: `configs/variants/rows.toml` names the preset and the settings."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tpn2f.config import Config, change_config, load_config, read_setting
from tpn2f.errors import ConfigError

PRESET = "preset"


def variant_config(configs: Path, row: str, settings: Sequence[str] = ()) -> Config | None:
    """The config of a row that is a variant, None for others; `settings` are put over it. Raises ConfigError."""
    place = configs / "variants" / "rows.toml"
    changes = _read_rows(place).get(row) if place.is_file() else None
    if changes is None:
        return None
    preset = load_config(configs / f"{changes.pop(PRESET)}.toml")
    return change_config(preset, {"name": row, **changes, **dict(map(read_setting, settings))}, f"{place}: {row}")


def _read_rows(path: Path) -> dict[str, dict[str, Any]]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: the rows cannot be read: {error}") from error
    for row, changes in found.items():
        if not isinstance(changes, dict) or not isinstance(changes.get(PRESET), str):
            raise ConfigError(f"{path}: {row} names no preset; expected {PRESET} = NAME and the settings that change")
    return found
