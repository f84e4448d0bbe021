"""AlgoLisp (Polosukhin and Skidanov, 2018): short English specifications, programs of a small Lisp, ten tests each.

Reads the original files `metaset3.{train,dev,test}.jsonl`, plain or gzipped. The language is in `domains/lisp`; this
module has the data, the reading of a person's sentence, and the published metrics. Where the training file is
unavailable, the *dev-as-train* protocol cuts dev by program: `dev-train` and `dev-valid` have no program in common. The
split `generated` has records that `generation/generator.py` made from dev-train alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tpn2f.domain import ANY, Example, Problem, Roles, Signature, Traced, cache_folder, data_folder
from tpn2f.domain.packed import open_packed
from tpn2f.domains.algolisp.reading import TypeName, introduced, tokenise
from tpn2f.domains.lisp.decoding.masks import LispTyping
from tpn2f.domains.lisp.decoding.trees import LispTreeTyping
from tpn2f.domains.lisp.language import Compiled, compile_tree
from tpn2f.domains.lisp.machine import BUILTINS, CONSTANTS
from tpn2f.domains.lisp.trace import trace
from tpn2f.domains.lisp.types import coarse, function_type, infer, parse_type, value_type
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.program import Program, write_tree
from tpn2f.wording import cut

FIELDS = {"text": list, "short_tree": list, "args": dict, "return_type": str, "tests": list}
PROTOCOL = {"dev-train": range(916), "dev-valid": range(916, 1000)}
"""The dev-as-train protocol: which thousandths of dev's programs, by hash; about 10,000 records are for training."""
MAX_CHARACTERS = 100_000
"""The longest text that is read."""

_RELATIONS = {
    row.name: Signature(
        tuple(map(coarse, function_type(row.type).arguments)),
        coarse(function_type(row.type).result),
        row.commutative,
        row.doc,
    )
    for row in BUILTINS.values()
} | {
    "if": Signature(("bool", ANY, ANY), ANY, doc="The second argument if the first is true, else the third."),
    "lambda1": Signature((ANY,), "function", doc="A function of arg1; self is the function itself."),
    "lambda2": Signature((ANY,), "function", doc="A function of arg1 and arg2; self is the function itself."),
    "self": Signature((ANY,), ANY, doc="Calls the lambda in whose body it stands."),
}
_WORDS = (
    {word: type for word, (_, type) in CONSTANTS.items()}
    | {"arg1": ANY, "arg2": ANY, "self": "function"}
    | dict.fromkeys(BUILTINS, "function")
)


@dataclass(frozen=True, slots=True)
class Case:
    """Values of the arguments, and what the program should give for them."""

    inputs: Mapping[str, object]
    output: object


@dataclass(frozen=True, slots=True)
class Answer:
    """What judges a program: the tests of a record, the type of the result, and the name of the record's template."""

    tests: tuple[Case, ...]
    return_type: str
    template: str = ""

    def __str__(self) -> str:
        """The first test, and how many there are."""
        if not self.tests:
            return f"{self.return_type}, no tests"
        inputs = ", ".join(f"{name} = {value}" for name, value in self.tests[0].inputs.items())
        return f"{self.return_type}, {len(self.tests)} tests, the first: {inputs} gives {self.tests[0].output}"


class AlgoLisp:
    """The domain. `skip_broken` turns records that cannot be read into entries of `skipped` instead of a DataError."""

    name = "algolisp"
    splits = ("train", "dev", "test", *PROTOCOL, "generated")
    relations: Mapping[str, Signature] = _RELATIONS
    constants: Mapping[str, str] = _WORDS

    def __init__(self, data: Path | str | None = None, skip_broken: bool = False) -> None:
        self._data = data
        self._skip_broken = skip_broken
        self.skipped: dict[str, list[str]] = {}
        """Split -> one line for every record that was left out, with the reason; filled as a split is read."""

    def examples(self, split: str) -> Iterator[Example]:
        """The records of a file, in its order; `dev-train` and `dev-valid` are the two parts of dev."""
        if split not in self.splits:
            raise DataError(f"algolisp has no split {split!r}; it has {', '.join(self.splits)}")
        return self._examples(split, self._file("dev" if split in PROTOCOL else split))

    def _examples(self, split: str, path: Path) -> Iterator[Example]:
        programs: dict[str, Program] = {}
        skipped: list[str] = []
        self.skipped.setdefault(split, skipped)
        for number, line in enumerate(_lines(path), start=1):
            try:
                example = _read_record(line, f"{split}:{number - 1}", programs)
            except DataError as error:
                message = f"{path}, line {number}: {error}"
                if not self._skip_broken:
                    raise DataError(message) from None
                skipped.append(message)
                # A later reading that stops half-way does not forget what an earlier one left out.
                if len(skipped) > len(self.skipped[split]):
                    self.skipped[split] = skipped
                continue
            if split not in PROTOCOL or _thousandth(example.program) in PROTOCOL[split]:
                yield example

    def _file(self, split: str) -> Path:
        stem = split if split == "generated" else f"metaset3.{split}"
        names = [f"{stem}.jsonl", f"{stem}.jsonl.gz"]
        for folder in self._folders(split):
            for name in names:
                if (folder / name).is_file():
                    return folder / name
        advice = {
            "train": "without it, the dev-as-train protocol trains on the split dev-train and validates on dev-valid",
            "generated": "make it with `tpn2f data generate algolisp`",
        }
        looked = f"{' and '.join(names)} in {' and '.join(map(str, self._folders(split)))}"
        todo = advice.get(split, "fetch it with `tpn2f data get algolisp`")
        raise DataError(f"algolisp has no {split} data: looked for {looked}; {todo}")

    def _folders(self, split: str) -> list[Path]:
        """Where a split may be. What is generated is no part of the data: its usual place is the cache."""
        folder = data_folder("algolisp", self._data)
        return list(dict.fromkeys([folder, cache_folder() / "algolisp"])) if split == "generated" else [folder]

    def roles(self) -> Roles:
        """Without its training file, a part of dev is learned from and another part selects."""
        try:
            self._file("train")
        except DataError:
            return Roles("dev-train", "dev-valid")
        return Roles()

    def generate(
        self,
        records: int,
        seed: int = 0,
        output: Path | None = None,
        grammar: Path | None = None,
        progress: Callable[[str, int, int], None] = lambda stage, done, total: None,
    ) -> dict:
        """Writes records made from dev-train alone and reports what they are like; see `generation/generator.py`.

        The default output is the file of the cache that the split `generated` reads. A grammar is learned and written
        beside the output unless one is given.
        """
        from tpn2f.domains.algolisp.generation.generator import generate

        output = output or cache_folder() / self.name / "generated.jsonl"
        return generate(self, output, records, seed, grammar, progress)

    def names(self, problem: Problem) -> Mapping[str, str]:
        """The arguments of the problem, with types for masks; an argument that already has a value fits anywhere."""
        return {
            name: coarse(parse_type(value)) if isinstance(value, TypeName) else ANY
            for name, value in problem.bindings.items()
        }

    def typing(
        self, relations: Collection[str], arguments: Collection[str], n_positions: int, longest: int
    ) -> LispTyping:
        """The masks of the language's types, for programs over these words."""
        return LispTyping(relations, arguments, n_positions, longest, _types)

    def tree_typing(self, relations: Collection[str], arguments: Collection[str], longest: int) -> LispTreeTyping:
        """The same for programs that are written from the root down."""
        return LispTreeTyping(relations, arguments, longest, _types)

    def is_well_typed(self, program: Program, problem: Problem) -> bool:
        """Whether it is one tree, of known names and functions, whose parts fit and give what the task returns."""
        try:
            infer(program.to_tree(), _types(problem), problem.result or None)
        except (ExecutionError, ProgramSyntaxError):
            return False
        return True

    def read(self, text: str) -> Problem:
        """Tokens as the data has them, and the arguments that the text introduces, with their types."""
        if len(text) > MAX_CHARACTERS:
            raise DataError(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read")
        words = tuple(tokenise(text.lower().strip().rstrip(".?!")))
        if not words:
            raise DataError("the text is empty; expected a task, such as `given an array of numbers a , find its sum`")
        return Problem(words, introduced(words))

    def check_values(self, problem: Problem, values: Mapping[str, object]) -> None:
        """Raises a DataError for values of arguments that are not of the types that the text gives them."""
        for name, value in values.items():
            type = problem.bindings.get(name)
            if problem.bindings and type is None:
                introduces = ", ".join(f"{known} ({kind})" for known, kind in problem.bindings.items())
                raise DataError(f"the text introduces {introduces}; got a value for {name}")
            if type is not None and not _fits(value, str(type)):
                raise DataError(f"{name} is {type} in the text; got {cut(json.dumps(value), 60)}")

    def trace(self, program: Program, problem: Problem) -> tuple[Traced, ...]:
        """What every call of the program gives for these values."""
        try:
            return tuple(trace(program.to_tree(), _given(problem)))
        except ProgramSyntaxError as error:
            raise ExecutionError(str(error)) from error

    def execute(self, program: Program, problem: Problem) -> object:
        """The value of the program for the values that the problem binds to its arguments."""
        values = _given(problem)
        compiled = _compile(program, problem.bindings)
        missing = [f"{name} ({problem.bindings[name]})" for name in compiled.names if name not in values]
        if missing:
            raise ExecutionError(f"these arguments have a type but no value: {', '.join(missing)}")
        return compiled.run(values)

    def passed_tests(self, program: Program, example: Example) -> tuple[bool, ...]:
        """For each of the example's tests whether the program gives the expected output, by Python's `==`."""
        tests = _tests(example).tests
        try:
            compiled = _compile(program, example.problem.bindings)
        except ExecutionError:
            return (False,) * len(tests)
        return tuple(_passes(compiled, test) for test in tests)

    def split_tests(self, example: Example, count: int) -> tuple[Example, Example]:
        """The example with the first tests alone, as a user who shows some knows it, and with the others."""
        answer = _tests(example)
        if not 0 < count < len(answer.tests):
            raise DataError(
                f"{example.id or 'the example'} has {len(answer.tests)} tests; showing {count} needs more than {count}"
            )
        shown, others = replace(answer, tests=answer.tests[:count]), replace(answer, tests=answer.tests[count:])
        return replace(example, answer=shown), replace(example, answer=others)

    def is_solved(self, program: Program, example: Example) -> bool:
        """Whether every test passes; the tests after the first that fails are not run."""
        try:
            compiled = _compile(program, example.problem.bindings)
        except ExecutionError:
            return False
        return all(_passes(compiled, test) for test in _tests(example).tests)

    def is_clean(self, example: Example) -> bool:
        """Whether the gold program passes its own tests: the *cleaned* set has only such examples."""
        return self.is_solved(example.program, example)

    def diagnose(self, example: Example) -> str | None:
        """Why the gold program fails a test of its own: the error, or that it gives something else."""
        try:
            compiled = _compile(example.program, example.problem.bindings)
            wrong = [test for test in _tests(example).tests if compiled.run(test.inputs) != test.output]
        except ExecutionError as error:
            return re.sub(r"[0-9]+", "n", str(error))[:80].strip()
        return "the gold program gives another value than a test expects" if wrong else None

    def subsets(self, example: Example) -> tuple[str, ...]:
        """The published `cleaned` subset: examples whose gold program passes all of its tests."""
        return ("cleaned",) if self.is_clean(example) else ()

    def credits(self, program: Program, example: Example) -> Mapping[str, float]:
        """The published metrics: Acc (all tests pass), 50p-Acc (or at least half of several do), M-Acc (same tree)."""
        passed = self.passed_tests(program, example)
        accurate = all(passed)
        half = accurate or (len(passed) > 1 and 2 * sum(passed) >= len(passed))
        return {"acc": float(accurate), "acc50": float(half), "m_acc": float(_same_tree(program, example.program))}


def _types(problem: Problem) -> Mapping[str, str]:
    """The types of a problem's arguments, those that have a value already included."""
    return {
        name: value if isinstance(value, TypeName) else value_type(value) for name, value in problem.bindings.items()
    }


def _given(problem: Problem) -> dict[str, object]:
    """The arguments that have a value."""
    return {name: value for name, value in problem.bindings.items() if not isinstance(value, TypeName)}


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file that may be gzipped."""
    number = 0
    try:
        with io.TextIOWrapper(open_packed(path), encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):  # noqa: B007 (the error names the last good line)
                yield line
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path}, after line {number}: cannot be read: {error}") from error
    if number == 0:
        raise DataError(f"{path} is empty")


def _read_record(line: str, where: str, programs: dict[str, Program]) -> Example:
    """A line as an example. `programs` are those met before: most are met several times."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise DataError(f"is a {type(record).__name__}; expected an object")
    for field, kind in FIELDS.items():
        if not isinstance(record.get(field), kind):
            state = "is missing" if field not in record else f"is not a {kind.__name__}"
            raise DataError(f"the field {field!r} {state}")
    if not record["text"] or not all(isinstance(word, str) for word in record["text"]):
        raise DataError("the field 'text' is not a list of words")
    try:
        for text in (*record["args"].values(), record["return_type"]):
            parse_type(str(text))
        tree = str(record["short_tree"])
        program = programs.get(tree) or programs.setdefault(tree, Program.from_tree(record["short_tree"]))
    except (ExecutionError, ProgramSyntaxError) as error:
        raise DataError(str(error)) from None
    tests = []
    for test in record["tests"]:
        if not isinstance(test, dict) or not isinstance(test.get("input"), dict) or "output" not in test:
            raise DataError("a test has no 'input' or no 'output'")
        if test["input"].keys() != record["args"].keys():
            raise DataError("a test's input does not have the record's arguments")
        tests.append(Case(test["input"], test["output"]))
    nodes = record.get("nodes")
    template = str(nodes[0]) if isinstance(nodes, list) and nodes else ""
    words = tuple(record["text"])
    bindings = {name: TypeName(kind) for name, kind in sorted(record["args"].items())}
    answer = Answer(tuple(tests), record["return_type"], template)
    return Example(Problem(words, bindings, answer.return_type), program, answer, " ".join(words), where)


def _fits(value: object, type: str) -> bool:
    """Whether a value is of a type."""
    if type.endswith("[]"):
        return isinstance(value, list) and all(_fits(element, type[:-2]) for element in value)
    return value_type(value) == type and not isinstance(value, float)


def _thousandth(program: Program) -> int:
    """A number from 0 to 999 that depends on the program alone."""
    digest = hashlib.sha256(write_tree(program.to_tree()).encode()).digest()
    return int.from_bytes(digest[:8], "big") % 1000


def _compile(program: Program, names: Iterable[str]) -> Compiled:
    try:
        return compile_tree(program.to_tree(), names)
    except ProgramSyntaxError as error:
        raise ExecutionError(str(error)) from error


def _tests(example: Example) -> Answer:
    assert isinstance(example.answer, Answer)
    return example.answer


def _passes(compiled: Compiled, test: Case) -> bool:
    try:
        return compiled.run(test.inputs) == test.output
    except ExecutionError:
        return False


def _same_tree(program: Program, gold: Program) -> bool:
    try:
        return program == gold or program.to_tree() == gold.to_tree()
    except ProgramSyntaxError:
        return False
