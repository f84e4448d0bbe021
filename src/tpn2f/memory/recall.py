"""Candidates of two origins: what a model wrote for a problem, and what the nearest training problems had.

Each has what speaks for it: the model's log-probability, by forced decoding, and its standing among the neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tpn2f.domain import Problem
from tpn2f.opinions import fits, force
from tpn2f.program import Program
from tpn2f.retrieval import Neighbour, Retrieval
from tpn2f.search import Candidate
from tpn2f.solver import Solver


class Recalled(NamedTuple):
    """A candidate and what speaks for it."""

    program: Program
    log_probability: float
    """Of the whole program, by the model, without masks."""
    similarity: float = 0.0
    """Of the most similar training text that has this program, from 0 to 1."""
    share: float = 0.0
    """How often that text has it, of all times."""
    votes: float = 0.0
    """How far the neighbours agree on it: their shares, near ones counting more. All candidates' sum to 1 or 0."""


SHARPNESS = 4
"""A neighbour's vote counts as its similarity to this power."""


def recall(
    memory: Retrieval,
    solver: Solver,
    problems: Sequence[Problem],
    written: Sequence[Sequence[Candidate]],
    count: int,
) -> list[list[Recalled]]:
    """The candidates of every problem: those that the model wrote, and the programs of `count` nearest texts that are
    well-formed for it. At least one each, the model's own best."""
    found: list[dict[Program, Recalled]] = []
    for problem, own, near in zip(problems, written, memory.nearest(problems, count)):
        ours = {one.program: Recalled(one.program, 0.0) for one in own if one.program}
        for program, one in _votes(near).items():
            if program in ours or fits(solver.domain, program, problem):
                ours[program] = one
        found.append(ours or {Program(): Recalled(Program(), 0.0)})
    pairs = [(place, program) for place, candidates in enumerate(found) for program in candidates]
    asked = [(problems[place], program) for place, program in pairs]
    scores = force(solver.model, solver.codec, asked)
    for (place, program), score in zip(pairs, scores):
        found[place][program] = found[place][program]._replace(log_probability=score)
    return [list(candidates.values()) for candidates in found]


def _votes(near: Sequence[Neighbour]) -> dict[Program, Recalled]:
    """The programs of neighbours, nearest first."""
    found: dict[Program, Recalled] = {}
    total = sum(one.similarity**SHARPNESS for one in near)
    for neighbour in near:
        for program, share in neighbour.programs.items():
            known = found.get(program, Recalled(program, 0.0, neighbour.similarity, share))
            vote = share * neighbour.similarity**SHARPNESS / total if total else 0.0
            found[program] = known._replace(votes=known.votes + vote)
    return found
