"""What a domain is: one file that knows the texts, the language and the scoring of one kind of problem.

A domain holds no tensors, and nothing else in the package holds a domain's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from tpn2f.program import Program, RelationalTuple

ANY = "any"
"""The type that fits every type."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What a relation takes and gives: one type name per position, and the type of the result."""

    arguments: tuple[str, ...]
    result: str = ANY
    commutative: bool = False
    """Whether the arguments may be put in any order."""
    doc: str = ""
    labels: tuple[str, ...] = ()
    """What the positions are called, for people: ("table", "column"); empty where the language has no such names."""

    @property
    def arity(self) -> int:
        return len(self.arguments)

    def __str__(self) -> str:
        """`(table: Table, column: Column) -> number`."""
        labels = self.labels or ("",) * self.arity
        positions = (f"{label}: {kind}" if label else kind for label, kind in zip(labels, self.arguments))
        return f"({', '.join(positions)}) -> {self.result}"


@dataclass(frozen=True, slots=True)
class Problem:
    """What the encoder reads, and what the executor needs."""

    words: tuple[str, ...]
    """The text, with the values taken out: two problems with the same words have the same template."""
    bindings: Mapping[str, object] = field(default_factory=dict)
    """The values, by the name that programs use: {"n0": 3.0} or {"a": "int[]"}."""
    result: str = field(default="", compare=False)
    """The type of the value that is asked for, in the language's own words; empty where it is unknown."""


@dataclass(frozen=True, slots=True)
class Example:
    """A problem with its gold program and whatever the domain needs to judge another program."""

    problem: Problem
    program: Program
    answer: object = None
    """The domain's own: the options and the letter of MathQA, the tests of AlgoLisp, a number of arithmetic."""
    text: str = ""
    """The problem as a person reads it."""
    id: str = ""
    """Where it comes from, such as `test:17`."""


@dataclass(frozen=True, slots=True)
class Step:
    """One executed tuple: what its arguments were worth and what came out."""

    tuple: RelationalTuple
    values: tuple[object, ...]
    result: object


@dataclass(frozen=True, slots=True)
class Traced:
    """A call of a program's tree in one run: what it gave, each time that it was reached."""

    values: tuple[str, ...]
    """What it gave the first times, in short; in a function's body also what that was called with: `arg1 = 3: 9`."""
    count: int
    """How often it was reached."""
    failed: bool = False
    """Whether the run ended here."""


@runtime_checkable
class Domain(Protocol):
    """The contract; `tests/test_domain_contract.py` is its executable form.

    A domain is made with the folder of its data, or None for the usual places: `Domain(data=None)`. What it may offer
    beyond these members is declared in `tpn2f.domain.offers`.
    """

    name: str

    @property
    def splits(self) -> tuple[str, ...]: ...

    @property
    def relations(self) -> Mapping[str, Signature]:
        """Every relation of the language. Arity masks and type masks come from here."""
        ...

    @property
    def constants(self) -> Mapping[str, str]:
        """Words that any program may use as an argument, with their types: `const_100`, or `+` as a function."""
        ...

    def examples(self, split: str) -> Iterable[Example]:
        """The examples of a split, in the order of the data. Raises DataError."""
        ...

    def names(self, problem: Problem) -> Mapping[str, str]:
        """Words that this problem adds to the constants, with their types: {"n0": "number"}."""
        ...

    def read(self, text: str) -> Problem:
        """A person's sentence, in the tokens that the data would have. Raises DataError for an empty one."""
        ...

    def execute(self, program: Program, problem: Problem) -> object:
        """The value of the program. Raises ExecutionError and nothing else."""
        ...

    def is_solved(self, program: Program, example: Example) -> bool:
        """Whether running the program gives the example's answer. Never raises."""
        ...

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        """The domain's own metrics for one prediction, each from 0 to 1, always under the same names. Never raises."""
        ...

    def diagnose(self, example: Example) -> str | None:
        """Why the gold program does not give the gold answer, in a few words that many examples share; None if it does.
        Never raises."""
        ...

    def subsets(self, example: Example) -> tuple[str, ...]:
        """Names of parts of a split that are scored apart as well, such as `cleaned`; most domains have none."""
        ...
