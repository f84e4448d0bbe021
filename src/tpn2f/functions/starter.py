"""The first file of your own domain: commented, complete, with tests; it can be trained as it is."""

from __future__ import annotations

import importlib.util
import keyword
import sys
from pathlib import Path

from tpn2f.errors import DataError, DomainError

DOMAIN = '''"""NAME: a domain of my own. Texts such as "walk 3 steps, then turn left" become programs that run.

    tpn2f domain check FILE                                   what is wrong with it, in plain words
    tpn2f train configs/small.toml --domain FILE              a few minutes
    tpn2f evaluate --model runs/NAME --split test --domain FILE
    tpn2f calibrate runs/NAME --domain FILE                   how sure it is, so that a guess is called a guess
    tpn2f solve "go 5 steps and turn right" --model runs/NAME --domain FILE
"""

from __future__ import annotations

from enum import Enum

from tpn2f import FunctionDomain

# Numbers, also in words, are taken out of a text as n0, n1, ...; quoted texts as s0, s1, ...; equal ones share a name.
# No text of dev and test occurs in train; with split="program" no program does either.
NAME = FunctionDomain("NAME", "Orders for a robot.")


# 1. The language. Every @NAME.relation is a function that programs may call; its annotations are its types: float or
#    int (one type, number), str, list[...], an Enum, or a class of yours. The first line of the docstring is its help.


class Side(Enum):
    """The members of an Enum are words of the language: turn(#0, left)."""

    left = "left"
    right = "right"


@NAME.relation
def start() -> list[str]:
    """the robot, before it does anything"""
    return []


@NAME.relation
def walk(moves: list[str], steps: int) -> list[str]:
    """so many steps forward"""
    # The text may say anything. What you raise becomes the error of this step, with its place in the program.
    if not 0 <= steps <= 1_000:
        raise ValueError(f"{steps} steps are too many")
    return [*moves, f"forward {steps}"]


@NAME.relation
def turn(moves: list[str], side: Side) -> list[str]:
    """a quarter turn to a side"""
    return [*moves, side.value]


# 2. The examples: a generator of (text, program), or a file of lines {"text": ..., "program": ...} beside this one,
#    with NAME.examples_from("examples.jsonl"). A program may name values as its text does: walk(start(), 3).

WALKS = ("walk {} steps", "go {} steps", "move {} steps forward", "advance by {}", "take {} steps")
TURNS = ("turn {}", "look {}", "turn to the {}", "rotate {}")
JOINTS = (" and ", ", then ", ". ", " and then ")
OPENINGS = ("", "please ", "robot, ", "now ")


@NAME.generator(count=2_000)
def orders(random):
    while True:
        text, program = random.choice(OPENINGS), ("start",)
        for number in range(random.randint(1, 4)):
            text += random.choice(JOINTS) if number else ""
            if random.random() < 0.5:
                steps = random.randrange(2, 60)
                text, program = text + random.choice(WALKS).format(steps), ("walk", program, steps)
            else:
                side = random.choice(list(Side))
                text, program = text + random.choice(TURNS).format(side.value), ("turn", program, side)
        yield text, program
'''

TESTS = '''"""What NAME promises. Run with: pytest test_NAME.py"""

from NAME import NAME, walk
from tpn2f.contract import check_domain


def test_the_contract_holds():
    assert [finding.text for finding in check_domain(NAME()) if finding.level == "error"] == []


def test_a_program_runs():
    example = NAME.example("walk 2 steps, then turn left", "start() | walk(#0, 2) | turn(#1, left)")
    assert example.problem.words == ("walk", "n0", "steps", ",", "then", "turn", "left")
    assert NAME.execute(example.program, example.problem) == ["forward 2", "left"]


def test_a_function_is_still_a_function():
    assert walk(["left"], 1) == ["left", "forward 1"]
'''


_USED = frozenset({"start", "walk", "turn", "orders", "example", "annotations"})
"""What the files define or import besides the domain."""


def write_starter(name: str, folder: Path, force: bool = False) -> list[Path]:
    """Writes NAME.py and test_NAME.py. Refuses to overwrite, unless forced."""
    if not name.isidentifier() or name != name.lower() or keyword.iskeyword(name):
        raise DomainError(
            f"{name!r} cannot be the name of a domain; expected lowercase letters, digits and _, and no word of Python"
        )
    paths = {folder / f"{name}.py": DOMAIN, folder / f"test_{name}.py": TESTS}
    _check_free(name, folder)
    there = [str(path) for path in paths if path.exists()]
    if there and not force:
        raise DataError(f"{' and '.join(there)} exists already: choose another name, or overwrite with --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in paths.items():
            path.write_text(text.replace("NAME", name).replace("FILE", str(folder / f"{name}.py")), encoding="utf-8")
    except OSError as error:
        raise DataError(f"cannot write into {folder}: {error.strerror}") from error
    return list(paths)


def _check_free(name: str, folder: Path) -> None:
    """Raises DomainError for a name that means something already: to Python, to this environment, or in the file."""
    if name in _USED:
        raise DomainError(f"{name!r} is a word of the file that is written; choose another name")
    if name in sys.stdlib_module_names:
        raise DomainError(f"{name!r} is a module of Python, which the file would hide; choose another name")
    found = importlib.util.find_spec(name)
    if found is not None and (found.origin is None or Path(found.origin).resolve().parent != folder.resolve()):
        raise DomainError(f"{name!r} is an installed package, which the file would hide; choose another name")
