"""Stories written by hand: every one is told and read rightly, and the ways to write them wrongly are named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import islice, pairwise
from pathlib import Path

import pytest

from stories import few_stories
from tpn2f.domains.everyday.generation import ProblemGenerator, generate_later
from tpn2f.domains.everyday.generation.contract import faults
from tpn2f.domains.everyday.generation.generator import _evened_out, _shared_out
from tpn2f.domains.everyday.generation.templates import FOLDERS, TAUGHT, ProblemKind, bundled_kinds
from tpn2f.domains.everyday.generation.written import (
    FOLDER,
    LATER,
    SHARE,
    bundled_stories,
    read_program,
    read_written,
)
from tpn2f.errors import DataError

FILES = sorted((*FOLDER.glob("*.txt"), *(FOLDER / TAUGHT).glob("*.txt")))

BLOCK = """
# a comment
let k 2..4
! b < a
Ana has {a:10..20} <apples> and Bob's bag holds {b:2..9}. {t:= k * 5} <apples> lie on the ground.
? How many <apples> do Ana and Bob have? = a + b
? How many <apples> lie on the ground for each of {d:= k} children? = t / d
"""


@pytest.mark.parametrize("file", FILES, ids=[path.stem for path in FILES])
def test_some_stories_are_told_and_read(file: Path) -> None:
    blocks = re.split(r"\n\s*\n", file.read_text(encoding="utf-8"))
    kinds = read_written("\n\n".join(blocks[::10]), file.stem)
    found = [fault for kind in kinds[::3] for fault in faults(kind, tellings=1)]
    assert found == [] and kinds


@pytest.mark.slow
def test_all_stories_and_taught_phrasings_are_told_and_read() -> None:
    """In a process of its own, where no types are checked: there are many."""
    script = Path(__file__).parents[1] / "scripts" / "stories.py"
    taught = [path for folder in FOLDERS for path in sorted((folder / TAUGHT).glob("*.toml"))]
    assert len(taught) > 4
    files = [*FILES, *LATER.glob("*.txt"), *taught]
    environment = {name: value for name, value in os.environ.items() if name != "TPN2F_DATA"}
    done = subprocess.run(
        [sys.executable, script, *files], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.count(" 0 faults") == len(files), done.stdout[-2000:]


def test_there_are_many_stories_with_several_questions_each() -> None:
    lines = [line for file in FILES for line in ("", *file.read_text(encoding="utf-8").splitlines())]
    starts = sum(bool(line) and not before for before, line in pairwise(["", *lines]))
    questions = sum(line.startswith("?") for line in lines)
    assert starts >= 1000 and questions >= 2.5 * starts


def test_a_block_becomes_one_kind_for_every_question() -> None:
    both, shared = read_written(BLOCK, "toy")
    assert [str(kind.program) for kind in (both, shared)] == ["add(a, b)", "divide(t, d)"]
    assert both.setting is shared.setting
    assert both.part == shared.part
    # With its own things, and with others in their place.
    assert ["<" in wording.source or "{T0" in wording.source for wording in both.phrasings] == [False, True]
    assert [fault for kind in (both, shared) for fault in faults(kind)] == []


def test_names_and_things_change_and_numbers_keep_their_conditions() -> None:
    kinds = read_written(BLOCK, "toy")
    told = [example for _, _, example in islice(ProblemGenerator(1, kinds[0].part, kinds).examples(), 60)]
    texts = " ".join(example.text for example in told)
    assert "Ana" not in texts.split()
    assert len({example.text.split()[0] for example in told}) > 20
    assert 0 < sum("apples" in example.text for example in told) < len(told)
    for example in told:
        assert example.problem.bindings["n0"] > example.problem.bindings["n1"]


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ("Ana has {a:2..9} pens.", "no question"),
        ("Ana has {a:2..9} pens.\n? How many?", "expected `\\? question = expression`"),
        ("Ana has {a:2..9} pens.\n? How many? = a + c", "names c"),
        ("Ana has {a:2..9} pens.\n? How many? = a", "computes nothing"),
        ("Ana has {a:2..9} pens.\n? How many? = a + 17", "17 is no constant"),
        ("Ana has {a:2..9} pens.\n? How many? = a ** 2", "not one of"),
        ("Ana has {a:2..9} and {a:2..9} pens.\n? How many? = a + 1", "defined twice"),
        ("Ana has {a:2..9} pens.\nBob has none.\n? How many? = a + 1", "one line"),
        ("! z > 2\nAna has {a:2..9} pens.\n? How many? = a + 1", "names z"),
    ],
)
def test_what_is_wrong_with_a_block_is_said(block: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_written(block, "toy")


def test_stories_that_are_taught_are_for_training_and_leave_dev_and_test_as_they_are(tmp_path: Path) -> None:
    things = [f"{first}{second}ts" for first in "bcdfglmnprstvw" for second in "aeiou"]
    blocks = "\n\n".join(f"Ana has {{a:2..9}} {thing}.\n? How many is one more? = a + 1" for thing in things)
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / TAUGHT).mkdir(parents=True)
        (folder / "usual.txt").write_text(blocks, encoding="utf-8")
    (after / TAUGHT / "more.txt").write_text(blocks.replace("Ana has", "Bob found"), encoding="utf-8")
    usual, joined = [
        [(kind.name, kind.story, kind.part) for kind in bundled_stories(folder)] for folder in (before, after)
    ]
    assert joined[: len(usual)] == usual and len(joined) == 2 * len(usual)
    assert {part for _, _, part in usual} == {"train", "dev", "test"}
    assert {part for _, _, part in joined[len(usual) :]} == {"train"}


def test_expressions_keep_their_order_and_their_value() -> None:
    assert str(read_program("a - p / 100 * a")) == "divide(p, const_100) | multiply(#0, a) | subtract(a, #1)"
    assert str(read_program("(a + b) / 2")) == "add(a, b) | divide(#0, const_2)"


def test_stories_have_their_share_of_what_is_generated() -> None:
    told = islice(ProblemGenerator(2, "train", (*bundled_kinds(), *few_stories())).examples(), 500)
    share = sum(bool(kind.story) for kind, _, _ in told) / 500
    assert share == pytest.approx(SHARE, abs=0.1)


def test_what_is_common_is_drawn_less_often_for_training_only() -> None:
    kinds = [kind for kind in few_stories() if kind.part == "train"]
    told = [kind for kind, _, _ in islice(ProblemGenerator(2, "train", kinds).examples(), 600)]
    single = sum(len(kind.program) == 1 for kind in told) / len(told)
    written = sum(kind.weight for kind in kinds if len(kind.program) == 1) / sum(kind.weight for kind in kinds)
    assert single < 0.8 * written
    # Within a sequence of operations nothing changes, and what is rare keeps its weight.
    weights = _shared_out(kinds)
    evened = _evened_out(kinds, weights)
    factors: dict[tuple[str, ...], set[float]] = {}
    for kind, new, old in zip(kinds, evened, weights):
        factors.setdefault(tuple(step.relation for step in kind.program), set()).add(round(new / old, 9))
    assert all(len(found) == 1 for found in factors.values())
    assert max(factors["multiply",]) < 0.6
    assert factors["add", "divide"] == {1.0}


@pytest.mark.parametrize("stories", [few_stories, pytest.param(bundled_stories, marks=pytest.mark.slow)])
def test_no_story_is_in_two_parts(stories: Callable[[], tuple[ProblemKind, ...]]) -> None:
    parts: dict[str, set[str]] = {}
    for kind in stories():
        parts.setdefault(kind.story, set()).add(kind.part)
    assert all(len(found) == 1 for found in parts.values())
    assert {part for found in parts.values() for part in found} == {"train", "dev", "test"}


@pytest.mark.slow
def test_stories_written_later_are_not_among_the_others() -> None:
    later = bundled_stories(LATER)
    assert len(later) > 1000 and not {kind.story for kind in later} & {kind.story for kind in bundled_stories()}


def test_stories_written_later_are_the_same_each_time() -> None:
    made = list(generate_later(1, 40))
    assert made == list(generate_later(1, 40)) and len({example.text for example in made}) == 40
