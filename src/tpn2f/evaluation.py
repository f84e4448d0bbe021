"""Scoring a system or a prediction file on a split: collects predictions, hands them to `metrics`, keeps the facts.

What a prediction is worth is decided in `metrics.py` and in the domain. Scores of different modes (greedy, beam,
without masks, execution-guided) carry the mode in their name.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from tpn2f.domain import Domain, Example
from tpn2f.errors import DataError, ExecutionError, ProgramSyntaxError
from tpn2f.metrics import Report, score
from tpn2f.program import Program
from tpn2f.retrieval import Retrieval
from tpn2f.search import execution_guided
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


def evaluate_model(
    solver: Solver,
    split: str,
    name: str,
    width: int = 1,
    masked: bool = True,
    guided: bool = False,
    limit: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Report, list[Example], list[Program | None]]:
    """Scores a trained model: greedy for a width of 1, else by beam; `guided` takes the best candidate that runs.

    The mode is part of the report's name and facts, so that a guided score is never taken for a plain one.
    """
    domain = solver.domain
    examples = _take(domain, split, limit)
    started = time.process_time()
    found = solver.predict(
        [example.problem for example in examples],
        width,
        masked,
        progress=lambda done: progress(done, len(examples)),
    )
    spent = time.process_time() - started
    predictions: list[Program | None] = []
    for example, candidates in zip(examples, found):
        best = execution_guided(candidates, partial(_runs, domain, example)) if guided else candidates[0]
        predictions.append(best.program)
    mode = "greedy" if width == 1 else f"beam {width}"
    mode += ("" if masked else ", no masks") + (", execution-guided" if guided else "")
    report = _score(domain, split, f"{name} ({mode})", examples, predictions)
    facts = {**report.facts, "mode": mode, "decoding_cpu_seconds": round(spent, 1)}
    wrong = sum(prediction is None for prediction in predictions)
    notes = (f"{wrong} predictions are not programs",) if wrong else ()
    return Report(report.title, report.groups, notes, facts), examples, predictions


def _runs(domain: Domain, example: Example, program: Program) -> bool:
    try:
        domain.execute(program, example.problem)
    except ExecutionError:
        return False
    return True


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


def _score(
    domain: Domain, split: str, system: str, examples: Sequence[Example], predictions: Sequence[Program | None]
) -> Report:
    # First, because it begins to read a split anew, and what was left out of it is listed only when it is read whole.
    training = training_split(domain)
    known = {name: {example.problem.words for example in domain.examples(name)} for name in known_splits(domain, split)}
    facts = {
        "domain": domain.name,
        "split": split,
        "system": system,
        "trained_on": training,
        "examples_sha256": digest(examples),
        "tpn2f": version("tpn2f"),
    }
    return score(domain, examples, predictions, known, f"{domain.name} {split}: {system}", facts)
