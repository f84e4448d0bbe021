"""A model variant in one file: TP-N2F whose encoder is a plain GRU that reads in both directions.

    tpn2f train arithmetic --set model.variant=examples/gru_reader.py:GRUReader

Everything else stays: the tuple decoder, attention, masks, search, checkpoints, scoring and the explorer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tpn2f.model import Encoding, Model, ModelConfig


class GRUEncoder(nn.Module):
    """Word ids to an Encoding: what attention sees of a word is the state of a GRU."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_words, config.d_word)
        # Half of the width for each direction.
        self.gru = nn.GRU(config.d_word, config.d_hidden // 2, batch_first=True, bidirectional=True)
        self.dropout_words = config.dropout_words

    def forward(self, words: Tensor, word_counts: Tensor) -> Encoding:
        embedded = F.dropout(self.embedding(words), self.dropout_words, self.training)
        # Packing leaves padding unread: an answer must not depend on the other questions of its batch.
        packed = pack_padded_sequence(embedded, word_counts.cpu(), batch_first=True, enforce_sorted=False)
        scanned, last = self.gru(packed)
        states, _ = pad_packed_sequence(scanned, batch_first=True, total_length=words.shape[1])
        mask = torch.arange(words.shape[1], device=words.device) < word_counts.unsqueeze(1)
        # A plain state is a filler bound to the role 1, so attention knows one kind of context.
        fillers = states.unsqueeze(1)
        return Encoding(mask, fillers, torch.ones_like(fillers[..., :1]), torch.cat([last[0], last[1]], dim=1))


class GRUReader(Model):
    """TP-N2F with a GRU in place of its encoder."""

    def __init__(self, config: ModelConfig, n_words: int, **sizes: Any) -> None:
        if config.d_hidden % 2:
            raise ValueError(f"d_hidden is {config.d_hidden}; expected an even number, one half for each direction")
        # With encoder="lstm" the decoder expects d_hidden numbers of every word.
        super().__init__(replace(config, encoder="lstm"), n_words, **sizes)
        self.encoder = GRUEncoder(config, n_words)
