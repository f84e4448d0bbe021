"""Answers of `retrieval+model` for a split: candidates are recalled, the mixture is fitted on dev, the best is taken.

On dev itself each half is answered with weights that were fitted on the other half.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tpn2f.domain import Example, Splits, split_roles
from tpn2f.memory.mixture import fit_mixture
from tpn2f.memory.recall import Recalled, recall
from tpn2f.retrieval import Retrieval
from tpn2f.search import Candidate
from tpn2f.solver import Solver

MOST_FITTED = 5_000
"""So many examples of dev are enough for a few weights."""
Search = Callable[[Sequence[Example]], Sequence[Sequence[Candidate]]]
"""What the model writes for examples."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """What was answered, and by which weights."""

    candidates: list[list[Candidate]]
    """One for every example."""
    facts: Mapping[str, object]
    seconds: float
    """Of recalling; fitting is apart, in the facts."""
    cpu_seconds: float


def answer_with_memory(
    solver: Solver,
    splits: Splits,
    split: str,
    examples: Sequence[Example],
    written: Sequence[Sequence[Candidate]],
    count: int,
    search: Search,
) -> Mixed:
    """The answers to examples of a split, for which the model has `written` candidates already.

    `count` nearest training texts are recalled for each. `search` is asked about dev, where another split is answered.
    """
    roles = split_roles(splits.domain)
    memory = Retrieval(splits.take(roles.learn))

    def recalled(asked: Sequence[Example], candidates: Sequence[Sequence[Candidate]]) -> list[list[Recalled]]:
        problems = [example.problem for example in asked]
        return recall(memory, solver, problems, candidates, count)

    clock, started = time.perf_counter(), time.process_time()
    questions = recalled(examples, written)
    spent = time.perf_counter() - clock, time.process_time() - started
    gold = [example.program for example in examples]
    if split == roles.select:
        halves = [fit_mixture(questions[start::2], gold[start::2]) for start in (0, 1)]
        chosen = [[halves[1 - place % 2].choose(one)] for place, one in enumerate(questions)]
        told = {"weights": [half.told() for half in halves], "fitted_on": f"the other half of {split}"}
        return Mixed(chosen, {**told, "fitted_examples": len(examples) // 2}, *spent)
    started = time.process_time()
    dev = splits.take(roles.select)
    dev = dev[:: -(-len(dev) // MOST_FITTED)]
    mixture = fit_mixture(recalled(dev, search(dev)), [example.program for example in dev])
    facts = {
        "weights": mixture.told(),
        "fitted_on": roles.select,
        "fitted_examples": len(dev),
        "fitting_cpu_seconds": round(time.process_time() - started, 1),
    }
    return Mixed([[mixture.choose(one)] for one in questions], facts, *spent)
