"""The domain `everyday`: word problems of many sources in one reading, one language and one way of scoring.

Splits are named by their source, so that each can be scored and mixed by itself: `gsm8k+socratic+aggregate` is a
training set. `train` and `dev` are the usual mixtures. Splits for training hold clear programs only (grade A) and no
near duplicates of what is for judging; splits for judging hold every record, also where no program is known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tpn2f.domain import Chosen, Example, Problem, Roles, Signature, Step, Unit, data_folder
from tpn2f.domains.everyday import language
from tpn2f.domains.everyday.arithmetic import parse
from tpn2f.domains.everyday.judgement import DOUBT_WORDS, check_asked, doubtful
from tpn2f.domains.everyday.language import EVERYDAY_CONSTANTS, EVERYDAY_RELATIONS
from tpn2f.domains.everyday.mathqa import NO_NUMBER
from tpn2f.domains.everyday.programs import canonical
from tpn2f.domains.everyday.reading import read
from tpn2f.domains.everyday.records import UNKNOWN, GradedRecord
from tpn2f.domains.everyday.sense import makes_sense
from tpn2f.domains.everyday.sources import TRAINING, UNLICENSED, source
from tpn2f.domains.everyday.units import unit_of
from tpn2f.domains.mathqa.domain import MathQA
from tpn2f.domains.mathqa.options import Options
from tpn2f.domains.mathqa.words import NOTATION, describe
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, RelationalTuple

DEV = ("mawps-valid", "gsm8k-dev", "mathqa-dev")
TEST = ("svamp", "mawps-test", "gsm8k-test", "mathqa-test", "mathqa-challenge")
GRADES = {
    "A": "the program is clear; only these are trained on",
    "B": "it gives the answer, but which number is meant is not clear, or it comes only near to its option",
    "C": "it gives the answer with something that the text does not explain",
    "D": "repeats an earlier record",
    "X": "no program that gives the answer is known",
}
GENERATED: Mapping[str, tuple[str, int, int]] = {
    "generated": ("train", 1, 80_000),
    "generated-more": ("train", 2, 140_000),
    "generated-third": ("train", 3, 280_000),
    "generated-dev": ("dev", 1, 600),
    "generated-test": ("test", 1, 2_000),
}
"""Splits that are made when they are read: of which part, from which seed, how many."""
KNOWN = "mathqa-known"
"""What a memory keeps of MathQA's training file: also programs that come only near to their option, or whose option is
no number. A model does not learn from these, but a question that comes again is mostly solved like it was."""
LATER, LATER_COUNT = "stories-later", 2_000
"""Stories that were written after the models were trained, for judging; and how many problems are made of them."""
DEV_OF_MATHQA = 300
"""How many of MathQA's dev stand in the mixture `dev`, so that they do not outweigh the others."""
MANY_STEPS = 5
TOLERANCE = 0.005
"""How far a value may be from the answer, as a share of it."""

_CONSTANT = re.compile(r"^const_\S+")
_loaded: dict[tuple[str, Path | str | None], list[GradedRecord]] = {}


class Everyday:
    """The domain; `data` is the folder of the sources, beside which or in which MathQA's stands."""

    name = "everyday"
    sources = (*TRAINING, *UNLICENSED, *DEV, *TEST)
    grade_words: Mapping[str, str] = GRADES
    splits = ("train", "dev", *TRAINING, *UNLICENSED, KNOWN, *GENERATED, *DEV, *TEST, LATER)
    relations: Mapping[str, Signature] = EVERYDAY_RELATIONS
    constants: Mapping[str, str] = dict.fromkeys(EVERYDAY_CONSTANTS, "number")
    notation: Mapping[str, str] = NOTATION
    doubt_words: Mapping[str, str] = DOUBT_WORDS
    option_margin = MathQA.option_margin
    licences: Mapping[str, str] = {
        "gsm8k": "GSM8K train (OpenAI), MIT",
        "socratic": "GSM8K's sub-questions (OpenAI), MIT",
        "aggregate": "Aggregate (CogComp), MIT",
        "mathqa": "MathQA train, records whose program gives its own option, Apache-2.0",
        "mawps": "MAWPS train, which states no licence: this model is not to be given away",
        "generated": "generated problems (this project), Apache-2.0",
        "generated-more": "more generated problems (this project), Apache-2.0",
        "generated-third": "generated problems, drawn anew (this project), Apache-2.0",
    }
    """What training splits hold, with licences."""
    quotable = ("generated", "generated-third")
    remembered: Mapping[str, str] = {"mathqa": KNOWN}

    def __init__(self, data: Path | str | None = None) -> None:
        self.data = data
        self.skipped: dict[str, list[str]] = {}
        """Split -> one line for every record that was left out, with the reason; filled as a split is read."""

    def examples(self, split: str) -> Iterator[Example]:
        """The examples of a split. What is left out of training is listed in `skipped`."""
        if split not in self.splits:
            raise DataError(f"everyday has no split {split!r}; it has {', '.join(self.splits)}")
        if split in ("train", "dev"):
            return self._mixture(split)
        if split in GENERATED or split == LATER:
            return self._generated(split)
        if split == KNOWN:
            kept = (item.example for item in self._records("mathqa") if is_remembered(item))
            return (replace(example, id=example.id.replace("mathqa", KNOWN, 1)) for example in kept)
        if split not in TRAINING + UNLICENSED:
            return (item.example for item in self._records(split))
        return self._clear(split)

    def roles(self) -> Roles:
        """What the splits are for. Whoever trains may join other parts: `gsm8k+aggregate+generated`."""
        return Roles("train", "dev", (*TEST, "generated-test", LATER), "dev+generated-dev")

    def _clear(self, split: str) -> Iterator[Example]:
        skipped: list[str] = []
        self.skipped.setdefault(split, skipped)
        for item in self._records(split):
            reason = left_out(item)
            if not reason:
                yield item.example
                continue
            skipped.append(f"{item.example.id}: {reason}")
            # A later reading that stops half-way does not forget what an earlier one left out.
            if len(skipped) > len(self.skipped[split]):
                self.skipped[split] = skipped

    def _mixture(self, split: str) -> Iterator[Example]:
        for name in TRAINING if split == "train" else DEV:
            limit = DEV_OF_MATHQA if name == "mathqa-dev" else None
            for example in islice(self.examples(name), limit):
                yield replace(example, id=f"{split}:{example.id}")

    def _generated(self, split: str) -> Iterator[Example]:
        # Templates are read only when they are asked for.
        from tpn2f.domains.everyday.generation import generate, generate_later

        if split in GENERATED:
            part, seed, count = GENERATED[split]
            made = generate(seed, count, part)
        else:
            made = generate_later(1, LATER_COUNT)
        for index, example in enumerate(made):
            # Its own id says what is new in it, `test:phrasing:shopping/change`, and many examples share it.
            told = example.id.partition(":")[2]
            yield replace(example, program=canonical(example.program), id=f"{split}:{index}:{told}")

    def records(self, split: str) -> list[GradedRecord]:
        """All records of a source, with their grades."""
        return list(self._records(split))

    def _records(self, split: str) -> Iterator[GradedRecord]:
        """Converted one after the other; remembered in this process, and kept in the cache folder, once all are."""
        key = split, self.data
        if key not in _loaded:
            everyday = data_folder(self.name, self.data)
            records: list[GradedRecord] = []
            for item in source(split, everyday, lambda: self._mathqa_folder(everyday)):
                records.append(item)
                yield item
            _loaded[key] = records
        else:
            yield from _loaded[key]

    def _mathqa_folder(self, everyday: Path) -> Path:
        for beside in (everyday / "mathqa", everyday.parent / "mathqa"):
            if beside.is_dir():
                return beside
        return data_folder("mathqa", self.data)

    def grades(self, split: str) -> dict[str, int]:
        """How many records of a source have each grade, best first; empty for mixtures and for what is generated."""
        if split not in self.sources:
            return {}
        counts = Counter(item.grade for item in self.records(split))
        return {grade: counts[grade] for grade in sorted(counts)}

    def doubts(self, split: str) -> dict[str, list[str]]:
        """What is doubtful about a source: the reason of every grade below A, to the ids that have it."""
        found: dict[str, list[str]] = {}
        for item in self.records(split) if split in self.sources else ():
            if item.grade != "A":
                # One reason for all constants; which one it is stands in `skipped`.
                reason = _CONSTANT.sub("a constant", item.reason)
                found.setdefault(f"{item.grade}: {reason}", []).append(item.example.id)
            elif item.near:
                found.setdefault(f"nearly repeats {item.near.partition(':')[0]}", []).append(item.example.id)
        return found

    def names(self, problem: Problem) -> Mapping[str, str]:
        return dict.fromkeys(problem.bindings, "number")

    def read(self, text: str) -> Problem:
        """A person's question. Raises NotAQuestion for a text without numbers or without anything that is asked."""
        problem = read(text).problem
        if not problem.words:
            raise DataError("the question is empty")
        check_asked(problem)
        return problem

    def compute(self, text: str) -> tuple[Program, Problem] | None:
        """Bare arithmetic, such as `15% of 240`."""
        return parse(text)

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]:
        """The program worked step by step; every result is a finite number."""
        return language.steps(program, problem)

    def execute(self, program: Program, problem: Problem) -> float:
        return language.execute(program, problem)

    def makes_sense(self, value: object, problem: Problem) -> bool:
        """Whether a value can be the answer: above zero, and whole where things are counted."""
        return makes_sense(value, problem)

    def describe(self, step: RelationalTuple) -> str:
        return f"round {describe(step).split(' of ', 1)[1]} up" if step.relation == "ceil" else describe(step)

    def doubtful(self, problem: Problem, program: Program, value: object) -> frozenset[str]:
        return doubtful(problem, program, value)

    def unit(self, problem: Problem, text: str, value: object) -> Unit | None:
        return unit_of(text, value)

    def choose(self, value: object, options: str | Sequence[str]) -> Chosen | None:
        """The option nearest to a value, as MathQA has it. Raises DataError."""
        return MathQA().choose(value, options)

    def options(self, example: Example) -> Sequence[str]:
        """The options of a question as a reader sees them; most sources have none."""
        return example.answer.texts if isinstance(example.answer, Options) else ()

    def is_solved(self, program: Program, example: Example) -> bool:
        """Whether the program gives the answer, or for a question with options, the nearest one is right."""
        return self.credits(program, example)["solved"] == 1.0

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        """`answer`: within 0.5 % of the answer, or of the gold option's number. `solved`: the nearest option is the
        gold one; where there are no options, the same as `answer`."""
        try:
            amount = self.execute(program, example.problem)
        except ExecutionError:
            return {"answer": 0.0, "solved": 0.0}
        if not isinstance(example.answer, Options):
            credit = float(is_near(amount, example.answer))
            return {"answer": credit, "solved": credit}
        near = float(is_near(amount, example.answer.gold))
        return {"answer": near, "solved": float(example.answer.nearest(amount) == example.answer.correct)}

    def diagnose(self, example: Example) -> str | None:
        if self.is_solved(example.program, example):
            return None
        if example.program == UNKNOWN:
            return "no program is known"
        if isinstance(example.answer, Options):
            return "the program misses its own option"
        return "the program gives another number than the answer"

    def subsets(self, example: Example) -> tuple[str, ...]:
        """By the number of steps; generated examples also by what is new: a phrasing, a kind, a story."""
        if example.program == UNKNOWN:
            return ("no program",)
        count = len(example.program)
        size = f"{count}-step" if count < MANY_STEPS else f"{MANY_STEPS}-step or more"
        for part in ("phrasing", "kind", "story"):
            if f":{part}:" in example.id and not _is_generated_for_training(example.id):
                return size, f"unseen {part}"
        return (size,)


def _is_generated_for_training(name: str) -> bool:
    return GENERATED.get(name.partition(":")[0], ("",))[0] == "train"


def left_out(item: GradedRecord) -> str:
    """Why a record is not for training; nothing if it is."""
    if item.grade != "A":
        return f"grade {item.grade}: {item.reason}"
    return f"nearly repeats {item.near}" if item.near else ""


def is_remembered(item: GradedRecord) -> bool:
    """Whether a memory keeps a record: its program is not known to be wrong, and it repeats nothing for judging."""
    right = item.grade in ("A", "B") or item.reason == NO_NUMBER
    return right and not item.near


def is_near(amount: float, answer: object) -> bool:
    """Whether a value is the answer, within 0.5 %."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return False
    return abs(amount - answer) <= max(TOLERANCE * abs(answer), 1e-9)
