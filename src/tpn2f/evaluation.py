"""Scoring a system or a prediction file on a split: collects predictions, hands them to `metrics`, keeps the facts.

What a prediction is worth is decided in `metrics.py` and in the domain. Scores of different modes (greedy, beam,
without masks, execution-guided, with tests or options shown) carry the mode in their name.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from tpn2f.domain.offers import HasOptions, HasTests, HasTyping, JudgesTypes
from tpn2f.domain.protocol import Domain, Example
from tpn2f.domain.splits import Splits, known_splits, split_roles
from tpn2f.errors import ConfigError, DataError, ProgramSyntaxError
from tpn2f.memory import answer_with_memory
from tpn2f.metrics import Report, score
from tpn2f.program import Program
from tpn2f.retrieval import Retrieval
from tpn2f.search import Candidate
from tpn2f.solver import Solver

SYSTEMS = ("retrieval", "gold", "empty")


def evaluate_system(domain: Domain, split: str, system: str, limit: int = 0) -> Report:
    """Scores one of the systems without weights."""
    if system not in SYSTEMS:
        raise DataError(f"no system is called {system!r}; there are {', '.join(SYSTEMS)}")
    splits = Splits(domain)
    examples = splits.take(split, limit)
    predictions: Sequence[Program | None]
    if system == "retrieval":
        memory = Retrieval(splits.take(split_roles(domain).learn))
        predictions = memory.predict([example.problem for example in examples])
    elif system == "gold":
        predictions = [example.program for example in examples]
    else:
        predictions = [Program()] * len(examples)
    return _score(splits, split, system, examples, predictions)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a model is scored: greedily for a width of 1, else by a beam, alone or helped."""

    width: int = 1
    masked: bool = True
    """Whether only well-formed programs come out."""
    typed: bool = True
    """Whether masks come from the language's type system, where it has one."""
    guided: bool = False
    """Whether the best candidate that runs is taken."""
    tests: int = 0
    """How many of each example's tests are shown: the best candidate that passes them is taken, or the best if none
    does, and it is scored by the tests that were not shown."""
    options: bool = False
    """Whether the options of each question are shown: the best candidate whose value is one of them is taken, unless
    it is far less probable."""
    memory: int = 0
    """How many nearest training problems lend their programs as further candidates, which the model scores: no longer
    the model alone, but `retrieval+model`."""

    @property
    def suffix(self) -> str:
        """What the mode adds to the name of a report."""
        beam = f"{f'-beam{self.width}' if self.width > 1 else ''}{'-guided' if self.guided else ''}"
        tests = f"-tests{self.tests}" if self.tests else ""
        return f"{beam}{tests}{'-options' if self.options else ''}{f'-memory{self.memory}' if self.memory else ''}"

    def name(self, domain: Domain) -> str:
        """A part of the report's name and facts, so that a search that was helped is never taken for a plain one."""
        return self.title if isinstance(domain, HasTyping) else replace(self, typed=True).title

    @property
    def title(self) -> str:
        """The same where it does not matter whether the domain has a type system."""
        parts = ["greedy" if self.width == 1 else f"beam {self.width}"]
        if not self.masked:
            parts.append("no masks")
        elif not self.typed:
            parts.append("no types")
        if self.guided:
            parts.append("execution-guided")
        if self.tests:
            parts.append(f"{self.tests} tests shown")
        if self.options:
            parts.append("options shown")
        if self.memory:
            parts.append(f"memory {self.memory}")
        return ", ".join(parts)

    def check(self, domain: Domain) -> None:
        """Raises a ConfigError for help that is unavailable, or that cannot be combined with another."""
        if self.tests and (self.guided or self.width == 1):
            raise ConfigError(
                "search with tests takes the best candidate of a beam that passes them: use --beam, without --guided"
            )
        if self.options and (self.guided or self.tests or self.width == 1):
            raise ConfigError(
                "search with options takes the best candidate of a beam that gives one: use --beam, without --guided "
                "and --tests"
            )
        if self.memory and (self.guided or self.tests or self.options):
            raise ConfigError("memory chooses among candidates itself: use it without --guided, --tests and --options")
        if self.options and not isinstance(domain, HasOptions):
            raise ConfigError(f"{domain.name} has no questions with options")
        if self.tests and not isinstance(domain, HasTests):
            raise ConfigError(f"the examples of {domain.name} have no tests that could be shown")


GREEDY = Mode()


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found for every example of a split, and what it cost."""

    candidates: list[list[Candidate]]
    seconds: float
    cpu_seconds: float


def search_split(
    solver: Solver,
    examples: Sequence[Example],
    mode: Mode = GREEDY,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Found:
    """The part of a mode that concerns the search itself."""
    clock, started = time.perf_counter(), time.process_time()
    problems = [example.problem for example in examples]
    asked = solver if mode.typed or not mode.masked else solver.without_types()
    search = asked.propose if mode.guided else asked.predict
    candidates = search(problems, mode.width, mode.masked, progress=lambda done: progress(done, len(examples)))
    return Found(candidates, time.perf_counter() - clock, time.process_time() - started)


def evaluate_model(
    solver: Solver,
    split: str,
    name: str,
    mode: Mode = GREEDY,
    limit: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    splits: Splits | None = None,
    found: Found | None = None,
) -> tuple[Report, list[Example], list[Program | None]]:
    """Scores a trained model. `splits` that are already read, and what the same search `found` before, are reused."""
    domain = solver.domain
    mode.check(domain)
    splits = splits or Splits(domain)
    examples = splits.take(split, limit)
    shown, judges = examples, examples
    if mode.tests and isinstance(domain, HasTests):
        pairs = [domain.split_tests(example, mode.tests) for example in examples]
        shown, judges = [one for one, _ in pairs], [rest for _, rest in pairs]
    # Read before the clock starts: reading is neither decoding nor scoring.
    for other in known_splits(domain, split):
        splits.templates(other)
    found = found or search_split(solver, examples, mode, progress)
    mixed = None
    if mode.memory:
        asked = partial(search_split, solver, mode=mode, progress=progress)
        lent = solver, splits, split, examples, found.candidates, mode.memory
        mixed = answer_with_memory(*lent, lambda dev: asked(dev).candidates)
        found = Found(mixed.candidates, found.seconds + mixed.seconds, found.cpu_seconds + mixed.cpu_seconds)
    clock, started = time.perf_counter(), time.process_time()
    predictions = [_best(solver, mode, *pair).program for pair in zip(shown, found.candidates, strict=True)]
    title = mode.name(domain)
    if mode.guided and mode.width > 1:
        helped = {"memory": solver.recalls, "a second opinion": solver.second is not None}
        if any(helped.values()):
            title += f", with {' and '.join(name for name, there in helped.items() if there)}"
    system = f"retrieval+model: {name} ({title})" if mixed else f"{name} ({title})"
    report = _score(splits, split, system, examples, predictions, judges)
    decoding, scoring = found.cpu_seconds, time.process_time() - started
    rate = len(examples) / (found.seconds + time.perf_counter() - clock)
    share = decoding / max(decoding + scoring, 1e-9)
    facts = {
        **report.facts,
        "mode": title,
        "decoding_cpu_seconds": round(decoding, 1),
        "scoring_cpu_seconds": round(scoring, 1),
        "decoding_cpu_share": round(share, 3),
        "records_a_second": round(rate, 1),
        **({"tests_shown": mode.tests, "tests_scored": "the others"} if mode.tests else {}),
        **({"memory": mode.memory, "mixture": mixed.facts} if mixed else {}),
    }
    if isinstance(domain, JudgesTypes):
        checked = zip(predictions, examples)
        facts["well_typed"] = sum(
            program is not None and bool(program) and domain.is_well_typed(program, one.problem)
            for program, one in checked
        )
    wrong = sum(prediction is None for prediction in predictions)
    notes = [f"{wrong} predictions are not programs"] if wrong else []
    if mode.tests:
        notes.append(f"chosen by the first {mode.tests} tests of each example, scored by the others")
    if mode.options:
        notes.append("chosen with the options of each question shown, but not the letter of the right one")
    near = sum(any(one.recalled for one in candidates) for candidates in found.candidates)
    if mode.guided and solver.recalls:
        notes.append(f"for {near:,} questions a known one was near, whose program was a candidate, too")
    if mode.guided and solver.choice is not None:
        notes.append("chosen among candidates that make sense by signals, as calibrate found them on dev")
    if mixed:
        notes.append(f"chosen among the model's candidates and those of {mode.memory} nearest training problems")
    if "well_typed" in facts:
        notes.append(f"{facts['well_typed']:,} of {len(predictions):,} programs type-check")
    notes.append(_longest_note(facts))
    notes.append(
        f"{rate:.1f} examples per second, decoding and scoring together; of the CPU time {100 * share:.0f} % went into "
        f"decoding, {100 - 100 * share:.0f} % into running and scoring programs"
    )
    return replace(report, notes=tuple(notes), facts=facts), examples, predictions


def _best(solver: Solver, mode: Mode, example: Example, candidates: Sequence[Candidate]) -> Candidate:
    """The candidate that a mode takes."""
    if mode.tests:
        return solver.best_by_tests(example, candidates)
    if mode.options and isinstance(solver.domain, HasOptions):
        return solver.best_by_options(example.problem, candidates, solver.domain.options(example))
    return solver.best_that_runs(example.problem, candidates) if mode.guided else candidates[0]


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

    A `program` that is null or cannot be parsed counts as wrong; the report's notes name the first such line.
    """
    splits = Splits(domain)
    examples = splits.take(split, limit)
    predictions, notes = read_predictions(path)
    if len(predictions) != len(examples):
        raise DataError(f"{path} has {len(predictions)} predictions, but {domain.name} {split} has {len(examples)}")
    report = _score(splits, split, path.name, examples, predictions)
    return replace(report, notes=notes)


def read_predictions(path: Path) -> tuple[list[Program | None], tuple[str, ...]]:
    """The programs of a prediction file, and a note on lines that are not programs."""
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
    try:
        with path.open("w", encoding="utf-8", errors="replace") as file:
            for example, program in zip(examples, predictions):
                record = {"id": example.id, "program": None if program is None else str(program)}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def digest(examples: Iterable[Example]) -> str:
    """A name for exactly these examples: the sha256 of their texts and programs."""
    total = hashlib.sha256()
    for example in examples:
        total.update(f"{example.text}\t{example.program}\n".encode())
    return total.hexdigest()


def _score(
    splits: Splits,
    split: str,
    system: str,
    examples: Sequence[Example],
    predictions: Sequence[Program | None],
    judges: Sequence[Example] | None = None,
) -> Report:
    domain = splits.domain
    known = {name: splits.templates(name) for name in known_splits(domain, split)}
    facts = {
        "domain": domain.name,
        "split": split,
        "system": system,
        "trained_on": split_roles(domain).learn,
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
