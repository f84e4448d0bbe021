"""What a domain may offer beyond the contract, one protocol per offer: `isinstance(domain, HasSteps)` asks for it.

Nothing else in the package looks whether a domain has a member.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from tpn2f.domain.protocol import Example, Problem, Step, Traced
from tpn2f.program import Program, RelationalTuple

Offer = TypeVar("Offer")


def offered(domain: object, offer: type[Offer]) -> Offer | None:
    """The domain, if it has the methods of an offer. Each class is asked once: for every question it takes long."""
    return cast(Offer, domain) if _offers(type(domain), offer) else None


@cache
def _offers(kind: type, offer: type) -> bool:
    return issubclass(kind, offer)


@runtime_checkable
class HasSteps(Protocol):
    """Programs run tuple by tuple, and every step can be shown."""

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]: ...


@runtime_checkable
class TracesRuns(Protocol):
    """Programs are nested calls, and the value of every call in a run can be shown."""

    def trace(self, program: Program, problem: Problem) -> tuple[Traced, ...]:
        """One a call, in the order in which the tree is written. Raises ExecutionError for a program that cannot start;
        one that fails on its way is traced up to there."""
        ...


@runtime_checkable
class HasNotation(Protocol):
    """Relations have a sign that people know: {"add": "+"}."""

    notation: Mapping[str, str]


@runtime_checkable
class DescribesSteps(Protocol):
    """What a tuple does can be said in words."""

    def describe(self, step: RelationalTuple) -> str: ...


@runtime_checkable
class HasDoc(Protocol):
    """The language is described in a sentence."""

    doc: str


@runtime_checkable
class HasMentions(Protocol):
    """Texts mention values of several kinds; each mention has a `prefix`, a `kind` and a `doc`."""

    mentions: Sequence[Any]


@runtime_checkable
class HasInputs(Protocol):
    """Values are given beside the text, by name; each has a `kind` and a `doc`."""

    inputs: Mapping[str, Any]


@runtime_checkable
class ReadsWithInputs(Protocol):
    """Texts speak of the values given beside them, as of the columns of a table, and are read together with them."""

    def read_with(self, text: str, inputs: Mapping[str, object]) -> Problem: ...


@runtime_checkable
class ComputesDirectly(Protocol):
    """Some texts are programs already, such as `2 + 2`: they need no model."""

    def compute(self, text: str) -> tuple[Program, Problem] | None:
        """The program that a text is; None for any other text. Raises DataError for one that has no value."""
        ...


@runtime_checkable
class DoubtsAnswers(Protocol):
    """The language knows what makes an answer doubtful beyond what holds for any language."""

    doubt_words: Mapping[str, str]
    """What it looks for: the name of the signal, and what people are told."""

    def doubtful(self, problem: Problem, program: Program, value: object) -> Collection[str]:
        """The names of what it found. Never raises."""
        ...


@runtime_checkable
class TellsUnits(Protocol):
    """Answers are numbers of something, and texts may say of what."""

    def unit(self, problem: Problem, text: str, value: object) -> Unit | None:
        """What the answer is a number of; None where the text does not clearly say it. Never raises."""
        ...


@runtime_checkable
class ChecksValues(Protocol):
    """Texts say what the values given beside them must be; others raise DataError."""

    def check_values(self, problem: Problem, values: Mapping[str, object]) -> None: ...


class Unit(NamedTuple):
    """What an answer is a number of, as it is written: `$` before it, ` km per hour` behind it."""

    before: str = ""
    behind: str = ""
    decimals: int | None = None
    """How many decimals people give it; None for as many as it has."""


class Chosen(NamedTuple):
    """The option that fits a value best."""

    label: str
    text: str
    exact: bool
    """Whether the option is the value but for rounding, not just the nearest one."""

    def __str__(self) -> str:
        return f"{self.label} ) {self.text}"


@runtime_checkable
class HasOptions(Protocol):
    """Questions have answers to choose from."""

    option_margin: float
    """How much less log-probability than the best one a program may have, if its value is an option."""

    def options(self, example: Example) -> Sequence[str]:
        """The options of an example, without the right one."""
        ...

    def choose(self, value: object, options: str | Sequence[str]) -> Chosen | None:
        """The option nearest to a value, if there is one. Raises DataError for options that cannot be read."""
        ...


@runtime_checkable
class JudgesAnswers(Protocol):
    """Some values cannot be an answer, such as half a child: of a beam, a program that gives one is passed over."""

    def makes_sense(self, value: object, problem: Problem) -> bool: ...


@runtime_checkable
class HasTests(Protocol):
    """Examples have tests, of which a user may know some."""

    def split_tests(self, example: Example, count: int) -> tuple[Example, Example]:
        """The example with its first tests, and with the others. Raises DataError where there are too few."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What may come next in a program that is being written: relations or the end, or else arguments.

    Masks are remembered by the object, so the same one should be handed out again.
    """

    relations: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()
    """Words; references are separate, because they differ from program to program."""
    ends: bool = False
    """Whether the program may end here."""

    @property
    def begin(self) -> bool:
        """Whether a tuple would begin here."""
        return self.ends or bool(self.relations)


@runtime_checkable
class Typing(Protocol):
    """The type system of a language whose relations have no fixed types, for one vocabulary: what masks come from then.

    It answers for half-written programs, whose form only it knows; None is one that cannot be completed any more.
    """

    def start(self, problem: Problem, longest: int | None = None) -> Any:
        """The empty program, which may get at most `longest` tuples."""
        ...

    def choices(self, partial: Any) -> Choices:
        """The words that may come next; something always may."""
        ...

    def references(self, partial: Any) -> tuple[int, ...]:
        """The tuples whose values may come next as arguments."""
        ...

    def begins(self, partial: Any) -> bool:
        """Whether a tuple would begin here, or the program end: `choices(partial).begin`, without all choices."""
        ...

    def allows(self, partial: Any, word: str | None, ahead: bool = True) -> bool:
        """Whether a relation, an argument or, for None, the end is among what may come next, without all of it.

        Without looking `ahead` a word that fits may lead into a dead end, which is much cheaper to say.
        """
        ...

    def feed(self, partial: Any, word: str) -> Any:
        """The program after a relation or an argument."""
        ...


@runtime_checkable
class HasTyping(Protocol):
    """Masks need more than signatures: the language has a type system of its own."""

    def typing(
        self, relations: Collection[str], arguments: Collection[str], n_positions: int, longest: int
    ) -> Typing: ...


@runtime_checkable
class TreeTyping(Protocol):
    """The type system of a language for programs that are written from the root down, for one vocabulary.

    A half-written program, whose form only it knows, is a tree whose last places are still open: parents are written
    first, then their arguments from left to right. A word may be a call or an argument, which `call` says.
    """

    def start(self, problem: Problem, names: Mapping[str, str], longest: int) -> Any:
        """The empty program of a problem that offers these names, by type; it may get at most `longest` calls."""
        ...

    def arity(self, partial: Any, relation: str) -> int:
        """How many arguments a call has at the next place."""
        ...

    def allows(self, partial: Any, word: str, call: bool, ahead: bool = True) -> bool:
        """Whether a word may stand at the next place. Without looking `ahead` it may lead into a dead end."""
        ...

    def feed(self, partial: Any, word: str, call: bool) -> Any:
        """The program after a word; None if the word does not fit."""
        ...

    def needs(self, partial: Any) -> int:
        """About how many calls more it takes to fill all places that are open."""
        ...


@runtime_checkable
class HasTreeTyping(Protocol):
    """Masks of programs that are written from the root down need more than signatures."""

    def tree_typing(self, relations: Collection[str], arguments: Collection[str], longest: int) -> TreeTyping: ...


@runtime_checkable
class JudgesTypes(Protocol):
    """Well-typed programs can be distinguished from others, and scoring counts them."""

    def is_well_typed(self, program: Program, problem: Problem) -> bool: ...


@runtime_checkable
class HasRelationClasses(Protocol):
    """Relations are about something: {"add": "arithmetic"}."""

    relation_classes: Mapping[str, str]


@runtime_checkable
class ListsSkipped(Protocol):
    """Records that cannot be read are left out and listed: a line per record, by split, once the split was read."""

    skipped: Mapping[str, Sequence[str]]


@runtime_checkable
class NamesLicences(Protocol):
    """Models learn from data of others: what each training split is, with its licence, for the card of a model."""

    licences: Mapping[str, str]
    quotable: tuple[str, ...]
    """Training splits whose texts a model may carry: those made here. Nobody else's data goes into a model."""


@runtime_checkable
class RemembersMore(Protocol):
    """A memory may hold more than what is clear enough to learn from."""

    remembered: Mapping[str, str]
    """Training split -> the split that a memory keeps in its place."""


@runtime_checkable
class HasDoubts(Protocol):
    """The makers of the data marked records as doubtful: the reason and the ids."""

    def doubts(self, split: str) -> dict[str, list[str]]: ...


@runtime_checkable
class HasGrades(Protocol):
    """Its records are converted from several sources, and every record has a grade; `A` is the best."""

    sources: Sequence[str]
    """The splits that are sources of their own, not mixtures of them."""
    grade_words: Mapping[str, str]
    """What each grade means, best first."""

    def grades(self, split: str) -> dict[str, int]:
        """How many records of a source have each grade, best first; empty for what is not a source."""
        ...


@runtime_checkable
class Generates(Protocol):
    """New training records can be made from the training part; the dict says what they are like."""

    def generate(
        self,
        records: int,
        seed: int = 0,
        output: Path | None = None,
        grammar: Path | None = None,
        progress: Callable[[str, int, int], None] = ...,
    ) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Roles:
    """What the splits of a domain are for. Splits that are read one after the other are joined by a plus."""

    learn: str = "train"
    """What a model learns from: `train`, or `gsm8k+aggregate+mathqa`."""
    select: str = "dev"
    """What settings and weights are selected by."""
    tests: tuple[str, ...] = ("test",)
    """What the finished model is scored on; nothing is learned, selected or calibrated there."""
    calibration: str = ""
    """What confidence is fitted on, if not what selects."""

    @property
    def calibrate(self) -> str:
        return self.calibration or self.select


@runtime_checkable
class HasRoles(Protocol):
    """Its splits are for something else than their names say by default, or it depends on the data that is there."""

    def roles(self) -> Roles: ...


def doubts_of(domain: object) -> Mapping[str, str]:
    """What a domain looks for in answers, in words; empty where it looks for nothing."""
    return domain.doubt_words if isinstance(domain, DoubtsAnswers) else {}


def notation_of(domain: object) -> Mapping[str, str]:
    """The signs of a domain's relations, empty where it has none."""
    return domain.notation if isinstance(domain, HasNotation) else {}


def skipped_of(domain: object) -> Mapping[str, Sequence[str]]:
    """The records that a domain left out so far, by split."""
    return domain.skipped if isinstance(domain, ListsSkipped) else {}


def grades_of(domain: object) -> Mapping[str, str]:
    """What the grades of a domain's records mean, empty where it has none."""
    return domain.grade_words if isinstance(domain, HasGrades) else {}


def inputs_of(domain: object) -> Mapping[str, Any]:
    """The values that are given beside a domain's texts."""
    return domain.inputs if isinstance(domain, HasInputs) else {}
