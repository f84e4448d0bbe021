"""The paper's comparisons: a plain LSTM for either side (LSTM2TP, TP2LSTM, and both: SEQ2PROG), and Seq2Tree's GRU.

The flat decoder emits one symbol per step from one vocabulary of relations and arguments, without padding arguments. It
shares the attentional recurrence with the tuple decoder, so that they differ in what they do with the state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tpn2f.kernels import load_kernels
from tpn2f.kernels.reference import within
from tpn2f.model.attention import AttentionLSTM, Reasoning, guide
from tpn2f.model.config import END, NONE, PAD, START, ModelConfig
from tpn2f.model.decoder import cross_entropies, select_rows
from tpn2f.model.encoder import Encoding, mirrored, reorder
from tpn2f.model.grounding import Grounded, Grounding
from tpn2f.model.words import WordEmbedding, embedding


class PlainEncoder(nn.Module):
    """Word ids to an Encoding whose context is the states of a plain recurrence, which a subclass is."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__()
        self.embedding = WordEmbedding(config, n_words)
        self.kernel, self.dropout_context = config.kernel, config.dropout_context
        self.summary, self.normalised = config.summary, config.normalised
        self.shortcut: nn.Parameter | None = None
        if config.contextual_states:
            self.shortcut = nn.Parameter(torch.zeros(config.d_context, config.d_contextual))

    def read(
        self,
        embedded: Float[Tensor, "rows d_word"],
        index: Int[Tensor, "batch words"],
        counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch words d_context"], Float[Tensor, "batch d_context"]]:
        """The states of all words, and those after the last word of each direction."""
        raise NotImplementedError

    def forward(
        self,
        words: Int[Tensor, "batch words"],
        word_counts: Int[Tensor, "batch"],
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> Encoding:
        states, last = self.read(*self.embedding.read(words, word_counts, contextual), word_counts)
        if self.shortcut is not None and contextual is not None:
            given = F.layer_norm(contextual.to(self.shortcut.dtype), self.shortcut.shape[1:])
            states = states + F.linear(given, self.shortcut) * within(word_counts, words.shape[1]).unsqueeze(-1)
        states = F.dropout(states, self.dropout_context, self.training)
        fillers = (F.normalize(states, dim=-1) if self.normalised else states).unsqueeze(1)
        summary = states.sum(1) if self.summary == "sum" else last
        return Encoding(within(word_counts, words.shape[1]), fillers, torch.ones_like(fillers[..., :1]), summary)


def _layers(config: ModelConfig) -> dict[str, Any]:
    """The sizes of torch's recurrences."""
    return {
        "input_size": config.d_word,
        "hidden_size": config.d_hidden,
        "num_layers": config.encoder_layers,
        "batch_first": True,
        "bidirectional": config.bidirectional,
    }


class LSTMEncoder(PlainEncoder):
    """A plain LSTM: torch's parameters, our recurrence."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__(config, n_words)
        self.lstm = nn.LSTM(**_layers(config))
        with torch.no_grad():
            for name, bias in self.lstm.named_parameters():
                if name.startswith("bias_ih"):
                    bias[config.d_hidden : 2 * config.d_hidden] += config.forget_bias

    def read(self, embedded: Tensor, index: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        ways = self._read_both(embedded, index, counts, 0)
        for layer in range(1, self.lstm.num_layers):
            # Above the first layer every place has a vector of its own.
            below = torch.cat(ways, dim=2).flatten(0, 1)
            places = torch.arange(len(below), device=below.device).view_as(index)
            ways = self._read_both(below, places, counts, layer)
        rows = torch.arange(len(index), device=index.device)
        # Read from right to left, the last word is the first.
        last = [states[rows, end] for states, end in zip(ways, (counts - 1, torch.zeros_like(counts)))]
        return torch.cat(ways, dim=2), torch.cat(last, dim=1)

    def _read_both(self, embedded: Tensor, index: Tensor, counts: Tensor, layer: int) -> list[Tensor]:
        """The states of a layer, from left to right and, if it reads in both directions, from right to left."""
        ways = [self._read(embedded, index, counts, f"l{layer}")]
        if self.lstm.bidirectional:
            mirror = mirrored(counts, index.shape[1])
            backward = self._read(embedded, index.gather(1, mirror), counts, f"l{layer}_reverse")
            ways.append(reorder(backward, mirror))
        return ways

    def _read(self, embedded: Tensor, index: Tensor, counts: Tensor, which: str) -> Tensor:
        parameters = dict(self.lstm.named_parameters())
        bias = parameters[f"bias_ih_{which}"] + parameters[f"bias_hh_{which}"]
        given = F.linear(embedded, _gates(parameters[f"weight_ih_{which}"]), _gates(bias))
        return load_kernels(self.kernel).lstm_scan(given, index, counts, _gates(parameters[f"weight_hh_{which}"]))


class GRUEncoder(PlainEncoder):
    """Torch's GRU: the encoder of Seq2Tree."""

    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__(config, n_words)
        self.gru = nn.GRU(**_layers(config))

    def read(self, embedded: Tensor, index: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        # Packing leaves padding unread.
        given = pack_padded_sequence(embedded[index], counts.cpu(), batch_first=True, enforce_sorted=False)
        scanned, last = self.gru(given)
        states, _ = pad_packed_sequence(scanned, batch_first=True, total_length=index.shape[1])
        return states, torch.cat(list(last[-2:] if self.gru.bidirectional else last[-1:]), dim=1)


def _gates(weights: Tensor) -> Tensor:
    """From torch's order (input, forget, candidate, output) to that of our kernels."""
    write, forget, new, show = weights.chunk(4)
    return torch.cat([forget, write, show, new])


@dataclass(frozen=True, slots=True)
class FlatState:
    """Where decoding stands, for every row."""

    encoding: Encoding
    hidden: Float[Tensor, "rows d_state"]
    cell: Float[Tensor, "rows d_state"]
    attention: Float[Tensor, "rows words"]
    scores: Float[Tensor, "rows n_symbols"]
    """Log-probabilities of the next symbol."""
    table: Float[Tensor, "types d_gates"]
    """The projected symbols, the same for all rows."""
    grounded: Grounded | None = None
    """The arguments that stand in the texts, with rows of their own in the table."""

    @property
    def slot(self) -> None:
        """A flat decoder does not know slots."""
        return None

    def select(self, rows: Int[Tensor, "chosen"]) -> FlatState:
        """The state of the given rows, in that order; rows may repeat."""
        return select_rows(self, rows)


class FlatDecoder(nn.Module):
    """From an Encoding to a flat sequence of joint symbols: relations first, then arguments."""

    def __init__(self, config: ModelConfig, n_relations: int, n_arguments: int) -> None:
        super().__init__()
        self.config, self.n_relations, self.n_symbols = config, n_relations, n_relations + n_arguments
        self.reasoning = Reasoning(config)
        self.symbol_embedding = embedding(n_relations + n_arguments, config.d_symbol, config.embedding_scale)
        self.lstm = AttentionLSTM(config, config.d_symbol)
        self.output = nn.Linear(config.d_state, n_relations + n_arguments, bias=config.biases)
        # A flat decoder does not know positions.
        self.grounding = Grounding(config, n_arguments, n_positions=1) if config.grounded else None

    def negative_log_likelihood(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch"], Float[Tensor, "batch"]]:
        """The sum over symbols of their cross-entropies: with label smoothing and guided attention, and as it is."""
        symbols, counts = flatten(tuples, tuple_counts, self.n_relations)
        grounded = self.grounding and self.grounding.look(encoding)
        scanned, attention = self._recur(encoding, symbols, counts, grounded)
        real = within(counts, symbols.shape[1])
        rows = real.nonzero()[:, 0]
        names = grounded and (grounded.keys, grounded.name_of[rows])
        logits = self._logits(F.dropout(scanned[real], self.config.dropout_hidden, self.training), names)
        target, as_is = cross_entropies(logits, symbols[real], self.config.label_smoothing)
        nothing = torch.zeros(len(tuples), dtype=scanned.dtype, device=scanned.device)
        smoothed, plain = nothing.index_add(0, rows, target), nothing.index_add(0, rows, as_is.detach())
        if self.config.attention_guide and encoding.arguments is not None:
            written = self._arguments(symbols).unsqueeze(-1)
            smoothed = smoothed + self.config.attention_guide * guide(attention, encoding.arguments, written)
        return smoothed, plain

    def attend(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch steps words"], Int[Tensor, "batch steps positions"]]:
        """What every symbol of known programs attends to, and the argument that it is; PAD for a relation."""
        symbols, counts = flatten(tuples, tuple_counts, self.n_relations)
        grounded = self.grounding and self.grounding.look(encoding)
        _, attention = self._recur(encoding, symbols, counts, grounded)
        return attention, self._arguments(symbols).unsqueeze(-1)

    def _recur(
        self, encoding: Encoding, symbols: Tensor, counts: Tensor, grounded: Grounded | None
    ) -> tuple[Tensor, Tensor]:
        index = torch.cat([torch.full_like(symbols[:, :1], START), symbols[:, :-1]], dim=1)
        hidden, cell = self.reasoning(encoding.summary)
        index = self._table_rows(index, grounded).unsqueeze(-1)
        return self.lstm.scan(self._table(grounded), index, counts, hidden, cell, encoding)

    def _arguments(self, symbols: Tensor) -> Tensor:
        """The arguments that joint symbols are; PAD, which is never written, for relations."""
        return (symbols - self.n_relations).clamp(min=PAD)

    def _logits(self, hidden: Tensor, names: tuple[Tensor, Tensor] | None) -> Tensor:
        """Of the joint symbols. `names` are the keys of grounded arguments, and for every state those of its text."""
        logits = self.output(hidden)
        if self.grounding is None or names is None:
            return logits
        relations, arguments = logits.split([self.n_relations, self.grounding.n_arguments], dim=-1)
        return torch.cat([relations, arguments + self.grounding.scores(hidden, *names).squeeze(-2)], dim=-1)

    def _table(self, grounded: Grounded | None = None) -> Tensor:
        """U e(symbol) + b for every symbol; grounded arguments have rows of their own behind all others."""
        symbols = F.dropout(self.symbol_embedding.weight, self.config.dropout_symbols, self.training)
        if grounded is not None:
            symbols = torch.cat([symbols, symbols[self.n_relations + grounded.argument_of] + grounded.embeddings])
        return F.linear(symbols, self.lstm.input, self.lstm.bias)

    def _table_rows(self, symbols: Int[Tensor, "rows steps"], grounded: Grounded | None) -> Int[Tensor, "rows steps"]:
        """Where the table has joint symbols."""
        if grounded is None:
            return symbols
        names = grounded.names(self._arguments(symbols))
        return torch.where(names > 0, self.n_symbols + names - 1, symbols)

    def start(self, encoding: Encoding) -> FlatState:
        """Before the first symbol."""
        hidden, cell = self.reasoning(encoding.summary)
        before = torch.full((len(hidden),), START, device=hidden.device)
        grounded = self.grounding and self.grounding.look(encoding)
        return self._next(encoding, hidden, cell, before, self._table(grounded), grounded)

    def log_probabilities(self, state: FlatState) -> Float[Tensor, "rows n_symbols"]:
        """Of the joint symbols."""
        return state.scores

    def feed(self, state: FlatState, symbols: Int[Tensor, "rows"]) -> FlatState:
        """The state after the chosen joint symbols."""
        chosen = self._table_rows(symbols.unsqueeze(1), state.grounded)[:, 0]
        return self._next(state.encoding, state.hidden, state.cell, chosen, state.table, state.grounded)

    def _next(
        self,
        encoding: Encoding,
        hidden: Tensor,
        cell: Tensor,
        chosen: Tensor,
        table: Tensor,
        grounded: Grounded | None,
    ) -> FlatState:
        hidden, cell, attention = self.lstm.step(table[chosen], hidden, cell, encoding)
        logits = self._logits(hidden, grounded and (grounded.keys, grounded.name_of))
        return FlatState(encoding, hidden, cell, attention, logits.log_softmax(-1), table, grounded)


def flatten(
    tuples: Int[Tensor, "batch tuples slots"], tuple_counts: Int[Tensor, "batch"], n_relations: int
) -> tuple[Int[Tensor, "batch symbols"], Int[Tensor, "batch"]]:
    """Tuples as joint symbols without padding arguments, and how many there are in each row.

    The end tuple becomes the single symbol END.
    """
    relation = torch.zeros_like(tuples, dtype=torch.bool)
    relation[..., 0] = True
    real = within(tuple_counts, tuples.shape[1]).unsqueeze(-1)
    kept = (real & (relation | ((tuples != PAD) & (tuples != NONE)))).flatten(1)
    symbols = torch.where(relation, tuples, tuples + n_relations).flatten(1).masked_fill(~kept, PAD)
    counts = kept.sum(1)
    # A stable sort by "dropped" moves the kept symbols to the front without changing their order.
    order = torch.sort((~kept).to(torch.uint8), dim=1, stable=True).indices
    return symbols.gather(1, order)[:, : int(counts.max())], counts


__all__ = ["END", "FlatDecoder", "FlatState", "GRUEncoder", "LSTMEncoder", "PlainEncoder", "flatten"]
