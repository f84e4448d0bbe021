"""Word embeddings: a learned vector for every word and, where there are any, projections of given ones.

Fixed vectors come from elsewhere, such as GloVe. They are read by one learned matrix, so that a word which training
never had is understood as far as its fixed vector allows. Contextual vectors come with the text, one for every place:
a pre-trained encoder made them. Knows ids of words, not words.
"""

from __future__ import annotations

from math import sqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.kernels.reference import within
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
        self.contextual: nn.Parameter | None = None
        if config.d_contextual:
            # Normalised vectors have entries of deviation 1, so both parts of a word begin equally large.
            bound = config.embedding_scale / sqrt(config.d_contextual)
            self.contextual = nn.Parameter(torch.empty(config.d_word, config.d_contextual).uniform_(-bound, bound))
        self.repeats: nn.Parameter | None = None
        if config.repeats:
            bound = config.embedding_scale
            self.repeats = nn.Parameter(torch.empty(2, config.d_word).uniform_(-bound, bound))

    def read(
        self,
        words: Int[Tensor, "batch words"],
        counts: Int[Tensor, "batch"],
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> tuple[Float[Tensor, "rows d_word"], Int[Tensor, "batch words"]]:
        """The vectors of a batch of texts, and for every place which of them it has."""
        # A word is embedded and projected once per batch, however often it occurs; where repeats matter, once for each
        # way in which it is repeated.
        again = torch.zeros_like(words) if self.repeats is None else repeated(words, counts)
        types, index = torch.unique(words * 4 + again, return_inverse=True)
        ids, again = types // 4, types % 4
        if self.contextual is None:
            if contextual is not None:
                raise ValueError("the texts have contextual vectors, but d_contextual is 0")
            return self(ids, again), index
        if contextual is None or contextual.shape[2] != self.contextual.shape[1]:
            got = "none" if contextual is None else f"width {contextual.shape[2]}"
            raise ValueError(f"the texts have contextual vectors of {got}; expected width {self.contextual.shape[1]}")
        # With them every place has a vector of its own. Padding is never read, so any will do for it.
        real = within(counts, words.shape[1])
        given = F.layer_norm(contextual[real].to(self.contextual.dtype), self.contextual.shape[1:])
        embedded = self._own(ids, again)[index[real]] + F.linear(given, self.contextual)
        places = (real.flatten().cumsum(0) - 1).clamp(min=0).view_as(words)
        return F.dropout(embedded, self.dropout, self.training), places

    def forward(
        self, ids: Int[Tensor, "types"], again: Int[Tensor, "types"] | None = None
    ) -> Float[Tensor, "types d_word"]:
        """One row for every id and way in which it is `repeated`; it keeps its dropout wherever it stands."""
        return F.dropout(self._own(ids, again), self.dropout, self.training)

    def _own(self, ids: Int[Tensor, "types"], again: Int[Tensor, "types"] | None) -> Float[Tensor, "types d_word"]:
        """What a word is without its context."""
        own = self._plain(ids)
        if self.repeats is None or again is None:
            return own
        marks = torch.stack([again // 2, again % 2], dim=1).to(own.dtype)
        return own + marks @ self.repeats

    def _plain(self, ids: Int[Tensor, "types"]) -> Float[Tensor, "types d_word"]:
        own = F.embedding(ids, self.weight)
        fixed = None if self.projection is None else F.embedding(ids, self.static)
        if self.training and self.dropout_own and (fixed is not None or self.contextual is not None):
            # Some words are read by their given vectors alone, as unseen words will be.
            hidden = torch.rand(len(ids), 1, device=ids.device) < self.dropout_own
            if self.contextual is None and fixed is not None:
                hidden &= fixed.any(1, keepdim=True)
            own = own.masked_fill(hidden, 0.0)
        return own if fixed is None or self.projection is None else own + F.linear(fixed, self.projection)

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


def repeated(words: Int[Tensor, "batch words"], counts: Int[Tensor, "batch"]) -> Int[Tensor, "batch words"]:
    """How the word of every place is repeated in its text: 2 if it comes again later, plus 1 if it has come before."""
    real = within(counts, words.shape[1])
    same = (words.unsqueeze(2) == words.unsqueeze(1)) & real.unsqueeze(1)
    later, before = same.triu(1).any(2), same.tril(-1).any(2)
    return 2 * later.long() + before.long()
