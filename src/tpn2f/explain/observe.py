"""Runs a model over the examples of a split and keeps what analysis needs: the selections of words, the shares of H.

Only numbers that are needed are kept, so that a long split fits into memory. Gold programs are given to the decoder
tuple by tuple, as in training. Nothing is interpreted here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from tpn2f.codec import Codec, Texts
from tpn2f.domain import Example
from tpn2f.errors import DataError
from tpn2f.explain.question import THRESHOLD
from tpn2f.model.decoder import TupleDecoder
from tpn2f.model.evaluating import evaluating
from tpn2f.solver import Solver
from tpn2f.tpr import decompose, unbind_positions
from tpn2f.vocabulary import SPECIALS

BATCH = 64
OnExamples = Callable[[int, int], None]
"""Called with the number of examples done and the total number."""


@dataclass(frozen=True, slots=True)
class ChosenVectors:
    """What the words of a split select among the fillers, or among the roles."""

    best: np.ndarray
    """[token, direction]: the heaviest one's number."""
    token: np.ndarray
    """For every selection with a weight above 0.1, heavy or light: which token, which number, which weight."""
    number: np.ndarray
    weight: np.ndarray
    size: int
    """How many there are to choose from, in one reading direction."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Every word of a split, one after the other."""

    words: tuple[str, ...]
    is_name: np.ndarray
    """Whether a program may use the word as an argument, such as n0."""
    text: np.ndarray
    """Which example the word is of."""
    fillers: ChosenVectors
    roles: ChosenVectors


@dataclass(frozen=True, slots=True)
class Tuples:
    """Every tuple of a split's gold programs, as the decoder holds it. Shares are of the square of |H|."""

    relation: np.ndarray
    """The tuple's relation, as its number in the codec."""
    right: np.ndarray
    """Whether the model's own relation and arguments are those of the tuple."""
    unbinding: np.ndarray
    """[tuple, d_relation]: r'."""
    own: np.ndarray
    """The share of H that is H_TPR, the tuple which its own outputs define (equation 22)."""
    positions: np.ndarray
    """The share that the first step of unbinding sees: what lies in the span of the p'_i."""
    best: np.ndarray
    """The largest share that any relation vector could give."""
    other_relation: np.ndarray
    """Control: the share with the r' of another tuple."""
    other_tuple: np.ndarray
    """Control: the share along the H_TPR of another tuple, its arguments included."""
    partner: np.ndarray
    """The relation of that other tuple."""
    chance: float
    """The share that a random relation vector gives of a random H."""


def take(solver: Solver, split: str, limit: int = 0) -> list[Example]:
    """The first examples of a split; 0 for all."""
    examples = list(islice(solver.domain.examples(split), min(limit, sys.maxsize) or None))
    if not examples:
        raise DataError(f"{solver.domain.name} {split} has no examples")
    return examples


def observe_words(
    solver: Solver, examples: Sequence[Example], progress: OnExamples = lambda done, total: None
) -> Tokens | None:
    """The selections of all words; None for an encoder that has no fillers and roles."""
    words: list[str] = []
    is_name: list[bool] = []
    text: list[int] = []
    scores: dict[str, list[_Part]] = {"filler": [], "role": []}
    sizes = {"filler": 0, "role": 0}
    readable = [example for example in examples if example.problem.words]
    for start in range(0, len(readable), BATCH):
        part = readable[start : start + BATCH]
        with evaluating(solver.model):
            encoding = solver.model.encode(*_texts(solver, part))
        if encoding.filler_scores is None or encoding.role_scores is None:
            return None
        for kind, values in (("filler", encoding.filler_scores), ("role", encoding.role_scores)):
            sizes[kind] = values.shape[-1]
            scores[kind].append(_select(values.transpose(1, 2)[encoding.mask].cpu(), len(words)))
        for place, example in enumerate(part, start):
            names = solver.domain.names(example.problem)
            words += example.problem.words
            is_name += [word in names for word in example.problem.words]
            text += [place] * len(example.problem.words)
        progress(start + len(part), len(readable))
    if not words:
        raise DataError("the examples have no words")
    fillers, roles = (
        ChosenVectors(*(np.concatenate(column) for column in zip(*scores[kind])), size=sizes[kind])
        for kind in ("filler", "role")
    )
    return Tokens(tuple(words), np.array(is_name), np.array(text), fillers, roles)


_Part = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _select(scores: Tensor, offset: int) -> _Part:
    """Of [token, direction, n]: the best, and all above the threshold; the numbers of a second direction follow."""
    n = scores.shape[-1]
    best = scores.argmax(-1) + torch.arange(scores.shape[1]) * n
    token, direction, number = (scores > THRESHOLD).nonzero(as_tuple=True)
    weight = scores[token, direction, number]
    return best.numpy(), (token + offset).numpy(), (number + direction * n).numpy(), weight.numpy()


def observe_tuples(
    solver: Solver, examples: Sequence[Example], seed: int = 0, progress: OnExamples = lambda done, total: None
) -> Tuples | None:
    """What every gold tuple looks like in the decoder; None for a decoder that has no tuples.

    Another tuple, for the controls, is drawn at random among those of a random batch of examples.
    """
    model = solver.model
    if not isinstance(model.decoder, TupleDecoder):
        return None
    random = np.random.default_rng(seed)
    fitting = [example for example in examples if fits(solver.codec, example)]
    if not fitting:
        raise DataError("no example has a program of this model's relations")
    order = random.permutation(len(fitting))
    columns: list[tuple[np.ndarray, ...]] = []
    for start in range(0, len(order), BATCH):
        batch = solver.codec.batch([fitting[place] for place in order[start : start + BATCH]]).to(_device(solver))
        with evaluating(model):
            seen = model.decode(*batch[:4], batch.contextual)
        relation = batch.tuples[..., 0]
        # Neither padding nor the end tuple, nor a relation that training did not have.
        real = relation >= len(SPECIALS)
        right = (seen.relation.argmax(-1) == relation) & (seen.arguments.argmax(-1) == batch.tuples[..., 1:]).all(-1)
        partner = torch.from_numpy(_others(int(real.sum()), random))
        shares = _shares(seen.hidden[real], model.decoder.position_unbinding, seen.relation_unbinding[real], partner)
        kept = (relation[real], right[real], seen.relation_unbinding[real], *shares, relation[real][partner])
        columns.append(tuple(values.detach().cpu().numpy() for values in kept))
        progress(min(start + BATCH, len(order)), len(order))
    config = model.config
    spanned = min(model.n_positions, config.d_position)
    chance = spanned / (config.d_position * config.d_relation)
    return Tuples(*(np.concatenate(column) for column in zip(*columns)), chance=chance)


def fits(codec: Codec, example: Example) -> bool:
    """Whether the model's tuples have room for the example's program, and it has a relation that the model knows."""
    program = example.program
    return any(step.relation in codec.relations for step in program) and all(
        len(step.arguments) <= codec.n_positions for step in program
    )


@torch.no_grad()
def _shares(hidden: Tensor, positions: Tensor, unbinding: Tensor, partner: Tensor) -> tuple[Tensor, ...]:
    """own, positions, best, other_relation, other_tuple of `Tuples`, in double precision."""
    hidden, positions, unbinding = hidden.double(), positions.double(), unbinding.double()
    whole = _square(hidden).clamp(min=1e-300)
    own = decompose(hidden, positions, unbinding).represented
    # An orthonormal basis of the span of the p'_i.
    _, singular, across = torch.linalg.svd(positions, full_matrices=False)
    basis = across[singular > singular[0] * 1e-9]
    bindings = unbind_positions(hidden, basis).flatten(1, 2)
    best = torch.linalg.matrix_norm(bindings, 2).square()
    other_relation = decompose(hidden, positions, unbinding[partner]).represented
    along = (hidden * own[partner]).flatten(1).sum(1).square() / _square(own[partner]).clamp(min=1e-300)
    return tuple(value / whole for value in (_square(own), _square(bindings), best, _square(other_relation), along))


def _square(values: Tensor) -> Tensor:
    return values.flatten(1).square().sum(1)


def _others(count: int, random: np.random.Generator) -> np.ndarray:
    """For every place another one, at random: a cycle through all places, so that nothing is its own other."""
    order = random.permutation(count)
    others = np.empty(count, dtype=np.int64)
    others[order] = np.roll(order, 1)
    return others


def _device(solver: Solver) -> torch.device:
    return next(solver.model.parameters()).device


def _texts(solver: Solver, examples: Sequence[Example]) -> Texts:
    return solver.codec.batch_texts([example.problem for example in examples]).to(_device(solver))
