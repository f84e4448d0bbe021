"""Questions from files and pipes: one per line, as plain text or as JSON with options and inputs. Solves nothing.

A line that cannot be read is an Unread with its number and the reason, so that the following lines are not lost.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tpn2f.bulk.records import Unread, read_line
from tpn2f.errors import DataError
from tpn2f.solution import Question


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: where it is, and what it asks."""

    where: str
    asked: Question | Unread


def read_lines(lines: Iterable[str], name: str, only_json: bool = False) -> Iterator[Line]:
    """The questions of a text, line by line; empty lines are skipped."""
    for number, text in enumerate(lines, 1):
        if text.strip():
            yield Line(f"{name}, line {number}", read_line(text, only_json))


@contextmanager
def open_questions(path: Path | None) -> Iterator[Iterator[Line]]:
    """The questions of a file, or of standard input for None or `-`. Invalid bytes become question marks."""
    if path is None or str(path) == "-":
        if hasattr(sys.stdin, "reconfigure"):
            sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
        yield read_lines(sys.stdin, "standard input")
        return
    file = _open(path)
    with file:
        yield read_lines(file, path.name, path.suffix.lower() in (".jsonl", ".ndjson"))


def _open(path: Path) -> IO[str]:
    try:
        return path.open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def count_questions(path: Path) -> int:
    """How many lines of a file are not empty."""
    with _open(path) as file:
        return sum(bool(line.strip()) for line in file)
