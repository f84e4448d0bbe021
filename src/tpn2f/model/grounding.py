"""Grounded arguments: a symbol that is also a word of the text is known by the bindings where it stands.

Its score is its learned one plus q . k, with k from the mean of those bindings and q from the decoder's state; what is
fed back when it was written is its learned embedding plus a projection of that mean. A symbol that stands nowhere in
the text has its learned parts only. Knows ids: which words are arguments is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.model.config import PAD, ModelConfig
from tpn2f.model.encoder import Encoding
from tpn2f.tpr import bind


@dataclass(frozen=True, slots=True)
class Grounded:
    """The arguments that stand in the texts of a batch. A name is an argument in one text; name 0 is none at all."""

    name_of: Int[Tensor, "rows n_arguments"]
    """For every row and argument its name; 0 where the text does not have it."""
    argument_of: Int[Tensor, "names"]
    """The argument of every name, without name 0."""
    keys: Float[Tensor, "names_and_none d_grounded"]
    """k of every name; zero for name 0."""
    embeddings: Float[Tensor, "names d_symbol"]
    """What is added to the argument's embedding, without name 0."""

    def names(self, arguments: Int[Tensor, "rows *steps"]) -> Int[Tensor, "rows *steps"]:
        """The names of arguments that were written; 0 for those that have none."""
        return self.name_of.gather(1, arguments.flatten(1)).view(arguments.shape)

    def where_written(
        self, arguments: Int[Tensor, "rows steps positions"], plain: Int[Tensor, "rows steps positions"], first: int
    ) -> tuple[Int[Tensor, "rows steps positions"], Int[Tensor, "own"]]:
        """The rows of a table of inputs, and the names at positions that have rows of their own there, from `first` on.

        What was not written needs no row: a batch writes about a third of its names, and mostly at one position.
        """
        names = self.names(arguments)
        own = names > 0
        positions = torch.arange(arguments.shape[2], device=arguments.device)
        written, place = torch.unique((names - 1 + positions * len(self.argument_of))[own], return_inverse=True)
        return plain.masked_scatter(own, first + place), written

    def select(self, rows: Int[Tensor, "chosen"]) -> Grounded:
        """For the given rows, in that order; rows may repeat. The names stay as they are."""
        return replace(self, name_of=self.name_of[rows])


class Grounding(nn.Module):
    """The projections that grounded arguments need."""

    def __init__(self, config: ModelConfig, n_arguments: int, n_positions: int) -> None:
        super().__init__()
        self.n_arguments, self.n_positions = n_arguments, n_positions
        # No biases: what stands nowhere has a zero key.
        self.key = nn.Linear(config.d_context, config.d_grounded, bias=False)
        self.query = nn.Linear(config.d_state, n_positions * config.d_grounded, bias=False)
        self.feedback = nn.Linear(config.d_context, config.d_symbol, bias=False)

    def look(self, encoding: Encoding) -> Grounded:
        """Finds the arguments of every text, and the mean of the bindings where each stands."""
        if encoding.arguments is None:
            raise ValueError("the encoding does not say which words are arguments; expected one made by Model.encode")
        places = encoding.arguments != PAD
        rows = places.nonzero()[:, 0]
        # One number for each argument of each text: the names, in the order of texts.
        numbers, name, counts = torch.unique(
            rows * self.n_arguments + encoding.arguments[places], return_inverse=True, return_counts=True
        )
        bindings = bind(*(part.transpose(1, 2)[places] for part in (encoding.context_fillers, encoding.context_roles)))
        shares = bindings.flatten(1) / counts[name].unsqueeze(1)
        means = shares.new_zeros(len(numbers) + 1, shares.shape[1]).index_add(0, name + 1, shares)
        name_of = torch.zeros(len(places) * self.n_arguments, dtype=torch.long, device=rows.device)
        name_of[numbers] = torch.arange(1, len(numbers) + 1, device=rows.device)
        return Grounded(
            name_of.unflatten(0, (len(places), self.n_arguments)),
            numbers % self.n_arguments,
            self.key(means),
            self.feedback(means[1:]),
        )

    def scores(
        self,
        hidden: Float[Tensor, "*batch d_state"],
        keys: Float[Tensor, "names_and_none d_grounded"],
        name_of: Int[Tensor, "*batch n_arguments"],
    ) -> Float[Tensor, "*batch positions n_arguments"]:
        """What is added to the learned score of every argument at every position."""
        queries = self.query(hidden).unflatten(-1, (self.n_positions, -1))
        return score_names(queries, keys, name_of.unsqueeze(-2).expand(*queries.shape[:-1], self.n_arguments))


def score_names(
    queries: Float[Tensor, "*batch d_grounded"],
    keys: Float[Tensor, "names_and_none d_grounded"],
    name_of: Int[Tensor, "*batch n_arguments"],
) -> Float[Tensor, "*batch n_arguments"]:
    """q . k of every argument of a row's text; zero for one that stands nowhere in it."""
    # All names of the batch at once, then each row takes its own: one product, and no keys are copied.
    return F.linear(queries, keys).gather(-1, name_of)
