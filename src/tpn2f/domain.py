"""What a domain is: one file that knows the texts, the language and the scoring of one kind of problem.

A domain holds no tensors, and nothing else in the package holds a domain's words. Built-in domains and anybody's own
come through the same door, `load_domain`.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from tpn2f.errors import DataError, DomainError, ExecutionError
from tpn2f.program import Program, RelationalTuple, reference

ANY = "any"
"""The type that fits every type."""
ENTRY_POINTS = "tpn2f.domains"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a relation takes and gives: one type name a position, and the type of the result."""

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
    """The type of the value that is asked for, in the language's own words; empty where nobody says it."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """What may come next in a program that is being written: relations or the end, or else arguments.

    Masks are remembered by the object, so the same one should be handed out again.
    """

    relations: frozenset[str] = frozenset()
    arguments: frozenset[str] = frozenset()
    """Words; references are told apart, because they differ from program to program."""
    ends: bool = False
    """Whether the program may end here."""

    @property
    def begin(self) -> bool:
        """Whether a tuple would begin here."""
        return self.ends or bool(self.relations)


class Typing(Protocol):
    """The type system of a language whose relations have no fixed types, for one vocabulary: what masks come from then.

    It answers for half-written programs, which are its own business; None is one that can become nothing any more.
    """

    def start(self, problem: Problem, longest: int | None = None) -> Any:
        """The empty program, to become one of at most so many tuples."""
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
class Domain(Protocol):
    """The contract; `tests/test_domain_contract.py` is its executable form.

    A domain is made with the folder of its data, or None for the usual places: `Domain(data=None)`. It may also have
    `typing(relations, arguments, n_positions, longest) -> Typing`, if masks need more than signatures,
    `is_well_typed(program, problem)`, if scoring is to count such programs,
    `split_tests(example, count) -> (shown, others)`, the same example twice, if a user may know some of its tests, and
    `choose(value, options) -> Chosen | None` with `options(example)`, if its questions have answers to choose from.
    """

    name: str
    splits: tuple[str, ...]
    relations: Mapping[str, Signature]
    """Every relation of the language. Arity masks and type masks come from here."""
    constants: Mapping[str, str]
    """Words that any program may use as an argument, with their types: `const_100`, or `+` as a function."""

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


def data_folder(name: str, data: Path | str | None = None) -> Path:
    """The folder of a data set: `data` or TPN2F_DATA if given, else the first usual place that has it.

    Both the folder itself and a folder that holds one of that name are taken.
    """
    told = data or os.environ.get("TPN2F_DATA")
    if told:
        inner = Path(told) / name
        return inner if inner.is_dir() else Path(told)
    places = [Path("data"), cache_folder()]
    for place in places:
        if (place / name).is_dir():
            return place / name
    looked = ", ".join(str(place / name) for place in places)
    raise DataError(
        f"no data for {name}: looked in {looked}. Fetch it with `tpn2f data get {name}`, or name a folder with "
        "--data DIR or TPN2F_DATA"
    )


def cache_folder() -> Path:
    """Where `tpn2f data get` puts what it fetches."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "tpn2f"


def domain_names() -> list[str]:
    """The names of the installed domains."""
    return sorted(point.name for point in entry_points(group=ENTRY_POINTS))


def load_domain(spec: str, data: Path | str | None = None) -> Domain:
    """A domain by installed name (`mathqa`), by module (`package.module:Name`) or by file (`path/file.py:Name`).

    A file that has one domain only may be named alone: `path/file.py`. Runs the code of the domain that is named, so
    only name files that you trust.
    """
    if ":" in spec or spec.endswith(".py"):
        make = _load_class(spec)
    else:
        points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if spec not in points:
            raise DomainError(
                f"no domain is called {spec!r}; installed are {', '.join(sorted(points)) or 'none'}; "
                "a domain of your own is named as file.py:Name or package.module:Name"
            )
        try:
            make = points[spec].load()
        except Exception as error:
            raise DomainError(
                f"{spec}: loading {points[spec].value} failed: {type(error).__name__}: {error}"
            ) from error
    try:
        domain = make(data)
    except TypeError as error:
        raise DomainError(f"{spec}: {getattr(make, '__name__', 'it')}(data) cannot be called: {error}") from error
    missing = [name for name in _members() if not hasattr(domain, name)]
    if missing:
        raise DomainError(f"{spec} is not a domain: it has no {', '.join(missing)}")
    return domain


def _load_class(spec: str) -> Callable[[Path | str | None], Domain]:
    place, sign, name = spec.rpartition(":")
    place, name = (place, name) if sign else (spec, "")
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except DomainError:
        raise
    except Exception as error:
        raise DomainError(f"{spec}: loading {place} failed: {type(error).__name__}: {error}") from error
    if not sign:
        name = _only_domain(module, place)
    found = getattr(module, name, None) if name.isidentifier() else None
    if not callable(found):
        raise DomainError(f"{spec}: {place} has no class {name!r}")
    return cast(Callable[[Path | str | None], Domain], found)


def _only_domain(module: object, place: str) -> str:
    """The name of the one domain that a file defines."""
    found = [
        name
        for name, value in vars(module).items()
        if callable(value) and all(hasattr(value, member) for member in _members())
    ]
    if len(found) != 1:
        raise DomainError(f"{place} has {', '.join(found) or 'no domain'}; name one as {place}:Name")
    return found[0]


def _load_file(path: Path):
    if not path.is_file():
        raise DomainError(f"{path} is not a file")
    spec = importlib.util.spec_from_file_location(f"tpn2f_domain_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, because dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _members() -> tuple[str, ...]:
    return (
        "name",
        "splits",
        "relations",
        "constants",
        "examples",
        "names",
        "read",
        "execute",
        "is_solved",
        "credits",
        "diagnose",
        "subsets",
    )


def read_problem(domain: Domain, text: str, inputs: Mapping[str, object] | None = None) -> Problem:
    """A person's sentence with the values that are given beside it, by name.

    A domain whose texts speak of such values, as of the columns of a table, has a method `read_with(text, inputs)`; one
    whose texts say what the values must be has `check_values(problem, values)`, which raises DataError.
    """
    if hasattr(domain, "read_with"):
        return domain.read_with(text, inputs or {})  # type: ignore[attr-defined]
    problem = domain.read(text)
    if hasattr(domain, "check_values"):
        domain.check_values(problem, inputs or {})  # type: ignore[attr-defined]
    return replace(problem, bindings={**problem.bindings, **inputs}) if inputs else problem


def check_types(program: Program, relations: Mapping[str, Signature], names: Mapping[str, str]) -> None:
    """Raises an ExecutionError for the first tuple whose relation, arity, words, references or types are wrong.

    `names` gives the type of every word that is not a reference. `any` fits every type.
    """
    if not program.tuples:
        raise ExecutionError("the program is empty")
    results: list[str] = []
    for index, step in enumerate(program.tuples):
        where = f"step {index}, {step if len(str(step)) < 200 else step.relation}"
        signature = relations.get(step.relation)
        if signature is None:
            raise ExecutionError(f"{where}: there is no relation {step.relation}{_nearest(step.relation, relations)}")
        if len(step.arguments) != signature.arity:
            raise ExecutionError(
                f"{where}: {step.relation}{signature} takes {signature.arity}, got {len(step.arguments)}"
            )
        for argument, expected in zip(step.arguments, signature.arguments):
            target = reference(argument)
            if target is None and argument not in names:
                known = ", ".join(names) or "none"
                raise ExecutionError(f"{where}: there is no {argument} (there are {known})")
            if target is not None and target >= index:
                raise ExecutionError(f"{where}: {argument} does not point to an earlier step")
            given = names[argument] if target is None else results[target]
            if given != expected and ANY not in (given, expected):
                raise ExecutionError(f"{where}: {argument} is of the type {given}; expected {expected}")
        results.append(signature.result)


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def run_steps(
    program: Program,
    functions: Mapping[str, Callable[..., object]],
    values: Mapping[str, object],
) -> tuple[Step, ...]:
    """Runs a program tuple by tuple with a table of functions; an error names the tuple.

    `values` gives every word that is not a reference. The functions are trusted, their arguments are not: whatever a
    function raises becomes an ExecutionError. Nothing here bounds the time of one function.
    """
    if not program.tuples:
        raise ExecutionError("the program is empty")
    steps: list[Step] = []
    for index, step in enumerate(program.tuples):
        where = f"step {index}, {step}"
        function = functions.get(step.relation)
        if function is None:
            raise ExecutionError(f"{where}: there is no relation {step.relation}")
        arguments = tuple(_value(word, steps, values, where) for word in step.arguments)
        try:
            result = function(*arguments)
        except ExecutionError as error:
            raise type(error)(f"{where}: {error}") from error
        except Exception as error:
            raise ExecutionError(f"{where}: {str(error) or type(error).__name__}") from error
        steps.append(Step(step, arguments, result))
    return tuple(steps)


def _value(word: str, steps: Sequence[Step], values: Mapping[str, object], where: str) -> object:
    target = reference(word)
    if target is None:
        if word not in values:
            known = ", ".join(name for name in values if not name.startswith("const_")) or "none"
            raise ExecutionError(f"{where}: the problem has no {word} (it has {known})")
        return values[word]
    if target >= len(steps):
        raise ExecutionError(f"{where}: {word} does not point to an earlier step")
    return steps[target].result
