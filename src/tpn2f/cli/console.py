"""The consoles of the commands: what others wrote cannot control the terminal, and an output that fails is bearable."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

WIDEST = 10_000
"""No terminal is wider; a table that is as wide as COLUMNS says would take all memory."""
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]|[\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """A text in which no sign controls a terminal, turns its direction, or cannot be written."""
    return _UNSEEN.sub("\ufffd", text) if _UNSEEN.search(text) else text


class Terminal(Console):
    """A console that shows texts of anybody: colours are ours, escape sequences of others are not sent."""

    lenient = False
    """Whether a device that takes nothing more is put up with, because the work must go on."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            shown = segment.text if segment.control else visible(segment.text)
            yield segment if shown is segment.text else Segment(shown, segment.style)

    @property
    def file(self) -> Any:
        stream = super().file
        return _Bearable(stream) if self.lenient else stream

    @file.setter
    def file(self, new_file: Any) -> None:
        self._file = new_file


class _Bearable:
    """A stream whose failures are not reported."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            return

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def bearing(*consoles: Terminal) -> Iterator[None]:
    """Around long work: a full disk behind the output, or a terminal that is gone, does not end it."""
    before = [console.lenient for console in consoles]
    for console in consoles:
        console.lenient = True
    try:
        yield
    finally:
        for console, lenient in zip(consoles, before):
            console.lenient = lenient


def believe_sizes() -> None:
    """A terminal of no width, or of the width of everything, is not believed: it is asked itself."""
    for name in ("COLUMNS", "LINES"):
        told = os.environ.get(name, "1")
        if not re.fullmatch("[0-9]{1,9}", told) or not 0 < int(told) <= WIDEST:
            del os.environ[name]


def prepare_output() -> None:
    """What a terminal cannot show becomes a question mark."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def give_up(stream: Any) -> None:
    """What is left in a stream that cannot be written goes nowhere, so that Python does not try again at its end."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (ValueError, AttributeError):
        return  # closed, or no stream at all


believe_sizes()
# No emoji codes: a ratio `a:b:c` must be shown unchanged.
out = Terminal(highlight=False, emoji=False)
err = Terminal(stderr=True, highlight=False, emoji=False)
