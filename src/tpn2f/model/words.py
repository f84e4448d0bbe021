"""Word embeddings: a learned vector for every word and, where there are any, a projection of a fixed one.

Fixed vectors come from elsewhere, such as GloVe. They are read by one learned matrix, so that a word which training
never had is understood as far as its fixed vector allows. Knows ids of words, not words.
"""

from __future__ import annotations

from math import sqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.model.config import ModelConfig


def embedding(n_symbols: int, d_symbol: int, scale: float) -> nn.Embedding:
    """Uniform embeddings. No row is kept at zero for padding, because padding is never read."""
    table = nn.Embedding(n_symbols, d_symbol)
    nn.init.uniform_(table.weight, -scale, scale)
    return table


class WordEmbedding(nn.Module):
    """Ids of words to vectors. Without fixed vectors it is a plain table."""

    static: Tensor
    """The fixed vectors [words, d_static]: not trained, but kept with the weights."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__()
        self.weight = embedding(n_words, config.d_word, config.embedding_scale).weight
        self.dropout, self.dropout_own = config.dropout_words, config.dropout_own
        self.projection: nn.Parameter | None = None
        if config.d_static:
            bound = config.embedding_scale * sqrt(3 / config.d_static)
            self.register_buffer("static", torch.zeros(n_words, config.d_static))
            self.projection = nn.Parameter(torch.empty(config.d_word, config.d_static).uniform_(-bound, bound))

    def forward(self, ids: Int[Tensor, "types"]) -> Float[Tensor, "types d_word"]:
        """One row for every id; a word keeps its dropout wherever it stands in the batch."""
        own = F.embedding(ids, self.weight)
        if self.projection is not None:
            fixed = F.embedding(ids, self.static)
            if self.training and self.dropout_own:
                # Some words are read by their fixed vector alone, as unseen words will be.
                hidden = (torch.rand(len(ids), 1, device=ids.device) < self.dropout_own) & fixed.any(1, keepdim=True)
                own = own.masked_fill(hidden, 0.0)
            own = own + F.linear(fixed, self.projection)
        return F.dropout(own, self.dropout, self.training)

    def table(self) -> Float[Tensor, "words d_word"]:
        """The vectors of all words, as they are read after training."""
        if self.projection is None:
            return self.weight
        return self.weight + F.linear(self.static, self.projection)

    @torch.no_grad()
    def set_static(self, vectors: Float[Tensor, "words d_static"], learned: Bool[Tensor, "words"]) -> None:
        """Puts fixed vectors in. A word that has one and is not among those `learned` has nothing of its own."""
        self.static.copy_(vectors)
        self.weight[~learned & vectors.any(1).to(learned.device)] = 0.0
