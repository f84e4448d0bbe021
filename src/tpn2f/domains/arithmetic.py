"""Arithmetic: a small domain whose problems are made here, for tests, the tutorial and a one-minute training run.

    "add the product of 3 and 4 to 1,200 ."      multiply(n0, n1) | add(#0, n2)

A text and its program grow together from the tables of phrases below: questions, orders and small stories. The splits
are the same on every machine. About 30 % of dev and test are combinations of phrases that train does not hold; no text
occurs twice. There are no files to read, so the folder that a domain is given is not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from zlib import crc32

from tpn2f.domain import Example, Problem, Signature, Step, diagnose_value, run_steps
from tpn2f.errors import DataError, ExecutionError
from tpn2f.numbers import in_digits
from tpn2f.program import Program, read_tree

NUMBER = "number"
SIZES = {"train": 2000, "dev": 300, "test": 300}
MAX_TEXT = 10_000
"""The longest text that is read, in characters."""

Phrase = tuple[str, str]
"""A text and the tree that it means, with {0}, {1}, ... where other phrases go."""

# Each phrase begins with its own words, so that a phrase inside another can be read in one way only.
_NOUNS: tuple[Phrase, ...] = (
    ("the sum of {0} and {1}", "(add {0} {1})"),
    ("the total of {0} and {1}", "(add {0} {1})"),
    ("the difference between {0} and {1}", "(subtract {0} {1})"),
    ("the amount by which {0} exceeds {1}", "(subtract {0} {1})"),
    ("the product of {0} and {1}", "(multiply {0} {1})"),
    ("the quotient of {0} and {1}", "(divide {0} {1})"),
    ("the ratio of {0} to {1}", "(divide {0} {1})"),
    ("the square of {0}", "(square {0})"),
    ("the average of {0} and {1}", "(divide (add {0} {1}) const_2)"),
    ("twice {0}", "(multiply {0} const_2)"),
    ("half of {0}", "(divide {0} const_2)"),
    ("the amount that is {0} percent of {1}", "(divide (multiply {0} {1}) const_100)"),
    ("the value of {0} kept between {1} and {2}", "(clamp {0} {1} {2})"),
)
_QUESTIONS = ("what is {0} ?", "how much is {0} ?", "find {0} .", "calculate {0} .", "please work out {0} .")
_ORDERS: tuple[Phrase, ...] = (
    ("add {0} to {1}", "(add {0} {1})"),
    ("subtract {0} from {1}", "(subtract {1} {0})"),
    ("multiply {0} by {1}", "(multiply {0} {1})"),
    ("divide {0} by {1}", "(divide {0} {1})"),
    ("limit {0} to the range from {1} to {2}", "(clamp {0} {1} {2})"),
)
_NEXT_ORDERS: tuple[Phrase, ...] = (
    ("{0} , then add {1}", "(add {0} {1})"),
    ("{0} , then subtract {1}", "(subtract {0} {1})"),
    ("{0} , then multiply by {1}", "(multiply {0} {1})"),
    ("{0} , then divide by {1}", "(divide {0} {1})"),
    ("{0} , then square the result", "(square {0})"),
    ("{0} , then halve the result", "(divide {0} const_2)"),
)
_OPENINGS: tuple[Phrase, ...] = (
    ("tom has {0} apples .", "{0}"),
    ("tom starts the day with {0} apples .", "{0}"),
    ("tom has {0} boxes with {1} apples in each .", "(multiply {0} {1})"),
    ("tom has {0} red apples and {1} green apples .", "(add {0} {1})"),
)
_EVENTS: tuple[Phrase, ...] = (
    ("{0} tom buys {1} more .", "(add {0} {1})"),
    ("{0} a friend brings {1} more .", "(add {0} {1})"),
    ("{0} tom gives {1} away .", "(subtract {0} {1})"),
    ("{0} tom loses {1} of them .", "(subtract {0} {1})"),
    ("{0} tom sells half of them .", "(divide {0} const_2)"),
    ("{0} overnight their number doubles .", "(multiply {0} const_2)"),
)
_ENDINGS: tuple[Phrase, ...] = (
    ("{0} how many apples does tom have now ?", "{0}"),
    ("{0} how many apples are left ?", "{0}"),
    ("{0} tom shares them equally among {1} children . how many apples does each child get ?", "(divide {0} {1})"),
)
_PEOPLE = ("tom", "mary", "ann", "peter")
_THINGS = ("apples", "books", "pens", "marbles")

_NUMERAL = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+"
_TOKEN = re.compile(rf"({_NUMERAL})|[^\W\d_]+(?:'[^\W\d_]+)?|\S")


def _clamp(value: float, low: float, high: float) -> float:
    if low > high:
        raise ExecutionError(f"there is nothing between {low:g} and {high:g}")
    return min(max(value, low), high)


def _divide(left: float, right: float) -> float:
    if right == 0:
        raise ExecutionError("division by zero")
    return left / right


def _bounded(function: Callable[..., float]) -> Callable[..., float]:
    def bounded(*values: float) -> float:
        result = function(*values)
        if not math.isfinite(result):
            raise ExecutionError("the result is too large")
        return result

    return bounded


_NUMBERS = (NUMBER, NUMBER)
# The language in one table: a relation, what it takes and gives, and what it does.
_LANGUAGE: dict[str, tuple[Signature, Callable[..., float]]] = {
    "add": (Signature(_NUMBERS, NUMBER, True, "the sum"), lambda left, right: left + right),
    "subtract": (Signature(_NUMBERS, NUMBER, False, "the first less the second"), lambda left, right: left - right),
    "multiply": (Signature(_NUMBERS, NUMBER, True, "the product"), lambda left, right: left * right),
    "divide": (Signature(_NUMBERS, NUMBER, False, "the first over the second"), _divide),
    "square": (Signature((NUMBER,), NUMBER, False, "a number times itself"), lambda value: value * value),
    "clamp": (Signature((NUMBER, *_NUMBERS), NUMBER, False, "the nearest number from the second to the third"), _clamp),
}
_FUNCTIONS = {name: _bounded(function) for name, (_, function) in _LANGUAGE.items()}
_CONSTANTS = {"const_2": 2.0, "const_100": 100.0}


class Arithmetic:
    """Arithmetic in words. Numbers are floats; every program ends."""

    name = "arithmetic"
    splits = tuple(SIZES)
    relations: Mapping[str, Signature] = {name: signature for name, (signature, _) in _LANGUAGE.items()}
    constants: Mapping[str, str] = dict.fromkeys(_CONSTANTS, NUMBER)

    def __init__(self, data: Path | str | None = None) -> None:
        del data

    def examples(self, split: str) -> Iterable[Example]:
        if split not in self.splits:
            raise DataError(f"{self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        return _all_examples()[split]

    def names(self, problem: Problem) -> Mapping[str, str]:
        return dict.fromkeys(problem.bindings, NUMBER)

    def read(self, text: str) -> Problem:
        """Numbers, also those in words, become n0, n1, ...; `%` becomes percent; other signs stand alone."""
        if len(text) > MAX_TEXT:
            raise DataError(f"the problem has {len(text)} characters; at most {MAX_TEXT} are read")
        words: list[str] = []
        bindings: dict[str, float] = {}
        for token in _TOKEN.finditer(in_digits(text.lower())):
            if token[1] is None:
                words.append("percent" if token[0] == "%" else token[0])
                continue
            value = float(token[1].replace(",", ""))
            if not math.isfinite(value):
                raise DataError(f"the number {token[1][:20]}... is too large")
            words.append(f"n{len(bindings)}")
            bindings[words[-1]] = value
        if not words:
            raise DataError("the problem is empty")
        return Problem(tuple(words), bindings)

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]:
        """The program worked step by step."""
        return run_steps(program, _FUNCTIONS, problem.bindings, _CONSTANTS)

    def execute(self, program: Program, problem: Problem) -> object:
        return self.steps(program, problem)[-1].result

    def is_solved(self, program: Program, example: Example) -> bool:
        try:
            value = self.execute(program, example.problem)
        except ExecutionError:
            return False
        # Anything but two numbers is not solved; bindings may hold anything.
        if not isinstance(value, int | float) or not isinstance(example.answer, int | float):
            return False
        return math.isclose(value, example.answer, rel_tol=1e-6, abs_tol=1e-9)

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        return {"execution": float(self.is_solved(program, example))}

    def diagnose(self, example: Example) -> str | None:
        return diagnose_value(self, example)

    def subsets(self, example: Example) -> tuple[str, ...]:
        del example
        return ()


@cache
def _all_examples() -> dict[str, tuple[Example, ...]]:
    random = Random("tpn2f arithmetic 1")
    texts: set[str] = set()
    known: list[Phrase] = []
    splits: dict[str, tuple[Example, ...]] = {}
    for split, size in SIZES.items():
        examples: list[Example] = []
        while len(examples) < size:
            if split == "train":
                template = _template(random, held_out=False)
            else:
                template = _template(random, held_out=True) if random.random() < 0.3 else random.choice(known)
            example = _example(template, random, f"{split}:{len(examples)}")
            if example is not None and example.text not in texts:
                texts.add(example.text)
                examples.append(example)
                if split == "train":
                    known.append(template)
        splits[split] = tuple(examples)
    return splits


def _template(random: Random, held_out: bool) -> Phrase:
    """A whole text and its tree, with n0, n1, ... in the order of the text; two to four numbers, one to four calls."""
    while True:
        # Which number is the first of the text is known at the end only, so each is a mark until then.
        leaves = map("@{}@".format, count())
        text, tree = random.choices((_question, _order, _story), (4, 3, 3))[0](random, leaves)
        marks = re.findall("@[0-9]+@", text)
        for index, mark in enumerate(marks):
            text, tree = text.replace(mark, f"n{index}"), tree.replace(mark, f"n{index}")
        # A hash of the text, and not chance, decides what train never sees: one combination in ten.
        held = crc32(text.encode()) % 10 == 0
        if 2 <= len(marks) <= 4 and 1 <= tree.count("(") <= 4 and held == held_out:
            return text, tree


def _question(random: Random, leaves: Iterator[str]) -> Phrase:
    text, tree = _fill(random.choice(_NOUNS), random, leaves, inside=0.35)
    return random.choice(_QUESTIONS).format(text), tree


def _order(random: Random, leaves: Iterator[str]) -> Phrase:
    order = _fill(random.choice(_ORDERS), random, leaves, inside=0.25)
    for _ in range(random.choice((0, 0, 1, 2))):
        order = _fill(random.choice(_NEXT_ORDERS), random, leaves, order)
    return f"{order[0]} .", order[1]


def _story(random: Random, leaves: Iterator[str]) -> Phrase:
    story = _fill(random.choice(_OPENINGS), random, leaves)
    for _ in range(random.choice((0, 1, 1, 2))):
        story = _fill(random.choice(_EVENTS), random, leaves, story)
    text, tree = _fill(random.choice(_ENDINGS), random, leaves, story)
    return text.replace("tom", random.choice(_PEOPLE)).replace("apples", random.choice(_THINGS)), tree


def _fill(phrase: Phrase, random: Random, leaves: Iterator[str], *parts: Phrase, inside: float = 0.0) -> Phrase:
    """A phrase with its places filled: with `parts`, then with numbers, or by chance with nouns."""
    text, tree = phrase
    filled = list(parts)
    while f"{{{len(filled)}}}" in text:
        if random.random() < inside:
            filled.append(_fill(random.choice(_NOUNS), random, leaves))
        else:
            filled.append((leaf := next(leaves), leaf))
    return text.format(*(part[0] for part in filled)), tree.format(*(part[1] for part in filled))


def _example(template: Phrase, random: Random, name: str) -> Example | None:
    """The template with numbers for n0, n1, ..., or None if these give no sensible answer."""
    text, tree = template
    whole = "how many" in text
    text = re.sub(r"\bn[0-9]\b", lambda _: _numeral(random, whole), text)
    program, problem = Program.from_tree(read_tree(tree)), Arithmetic().read(text)
    try:
        steps = Arithmetic().steps(program, problem)
    except ExecutionError:
        return None
    # Nobody has fewer than zero apples.
    if any(isinstance(step.result, float) and step.result < 0 for step in steps):
        return None
    return Example(problem, program, steps[-1].result, text, name)


def _numeral(random: Random, whole: bool) -> str:
    size = random.random()
    if size < 0.7 or (whole and size < 0.85):
        return str(random.randrange(2, 100))
    return (
        f"{random.randrange(100, 5000):,}" if size >= 0.85 else f"{random.randrange(2, 100)}.{random.randrange(1, 10)}"
    )
