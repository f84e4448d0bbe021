"""The file metrics.jsonl of a run: one line a scoring of dev."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from tpn2f.errors import CheckpointError

NAME = "metrics.jsonl"


def append_record(folder: Path, record: Mapping[str, float]) -> None:
    """Raises CheckpointError where it cannot be written."""
    try:
        with (folder / NAME).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        raise CheckpointError(f"cannot write {folder / NAME}: {error.strerror}") from error


def drop_records(folder: Path, epoch: int) -> None:
    """Drops lines that a killed run wrote after the checkpoint of this epoch, which is gone back to."""
    path = folder / NAME
    if path.exists():
        kept = [line for line in path.read_text(encoding="utf-8").splitlines() if _epoch_of(line) <= epoch]
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def _epoch_of(line: str) -> float:
    try:
        return json.loads(line)["epoch"]
    except (ValueError, KeyError, TypeError):
        return math.inf
