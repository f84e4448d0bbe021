"""Measures attention: how even it is over a text, and how much of it is on the arguments that are being written.

The gold programs of a split are given to the decoder as in training. A tuple decoder attends once per tuple, a flat one
once per symbol, of which only arguments count here. An argument stands where the text has a word of its name, such as
n0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.domain import Example
from tpn2f.errors import DataError
from tpn2f.explain.observe import BATCH, OnExamples, fits
from tpn2f.model import PAD
from tpn2f.solver import Solver


@dataclass(frozen=True, slots=True)
class Looking:
    """Means over the steps of a split that write at least one argument which stands in the text."""

    steps: int
    entropy: float
    """Of a step's attention over the words, in nats."""
    evenness: float
    """That entropy as a part of the largest possible one, log n for n words: 1 when all words have the same weight."""
    largest: float
    """The largest weight of a word."""
    on_used: float
    """The share of attention at the places of the arguments that the step writes."""
    chance: float
    """The same share if all words had the same weight."""
    found: float
    """How often the word with the largest weight is such an argument."""


@torch.no_grad()
def measure_attention(
    solver: Solver, examples: Sequence[Example], progress: OnExamples = lambda done, total: None
) -> Looking:
    """Looks at the attention of all gold programs that the model's vocabulary has."""
    fitting = [example for example in examples if fits(solver.codec, example)]
    columns: list[Tensor] = []
    training = solver.model.training
    solver.model.eval()
    for start in range(0, len(fitting), BATCH):
        columns.append(_measure(solver, fitting[start : start + BATCH]))
        progress(min(start + BATCH, len(fitting)), len(fitting))
    solver.model.train(training)
    seen = torch.cat(columns) if columns else torch.zeros(0, 6)
    if not len(seen):
        raise DataError("no gold program has an argument that stands in its text")
    return Looking(len(seen), *seen.mean(0).tolist())


def _measure(solver: Solver, examples: Sequence[Example]) -> Tensor:
    """One row per step that counts: entropy, evenness, largest, on_used, chance, found."""
    model = solver.model
    batch = solver.codec.batch(examples).to(next(model.parameters()).device)
    words, word_counts, tuples, tuple_counts, _, contextual = batch
    attention, written = model.decoder.attend(model.encode(words, word_counts, contextual), tuples, tuple_counts)
    used = places(solver.codec, words, written)
    rows, steps = used.any(2).nonzero(as_tuple=True)
    weights, used, n_words = attention[rows, steps].double(), used[rows, steps], word_counts[rows]
    entropy = torch.special.entr(weights).sum(1)
    found = used.gather(1, weights.argmax(1, keepdim=True)).squeeze(1)
    # A text of one word has all attention on it, and no entropy to compare with.
    most = n_words.clamp(min=2).log()
    columns = (entropy, entropy / most, weights.max(1).values, (weights * used).sum(1), used.sum(1) / n_words, found)
    return torch.stack([column.double() for column in columns], dim=1).cpu()


def places(codec: Codec, words: Tensor, written: Tensor) -> Tensor:
    """[batch, step, word]: whether a word is one of the arguments that the step writes."""
    arguments = torch.tensor(codec.argument_of_word(), device=words.device)[words]
    same = (arguments[:, None, None] == written.unsqueeze(-1)).any(2)
    return same & (arguments != PAD)[:, None]
