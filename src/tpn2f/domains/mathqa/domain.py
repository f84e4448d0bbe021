"""MathQA (Amini et al., 2019): word problems, operation sequences and five options.

Numbers in a text are written n0, n1, ... in the order of their tokens, so that a problem's words are its template and
the values travel in its bindings. Programs keep the data's operations as they are, of any arity. Scoring is by value,
by nearest option, and by the published scorer, each under its own name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from tpn2f.domain import (
    Chosen,
    ComputesDirectly,
    Example,
    Problem,
    Signature,
    Step,
    data_folder,
    load_domain,
    run_steps,
)
from tpn2f.domains.mathqa.operations import OPERATIONS, RELATIONS
from tpn2f.domains.mathqa.options import LETTERS, Options, read_options, read_value
from tpn2f.domains.mathqa.published import published_credit
from tpn2f.domains.mathqa.words import NOTATION, describe
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.numbers import in_digits
from tpn2f.program import Program, RelationalTuple, reference

FIELDS = ("Problem", "options", "correct", "linear_formula")
MAX_CHARACTERS = 100_000

# The i-th token that is an unsigned decimal is n_i: no signs, no merging of fractions, no number words.
_is_number = re.compile(r"(?:\d[\d,]*(?:\.\d*)?|\.\d+)").fullmatch
# Numbers and signs, and not a single word.
_is_sum = re.compile(r"[\d\s.,+\-*/×÷^()%=?]{1,200}").fullmatch

# Every constant of train and dev, and those of the official list, in both spellings of the decimal point.
_CONSTANTS = """
    0.25 0.2778 0.33 0.3937 0.4535 0.5 0.6 0_2778 0_25 0_33 0_3937 0_4535 0_6 1 1.6 1_6 10 100 100.0 1000 12 180 2 2.0
    2.2046 2.54 2_2046 2_54 26 3 3.0 3.6 3_6 3600 360 4 4.0 5 52 6 60 60.0 deg_to_rad pi
"""


def constant_value(word: str) -> float:
    """What `const_0_25` and `const_pi` are worth."""
    name = word.removeprefix("const_")
    if name == "pi":
        return math.pi
    if name == "deg_to_rad":
        return math.pi / 180
    return float(name.replace("_", "."))


_VALUES = {f"const_{name}": constant_value(name) for name in _CONSTANTS.split()}


class MathQA:
    """The domain; `data` is the folder of train.json, dev.json, test.json and challenge_test.json."""

    name = "mathqa"
    splits = ("train", "dev", "test", "challenge_test")
    relations: Mapping[str, Signature] = RELATIONS
    constants: Mapping[str, str] = dict.fromkeys(_VALUES, "number")
    notation: Mapping[str, str] = NOTATION
    option_margin = 3.0
    """Chosen on dev."""

    def __init__(self, data: Path | str | None = None) -> None:
        self.data = data
        self.skipped: dict[str, list[str]] = {}
        """Split -> one line for every record that was left out, with the reason; filled as a split is read."""

    def examples(self, split: str) -> Iterator[Example]:
        """The examples of a split. A record that cannot be read is left out and listed in `skipped`."""
        if split not in self.splits:
            raise DataError(f"mathqa has no split {split!r}; it has {', '.join(self.splits)}")
        path = data_folder(self.name, self.data) / f"{split}.json"
        skipped: list[str] = []
        self.skipped.setdefault(split, skipped)
        for index, record in enumerate(_load(path)):
            try:
                yield read_record(record, f"{split}:{index}")
            except (DataError, ProgramSyntaxError) as error:
                skipped.append(f"{path.name}, record {index}: {error}")
                # A later reading that stops half-way does not forget what an earlier one left out.
                if len(skipped) > len(self.skipped[split]):
                    self.skipped[split] = skipped

    def names(self, problem: Problem) -> Mapping[str, str]:
        return dict.fromkeys(problem.bindings, "number")

    def read(self, text: str) -> Problem:
        if len(text) > MAX_CHARACTERS:
            raise DataError(f"the question has {len(text)} characters; at most {MAX_CHARACTERS} are read")
        words = tokenize(text)
        if not words:
            raise DataError("the question is empty")
        found = mask_numbers(words)
        # The data set has words such as `two` beside numerals, and its programs have constants for them. A text that
        # has no numeral at all is not like that: its numbers are in words.
        return found if found.bindings else mask_numbers(tokenize(in_digits(text)))

    def compute(self, text: str) -> tuple[Program, Problem] | None:
        """Numbers and signs alone, such as `2 + 2`, as everyday problems read them: no model has to guess."""
        if not _is_sum(text):
            return None
        calculator = load_domain("everyday")
        found = calculator.compute(text) if isinstance(calculator, ComputesDirectly) else None
        if found is None:
            return None
        program, problem = found
        words = {word for step in program for word in step.arguments if reference(word) is None}
        known = {step.relation for step in program} <= self.relations.keys()
        return found if known and words <= {*problem.bindings, *self.constants} else None

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]:
        """The program worked step by step; every result is a finite number."""
        return run_steps(program, _CHECKED, _numbers(problem.bindings), _VALUES)

    def execute(self, program: Program, problem: Problem) -> float:
        return self.steps(program, problem)[-1].result  # type: ignore[return-value]

    def describe(self, step: RelationalTuple) -> str:
        return describe(step)

    def choose(self, value: object, options: str | Sequence[str]) -> Chosen | None:
        """The option nearest to a value; None when none is a number or two are equally near. Raises DataError."""
        if isinstance(options, str):
            found = read_options(options.lower(), "")
        else:
            found = Options(tuple(" ".join(str(option).lower().split()) for option in options[: len(LETTERS)]), "")
        if len(found.texts) < 2:
            shown = options if isinstance(options, str) else ", ".join(map(str, options))
            raise DataError(f"options: expected 'a ) 38 , b ) 27 , ...' or a list of texts, got {shown[:60]!r}")
        label = found.nearest(value) if isinstance(value, int | float) else None
        if label is None:
            return None
        text = found.texts[LETTERS.index(label)]
        number = read_value(text) or 0.0
        return Chosen(label, text, abs(number - float(value)) <= 0.01 * abs(number) + 1e-9)  # type: ignore[arg-type]

    def options(self, example: Example) -> Sequence[str]:
        """The options of a question as a reader sees them, without the right letter."""
        assert isinstance(example.answer, Options)
        return example.answer.texts

    def is_solved(self, program: Program, example: Example) -> bool:
        """Whether the option nearest to the program's value is the right one."""
        return self.credits(program, example)["nearest_option"] == 1.0

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        """`value`: within 1 % of the gold option's number. `nearest_option`: the nearest option is the gold one.
        `published`: the credit of the published scorer, chance credit included. A program that fails earns 0 in the
        first two."""
        options = example.answer
        assert isinstance(options, Options)
        credits = {"value": 0.0, "nearest_option": 0.0, "published": published_credit(program, example.text, options)}
        try:
            value = self.execute(program, example.problem)
        except ExecutionError:
            return credits
        gold = options.gold
        if gold is not None:
            credits["value"] = float(abs(value - gold) <= max(0.01 * abs(gold), 1e-9))
        credits["nearest_option"] = float(options.nearest(value) == options.correct)
        return credits

    def diagnose(self, example: Example) -> str | None:
        options = example.answer
        assert isinstance(options, Options)
        if options.gold is None:
            return "the gold option is not a number"
        try:
            value = self.execute(example.program, example.problem)
        except ExecutionError:
            return "the program cannot be run"
        chosen = options.nearest(value)
        if chosen == options.correct:
            return None
        near = options.texts["abcde".index(chosen)] if chosen else None
        hit = near is not None and abs((read_value(near) or 0) - value) <= 0.01 * abs(value)
        return "the program gives another option" if hit else "the program gives none of the options"

    def doubts(self, split: str) -> dict[str, list[str]]:
        """What is known to be doubtful about a split, from `SPLIT_recovery_flags.jsonl` where there is one: reason to
        ids. Our train.json is a reconstruction, and its maker wrote down where it may be wrong."""
        found: dict[str, list[str]] = {}
        path = data_folder(self.name, self.data) / f"{split}_recovery_flags.jsonl"
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                flags = json.loads(line)
                for field, reason in flags.items():
                    # Only what this domain reads; what the options were cut from is a detail of the same doubt.
                    if field in FIELDS:
                        found.setdefault(f"{field}: {reason}", []).append(f"{split}:{flags['index']}")
        return found

    def subsets(self, example: Example) -> tuple[str, ...]:
        return ()


def read_record(record: object, where: str) -> Example:
    """One record of the original files. Raises DataError for a missing field, ProgramSyntaxError for a bad formula."""
    if not isinstance(record, dict):
        raise DataError(f"expected a JSON object, got {type(record).__name__}")
    for field in FIELDS:
        if not isinstance(record.get(field), str):
            state = "is missing" if field not in record else f"is {type(record[field]).__name__}, not text"
            raise DataError(f"the field {field!r} {state}")
    text = " ".join(record["Problem"].split())
    if not text:
        raise DataError("the problem has no text")
    program = Program.parse(record["linear_formula"])
    if not program.tuples:
        raise DataError("the formula is empty")
    options = read_options(record["options"], record["correct"])
    return Example(mask_numbers(text.split()), program, options, text, where)


def mask_numbers(words: list[str]) -> Problem:
    """Numbers become n0, n1, ... in the words, and their values the bindings."""
    masked: list[str] = []
    bindings: dict[str, float] = {}
    for word in words:
        if _is_number(word):
            masked.append(f"n{len(bindings)}")
            bindings[masked[-1]] = float(word.replace(",", ""))
        else:
            masked.append(word)
    return Problem(tuple(masked), bindings)


# Numbers first, so that `60%`, `$1,200.` and `5th` come apart; then words; then every other sign by itself.
_PIECE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+|[^\W\d_]+|_+|[^\w\s]|\w")


def tokenize(text: str) -> list[str]:
    """A person's text in the tokens of the data: lower case, signs apart from words and numbers."""
    return _PIECE.findall(text.lower())


def _numbers(bindings: Mapping[str, object]) -> dict[str, object]:
    """The values of a problem as floats: whole numbers of Python would grow without bounds."""
    numbers: dict[str, object] = {}
    for name, value in bindings.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ExecutionError(f"{name} is {type(value).__name__}, not a number")
        try:
            numbers[name] = float(value)
        except OverflowError as error:
            raise ExecutionError(f"{name} is too large") from error
    return numbers


def _load(path: Path) -> list[object]:
    if not path.is_file():
        there = ", ".join(sorted(file.name for file in path.parent.glob("*.json"))) if path.parent.is_dir() else ""
        raise DataError(f"{path} does not exist (the folder has {there or 'no .json files'})")
    try:
        records = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not valid JSON: {error}") from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if not isinstance(records, list) or not records:
        raise DataError(f"{path}: expected a list of records, got {'an empty list' if records == [] else 'no list'}")
    return records


def _checked(name: str) -> Callable[..., float]:
    """The operation with its arity and its result checked, so that errors speak the language's words."""
    function, arity = OPERATIONS[name], RELATIONS[name].arity

    def run(*arguments: float) -> float:
        if len(arguments) != arity:
            raise ExecutionError(f"{name} takes {arity} argument(s), got {len(arguments)}")
        value = function(*arguments)
        if not math.isfinite(value):
            raise ExecutionError("the result is not finite")
        return value

    return run


_CHECKED = {name: _checked(name) for name in OPERATIONS}
