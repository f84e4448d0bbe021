"""Decoders that write a program as a tree, from the root down: Seq2Tree and SAPS, re-implemented.

No code of either was published; `docs/equations.md` says what is known and what is our choice. Both are doubly
recurrent: a node's state h comes from what its parent hands down and from what its previous sibling hands on. They
write joint symbols, parents first, with NONE behind the last argument of a call that has fewer than there are
positions; what follows the whole tree is END, at no cost. Programs are trees here: a tuple that two others refer to is
written twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.model.attention import Reasoning
from tpn2f.model.config import END, NONE, PAD, ModelConfig
from tpn2f.model.decoder import cross_entropies, select_rows
from tpn2f.model.encoder import Encoding
from tpn2f.model.forest import Forest, plant
from tpn2f.model.words import embedding
from tpn2f.tpr import bind


class Looked(NamedTuple):
    """What nodes are predicted from."""

    hidden: Float[Tensor, "rows nodes d_state"]
    attention: Float[Tensor, "rows nodes words"]
    """Zero where the decoder does not look at words."""


@dataclass(frozen=True, slots=True)
class TreeState:
    """Where decoding stands, for every row: the calls that are open, from the root on, and the node to be written."""

    encoding: Encoding
    latent: Float[Tensor, "rows d_state"]
    """What the Reasoning MLP made of the text."""
    hidden: Float[Tensor, "rows d_state"]
    """h of the node to be written."""
    attention: Float[Tensor, "rows words"]
    scores: Float[Tensor, "rows n_symbols"]
    """Log-probabilities of the next symbol."""
    depth: Int[Tensor, "rows"]
    """How many levels are open; none when the tree is complete. The first has the root alone."""
    written: Int[Tensor, "rows levels"]
    """How many nodes of every level are written."""
    down: Float[Tensor, "rows levels d_message"]
    """What the parent of each level handed down."""
    along: Float[Tensor, "rows levels d_message"]
    """What the last node that was written at each level handed on; zero before the first."""

    @property
    def slot(self) -> None:
        """A tree decoder does not know slots."""
        return None

    def select(self, rows: Int[Tensor, "chosen"]) -> TreeState:
        """The state of the given rows, in that order; rows may repeat."""
        return select_rows(self, rows)


class TreeDecoder(nn.Module):
    """From an Encoding to a tree of joint symbols. What nodes hand on and look at is for the two systems to say."""

    messages: int
    """The width of what is handed on, in widths of the state."""

    def __init__(
        self,
        config: ModelConfig,
        n_relations: int,
        n_arguments: int,
        n_positions: int,
        tuple_of_argument: Sequence[int],
    ) -> None:
        super().__init__()
        if len(tuple_of_argument) != n_arguments:
            raise ValueError(
                f"tuple_of_argument has {len(tuple_of_argument)} entries; expected one per argument, {n_arguments}"
            )
        self.config, self.n_relations, self.n_symbols = config, n_relations, n_relations + n_arguments
        self.n_positions, self.tuple_of_argument = n_positions, tuple(tuple_of_argument)
        self.reasoning = Reasoning(config)
        self.symbol_embedding = embedding(self.n_symbols, config.d_symbol, config.embedding_scale)
        # U_a and U_f side by side.
        self.join = nn.Linear(2 * config.d_state, config.d_state)
        self.output = nn.Linear(config.d_state, self.n_symbols, bias=config.biases)

    # What a system is.

    def begin(self, latent: Tensor, mapped: Tensor) -> Float[Tensor, "rows d_message"]:
        """What the text hands down to the root."""
        raise NotImplementedError

    def hand_down(self, symbols: Tensor, hidden: Tensor, down: Tensor, latent: Tensor) -> Tensor:
        """What nodes with embedded `symbols`, which got `down` from their parents, give their children."""
        raise NotImplementedError

    def hand_along(self, symbols: Tensor, hidden: Tensor, along: Tensor, latent: Tensor) -> Tensor:
        """What they, who got `along` from their previous siblings, give the next ones."""
        raise NotImplementedError

    def look(
        self,
        hidden: Float[Tensor, "rows nodes d_state"],
        latent: Float[Tensor, "rows d_state"],
        encoding: Encoding,
    ) -> Looked:
        """What nodes are predicted from: their states h, and what is found in the text at them."""
        raise NotImplementedError

    # Training.

    def negative_log_likelihood(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch"], Float[Tensor, "batch"]]:
        """The sum over nodes of their cross-entropies, each predicted from the true ones: smoothed, and as it is."""
        forest = plant(tuples, tuple_counts, self.n_relations, self.tuple_of_argument)
        looked = self._grow(encoding, forest).hidden[forest.rows, forest.places]
        logits = self.output(F.dropout(looked, self.config.dropout_hidden, self.training))
        target, as_is = cross_entropies(logits, forest.symbols, self.config.label_smoothing)
        nothing = torch.zeros(len(tuples), dtype=target.dtype, device=target.device)
        return nothing.index_add(0, forest.rows, target), nothing.index_add(0, forest.rows, as_is.detach())

    def attend(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch nodes words"], Int[Tensor, "batch nodes positions"]]:
        """What every node of known programs attends to, and the argument that it is; PAD for any other."""
        forest = plant(tuples, tuple_counts, self.n_relations, self.tuple_of_argument)
        attention = self._grow(encoding, forest).attention
        arguments = torch.full(attention.shape[:2], PAD, device=attention.device)
        arguments[forest.rows, forest.places] = (forest.symbols - self.n_relations).clamp(min=PAD)
        return attention, arguments.unsqueeze(-1)

    def _grow(self, encoding: Encoding, forest: Forest) -> Looked:
        """All nodes of known trees, wave by wave."""
        latent, mapped = self.reasoning(encoding.summary)
        embedded = F.embedding(forest.symbols, self._symbols())
        down = self.begin(latent, mapped)
        along, first, states = torch.zeros_like(down), 0, []
        for wave in [*forest.waves, None]:
            hidden = self._state(down, along)
            states.append(hidden)
            if wave is None:
                break
            symbols, source = embedded[first : first + len(hidden)], latent[forest.rows[first : first + len(hidden)]]
            first += len(hidden)
            given = [[part[some] for part in (symbols, hidden, down, along, source)] for some in wave]
            # A first child has no sibling, and later ones know their parent through the first.
            (above, h, got, _, z), (before, h_before, kept, passed, z_before) = given
            down = torch.cat([self.hand_down(above, h, got, z), kept])
            handed = self.hand_along(before, h_before, passed, z_before)
            along = torch.cat([torch.zeros_like(down[: len(above)]), handed])
        nodes = torch.cat(states)
        spread = nodes.new_zeros(len(latent), int(forest.places.max()) + 1, nodes.shape[1])
        return self.look(spread.index_put((forest.rows, forest.places), nodes), latent, encoding)

    def _symbols(self) -> Float[Tensor, "n_symbols d_symbol"]:
        """The embeddings of all symbols; in training a symbol keeps its dropout within a batch."""
        return F.dropout(self.symbol_embedding.weight, self.config.dropout_symbols, self.training)

    def _state(self, down: Tensor, along: Tensor) -> Float[Tensor, "nodes d_state"]:
        """h = tanh(U_a h_a + U_f h_f + b)."""
        d = self.config.d_state
        return self.join(torch.cat([down[:, :d], along[:, :d]], dim=1)).tanh()

    # Decoding, one symbol at a time.

    def start(self, encoding: Encoding) -> TreeState:
        """Before the root."""
        latent, mapped = self.reasoning(encoding.summary)
        down = self.begin(latent, mapped).unsqueeze(1)
        written = torch.zeros(len(latent), 1, dtype=torch.long, device=latent.device)
        return self._next(encoding, latent, written[:, 0] + 1, written, down, torch.zeros_like(down))

    def log_probabilities(self, state: TreeState) -> Float[Tensor, "rows n_symbols"]:
        """Of the joint symbols."""
        return state.scores

    def feed(self, state: TreeState, symbols: Int[Tensor, "rows"]) -> TreeState:
        """The state after the chosen joint symbols."""
        rows, level = torch.arange(len(symbols), device=symbols.device), (state.depth - 1).clamp(min=0)
        embedded = F.embedding(symbols, self._symbols())
        down, along, written = (_with_level(part) for part in (state.down, state.along, state.written))
        open_, ends = state.depth > 0, symbols == END
        calls = open_ & (symbols < self.n_relations) & ~ends
        below = self.hand_down(embedded, state.hidden, down[rows, level], state.latent)
        beside = self.hand_along(embedded, state.hidden, along[rows, level], state.latent)
        along[rows, level], written[rows, level] = beside, written[rows, level] + 1
        # A call opens a level, NONE closes one, and so does the last position of a call.
        level = level + 1
        down[rows[calls], level[calls]] = below[calls]
        along[rows[calls], level[calls]] = 0.0
        written[rows[calls], level[calls]] = 0
        depth = state.depth + calls.long() - (open_ & (symbols == self.n_relations + NONE)).long()
        depth = depth.masked_fill(ends, 0)
        while True:
            last = (depth - 1).clamp(min=0)
            full = (depth > 0) & (written[rows, last] >= torch.where(last > 0, self.n_positions, 1))
            if not full.any():
                break
            depth = depth - full.long()
        kept = max(1, int(depth.max()))
        parts = (written[:, :kept], down[:, :kept], along[:, :kept])
        return self._next(state.encoding, state.latent, depth, *parts)

    def _next(
        self, encoding: Encoding, latent: Tensor, depth: Tensor, written: Tensor, down: Tensor, along: Tensor
    ) -> TreeState:
        rows, level = torch.arange(len(depth), device=depth.device), (depth - 1).clamp(min=0)
        hidden = self._state(down[rows, level], along[rows, level])
        looked = self.look(hidden.unsqueeze(1), latent, encoding)
        scores = self.output(looked.hidden[:, 0]).log_softmax(-1)
        # Nothing but the end follows a complete tree.
        ended = torch.full_like(scores[:1], -torch.inf)
        ended[:, END] = 0.0
        scores = torch.where((depth > 0).unsqueeze(1), scores, ended)
        return TreeState(encoding, latent, hidden, looked.attention[:, 0], scores, depth, written, down, along)


class Seq2TreeDecoder(TreeDecoder):
    """Seq2Tree (Polosukhin and Skidanov, 2018): two GRUs, and attention to the words at every node."""

    messages = 1

    def __init__(self, config: ModelConfig, *sizes: int, tuple_of_argument: Sequence[int]) -> None:
        super().__init__(config, *sizes, tuple_of_argument=tuple_of_argument)
        d = config.d_state
        self.ancestral, self.fraternal = nn.GRUCell(config.d_symbol, d), nn.GRUCell(config.d_symbol, d)
        # C and K, as in the attention of the other decoders.
        self.context = nn.Linear(config.d_context, d, bias=False)
        self.attentional = nn.Linear(2 * d, d, bias=False)

    def begin(self, latent: Tensor, mapped: Tensor) -> Tensor:
        return latent

    def hand_down(self, symbols: Tensor, hidden: Tensor, down: Tensor, latent: Tensor) -> Tensor:
        return self.ancestral(symbols, hidden)

    def hand_along(self, symbols: Tensor, hidden: Tensor, along: Tensor, latent: Tensor) -> Tensor:
        return self.fraternal(symbols, hidden)

    def look(self, hidden: Tensor, latent: Tensor, encoding: Encoding) -> Looked:
        """s = C_T softmax(C_T h), then tanh(K [h ; s])."""
        bindings = bind(encoding.context_fillers, encoding.context_roles).flatten(-2)
        context = self.context(bindings.transpose(1, 2).flatten(2))
        scores = hidden @ context.transpose(1, 2)
        attention = scores.masked_fill(~encoding.mask.unsqueeze(1), -torch.inf).softmax(-1)
        found = self.attentional(torch.cat([hidden, attention @ context], dim=-1))
        return Looked(found.tanh(), attention)


class SAPSDecoder(TreeDecoder):
    """SAPS (Bednarek, Piaskowski and Krawiec, 2018): two LSTMs that both read a latent vector, which alone stands for
    the text. Without the pre-training as an autoencoder of programs."""

    messages = 2

    def __init__(self, config: ModelConfig, *sizes: int, tuple_of_argument: Sequence[int]) -> None:
        super().__init__(config, *sizes, tuple_of_argument=tuple_of_argument)
        d = config.d_state
        self.vertical, self.horizontal = (nn.LSTMCell(config.d_symbol + d, d) for _ in range(2))
        with torch.no_grad():
            for cell in (self.vertical, self.horizontal):
                cell.bias_ih[d : 2 * d] += config.forget_bias
        self.window = nn.Linear(d, d)
        self.attentional = nn.Linear(2 * d, d, bias=False)

    def begin(self, latent: Tensor, mapped: Tensor) -> Tensor:
        return torch.cat([latent, mapped], dim=1)

    def hand_down(self, symbols: Tensor, hidden: Tensor, down: Tensor, latent: Tensor) -> Tensor:
        return self._step(self.vertical, symbols, hidden, down, latent)

    def hand_along(self, symbols: Tensor, hidden: Tensor, along: Tensor, latent: Tensor) -> Tensor:
        return self._step(self.horizontal, symbols, hidden, along, latent)

    def look(self, hidden: Tensor, latent: Tensor, encoding: Encoding) -> Looked:
        """tanh(K [h ; sigmoid(A h) * z]): soft attention to parts of the latent vector z, not to words."""
        seen = self.window(hidden).sigmoid() * latent.unsqueeze(1)
        found = self.attentional(torch.cat([hidden, seen], dim=-1))
        words = encoding.mask.shape[1]
        return Looked(found.tanh(), hidden.new_zeros(*hidden.shape[:2], words))

    @staticmethod
    def _step(cell: nn.LSTMCell, symbols: Tensor, hidden: Tensor, message: Tensor, latent: Tensor) -> Tensor:
        """A message is a state and a cell; the state that counts is the node's own."""
        memory = message[:, hidden.shape[1] :]
        return torch.cat(cell(torch.cat([symbols, latent], dim=1), (hidden, memory)), dim=1)


def _with_level(part: Tensor) -> Tensor:
    """A copy with room for one more level."""
    return torch.cat([part, torch.zeros_like(part[:, :1])], dim=1)
