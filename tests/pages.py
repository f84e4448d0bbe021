"""The README and the pages of docs/ as something that can be run: their blocks, their commands, what they show.

A page is run in order, in one folder, because a later block uses what an earlier one made. How a page says what is to
happen to a block stands in the line before its fence: `<!-- not run: reason -->`, `<!-- file: name -->`, or
`<!-- part of: command -->` above a text that the command's output holds.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from tpn2f.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md"]

FENCE = re.compile(r"^( *)```+ *([\w-]*)(.*)$")
SAID = re.compile(r"<!-- (not run|file|part of): (.+?) -->")
TITLE = re.compile(r'title="([^"]+)"')
INLINE = re.compile(r"(?<!`)`(tpn2f [^`]+)`")
NUMBER = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, its language, its text and what the line before it says about it."""

    line: int
    language: str
    text: str
    said: str = ""
    value: str = ""


@dataclass(frozen=True)
class Command:
    """A command of a page and the output that the page shows for it."""

    line: int
    text: str
    shown: str = ""
    in_table: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, also those indented in lists and tabs."""
    lines = iter(enumerate(page.splitlines(), 1))
    before = ""
    for start, line in lines:
        opening = FENCE.match(line)
        if opening is None:
            before = line if line.strip() else before
            continue
        indent, language, rest = opening.groups()
        inner: list[str] = []
        for _, text in lines:
            if text.strip().startswith("```"):
                break
            inner.append(text.removeprefix(indent))
        said, value = found.groups() if (found := SAID.search(before)) else ("", "")
        if not said and (title := TITLE.search(rest)):
            said, value = "file", title[1]
        yield Block(start, language, "".join(text + "\n" for text in inner), said, value)
        before = ""


def commands(block: Block) -> list[Command]:
    """The commands of a console block, each with the output below it."""
    found: list[Command] = []
    text = re.sub(r"\\\n\s*", "", block.text)
    for offset, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            found.append(Command(block.line + offset, line[2:]))
        elif found:
            last = found[-1]
            found[-1] = Command(last.line, last.text, last.shown + line + "\n")
        else:
            raise AssertionError(f"line {block.line + offset}: output without a command: {line}")
    return found


def inline_commands(page: str) -> Iterator[Command]:
    """The commands between backquotes outside of blocks: in prose, and in tables where they can be run."""
    inside = False
    for number, line in enumerate(page.splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        if not inside:
            # The first cell of a row says what the row is about.
            row = re.match(r" *\|[^|]*\|", line)
            for found in INLINE.finditer(line):
                yield Command(number, found[1].replace(r"\|", "|"), in_table=bool(row and found.start() >= row.end()))


def steps(page: str) -> list[Block | Command]:
    """What a page runs, in its order: blocks, and the commands of its tables."""
    found: list[Block | Command] = [*blocks(page), *(command for command in inline_commands(page) if command.in_table)]
    return sorted(found, key=lambda step: step.line)


def is_whole(command: Command, folder: Path) -> bool:
    """Whether a command of a table can be run: without placeholders, and all files that it names are there."""
    words = command.words
    if any("..." in word or re.fullmatch(r"[A-Z]{3,}", word) for word in words):
        return False
    files = [word for word in words[2:] if re.fullmatch(r"[\w./-]+\.(jsonl?|csv|toml|py)|runs/[\w-]+", word)]
    return all((folder / word).exists() for word in files)


def parse(words: list[str], mention: bool = False) -> tuple[str, ...]:
    """The name of the command that these words call, once all their options and values are found valid.

    Nothing is run. In a mention, values may be missing: `tpn2f data get` is a name.
    """
    command: Any = typer.main.get_command(app)
    path: list[str] = []
    rest = words[1:]
    while hasattr(command, "commands"):
        if not rest and mention:
            return tuple(path)
        assert rest and rest[0] in command.commands, f"{shlex.join(words)}: there is no such command"
        path.append(rest[0])
        command, rest = command.commands[rest[0]], rest[1:]
    try:
        command.make_context(" ".join(path), rest)
    except Exception as error:
        # Typer has its own copy of click, whose errors are known by what they can do.
        if not hasattr(error, "format_message"):
            raise
        missing = type(error).__name__ in ("MissingParameter", "BadOptionUsage")
        assert missing and mention, f"{shlex.join(words)}: {error.format_message()}"
    return tuple(path)


def matches(shown: str, printed: str) -> bool:
    """Whether the output is what a page shows: `...` is any text, alone in a line any lines."""
    pattern = ""
    for line in shown.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*"
        else:
            pattern += ".*?".join(re.escape(part) for part in line.rstrip().split("...")) + r" *\n"
    return re.fullmatch(pattern, printed.rstrip() + "\n") is not None


def resembles(shown: str, printed: str) -> bool:
    """Whether every line that a page shows is a line of the output, but for numbers: for commands that run smaller."""

    def shapes(text: str) -> list[str]:
        return [" ".join(NUMBER.sub("0", line).split()) for line in text.splitlines() if line.strip()]

    there = "".join(line + "\n" for line in shapes(printed))
    return all(
        re.search("^" + ".*?".join(map(re.escape, line.split("..."))) + "$", there, re.MULTILINE)
        for line in shapes(shown)
        if line != "..."
    )
