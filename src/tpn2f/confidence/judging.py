"""A model judged on dev, and what was found written into its checkpoint.

Right means strictly right, that the program equals gold, or where the caller says so, that its value is the answer.
Never to be fitted on test.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tpn2f.checkpoint import locked, read_checkpoint, write_checkpoint
from tpn2f.confidence.choosing import Considered
from tpn2f.confidence.sources import Trust
from tpn2f.confidence.temperature import Calibration, Judged
from tpn2f.domain import (
    Domain,
    Example,
    JudgesAnswers,
    NamesLicences,
    Problem,
    RemembersMore,
    Splits,
    split_parts,
    split_roles,
)
from tpn2f.errors import DataError
from tpn2f.pretrained import find_model
from tpn2f.program import Program
from tpn2f.setting import KNOWN, MEMORY, RUNS, hashed_tensors
from tpn2f.solver import Solver
from tpn2f.trust.belief import Belief
from tpn2f.trust.memory import Learned, Memory, remember
from tpn2f.trust.signals import look_up, signals


def consider(
    solver: Solver,
    split: str,
    width: int = 0,
    limit: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
    splits: Splits | None = None,
    by_answer: bool = False,
    tests: bool = False,
) -> list[Considered]:
    """A split solved, every candidate judged strictly or by the answer. A limit holds for each of joined splits.

    A width of 0 is the solver's usual one, with which people are answered.

    Splits for tests are refused, unless the finished model is only measured.
    """
    roles = split_roles(solver.domain)
    for part in split_parts(split):
        if part in roles.tests and not tests:
            raise DataError(f"{part}: a test split judges the finished model; calibrate on {roles.select}")
    taken = splits or Splits(solver.domain)
    examples = [(part, example) for part in split_parts(split) for example in taken.take(part, limit)]
    found = solver.propose(
        [example.problem for _, example in examples],
        width,
        progress=lambda done: progress(done, len(examples)),
    )
    considered = []
    for (part, example), candidates in zip(examples, found):
        known = look_up(solver.memory, example.problem, example.text)
        answered = solver.answered(example.problem, candidates, known)
        considered.append(
            Considered(
                tuple(candidate.log_probability for candidate in candidates),
                tuple(_is_right(solver.domain, candidate.program, example, by_answer) for candidate in candidates),
                tuple(map(signals, answered)),
                tuple(map(solver.makes_sense, answered)),
                source_of(solver.domain, part, example),
                half(example.problem),
            )
        )
    return considered


def judge(solver: Solver, *asked: Any, **settings: Any) -> list[Judged]:
    """What `consider` considers, answered as people are: one prediction a question."""
    chooses = isinstance(solver.domain, JudgesAnswers)
    return [one.taken(solver.choice, chooses) for one in consider(solver, *asked, **settings)]


def _is_right(domain: Domain, program: Program | None, example: Example, by_answer: bool) -> bool:
    if program is None or not by_answer:
        return program == example.program
    return is_right(domain, program, example)


def is_right(domain: Domain, program: Program, example: Example) -> bool:
    """Whether the value is the answer. Where a domain tells that from the nearest option, it is the answer that counts:
    a person who asks has no options."""
    answer = domain.credits(program, example).get("answer")
    return domain.is_solved(program, example) if answer is None else answer == 1.0


def source_of(domain: Domain, split: str, example: Example) -> str:
    """Where an example comes from: for one of a mixture the split that its id names, else the split itself."""
    inner = (part for part in example.id.split(":") if part != split and part in domain.splits)
    return next(inner, split)


def half(problem: Problem) -> int:
    """The half that a problem is in: 0 or 1, the same for the same words wherever they stand."""
    return hashlib.sha256("\n".join(problem.words).encode("utf-8", "replace")).digest()[0] % 2


def make_memory(domain: Domain, train: str, splits: Splits | None = None) -> Memory:
    """The memory of what a model learned from: `gsm8k+generated*0.5`. Raises DataError where the data is not there.

    Only texts that the domain calls quotable are kept as texts: nobody else's data goes into a model.
    """
    taken = splits or Splits(domain)
    more = domain.remembered if isinstance(domain, RemembersMore) else {}
    learned = [re.sub(r"\*.*", "", part).strip() for part in split_parts(train)]
    parts = [more.get(part, part) for part in learned]
    quotable = domain.quotable if isinstance(domain, NamesLicences) else ()
    return remember(
        Learned(example.text if part in quotable else "", example.problem, example.program)
        for part in parts
        for example in taken.take(part)
    )


def write_calibration(
    place: Path | str,
    calibration: Calibration,
    trust: Trust | None = None,
    memory: Memory | None = None,
    choice: Belief | None = None,
    second: str | None = None,
) -> Path:
    """Puts what was found into a model's checkpoint; the weights stay what they are."""
    folder = find_model(place)
    # In a run directory a training may write the same checkpoint.
    run = folder.parent.parent if folder.parent.name == "checkpoints" else None
    if run is None:
        _rewrite(folder, calibration, trust, memory, choice, second)
    else:
        with locked(run):
            _rewrite(folder, calibration, trust, memory, choice, second)
    return folder


def _rewrite(
    folder: Path,
    calibration: Calibration,
    trust: Trust | None,
    memory: Memory | None,
    choice: Belief | None,
    second: str | None,
) -> None:
    checkpoint = read_checkpoint(folder)
    # What an earlier calibration found is not mixed with this one.
    found = ("temperature", "threshold", "belief", "guess_below", "choice", "second")
    state = {key: value for key, value in checkpoint.state.items() if key not in found}
    state["temperature"] = calibration.temperature
    tensors = {name: group for name, group in checkpoint.tensors.items() if name != MEMORY}
    texts = {name: text for name, text in checkpoint.texts.items() if name != KNOWN}
    if trust is None:
        state["threshold"] = None if calibration.safe is None else calibration.safe.threshold
    else:
        state |= {"belief": trust.belief.to_json(), "guess_below": trust.guess_below}
    if second is not None:
        state["second"] = second
    if choice is not None:
        state["choice"] = choice.to_json()
    if memory is not None:
        tensors[MEMORY] = {RUNS: torch.from_numpy(memory.field), **hashed_tensors(memory)}
        texts[KNOWN] = "".join(f"{line}\n" for line in memory.lines())
    write_checkpoint(folder, replace(checkpoint, tensors=tensors, state=state, texts=texts))


def halves(judged: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """One half to fit on and one to report; questions with the same words are in the same half."""
    return [one for one in judged if not one.half], [one for one in judged if one.half]
