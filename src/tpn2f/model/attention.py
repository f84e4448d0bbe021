"""The attentional LSTM of both decoders, and the MLP that gives it its first state (sections 4.2, A.2.2, A.2.3).

Its recurrent state is the attentional vector H = K [h ; s], not h. Knows rows of a table of projected inputs, not what
they stand for.
"""

from __future__ import annotations

from itertools import pairwise
from math import sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.kernels import AttentionScan, load_kernels
from tpn2f.kernels.reference import Attended, attention_step
from tpn2f.model.config import PAD, ModelConfig
from tpn2f.model.encoder import Encoding

LEAST_SHARE = 1e-6
"""A share of attention below this costs no more: its logarithm would lead to infinity."""


class Reasoning(nn.Module):
    """The Reasoning MLP: from the problem's representation to H_0 and c_0 (equation 6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        widths = [config.d_context, *[config.d_state] * config.reasoning_layers]
        self.layers = nn.ModuleList([nn.Linear(*pair) for pair in pairwise(widths)])
        for layer in self.layers:
            nn.init.zeros_(layer.bias)  # pyright: ignore[reportArgumentType]
        self.initial_cell = config.initial_cell
        self.dropout_summary = config.dropout_summary

    def forward(
        self, summary: Float[Tensor, "batch d_context"]
    ) -> tuple[Float[Tensor, "batch d_state"], Float[Tensor, "batch d_state"]]:
        hidden = mapped = F.dropout(summary, self.dropout_summary, self.training)
        for layer in self.layers:
            mapped = layer(hidden)
            hidden = mapped.tanh()
        return hidden, mapped if self.initial_cell == "mapped" else torch.zeros_like(hidden)


class AttentionLSTM(nn.Module):
    """An LSTM whose output, joined with what it attends to among the words, is its next state."""

    def __init__(self, config: ModelConfig, d_input: int) -> None:
        super().__init__()
        d, d_context = config.d_state, config.d_context
        self.kernel = config.kernel
        self.squash = config.attention_tanh
        self.dropout_recurrent = config.dropout_recurrent
        # U, V and b: forget, input, output gates, candidate.
        self.input = nn.Parameter(_uniform(4 * d, d_input, bound=d))
        self.recurrent = nn.Parameter(_uniform(4 * d, d, bound=d))
        self.bias = nn.Parameter(_uniform(4 * d, bound=d))
        with torch.no_grad():
            self.bias[:d] += config.forget_bias
        # C, which takes a word's binding to the decoder's space: the paper's d_H x n context needs it.
        self.context = nn.Parameter(_uniform(d, d_context, bound=d_context))
        self.query = nn.Parameter(_uniform(d, d_context, bound=d)) if config.attention == "general" else None
        self.output = nn.Parameter(_uniform(d, 2 * d, bound=2 * d))
        self.sharpness = None if config.sharpness is None else nn.Parameter(torch.tensor(config.sharpness))

    def scan(
        self,
        table: Float[Tensor, "types d_gates"],
        index: Int[Tensor, "batch steps slots"],
        counts: Int[Tensor, "batch"],
        hidden: Float[Tensor, "batch d_state"],
        cell: Float[Tensor, "batch d_state"],
        encoding: Encoding,
    ) -> AttentionScan:
        """All steps of known inputs at once."""
        recurrent = F.dropout(self.recurrent, self.dropout_recurrent, self.training)
        return load_kernels(self.kernel).attention_scan(
            table, index, counts, hidden, cell, *_context(encoding), recurrent, *self._projections()
        )

    def step(
        self,
        given: Float[Tensor, "batch d_gates"],
        hidden: Float[Tensor, "batch d_state"],
        cell: Float[Tensor, "batch d_state"],
        encoding: Encoding,
    ) -> Attended:
        """One step, for decoding."""
        return attention_step(given, hidden, cell, *_context(encoding), self.recurrent, *self._projections())

    def _projections(self) -> tuple[Tensor, Tensor, Tensor, bool]:
        query = self.context if self.query is None else self.query
        return (query if self.sharpness is None else self.sharpness * query, self.context, self.output, self.squash)


def guide(
    attention: Float[Tensor, "batch steps words"],
    arguments: Int[Tensor, "batch words"],
    written: Int[Tensor, "batch steps positions"],
) -> Float[Tensor, "batch"]:
    """How little attention every step pays to the arguments that it writes: the sum over steps of a cross-entropy.

    Of a step it is the mean over its arguments that stand in the text; of a step without such arguments nothing.
    """
    places = (arguments[:, None, None] == written.unsqueeze(-1)) & (arguments != PAD)[:, None, None]
    shares = (attention.unsqueeze(2) * places).sum(-1)
    standing = places.any(-1)
    costs = -shares.masked_fill(~standing, 1.0).clamp(min=LEAST_SHARE).log()
    return (costs.sum(2) / standing.sum(2).clamp(min=1)).sum(1)


def _context(encoding: Encoding) -> tuple[Tensor, Tensor, Tensor]:
    return encoding.context_fillers, encoding.context_roles, encoding.mask


def _uniform(*shape: int, bound: int) -> Tensor:
    return torch.empty(*shape).uniform_(-1 / sqrt(bound), 1 / sqrt(bound))
