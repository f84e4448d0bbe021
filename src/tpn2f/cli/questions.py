"""Questions from files and pipes: one per line, as plain text or as JSON with options and inputs. Solves nothing.

A line that cannot be read is an Unread with its number and the reason, so that the following lines are not lost.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tpn2f.errors import DataError
from tpn2f.solution import Question
from tpn2f.wording import clean

FIELDS = ("question", "text")
"""The names under which a JSON object may have its text."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A line that cannot be read as a question."""

    reason: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file: where it is, and what it asks."""

    where: str
    asked: Question | Unread


_starts_object = re.compile(r'\s*\{\s*["}]').match


def read_line(text: str, only_json: bool = False) -> Question | Unread:
    """A question as plain text or, if it starts as an object does, as JSON: `question` or `text`, `options`, `inputs`.

    `{1, 2, 3} is a set` is a question like any other.
    """
    if not only_json and not _starts_object(text):
        return Question(clean(text))
    try:
        record = json.loads(text.strip())
    except (ValueError, RecursionError) as error:
        return Unread(f"not valid JSON: {error}")
    if not isinstance(record, dict):
        return Unread(f"expected a JSON object with `question`, got {type(record).__name__}")
    found = [name for name in FIELDS if isinstance(record.get(name), str)]
    if not found:
        return Unread("expected a JSON object with the text field `question` or `text`")
    inputs, options = record.get("inputs"), record.get("options")
    if inputs is not None and not isinstance(inputs, dict):
        return Unread(f"`inputs` is {type(inputs).__name__}; expected an object of values by name")
    if isinstance(options, dict):
        options = [value for _, value in sorted(options.items())]
    if isinstance(options, list):
        options = [clean(str(option)) for option in options]
    elif isinstance(options, str):
        options = clean(options)
    elif options is not None:
        return Unread(f"`options` is {type(options).__name__}; expected text or a list of texts")
    return Question(clean(record[found[0]]), inputs or {}, options)


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


def add_given(asked: Question | Unread, inputs: Mapping[str, object], options: str | None) -> Question | Unread:
    """A question with the defaults that hold for all questions; its own values take precedence."""
    if isinstance(asked, Unread):
        return asked
    return Question(asked.text, {**inputs, **asked.inputs}, asked.options or options)
