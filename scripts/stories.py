"""Checks files of written stories: `python scripts/stories.py src/tpn2f/domains/everyday/generation/written/*.txt`.

Files that end in .toml are more phrasings of known kinds, as in `generation/kinds/taught`.

With TPN2F_DATA set it also names generated texts that nearly repeat a problem for judging.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tpn2f.domains.everyday.generation.contract import faults
from tpn2f.domains.everyday.generation.generator import ProblemGenerator
from tpn2f.domains.everyday.generation.templates import ProblemKind, bundled_kinds, with_taught
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


def check_phrasings(path: Path) -> tuple[list[str], list[ProblemKind]]:
    """The same for a file with more phrasings of known kinds."""
    try:
        names = tomllib.loads(path.read_text(encoding="utf-8"))
        kinds = [replace(kind, taught=(), taught_asks=()) for kind in bundled_kinds()]
        told = [kind for kind in with_taught(kinds, [path]) if kind.name in names]
    except (DataError, tomllib.TOMLDecodeError) as error:
        return [f"{path.name}: {error}"], []
    found = [f"{kind.name} is for {kind.part} alone" for kind in told if kind.part != "train"]
    known = {wording.source for kind in kinds for wording in kind.phrasings + kind.asks}
    for kind in told:
        found += [
            f"{kind.name} has it already: {w.source}" for w in kind.taught + kind.taught_asks if w.source in known
        ]
        found += faults(kind, TELLINGS)
    return found, [replace(kind, phrasings=(), asks=()) for kind in told if kind.part == "train"]


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
        found, questions = (check_phrasings if path.suffix == ".toml" else check)(path)
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
