"""Where a function domain's examples come from: generators and JSONL files, checked one by one and cut into splits.

A record that cannot be used is left out with its reason, never silently. Programs may name values as their text does.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from tpn2f.domain import ANY, Example, Signature
from tpn2f.errors import DataError, ExecutionError, LimitError, ProgramSyntaxError
from tpn2f.functions.mentions import TextReading
from tpn2f.functions.splits import cut
from tpn2f.program import Program, RelationalTuple, read_tree, reference

if TYPE_CHECKING:
    from tpn2f.functions.function_domain import FunctionDomain

MOST_INPUT = 1 << 26
"""The most bytes of a file that is a value beside a text."""
TRIES = 50
"""A generator may repeat itself: it is asked for at most this many times the number of texts wanted."""


@dataclass(frozen=True, slots=True)
class ExampleSource:
    """A generator or a JSONL file, and the split that it is for; None if it is divided into splits."""

    place: Callable[[Random], Iterable[Sequence[Any]]] | Path
    split: str | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """An example as it was written, and where."""

    where: str
    text: object
    program: object
    inputs: object
    answer: object = None


def collect(domain: FunctionDomain) -> tuple[dict[str, list[Example]], dict[str, list[str]]]:
    """The examples of every split, with answers, and what was left out. Raises DataError when there is nothing."""
    texts: set[str] = set()
    kept: dict[str | None, list[Example]] = {}
    skipped: dict[str, list[str]] = {}
    for source in domain.sources:
        examples = kept.setdefault(source.split, [])
        # The split of a record that cannot be read is unknown: it is listed under the first one.
        reasons = skipped.setdefault(source.split or domain.splits[0], [])
        wanted = len(examples) + source.count
        for record in _records(source, domain):
            try:
                example = _example(domain, record)
            except DataError as error:
                reasons.append(f"{record.where}: {error}")
                continue
            if example.text not in texts:
                texts.add(example.text)
                examples.append(example)
            if source.count and len(examples) == wanted:
                break
    splits: dict[str, list[Example]] = {name: [] for name in domain.splits}
    for split, examples in kept.items():
        if split is not None:
            splits[split] += examples
        else:
            parts = cut(examples, domain.split, domain.share, domain.combinations, domain.name)
            for name, part in parts.items():
                splits[name] += part
    if not any(splits.values()):
        left = [line for lines in skipped.values() for line in lines]
        reason = f"{len(left)} were left out, the first as {left[0]}" if left else "its sources are empty"
        raise DataError(f"{domain.name} has no examples: {reason}")
    answered = {name: _answered(domain, name, examples) for name, examples in splits.items()}
    return answered, {split: reasons for split, reasons in skipped.items() if reasons}


def as_program(program: object) -> Program:
    """A program given as one, as its text in either form, or as nested tuples whose leaves are words or values."""
    if isinstance(program, Program):
        return program
    if isinstance(program, str):
        tree = program.lstrip().startswith("(")
        return Program.from_tree(read_tree(program)) if tree else Program.parse(program)
    if isinstance(program, tuple | list):
        return Program.from_tree(_tree(program))
    raise ProgramSyntaxError(f"a program is a text or nested tuples; got {type(program).__name__}")


def resolve(
    program: Program, relations: Mapping[str, Signature], reading: TextReading, names: Mapping[str, str]
) -> Program:
    """The program with every value that it names as the text does replaced by its name of the expected type."""
    tuples: list[RelationalTuple] = []
    for step in program:
        signature = relations.get(step.relation)
        expected = signature.arguments if signature and signature.arity == len(step.arguments) else ()
        words = [
            _resolve(word, expected[place] if expected else ANY, reading, names)
            for place, word in enumerate(step.arguments)
        ]
        tuples.append(RelationalTuple(step.relation, tuple(words)))
    return Program(tuple(tuples))


def same_value(value: Any, answer: Any) -> bool:
    """Whether a value is the answer: numbers up to rounding, sequences by item; a text is also how a value is written,
    because JSON has no dates. Never raises."""
    try:
        return _same(value, answer)
    except Exception:
        return False


def _same(value: Any, answer: Any) -> bool:
    if isinstance(value, bool) or isinstance(answer, bool):
        return value is answer
    if isinstance(value, int | float) and isinstance(answer, int | float):
        return math.isclose(value, answer, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(value, list | tuple) and isinstance(answer, list | tuple):
        return len(value) == len(answer) and all(map(_same, value, answer))
    if isinstance(value, Mapping) and isinstance(answer, Mapping):
        return value.keys() == answer.keys() and all(_same(value[key], answer[key]) for key in value)
    return bool(value == answer) or (isinstance(answer, str) and answer == str(value))


def _resolve(word: str, expected: str, reading: TextReading, names: Mapping[str, str]) -> str:
    if reference(word) is not None or (word in names and _fits(names[word], expected)):
        return word
    literal = _unquote(word).lower()
    keys = [literal]
    with contextlib.suppress(ValueError):
        keys.append(repr(float(literal)))
    found = [name for key in keys for name in reading.sources.get(key, ())]
    # Without one of the right type the first is taken: the check of types then says what is wrong.
    return next((name for name in found if _fits(names[name], expected)), word if word in names else (*found, word)[0])


def _fits(kind: str, expected: str) -> bool:
    return kind == expected or ANY in (kind, expected)


def _unquote(word: str) -> str:
    if not word.startswith('"'):
        return word
    try:
        return json.loads(word)
    except ValueError:
        return word[1:-1]


def _tree(node: object) -> Any:
    if isinstance(node, tuple | list):
        return tuple(_tree(child) for child in node)
    word = node.name if isinstance(node, Enum) else str(node)
    try:
        RelationalTuple("f", (word,))
    except ProgramSyntaxError:
        return json.dumps(word, ensure_ascii=False)
    return word


def _records(source: ExampleSource, domain: FunctionDomain) -> Iterator[Record]:
    return _read_file(domain, source.place) if isinstance(source.place, Path) else _generate(source, domain)


def _generate(source: ExampleSource, domain: FunctionDomain) -> Iterator[Record]:
    assert not isinstance(source.place, Path)
    name = getattr(source.place, "__name__", "the generator")
    try:
        # The same examples on every machine and in every run.
        made = source.place(Random(f"tpn2f {domain.name} {name}"))
        if not isinstance(made, Iterable):
            raise DataError(f"{domain.name}: {name}(random) gives {type(made).__name__}; expected it to yield examples")
        for number, item in enumerate(islice(made, TRIES * source.count)):
            where = f"{name}, example {number}"
            if not isinstance(item, tuple | list) or len(item) not in (2, 3):
                raise DataError(f"{where}: expected (text, program) or (text, program, inputs), got {str(item)[:80]!r}")
            yield Record(where, item[0], item[1], item[2] if len(item) == 3 else {})
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"{domain.name}: {name}(random) raised {type(error).__name__}: {error}") from error


def _read_file(domain: FunctionDomain, path: Path) -> Iterator[Record]:
    path = domain.folder() / path
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _read_line(line, f"{path.name}, line {number}", path.parent)
    except OSError as error:
        raise DataError(f"{domain.name}: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{domain.name}: {path} is not UTF-8: {error.reason}") from error


def _read_line(line: str, where: str, folder: Path) -> Record:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Record(where, None, None, {})
    if not isinstance(found, dict):
        return Record(where, None, None, {})
    inputs = found.get("inputs") or {}
    if isinstance(inputs, dict):
        inputs = {name: _from_file(value, folder, where) for name, value in inputs.items()}
    return Record(where, found.get("text"), found.get("program"), inputs, found.get("answer"))


def _from_file(value: object, folder: Path, where: str) -> object:
    """`@sales.csv` stands for the text of the file beside the examples; it cannot name what lies elsewhere."""
    if not isinstance(value, str) or not value.startswith("@"):
        return value
    path = folder / value[1:]
    try:
        if not path.resolve().is_relative_to(folder.resolve()) or (path.exists() and not path.is_file()):
            raise DataError(f"{where}: {value[:60]!r} is no file beside the examples")
        if path.stat().st_size > MOST_INPUT:
            raise DataError(f"{where}: {path} has more than {MOST_INPUT:,} bytes")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{where}: cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"{where}: cannot read {str(path)[:100]!r}: {error}") from error


def _example(domain: FunctionDomain, record: Record) -> Example:
    if not isinstance(record.text, str) or record.program is None:
        raise DataError("expected a JSON object with the fields `text` and `program`")
    if not isinstance(record.inputs, Mapping):
        raise DataError(f"the inputs are {type(record.inputs).__name__}; expected values by name")
    return domain.example(record.text, record.program, record.inputs, record.answer)


def _answered(domain: FunctionDomain, split: str, examples: Sequence[Example]) -> list[Example]:
    """The examples with ids, and with what the gold program gives where no answer was given."""
    found: list[Example] = []
    for number, example in enumerate(examples):
        answer = example.answer
        if answer is None:
            try:
                answer = domain.execute(example.program, example.problem)
            except LimitError as error:
                # One is enough: the others would take as long.
                raise DataError(f"{domain.name}, {example.text[:80]!r}: the gold program {error}") from error
            except ExecutionError:
                answer = None
        found.append(replace(example, answer=answer, id=f"{split}:{number}"))
    return found
