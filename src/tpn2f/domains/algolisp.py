"""AlgoLisp (Polosukhin and Skidanov, 2018): short English specifications, programs of a small Lisp, ten tests each.

Reads the original files `metaset3.{train,dev,test}.jsonl`, plain or gzipped. The language is in `lisp`; this module has
the data, the reading of a person's sentence, and the published metrics. Where the training file is not at hand, the
*dev-as-train* protocol cuts dev by program: `dev-train` and `dev-valid` have no program in common.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tpn2f.domain import ANY, Example, Problem, Signature, data_folder
from tpn2f.domains.lisp import Compiled, compile_tree
from tpn2f.domains.lisp_machine import BUILTINS, CONSTANTS
from tpn2f.domains.lisp_types import coarse, function_type, parse_type
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.program import Program, write_tree

FIELDS = {"text": list, "short_tree": list, "args": dict, "return_type": str, "tests": list}
PROTOCOL = {"dev-train": range(916), "dev-valid": range(916, 1000)}
"""The dev-as-train protocol: which thousandths of dev's programs, by hash; about 10,000 records are for training."""
MAX_CHARACTERS = 100_000
"""The longest text that is read."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"

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


class TypeName(str):
    """The type of an argument that has no value yet, so that it cannot be taken for a string that is one."""

    __slots__ = ()


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
    splits = ("train", "dev", "test", *PROTOCOL)
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
        folder = data_folder("algolisp", self._data)
        names = [f"metaset3.{split}.jsonl", f"metaset3.{split}.jsonl.gz"]
        for name in names:
            if (folder / name).is_file():
                return folder / name
        advice = (
            "; without it, the dev-as-train protocol trains on the split dev-train and validates on dev-valid"
            if split == "train"
            else "; fetch it with `tpn2f data get algolisp`"
        )
        raise DataError(f"algolisp has no {split} data: looked for {' and '.join(names)} in {folder}{advice}")

    def names(self, problem: Problem) -> Mapping[str, str]:
        """The arguments of the problem, with types for masks; an argument that already has a value fits anywhere."""
        return {
            name: coarse(parse_type(value)) if isinstance(value, TypeName) else ANY
            for name, value in problem.bindings.items()
        }

    def read(self, text: str) -> Problem:
        """Tokens as the data has them, and the arguments that the text introduces, with their types."""
        if len(text) > MAX_CHARACTERS:
            raise DataError(f"the text has {len(text)} characters; at most {MAX_CHARACTERS} are read")
        words = tuple(_tokenise(text.lower().strip().rstrip(".?!")))
        if not words:
            raise DataError("the text is empty; expected a task, such as `given an array of numbers a , find its sum`")
        return Problem(words, introduced(words))

    def execute(self, program: Program, problem: Problem) -> object:
        """The value of the program for the values that the problem binds to its arguments."""
        values = {name: value for name, value in problem.bindings.items() if not isinstance(value, TypeName)}
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


def introduced(words: tuple[str, ...]) -> dict[str, TypeName]:
    """The arguments that a text introduces, `given an array of numbers a and a number`, with their types.

    An argument without a name gets the first letter that is left over, as in the data. Without an introduction, the
    first mention of every name counts: `the sum of the numbers a and b`.
    """
    start = next((place + 1 for place, word in enumerate(words[:8]) if word in ("given", "consider")), None)
    groups: list[tuple[str, list[str]]] = []
    if start is not None:
        while (group := _read_group(words, start)) is not None:
            kind, names, start = group
            groups.append((kind, names))
    if not groups:
        for place in range(len(words)):
            group = _read_group(words, place)
            if group is not None and group[1]:
                groups.append(group[:2])
    # Letters that the text gives to something else are not free; a lone `a` may be the article.
    taken = {name for _, names in groups for name in names} | (set(words) - {"a"})
    free = iter([letter for letter in LETTERS if letter not in taken])
    bindings: dict[str, TypeName] = {}
    for kind, names in groups:
        for name in names or [next(free, "")]:
            bindings.setdefault(name, TypeName(kind))
    return {name: bindings[name] for name in sorted(bindings) if name}


_NOUNS = {
    "number": "int",
    "integer": "int",
    "string": "string",
    "word": "string",
    "array": "int[]",
    "list": "int[]",
}


def _read_group(words: tuple[str, ...], place: int) -> tuple[str, list[str], int] | None:
    """One kind of arguments with their names and the place behind them: `, arrays of numbers a , b and c`."""
    while place < len(words) and words[place] in (",", "and", "a", "an", "the", "two", "three", "some"):
        place += 1
    noun, plural = _noun(words, place)
    if noun is None:
        return None
    kind = _NOUNS[noun]
    place += 1
    if kind == "int[]" and words[place : place + 1] == ("of",):
        element, _ = _noun(words, place + 1)
        if element is None:
            return None
        kind = f"{_NOUNS[element]}[]"
        place += 2
    names: list[str] = []
    after = place
    while after < len(words) and (plural or not names):
        if words[after] in (",", "and") and names:
            after += 1
        elif len(words[after]) == 1 and words[after] in LETTERS and _noun(words, after + 1)[0] is None:
            names.append(words[after])
            after += 1
            place = after
            if words[after : after + 1] not in ((",",), ("and",)):
                break
        else:
            break
    return kind, names, place


def _noun(words: tuple[str, ...], place: int) -> tuple[str | None, bool]:
    word = words[place] if place < len(words) else ""
    if word in _NOUNS:
        return word, False
    return (word[:-1], True) if word.endswith("s") and word[:-1] in _NOUNS else (None, False)


def _tokenise(text: str) -> list[str]:
    """Words and numbers, every other character by itself: the data's own way."""
    return re.findall(r"\w+|[^\w\s]", text)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file that may be gzipped."""
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
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
    return Example(Problem(words, bindings), program, answer, " ".join(words), where)


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
