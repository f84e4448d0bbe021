"""A model of the family: an encoder and a decoder behind one interface, whatever they are made of.

Training calls `loss`. Search calls `encode`, `start`, then `log_probabilities` and `feed` by turns. Analysis calls
`decode`. Knows ids only: the codec stands between ids and symbols.

Joint symbols: relation r is symbol r, argument a is symbol n_relations + a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tpn2f.model.baselines import FlatDecoder, FlatState, GRUEncoder, LSTMEncoder
from tpn2f.model.config import PAD, ModelConfig
from tpn2f.model.decoder import TupleDecoder, TupleLogits, TupleState
from tpn2f.model.encoder import Encoding, TPREncoder
from tpn2f.model.trees import SAPSDecoder, Seq2TreeDecoder, TreeDecoder, TreeState

State: TypeAlias = TupleState | FlatState | TreeState
"""Where decoding stands. Has `slot`, `attention` and `select`."""


class Loss(NamedTuple):
    """What a batch costs."""

    value: Float[Tensor, ""]
    """The mean over the examples of weight times cost: what training makes small."""
    per_example: Float[Tensor, "batch"]
    """Negative log-likelihood of every program, without label smoothing. Carries no gradient."""


class Model(nn.Module):
    """TP-N2F or one of its ablations."""

    def __init__(
        self,
        config: ModelConfig,
        n_words: int,
        n_relations: int,
        n_arguments: int,
        n_positions: int,
        argument_of_word: Sequence[int] = (),
        tuple_of_argument: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.config = config
        self.n_words, self.n_relations = n_words, n_relations
        self.n_arguments, self.n_positions = n_arguments, n_positions
        self.encoder: TPREncoder | LSTMEncoder | GRUEncoder
        self.decoder: TupleDecoder | FlatDecoder | TreeDecoder
        encoders = {"tpr": TPREncoder, "lstm": LSTMEncoder, "gru": GRUEncoder}
        self.encoder = encoders[config.encoder](config, n_words)
        if config.writes_trees:
            kind = Seq2TreeDecoder if config.decoder == "tree" else SAPSDecoder
            self.decoder = kind(config, n_relations, n_arguments, n_positions, tuple_of_argument=tuple_of_argument)
        elif config.decoder == "tpr":
            self.decoder = TupleDecoder(config, n_relations, n_arguments, n_positions)
        else:
            self.decoder = FlatDecoder(config, n_relations, n_arguments)
        self.reader: nn.Module | None = None
        """Layers of a pre-trained encoder that are trained with the model; who reads the texts puts them here."""
        # Comes from the vocabularies, so a checkpoint does not hold it.
        self.argument_of_word: Tensor | None
        known = torch.tensor(argument_of_word, dtype=torch.long) if config.knows_names else None
        self.register_buffer("argument_of_word", known, persistent=False)

    @property
    def n_symbols(self) -> int:
        """The number of joint symbols."""
        return self.n_relations + self.n_arguments

    def encode(
        self,
        words: Int[Tensor, "batch words"],
        word_counts: Int[Tensor, "batch"],
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> Encoding:
        """Bind: every word becomes a filler bound to a role. Models with `d_contextual` need contextual vectors."""
        given = () if contextual is None else (contextual,)
        encoding = self.encoder(words, word_counts, *given)
        if self.argument_of_word is None:
            return encoding
        return replace(encoding, arguments=self.argument_of_word[words].masked_fill(~encoding.mask, PAD))

    def loss(
        self,
        words: Int[Tensor, "batch words"],
        word_counts: Int[Tensor, "batch"],
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
        weights: Float[Tensor, "batch"] | None = None,
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> Loss:
        """Equation 17: the cost of the programs, each tuple predicted from the true ones before it."""
        encoding = self.encode(words, word_counts, contextual)
        target, plain = self.decoder.negative_log_likelihood(encoding, tuples, tuple_counts)
        return Loss((target if weights is None else target * weights).mean(), plain)

    def decode(
        self,
        words: Int[Tensor, "batch words"],
        word_counts: Int[Tensor, "batch"],
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
        contextual: Float[Tensor, "batch words d_contextual"] | None = None,
    ) -> TupleLogits:
        """Everything the tuple decoder makes of known programs, for analysis."""
        if not isinstance(self.decoder, TupleDecoder):
            raise TypeError(f"a {self.config.decoder} decoder has no tuples to look at; expected a tpr decoder")
        return self.decoder.decode(self.encode(words, word_counts, contextual), tuples, tuple_counts)

    def start(self, encoding: Encoding) -> State:
        """Map: the state before the first symbol."""
        return self.decoder.start(encoding)

    def log_probabilities(self, state: State) -> Float[Tensor, "rows n_symbols"]:
        """Unbind: of every joint symbol as the next one; minus infinity where the model cannot write the symbol."""
        return self.decoder.log_probabilities(state)  # pyright: ignore[reportArgumentType]

    def feed(self, state: State, symbols: Int[Tensor, "rows"]) -> State:
        """Recur: the state after the chosen joint symbols."""
        return self.decoder.feed(state, symbols)  # pyright: ignore[reportArgumentType]
