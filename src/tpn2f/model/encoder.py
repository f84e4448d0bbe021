"""The natural-language encoder: every word becomes a filler bound to a role (section 4.2, appendix A.2.1).

Filler-LSTM and Role-LSTM choose softly among learned fillers and roles; the binding T = f (x) r is the hidden state of
both for the next word. Knows ids of words, not words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.kernels import TPRScan, load_kernels
from tpn2f.kernels.reference import within
from tpn2f.model.config import ModelConfig
from tpn2f.model.words import WordEmbedding
from tpn2f.tpr import bind_all


@dataclass(frozen=True, slots=True)
class Encoding:
    """A batch of problems as the decoder sees them.

    A word's context is the concatenation, over the reading directions, of filler (x) role. A plain LSTM's state is its
    filler, bound to the one-dimensional role 1.
    """

    mask: Bool[Tensor, "batch words"]
    """True for real words."""
    context_fillers: Float[Tensor, "batch directions words d_filler"]
    context_roles: Float[Tensor, "batch directions words d_role"]
    summary: Float[Tensor, "batch d_context"]
    """The whole problem: the sum of its bindings, or the last one."""
    filler_scores: Float[Tensor, "batch directions words n_fillers"] | None = None
    """a_f: how much every filler was chosen for a word. None for a plain LSTM, like the next three."""
    role_scores: Float[Tensor, "batch directions words n_roles"] | None = None
    fillers: Float[Tensor, "batch directions words d_filler"] | None = None
    """f of every word, before dropout."""
    roles: Float[Tensor, "batch directions words d_role"] | None = None
    arguments: Int[Tensor, "batch words"] | None = None
    """The argument that every word is; PAD where it is none. None where the model need not know."""

    def select(self, rows: Int[Tensor, "chosen"]) -> Encoding:
        """For the given rows what decoding needs of it; without what is for training and analysis."""
        return Encoding(self.mask[rows], self.context_fillers[rows], self.context_roles[rows], self.summary[rows])


class Reader(nn.Module):
    """One reading direction: the parameters of Filler-LSTM, Role-LSTM and their dictionaries."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, bound = config.d_binding, 1 / sqrt(config.d_binding)
        self.kernel = config.kernel
        self.temperature = config.temperature
        self.dropout_recurrent = config.dropout_recurrent
        # U, V and b of both LSTMs: forget gates (filler, role), input gates, output gates, candidates.
        self.input = nn.Parameter(torch.empty(8 * d, config.d_word).uniform_(-bound, bound))
        self.recurrent = nn.Parameter(torch.empty(8 * d, d).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(8 * d).uniform_(-bound, bound))
        with torch.no_grad():
            self.bias[: 2 * d] += config.forget_bias
        scale = config.selection_scale * bound
        self.filler_selection = nn.Parameter(torch.empty(config.n_fillers, d).uniform_(-scale, scale))
        self.role_selection = nn.Parameter(torch.empty(config.n_roles, d).uniform_(-scale, scale))
        # F and R, with one column per filler or role.
        self.filler_dictionary = nn.Parameter(_dictionary(config.d_filler, config.n_fillers, config))
        self.role_dictionary = nn.Parameter(_dictionary(config.d_role, config.n_roles, config))
        self.filler_bias = nn.Parameter(torch.zeros(config.n_fillers)) if config.biases else None
        self.role_bias = nn.Parameter(torch.zeros(config.n_roles)) if config.biases else None
        self.filler_shift = nn.Parameter(torch.zeros(config.d_filler, 1)) if config.biases else None
        self.role_shift = nn.Parameter(torch.zeros(config.d_role, 1)) if config.biases else None

    def forward(
        self,
        embedded: Float[Tensor, "types d_word"],
        index: Int[Tensor, "batch words"],
        counts: Int[Tensor, "batch"],
    ) -> TPRScan:
        """Reads the words that `index` names among the embedded ones."""
        filler_dictionary, role_dictionary = self.filler_dictionary, self.role_dictionary
        if self.filler_shift is not None and self.role_shift is not None:
            # The scores sum to one, so a bias of the chosen vector is a shift of every vector.
            filler_dictionary = filler_dictionary + self.filler_shift
            role_dictionary = role_dictionary + self.role_shift
        return load_kernels(self.kernel).tpr_scan(
            F.linear(embedded, self.input, self.bias),
            index,
            counts,
            F.dropout(self.recurrent, self.dropout_recurrent, self.training),
            self.filler_selection,
            self.role_selection,
            self.filler_bias,
            self.role_bias,
            filler_dictionary,
            role_dictionary,
            self.temperature,
        )


def _dictionary(d_vector: int, n_vectors: int, config: ModelConfig) -> Tensor:
    vectors = torch.empty(d_vector, n_vectors)
    if config.dictionary_deviation is None:
        return vectors.uniform_(-1 / sqrt(n_vectors), 1 / sqrt(n_vectors))
    return vectors.normal_(std=config.dictionary_deviation)


class TPREncoder(nn.Module):
    """Word ids to an Encoding whose context and summary are tensor product representations."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__()
        self.embedding = WordEmbedding(config, n_words)
        self.readers = nn.ModuleList([Reader(config) for _ in range(2 if config.bidirectional else 1)])
        self.dropout_context = config.dropout_context
        self.summary, self.normalised = config.summary, config.normalised

    def forward(
        self,
        words: Int[Tensor, "batch words"],
        word_counts: Int[Tensor, "batch"],
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> Encoding:
        embedded, index = self.embedding.read(words, word_counts, contextual)
        scans = [self.readers[0](embedded, index, word_counts)]
        if len(self.readers) > 1:
            mirror = mirrored(word_counts, words.shape[1])
            backward = self.readers[1](embedded, index.gather(1, mirror), word_counts)
            scans.append(TPRScan(*(reorder(values, mirror) for values in backward)))
        filler_scores, role_scores, fillers, roles = (torch.stack(values, dim=1) for values in zip(*scans))
        context_fillers, context_roles = F.dropout(fillers, self.dropout_context, self.training), roles
        summary = self._summary(context_fillers, roles, word_counts)
        if self.normalised:  # |f (x) r| = |f| |r|
            context_fillers, context_roles = (F.normalize(part, dim=-1) for part in (context_fillers, context_roles))
        return Encoding(
            within(word_counts, words.shape[1]),
            context_fillers,
            context_roles,
            summary,
            filler_scores,
            role_scores,
            fillers,
            roles,
        )

    def _summary(self, fillers: Tensor, roles: Tensor, counts: Tensor) -> Tensor:
        """T_S: padding adds nothing to the sum, because the scan leaves it zero."""
        if self.summary == "last":
            rows = torch.arange(len(counts), device=counts.device)
            # Read from right to left, the last word is the first.
            ends = [counts - 1, torch.zeros_like(counts)][: fillers.shape[1]]
            fillers, roles = (
                torch.stack([values[rows, way, end] for way, end in enumerate(ends)], dim=1).unsqueeze(2)
                for values in (fillers, roles)
            )
        return bind_all(fillers, roles).flatten(1)


def mirrored(counts: Int[Tensor, "batch"], words: int) -> Int[Tensor, "batch {words}"]:
    """For every place the place that mirrors it among the real words; padding stays where it is."""
    place = torch.arange(words, device=counts.device).expand(len(counts), words)
    ends = counts.unsqueeze(1)
    return torch.where(place < ends, ends - 1 - place, place)


def reorder(values: Tensor, places: Tensor) -> Tensor:
    """The values [batch words d] of each row in the order of its `places`."""
    return values.gather(1, places.unsqueeze(-1).expand(values.shape))
