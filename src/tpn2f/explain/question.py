"""What a model sees in one question: the fillers and roles of its words, and where each tuple of the program looks.

Numbers only; `plots.py`, the terminal and the web page make pictures of them. A model that reads in both directions has
two dictionaries: the numbers of the second one follow those of the first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from tpn2f.domain import Problem
from tpn2f.errors import DataError
from tpn2f.model import NONE
from tpn2f.model.evaluating import evaluating
from tpn2f.opinions import spells
from tpn2f.program import Program
from tpn2f.solver import Solver

THRESHOLD = 0.1
"""Weights that are not above this are left out, as in the paper's appendix."""

Selection = tuple[tuple[int, float], ...]
"""The fillers or roles that a word selects: number and weight, the heaviest first."""


@dataclass(frozen=True, slots=True)
class QuestionMap:
    """One question as the model sees it."""

    words: tuple[str, ...]
    fillers: tuple[Selection, ...]
    """For every word the fillers with a weight above 0.1, the heaviest first; none for a plain LSTM encoder."""
    roles: tuple[Selection, ...]
    program: Program | None
    """None when the model wrote no program."""
    attention: tuple[tuple[float, ...], ...]
    """One row per tuple of the program, one weight per word; each row sums to one."""
    filler_choices: tuple[tuple[int, ...], ...] = ()
    """For every word the one filler with the largest weight, whatever the weight; one per reading direction."""
    role_choices: tuple[tuple[int, ...], ...] = ()

    @property
    def has_roles(self) -> bool:
        """Whether the encoder has fillers and roles at all."""
        return bool(self.role_choices)

    @property
    def evenness(self) -> float:
        """The mean entropy of attention as a part of the largest possible one: 1 when all words weigh the same."""
        if len(self.words) < 2 or not self.attention:
            return 0.0
        weights = torch.tensor(self.attention, dtype=torch.float64)
        return float(torch.special.entr(weights).sum(1).mean() / math.log(len(self.words)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and texts, for JSON."""
        return {
            "words": list(self.words),
            "fillers": [[list(choice) for choice in word] for word in self.fillers],
            "roles": [[list(choice) for choice in word] for word in self.roles],
            "filler_choices": [list(word) for word in self.filler_choices],
            "role_choices": [list(word) for word in self.role_choices],
            "program": None if self.program is None else str(self.program),
            "tuples": [] if self.program is None else [str(step) for step in self.program],
            "attention": [list(row) for row in self.attention],
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> QuestionMap:
        """What `to_dict` gave."""
        fillers, roles = (
            tuple(tuple((number, weight) for number, weight in word) for word in told[key])
            for key in ("fillers", "roles")
        )
        program = None if told["program"] is None else Program.parse(told["program"])
        lists = (tuple(map(tuple, told[key])) for key in ("attention", "filler_choices", "role_choices"))
        return cls(tuple(told["words"]), fillers, roles, program, *lists)


@torch.no_grad()
def explain_question(
    solver: Solver, question: str | Problem, width: int = 1, program: Program | None = None
) -> QuestionMap:
    """Looks at a question with the program that the model writes for it, or with a given one.

    A program that only a second model has symbols for is its own: what that one sees is shown. Raises DataError for a
    question without words, and for a given program that no vocabulary has.
    """
    problem = solver.domain.read(question) if isinstance(question, str) else question
    if not problem.words:
        raise DataError("the question is empty")
    if program is None:
        program = solver.best_of(problem, solver.propose([problem], width)[0]).program
    if program is not None and (unknown := [word for word in _symbols_of(program) if not _known(solver, word)]):
        if solver.second is None or not spells(solver.second.codec, program):
            raise DataError(f"the program {program} has words that the model does not know: {', '.join(unknown)}")
        solver = solver.second
    texts = solver.codec.batch_texts([problem]).to(next(solver.model.parameters()).device)
    with evaluating(solver.model):
        encoding = solver.model.encode(*texts)
        attention = () if program is None else _attention(solver, encoding, program)
    return QuestionMap(
        problem.words,
        selections(encoding.filler_scores),
        selections(encoding.role_scores),
        program,
        attention,
        choices(encoding.filler_scores),
        choices(encoding.role_scores),
    )


def selections(scores: Float[Tensor, "1 directions words n"] | None) -> tuple[Selection, ...]:
    """What each word of a question selects with a weight above the threshold."""
    if scores is None:
        return ()
    flat = scores[0].transpose(0, 1).flatten(1).cpu()
    found = []
    for row in flat:
        chosen = [(int(place), float(row[place])) for place in (row > THRESHOLD).nonzero().squeeze(1)]
        found.append(tuple(sorted(chosen, key=lambda choice: (-choice[1], choice[0]))))
    return tuple(found)


def choices(scores: Float[Tensor, "1 directions words n"] | None) -> tuple[tuple[int, ...], ...]:
    """The heaviest of every word, one per reading direction."""
    if scores is None:
        return ()
    best = scores[0].argmax(-1) + torch.arange(scores.shape[1], device=scores.device)[:, None] * scores.shape[-1]
    return tuple(tuple(word) for word in best.T.tolist())


def _attention(solver: Solver, encoding: Any, program: Program) -> tuple[tuple[float, ...], ...]:
    """What the decoder attends to while it writes each tuple.

    A flat decoder attends once per symbol: a tuple's row is the mean over its symbols. What a decoder of trees attends
    to has no tuples, so nothing is shown.
    """
    codec, model = solver.codec, solver.model
    if codec.trees:
        return ()
    state = model.start(encoding)
    rows = []
    for ids in codec.encode_program(program)[: len(program)]:
        symbols = [ids[0], *map(codec.argument_symbol, ids[1:])]
        if state.slot is None:
            symbols = [symbol for symbol in symbols if symbol != codec.argument_symbol(NONE)]
        seen = []
        for symbol in symbols:
            seen.append(state.attention[0])
            state = model.feed(state, torch.tensor([symbol], device=state.attention.device))
        rows.append(tuple(torch.stack(seen).mean(0).tolist()))
    return tuple(rows)


def _symbols_of(program: Program) -> list[str]:
    return list(dict.fromkeys(word for step in program for word in (step.relation, *step.arguments)))


def _known(solver: Solver, word: str) -> bool:
    return word in solver.codec.relations or word in solver.codec.arguments
