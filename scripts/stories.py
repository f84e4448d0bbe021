"""Checks files of written stories: `python scripts/stories.py src/tpn2f/domains/everyday/generation/written/*.txt`.

With TPN2F_DATA set it also names generated texts that nearly repeat a problem for judging.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import islice
from pathlib import Path

from tpn2f.domains.everyday.generation.contract import faults
from tpn2f.domains.everyday.generation.generator import ProblemGenerator
from tpn2f.domains.everyday.generation.templates import ProblemKind
from tpn2f.domains.everyday.generation.written import read_written
from tpn2f.domains.everyday.sources import guarded_texts
from tpn2f.errors import DataError

TELLINGS = 3
"""How often each question is told."""


def check(path: Path) -> tuple[list[str], list[ProblemKind]]:
    """What is wrong with a file of stories, block by block, and the questions of the others."""
    text = path.read_text(encoding="utf-8")
    found: list[str] = []
    questions: list[ProblemKind] = []
    line = 1
    for block in re.split(r"(\n\s*\n)", text):
        if block.strip():
            try:
                kinds = read_written("\n" * (line - 1) + block, path.stem)
            except DataError as error:
                found.append(str(error))
            else:
                questions += kinds
                found += [fault for kind in kinds for fault in faults(kind, TELLINGS)]
        line += block.count("\n")
    return found, questions


def near(kinds: list[ProblemKind], data: Path) -> list[str]:
    """Texts of the stories that nearly repeat a problem that only judges."""
    judged = guarded_texts(data / "everyday")
    found = []
    for kind, _, example in islice(ProblemGenerator(1, "train", kinds).examples(), 4 * len(kinds)):
        other = judged.near(example.problem.words)
        if other:
            found.append(f"{kind.name} nearly repeats {other}: {example.text}")
    return found


def main() -> int:
    kinds: list[ProblemKind] = []
    wrong = 0
    for path in map(Path, sys.argv[1:]):
        found, questions = check(path)
        print(*found, f"{path.name}: {len(questions):,} questions, {len(found)} faults", sep="\n")
        kinds += questions
        wrong += len(found)
    if kinds and "TPN2F_DATA" in os.environ:
        repeats = near(kinds, Path(os.environ["TPN2F_DATA"]))
        print(*repeats, f"{len(repeats)} texts nearly repeat a problem for judging", sep="\n")
        wrong += len(repeats)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
