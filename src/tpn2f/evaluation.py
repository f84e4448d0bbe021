"""Scoring a system or a prediction file on a split: collects predictions, hands them to `metrics`, keeps the facts.

What a prediction is worth is decided in `metrics.py` and in the domain. Scores of different modes (greedy, beam,
without masks, execution-guided, with tests or options shown) carry the mode in their name.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from tpn2f.domain import Domain, Example
from tpn2f.errors import ConfigError, DataError, ExecutionError, ProgramSyntaxError
from tpn2f.grammar import make_grammar
from tpn2f.metrics import Report, score
from tpn2f.program import Program
from tpn2f.retrieval import Retrieval
from tpn2f.search import OPTION_MARGIN, Candidate, first_accepted
from tpn2f.solver import Solver

SYSTEMS = ("retrieval", "gold", "empty")


def evaluate_system(domain: Domain, split: str, system: str, limit: int = 0) -> Report:
    """Scores one of the systems without weights."""
    if system not in SYSTEMS:
        raise DataError(f"no system is called {system!r}; there are {', '.join(SYSTEMS)}")
    examples = _take(domain, split, limit)
    training = training_split(domain)
    predictions: Sequence[Program | None]
    if system == "retrieval":
        memory = Retrieval(domain.examples(training))
        predictions = memory.predict([example.problem for example in examples])
    elif system == "gold":
        predictions = [example.program for example in examples]
    else:
        predictions = [Program()] * len(examples)
    return _score(domain, split, system, examples, predictions)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found for every example of a split, and what it cost."""

    candidates: list[list[Candidate]]
    seconds: float
    cpu_seconds: float


def search_split(
    solver: Solver,
    examples: Sequence[Example],
    width: int,
    masked: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Found:
    """Greedy for a width of 1, else by beam."""
    clock, started = time.perf_counter(), time.process_time()
    problems = [example.problem for example in examples]
    candidates = solver.predict(problems, width, masked, progress=lambda done: progress(done, len(examples)))
    return Found(candidates, time.perf_counter() - clock, time.process_time() - started)


def evaluate_model(
    solver: Solver,
    split: str,
    name: str,
    width: int = 1,
    masked: bool = True,
    guided: bool = False,
    limit: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    tests: int = 0,
    typed: bool = True,
    found: Found | None = None,
    options: bool = False,
) -> tuple[Report, list[Example], list[Program | None]]:
    """Scores a trained model: greedy for a width of 1, else by beam; `guided` takes the best candidate that runs.

    With `tests`, so many of each example's tests are shown: the best candidate that passes them is taken, or the best
    if none does, and it is scored by the tests that were not shown. With `options`, those of each question are shown:
    the best candidate whose value is one of them is taken, unless it is far less probable. `typed` is whether masks
    come from the language's type system, where it has one. The mode is part of the report's name and facts, so that the
    score of a search that was helped is never taken for a plain one. What the same search `found` before need not be
    searched again.
    """
    domain = solver.domain
    if tests and (guided or width == 1):
        raise ConfigError("search with tests takes the best of a beam that passes them: give --beam, and not --guided")
    if options and (guided or tests or width == 1):
        raise ConfigError(
            "search with options takes the best of a beam that gives one: give --beam, and neither --guided nor --tests"
        )
    if options and not hasattr(domain, "options"):
        raise ConfigError(f"{domain.name} has no questions with options")
    examples = _take(domain, split, limit)
    shown, judges = _split_tests(domain, examples, tests) if tests else (examples, examples)
    if masked and not typed:
        solver = copy(solver)
        solver.grammar = make_grammar(domain, solver.codec, solver.grammar.slots_filled, typed=False)
    background = _background(domain, split)
    found = found or search_split(solver, examples, width, masked, progress)
    clock, started = time.perf_counter(), time.process_time()
    accepts = _passes if tests else _gives_option if options else _runs if guided else None
    margin = OPTION_MARGIN if options else math.inf
    predictions: list[Program | None] = []
    for example, candidates in zip(shown, found.candidates, strict=True):
        best = first_accepted(candidates, partial(accepts, domain, example), margin) if accepts else candidates[0]
        predictions.append(best.program)
    mode = _mode(domain, width, masked, guided, tests, typed, options)
    report = _score(domain, split, f"{name} ({mode})", examples, predictions, judges, background)
    decoding, scoring = found.cpu_seconds, time.process_time() - started
    rate = len(examples) / (found.seconds + time.perf_counter() - clock)
    share = decoding / max(decoding + scoring, 1e-9)
    facts = {
        **report.facts,
        "mode": mode,
        "decoding_cpu_seconds": round(decoding, 1),
        "scoring_cpu_seconds": round(scoring, 1),
        "decoding_cpu_share": round(share, 3),
        "records_a_second": round(rate, 1),
        **({"tests_shown": tests, "tests_scored": "the others"} if tests else {}),
    }
    well_typed = getattr(domain, "is_well_typed", None)
    if well_typed is not None:
        checked = zip(predictions, examples)
        facts["well_typed"] = sum(bool(program) and well_typed(program, one.problem) for program, one in checked)
    wrong = sum(prediction is None for prediction in predictions)
    notes = [f"{wrong} predictions are not programs"] if wrong else []
    if tests:
        notes.append(f"chosen by the first {tests} tests of each example, scored by the others")
    if options:
        notes.append("chosen with the options of each question in view, not with the letter of the right one")
    if well_typed is not None:
        notes.append(f"{facts['well_typed']:,} of {len(predictions):,} programs type-check")
    notes.append(_longest_note(facts))
    notes.append(
        f"{rate:.1f} examples a second, decoding and scoring together; of the CPU time {100 * share:.0f} % went into "
        f"decoding, {100 - 100 * share:.0f} % into running and scoring programs"
    )
    return Report(report.title, report.groups, tuple(notes), facts), examples, predictions


def _mode(
    domain: Domain, width: int, masked: bool, guided: bool, tests: int, typed: bool, options: bool = False
) -> str:
    parts = ["greedy" if width == 1 else f"beam {width}"]
    if not masked:
        parts.append("no masks")
    elif not typed and hasattr(domain, "typing"):
        parts.append("no types")
    if guided:
        parts.append("execution-guided")
    if tests:
        parts.append(f"{tests} tests shown")
    if options:
        parts.append("options shown")
    return ", ".join(parts)


def _split_tests(domain: Domain, examples: Sequence[Example], tests: int) -> tuple[list[Example], list[Example]]:
    """The examples with the tests that are shown, and with the others."""
    if not hasattr(domain, "split_tests"):
        raise ConfigError(f"the examples of {domain.name} have no tests that could be shown")
    pairs = [domain.split_tests(example, tests) for example in examples]  # type: ignore[attr-defined]
    return [shown for shown, _ in pairs], [rest for _, rest in pairs]


def _passes(domain: Domain, example: Example, program: Program) -> bool:
    return domain.is_solved(program, example)


def _runs(domain: Domain, example: Example, program: Program) -> bool:
    try:
        domain.execute(program, example.problem)
    except ExecutionError:
        return False
    return True


def _gives_option(domain: Domain, example: Example, program: Program) -> bool:
    """Whether the value is one of the options but for rounding; which of them is right is not looked at."""
    try:
        value = domain.execute(program, example.problem)
        chosen = domain.choose(value, domain.options(example))  # type: ignore[attr-defined]
    except (ExecutionError, DataError):
        return False
    return chosen is not None and chosen.exact


def _longest_note(facts: Mapping[str, object]) -> str:
    solved = facts.get("longest_solved")
    if not isinstance(solved, Mapping):
        return "no program is solved"
    return (
        f"the longest program solved has {solved['tuples']} tuples in the data and {solved['written']} as written "
        f"({solved['id']})"
    )


def evaluate_file(domain: Domain, split: str, path: Path, limit: int = 0) -> Report:
    """Scores a file of predictions by the same rules: line i is a JSON object whose `program` answers example i.

    A `program` that is null or cannot be parsed counts as wrong; its line is told in the report's notes.
    """
    examples = _take(domain, split, limit)
    predictions, notes = read_predictions(path)
    if len(predictions) != len(examples):
        raise DataError(f"{path} has {len(predictions)} predictions, but {domain.name} {split} has {len(examples)}")
    report = _score(domain, split, path.name, examples, predictions)
    return Report(report.title, report.groups, notes, report.facts)


def read_predictions(path: Path) -> tuple[list[Program | None], tuple[str, ...]]:
    """The programs of a prediction file, and a note on those that are none."""
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    predictions: list[Program | None] = []
    unreadable: list[int] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                text = json.loads(line)["program"]
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise DataError(f"{path}, line {number}: expected a JSON object with the field `program`") from error
            try:
                predictions.append(Program.parse(text) if isinstance(text, str) else None)
            except ProgramSyntaxError:
                predictions.append(None)
            if predictions[-1] is None:
                unreadable.append(number)
    if not predictions:
        raise DataError(f"{path} is empty")
    notes = (
        (f"{len(unreadable)} predictions are not programs, the first on line {unreadable[0]}",) if unreadable else ()
    )
    return predictions, notes


def write_predictions(path: Path, examples: Iterable[Example], predictions: Iterable[Program | None]) -> None:
    """The file that `evaluate_file` reads."""
    with path.open("w", encoding="utf-8") as file:
        for example, program in zip(examples, predictions):
            record = {"id": example.id, "program": None if program is None else str(program)}
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def training_split(domain: Domain) -> str:
    """What may be learned from: `train`, or `dev-train` where a domain has to do without its training file."""
    try:
        next(iter(domain.examples("train")))
    except DataError:
        if "dev-train" not in domain.splits:
            raise
        return "dev-train"
    return "train"


def known_splits(domain: Domain, split: str) -> list[str]:
    """The splits that a model scored on `split` may have seen: the training split, then the one used for selection."""
    training = training_split(domain)
    selection = "dev" if training == "train" else "dev-valid"
    return [name for name in (training, selection) if name != split and name in domain.splits]


def digest(examples: Iterable[Example]) -> str:
    """A name for exactly these examples: the sha256 of their texts and programs."""
    total = hashlib.sha256()
    for example in examples:
        total.update(f"{example.text}\t{example.program}\n".encode())
    return total.hexdigest()


def _take(domain: Domain, split: str, limit: int) -> list[Example]:
    return list(islice(domain.examples(split), limit or None))


Background = tuple[str, Mapping[str, set[tuple[str, ...]]]]


def _background(domain: Domain, split: str) -> Background:
    """What may be learned from, and the texts of all splits that a model scored on this one may have seen."""
    # First, because it begins to read a split anew, and what was left out of it is listed only when it is read whole.
    training = training_split(domain)
    known = {name: {example.problem.words for example in domain.examples(name)} for name in known_splits(domain, split)}
    return training, known


def _score(
    domain: Domain,
    split: str,
    system: str,
    examples: Sequence[Example],
    predictions: Sequence[Program | None],
    judges: Sequence[Example] | None = None,
    background: Background | None = None,
) -> Report:
    training, known = background or _background(domain, split)
    facts = {
        "domain": domain.name,
        "split": split,
        "system": system,
        "trained_on": training,
        "examples_sha256": digest(examples),
        "longest_solved": _longest_solved(domain, judges or examples, predictions),
        "tpn2f": version("tpn2f"),
    }
    return score(domain, examples, predictions, known, f"{domain.name} {split}: {system}", facts, judges)


def _longest_solved(
    domain: Domain, examples: Sequence[Example], predictions: Sequence[Program | None]
) -> Mapping[str, object] | None:
    """The solved example whose gold program is the longest: how long it is, and how long the prediction is."""
    pairs = sorted(zip(examples, predictions), key=lambda pair: -len(pair[0].program))
    for example, program in pairs:
        if program and domain.is_solved(program, example):
            return {"tuples": len(example.program), "written": len(program), "id": example.id}
    return None
