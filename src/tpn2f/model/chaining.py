"""Chained arguments: an argument also sees the relation and the arguments before it in its own tuple.

In the paper all symbols of a tuple are read from one H, each by itself, so a model that is torn between
`subtract(n0, n1)` and `subtract(n1, n0)` may write `subtract(n1, n1)`. Here a small layer joins H with the embeddings
of what the tuple has so far, and adds to the scores of the next argument. It begins by adding nothing. Knows ids, not
symbols' meanings.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tpn2f.model.config import ModelConfig
from tpn2f.model.grounding import score_names


class Chaining(nn.Module):
    """c_i = tanh(S_i H + B_i [e_rel ; e_1 ; ... ; e_(i-1)]), and the scores O c_i + (Q c_i) . k of argument i."""

    def __init__(self, config: ModelConfig, n_arguments: int, n_positions: int) -> None:
        super().__init__()
        width = config.d_chained
        self.state = nn.ModuleList(nn.Linear(config.d_state, width, bias=False) for _ in range(n_positions))
        self.before = nn.ModuleList(
            nn.Linear((1 + position) * config.d_symbol, width, bias=False) for position in range(n_positions)
        )
        self.output = nn.Linear(width, n_arguments, bias=False)
        nn.init.zeros_(self.output.weight)
        self.query = nn.Linear(width, config.d_grounded, bias=False) if config.grounded else None
        if self.query is not None:
            nn.init.zeros_(self.query.weight)

    def scores(
        self,
        position: int,
        hidden: Float[Tensor, "rows d_state"],
        before: Float[Tensor, "rows written d_symbol"],
        names: tuple[Tensor, Tensor] | None,
    ) -> Float[Tensor, "rows n_arguments"]:
        """What is added to the scores of the argument at a position. `before` are the embeddings of what the tuple has
        up to there, `names` the keys of grounded arguments, and for every row the names of its text."""
        joined = torch.tanh(self.state[position](hidden) + self.before[position](before[:, : 1 + position].flatten(1)))
        added = self.output(joined)
        if self.query is not None and names is not None:
            added = added + score_names(self.query(joined), *names)
        return added
