"""The domain made of typed Python functions: their annotations are the language, decorators say the rest.

A `FunctionDomain` is filled by the decorators of one file and is then a `tpn2f.domain.Domain` like any other. The
functions are trusted code, their arguments are not; `calls.py` runs them.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, overload

from tpn2f.domain import Example, Problem, Signature, Step, check_types, diagnose_value
from tpn2f.errors import DataError, DomainError, ExecutionError, ProgramSyntaxError
from tpn2f.functions.budget import Limits
from tpn2f.functions.calls import Relation, message, run_relations
from tpn2f.functions.kinds import Kind, kind_of, typed_parameters
from tpn2f.functions.mentions import NUMBERS, QUOTED, Mention, TextReading, read_text
from tpn2f.functions.sources import ExampleSource, as_program, collect, resolve, same_value
from tpn2f.functions.splits import COMBINATIONS, CUT, Rule
from tpn2f.program import Program, RelationalTuple, reference

Function = TypeVar("Function", bound=Callable[..., Any])
_MISSING = object()
_PREFIX = re.compile(r"([a-z]+)[0-9]+")


@dataclass(frozen=True, slots=True)
class Input:
    """A value that is given beside the text, such as a table."""

    kind: Kind
    convert: Callable[[Any], object]
    default: object
    doc: str


class FunctionDomain:
    """A language of typed functions, how texts name values, and where examples come from."""

    def __init__(
        self,
        name: str,
        doc: str = "",
        *,
        split: Rule = "template",
        share: float = 0.1,
        combinations: float = 0.0,
        numbers: bool = True,
        quoted: bool = True,
        limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        """`split` says what train, dev and test never share: the text without its values, or the program; dev and test
        get `share` of those each. With `combinations` above 0 that part of the sets of relations is a split of its
        own. `numbers`, also those in words, and `quoted` say whether these are taken out of texts as n0, n1, ... and
        s0, s1, ..."""
        if not name.isidentifier():
            raise DomainError(f"{name!r} cannot be the name of a domain; expected letters, digits and _")
        if split not in ("template", "program"):
            raise DomainError(f"{name}: split is {split!r}; expected template or program")
        if not (0 < share < 0.4 and 0 <= combinations < 0.5):
            raise DomainError(f"{name}: share is {share} and combinations {combinations}; expected numbers such as 0.1")
        self.name, self.doc, self.limits = name, doc, limits
        self.split: Rule = split
        self.share, self.combinations = share, combinations
        self.relations: dict[str, Signature] = {}
        self.constants: dict[str, str] = {}
        self.inputs: dict[str, Input] = {}
        self.mentions: list[Mention] = [*([QUOTED] if quoted else []), *([NUMBERS] if numbers else [])]
        self.sources: list[ExampleSource] = []
        self.skipped: dict[str, list[str]] = {}
        """Examples that were left out, by split, with the reason."""
        self.data: Path | None = None
        self._relations: dict[str, Relation] = {}
        self._values: dict[str, object] = {}
        self._kinds: dict[str, object] = {mention.kind.name: mention.kind.source for mention in self.mentions}
        self._examples: dict[str, list[Example]] = {}

    def __call__(self, data: Path | str | None = None) -> FunctionDomain:
        """The domain on the data of a folder; this is what `load_domain` calls."""
        if not self.relations:
            raise DomainError(f"{self.name} has no relations: write @{self.name}.relation above a typed function")
        other = copy.copy(self)
        other.data = Path(data) if data is not None else None
        other.skipped, other._examples = {}, {}
        return other

    # What the file of the domain says

    @overload
    def relation(self, function: Function) -> Function: ...
    @overload
    def relation(self, *, name: str = "", commutative: bool = False) -> Callable[[Function], Function]: ...
    def relation(self, function: Any = None, *, name: str = "", commutative: bool = False) -> Any:
        """Makes a typed function a relation. A `_` at the end of its name is left out, so `sum_` is `sum`."""
        if function is None:
            return partial(self.relation, name=name, commutative=commutative)  # type: ignore[call-overload]
        name = name or function.__name__.rstrip("_")
        where = f"{_place(function)}, {name}"
        self._free(name, self.relations, where)
        parameters, result = typed_parameters(function, where)
        kinds = tuple(self._kind(kind, f"{where}: {label}") for label, kind in parameters.items())
        given = self._kind(result, f"{where}: the result")
        types = tuple(kind.name for kind in kinds)
        if commutative and (len(types) < 2 or len(set(types)) > 1):
            raise DomainError(f"{where}: only a relation of several arguments of one type is commutative")
        self._relations[name] = Relation(function, tuple(parameters), kinds, given)
        self.relations[name] = Signature(types, given.name, commutative, _doc(function), tuple(parameters))
        return function

    def constant(self, name: str, value: object, kind: object = None) -> None:
        """A word that any program may use. Members of an Enum that is an annotation are constants without this."""
        where = f"{self.name}: the constant {name}"
        self._free(name, {**self.constants, **self.inputs}, where)
        found = self._kind(kind if kind is not None else type(value), where)
        if not found.accepts(value):
            raise DomainError(f"{where} is {value!r}, which is not of the type {found.name}")
        self.constants[name], self._values[name] = found.name, value

    @overload
    def input(self, function: Function) -> Function: ...
    @overload
    def input(self, *, default: object = ...) -> Callable[[Function], Function]: ...
    def input(self, function: Any = None, *, default: object = _MISSING) -> Any:
        """Makes a function the reader of a value that is given beside the text: its name is the input's, its argument
        is what a person gave (a text, or JSON), its result is the value. A `default` may be a function."""
        if function is None:
            return partial(self.input, default=default)  # type: ignore[call-overload]
        name, where = function.__name__, f"{_place(function)}, {function.__name__}"
        self._free(name, {**self.constants, **self.inputs}, where)
        parameters, result = typed_parameters(function, where)
        if len(parameters) != 1:
            raise DomainError(f"{where}: an input is read from one value; got {len(parameters)} parameters")
        kind = self._kind(result, f"{where}: the result")
        self.inputs[name] = Input(kind, function, default, _doc(function))
        return function

    def mention(self, prefix: str, pattern: str | Callable[..., str]) -> Callable[[Function], Function]:
        """Makes a function the reader of what a text mentions: where the pattern fits, the function turns the text into
        a value, which programs call prefix0, prefix1, ... Its other parameters, and those of a `pattern` that is a
        function, are inputs by name. What raises ValueError is left in the text."""

        def register(function: Function) -> Function:
            where = f"{_place(function)}, {function.__name__}"
            if not re.fullmatch("[a-z]+", prefix) or prefix in (mention.prefix for mention in self.mentions):
                raise DomainError(f"{where}: the prefix {prefix!r} is taken, or is not made of lowercase letters")
            parameters, result = typed_parameters(function, where)
            used = tuple(parameters)[1:]
            made = tuple(inspect.signature(pattern).parameters) if callable(pattern) else ()
            for name in (*used, *made):
                if name not in self.inputs:
                    raise DomainError(f"{where}: {name} is not an input of {self.name}; define it above")
            kind = self._kind(result, f"{where}: the result")
            mention = Mention(prefix, kind, pattern, function, made, used, _doc(function))
            # Before numbers and quoted texts, after what was said before.
            self.mentions.insert(len(self.mentions) - sum(m in (QUOTED, NUMBERS) for m in self.mentions), mention)
            return function

        return register

    @overload
    def generator(self, function: Function) -> Function: ...
    @overload
    def generator(self, *, count: int = ..., split: str | None = ...) -> Callable[[Function], Function]: ...
    def generator(self, function: Any = None, *, count: int = 5_000, split: str | None = None) -> Any:
        """Makes a function the source of examples: it is given a `random.Random` and yields (text, program) or
        (text, program, inputs). The first `count` different texts are taken."""
        if function is None:
            return partial(self.generator, count=count, split=split)  # type: ignore[call-overload]
        self.sources.append(ExampleSource(function, split, count))
        return function

    def examples_from(self, file: str | Path, split: str | None = None) -> None:
        """Examples of a JSONL file beside the domain's: `text`, `program`, and if need be `inputs` and `answer`."""
        self.sources.append(ExampleSource(Path(file), split))

    # What a domain is

    @property
    def splits(self) -> tuple[str, ...]:
        cut = (*CUT, *([COMBINATIONS] if self.combinations else [])) if self._is_cut() else ()
        return tuple(dict.fromkeys((*cut, *(source.split for source in self.sources if source.split)))) or CUT

    def examples(self, split: str) -> Iterable[Example]:
        if split not in self.splits:
            raise DataError(f"{self.name} has no split {split!r}; it has {', '.join(self.splits)}")
        if not self.sources:
            raise DataError(
                f"{self.name} has no examples: write @{self.name}.generator above a function that yields (text, "
                f"program), or name a JSONL file with {self.name}.examples_from(...)"
            )
        if not self._examples:
            self._examples, self.skipped = collect(self)
        return self._examples[split]

    def names(self, problem: Problem) -> Mapping[str, str]:
        kinds = {mention.prefix: mention.kind.name for mention in self.mentions}
        found: dict[str, str] = {}
        for name in problem.bindings:
            prefix = _PREFIX.fullmatch(name)
            if name in self.inputs:
                found[name] = self.inputs[name].kind.name
            elif prefix and prefix[1] in kinds:
                found[name] = kinds[prefix[1]]
        return found

    def read(self, text: str) -> Problem:
        return self.read_with(text, {})

    def read_with(self, text: str, inputs: Mapping[str, object]) -> Problem:
        """A person's sentence, with values for the inputs as a person gives them."""
        return self._read(text, inputs)[0]

    def example(
        self, text: str, program: object, inputs: Mapping[str, object] | None = None, answer: object = None
    ) -> Example:
        """An example of this language. The program may be a `Program`, its text in either form, or nested tuples; it
        may name values as the text does: walk(3) for walk(n0). Raises DataError. Without an answer it has none."""
        problem, reading = self._read(text, inputs or {})
        try:
            names = {**self.constants, **self.names(problem)}
            written = resolve(as_program(program), self.relations, reading, names)
            check_types(written, self.relations, names)
        except (ProgramSyntaxError, ExecutionError) as error:
            raise DataError(f"{str(program)[:200]}: {error}") from error
        return Example(problem, written, answer, text)

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]:
        """The program worked step by step."""
        names = {**self.constants, **self.names(problem)}
        check_types(program, self.relations, names)
        used = {word for step in program for word in step.arguments if reference(word) is None}
        values = {name: self._values[name] if name in self._values else self._bound(name, problem) for name in used}
        return run_relations(program, self._relations, values, self.limits)

    def execute(self, program: Program, problem: Problem) -> object:
        return self.steps(program, problem)[-1].result

    def is_solved(self, program: Program, example: Example) -> bool:
        try:
            return same_value(self.execute(program, example.problem), example.answer)
        except ExecutionError:
            return False

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        return {"execution": float(self.is_solved(program, example))}

    def diagnose(self, example: Example) -> str | None:
        return diagnose_value(self, example)

    def subsets(self, example: Example) -> tuple[str, ...]:
        del example
        return ()

    def folder(self) -> Path:
        """Where files of examples are: the folder of the data, or that of the domain's file."""
        for relation in self._relations.values():
            return self.data or Path(inspect.getfile(relation.function)).parent
        return self.data or Path()

    def _is_cut(self) -> bool:
        return any(source.split is None for source in self.sources)

    def _read(self, text: str, inputs: Mapping[str, object]) -> tuple[Problem, TextReading]:
        for name in inputs:
            if name not in self.inputs:
                raise DataError(f"{self.name} has no input {name!r}; it has {', '.join(self.inputs) or 'none'}")
        given: dict[str, object] = {}
        for name, known in self.inputs.items():
            value = inputs.get(name, known.default)
            if value is _MISSING:
                raise DataError(f"{self.name} needs {name} ({known.doc or known.kind.name}): --input {name}=...")
            given[name] = self._convert(name, value() if callable(value) and name not in inputs else value)
        reading = read_text(text, self.mentions, given, self.constants)
        return Problem(reading.words, {**given, **reading.bindings}), reading

    def _convert(self, name: str, value: object) -> object:
        known = self.inputs[name]
        if known.kind.accepts(value):
            return known.kind.fit(value)
        try:
            return known.kind.fit(known.convert(value))
        except Exception as error:
            raise DataError(f"the input {name} cannot be read: {message(error)}") from error

    def _bound(self, name: str, problem: Problem) -> object:
        """The value of a name; bindings that did not come from `read_with` may be what a person gave."""
        value = problem.bindings[name]
        try:
            if name in self.inputs:
                return self._convert(name, value)
            prefix = _PREFIX.fullmatch(name)
            assert prefix is not None  # `names` has no others
            return next(m.kind for m in self.mentions if m.prefix == prefix[1]).fit(value)
        except (ValueError, DataError) as error:
            raise ExecutionError(f"{name} is {error}") from error

    def _kind(self, annotation: object, where: str) -> Kind:
        kind = kind_of(annotation, where)
        if self._kinds.setdefault(kind.name, kind.source) != kind.source:
            raise DomainError(f"{where}: there are two types called {kind.name}")
        for name, value in kind.members:
            if self._values.get(name, value) is not value:
                raise DomainError(f"{where}: {name} of {kind.name} is also another constant")
            self._free(name, self.inputs, f"{where}: {name} of {kind.name}")
            self.constants[name], self._values[name] = kind.name, value
        return kind

    def _free(self, name: str, taken: Mapping[str, object], where: str) -> None:
        """Raises DomainError when a name cannot be given."""
        if name in taken:
            earlier = self._relations.get(name) if taken is self.relations else None
            raise DomainError(f"{where} is defined twice{f'; first in {_place(earlier.function)}' if earlier else ''}")
        try:
            RelationalTuple(name)
        except ProgramSyntaxError as error:
            raise DomainError(f"{where}: {error}") from error
        if reference(name) is not None or _PREFIX.fullmatch(name):
            raise DomainError(f"{where}: names such as #0 and n0 are for values")


def _doc(function: Callable[..., object]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


def _place(function: Callable[..., object]) -> str:
    code = getattr(function, "__code__", None)
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}" if code else "a function"
