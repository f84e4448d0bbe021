"""Stories written by hand, one block of plain text each: a story, and several questions with the way to their answers.

A block reads like what it makes; its numbers say where they come from:

    Ana picked {a:12..40} apples and ate {b:2..9} of them.
    ? How many apples are left? = a - b

Ana, Cleo and Eve (she), Bob, Dan and Finn (he) get other names, and `<apples>` is sometimes another plural noun. `let k
3..12` is a number that is not shown, `! a > b` a condition, and `=~` an answer that need not be whole. All questions of
a story are for the same part: train, dev or test. Those in the folder `taught` are all for training.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import groupby
from pathlib import Path

from tpn2f.domains.everyday.constants import constant
from tpn2f.domains.everyday.generation.templates import (
    TAUGHT,
    ProblemKind,
    Setting,
    compile_conditions,
    compile_numbers,
)
from tpn2f.domains.everyday.generation.wording import TemplateWording, parse_wording
from tpn2f.errors import DataError
from tpn2f.program import Program, RelationalTuple

FOLDER = Path(__file__).parent / "written"
LATER = FOLDER / "later"
"""Stories that were written after the bundled models were trained."""
TAUGHT_WEIGHT = 2.0
"""How much more often one of these is told than another story."""
SHARE = 0.7
"""How much of all generated problems are written stories."""
SHE, HE = ("Ana", "Cleo", "Eve"), ("Bob", "Dan", "Finn")
_NAME = re.compile(rf"\b({'|'.join(SHE + HE)})('s)?\b")
_THING = re.compile(r"<([^<>]+)>")
_NUMBER = re.compile(r"\{([a-z]\w*):\s*((?:[\d@=]|words )[^{}]*)\}")
_QUESTION = re.compile(r"\?\s*(.+?)\s*(=~?)\s*([^=]+)")
_RELATIONS: dict[type, str] = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide"}


@dataclass
class _Block:
    """A block while it is read."""

    where: str
    numbers: dict[str, str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)
    story: str = ""
    questions: list[tuple[str, str, str]] = field(default_factory=list)

    def define(self, text: str) -> str:
        """The text with its numbers named only; where they come from is noted."""
        return _NUMBER.sub(self._note, text)

    def _note(self, found: re.Match[str]) -> str:
        if found[1] in self.numbers:
            raise DataError(f"{self.where}: the number {found[1]} is defined twice")
        self.numbers[found[1]] = found[2].strip()
        return f"{{{found[1]}}}"


def read_written(text: str, theme: str) -> list[ProblemKind]:
    """The kinds of problems in one file: one for every question. Raises DataError with the line of what is wrong."""
    kinds: list[ProblemKind] = []
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if not line.startswith("#")]
    for filled, group in groupby(lines, lambda line: bool(line[1])):
        if filled:
            kinds += _kinds(list(group), theme)
    return kinds


def _kinds(lines: list[tuple[int, str]], theme: str) -> list[ProblemKind]:
    block = _Block(f"{theme}, line {lines[0][0]}")
    for _, line in lines:
        if line.startswith("let "):
            name, _, spec = line.removeprefix("let ").partition(" ")
            block.numbers[name] = spec.strip()
        elif line.startswith("!"):
            block.conditions.append(line[1:].strip())
        elif line.startswith("?"):
            found = _QUESTION.fullmatch(line)
            if found is None:
                raise DataError(f"{block.where}: expected `? question = expression`, got {line!r}")
            block.questions.append((block.define(found[1]), found[2], found[3]))
        elif block.story:
            raise DataError(f"{block.where}: a story is one line, and questions begin with `?`; got {line!r}")
        else:
            block.story = block.define(line)
    if not block.questions:
        raise DataError(f"{block.where}: the story has no question")
    return _finish(block, theme)


def _finish(block: _Block, theme: str) -> list[ProblemKind]:
    texts = [f"{block.story} {question}".strip() for question, _, _ in block.questions]
    things = list(dict.fromkeys(_THING.findall(" ".join(texts))))
    slots = dict.fromkeys(SHE, "female") | dict.fromkeys(HE, "male")
    slots |= {f"T{place}": "thing" for place in range(len(things))}
    sources, behind = compile_numbers(block.numbers, block.where)
    where = compile_conditions(block.conditions, list(sources), block.where)
    name = f"{theme}:{block.where.rpartition(' ')[2]}"
    setting = Setting(name, slots, sources, where, {}, behind)
    kinds = []
    for place, (text, (_, sign, expression)) in enumerate(zip(texts, block.questions)):
        try:
            program = read_program(expression)
            if missing := _letters(program) - set(sources):
                raise DataError(f"{expression!r} names {', '.join(sorted(missing))}, which is no number")
            wordings = tuple(_wordings(text, things, slots, list(sources)))
        except DataError as error:
            raise DataError(f"{block.where}, question {place + 1}: {error}") from None
        kinds.append(
            ProblemKind(
                f"{name}/{place + 1}",
                theme,
                setting,
                where,
                program,
                "whole" if sign == "=" else "any",
                wordings,
                (),
                (),
                frozenset(sources),
                core=False,
                weight=1 / len(texts),
                story=f"story {block.story or texts[0]}",
            )
        )
    return kinds


def _wordings(text: str, things: list[str], slots: dict[str, str], numbers: list[str]) -> Iterator[TemplateWording]:
    """The text with its own things and, if it names any, with others in their place."""
    text = _NAME.sub(lambda found: f"{{{found[1]}{found[2] or ''}}}", text)
    yield parse_wording(_THING.sub(r"\1", text), slots, numbers)
    if things:
        yield parse_wording(_THING.sub(lambda found: f"{{T{things.index(found[1])}.s}}", text), slots, numbers)


def read_program(expression: str) -> Program:
    """An expression of + - * / over letters and known constants as a program."""
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise DataError(f"{expression!r} is not an expression: {error.msg}") from None
    steps: list[RelationalTuple] = []
    _add_steps(tree, expression, steps)
    if not steps:
        raise DataError(f"{expression!r} computes nothing")
    return Program(tuple(steps))


def _add_steps(node: ast.expr, expression: str, steps: list[RelationalTuple]) -> str:
    """Adds what a part of an expression computes; returns the word for its value."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as value):
            known = constant(Fraction(str(value)))
            if known is None:
                raise DataError(f"{expression!r}: {value} is no constant of everyday programs")
            return known
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _RELATIONS:
            arguments = _add_steps(left, expression, steps), _add_steps(right, expression, steps)
            steps.append(RelationalTuple(_RELATIONS[type(op)], arguments))
            return f"#{len(steps) - 1}"
    raise DataError(f"{expression!r}: {ast.unparse(node)} is not one of + - * / over numbers")


def _letters(program: Program) -> set[str]:
    words = {word for step in program for word in step.arguments}
    return {word for word in words if not word.startswith(("#", "const_"))}


@cache
def bundled_stories(folder: Path = FOLDER) -> tuple[ProblemKind, ...]:
    """The questions of all stories in a folder; without one of those that training and dev and test have."""
    taught = (replace(kind, core=True, weight=TAUGHT_WEIGHT * kind.weight) for kind in _read_folder(folder / TAUGHT))
    return (*_read_folder(folder), *taught)


def _read_folder(folder: Path) -> Iterator[ProblemKind]:
    for path in sorted(folder.glob("*.txt")):
        yield from read_written(path.read_text(encoding="utf-8"), path.stem)
