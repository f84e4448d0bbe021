"""The relational-tuple decoder: a Tuple-LSTM whose state is unbound to a relation and its arguments (section 4.2).

One tuple per step. The state H is treated as the order-3 representation of the tuple; unbinding positions, then the
relation, gives the vectors whose nearest symbols are predicted. Knows ids, not symbols' meanings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from tpn2f.kernels.precision import widened
from tpn2f.kernels.reference import within
from tpn2f.model.attention import AttentionLSTM, Reasoning, guide
from tpn2f.model.chaining import Chaining
from tpn2f.model.config import PAD, START, ModelConfig
from tpn2f.model.encoder import Encoding
from tpn2f.model.grounding import Grounded, Grounding
from tpn2f.model.words import embedding
from tpn2f.tpr import unbind_positions, unbind_relation

S = TypeVar("S", bound=Any)
"""Where decoding stands: a dataclass."""


class Unbound(NamedTuple):
    """What two-step unbinding reads from H."""

    relation: Float[Tensor, "*batch n_relations"]
    """Logits of the relation."""
    arguments: Float[Tensor, "*batch positions n_arguments"]
    """Logits of the argument at every position."""
    relation_unbinding: Float[Tensor, "*batch d_relation"]
    """r': the unbinding vector of the relation, generated from H."""
    argument_vectors: Float[Tensor, "*batch positions d_argument"]
    """a_i."""


class TupleLogits(NamedTuple):
    """The decoder's view of a batch of known programs, tuple by tuple. Meaningless beyond a row's tuple count."""

    relation: Float[Tensor, "batch tuples n_relations"]
    arguments: Float[Tensor, "batch tuples positions n_arguments"]
    hidden: Float[Tensor, "batch tuples d_argument d_relation d_position"]
    """H: the representation that was unbound."""
    relation_unbinding: Float[Tensor, "batch tuples d_relation"]
    attention: Float[Tensor, "batch tuples words"]


@dataclass(frozen=True, slots=True)
class TupleState:
    """Where decoding stands, for every row: the tuple being written, and how far."""

    encoding: Encoding
    hidden: Float[Tensor, "rows d_state"]
    """H of the tuple being written."""
    cell: Float[Tensor, "rows d_state"]
    attention: Float[Tensor, "rows words"]
    """What the tuple being written attends to."""
    relation: Float[Tensor, "rows n_relations"]
    """Log-probabilities of slot 0."""
    arguments: Float[Tensor, "rows positions n_arguments"]
    """Log-probabilities of the other slots."""
    relation_unbinding: Float[Tensor, "rows d_relation"]
    """r' of the tuple being written."""
    symbols: Int[Tensor, "rows slots"]
    """Rows of `table` that were chosen so far in this tuple."""
    table: Float[Tensor, "types d_gates"]
    """The projected symbols of every slot, the same for all rows."""
    grounded: Grounded | None = None
    """The arguments that stand in the texts, with rows of their own in the table."""
    before: Float[Tensor, "rows written d_symbol"] | None = None
    """Embeddings of what was chosen so far in this tuple, where arguments are chained."""
    texts: Int[Tensor, "rows"] | None = None
    """Which text a row belongs to. Rows that change places within a text need no other encoding, which is large."""

    @property
    def slot(self) -> int:
        """The slot to be filled next: 0 for the relation."""
        return self.symbols.shape[1]

    def select(self, rows: Int[Tensor, "chosen"]) -> TupleState:
        """The state of the given rows, in that order; rows may repeat."""
        texts = rows if self.texts is None else self.texts[rows]
        # The rows of a beam change, but mostly stay those of the same texts, which need not be copied then.
        same = self.texts is not None and torch.equal(texts, self.texts)
        return replace(select_rows(self, rows, ("encoding", "grounded") if same else ()), texts=texts)


def select_rows(state: S, rows: Int[Tensor, "chosen"], kept: Sequence[str] = ()) -> S:
    """A state of decoding for the given rows, in that order; rows may repeat. What all rows share stays as it is, and
    what is to be kept."""
    names = (field.name for field in fields(state) if field.name not in ("table", *kept))
    parts = {name: getattr(state, name) for name in names}
    chosen = {
        name: part[rows] if isinstance(part, Tensor) else part.select(rows)
        for name, part in parts.items()
        if part is not None
    }
    return replace(state, **chosen)


class TupleDecoder(nn.Module):
    """From an Encoding to relational tuples."""

    def __init__(self, config: ModelConfig, n_relations: int, n_arguments: int, n_positions: int) -> None:
        super().__init__()
        self.config = config
        self.n_relations, self.n_arguments, self.n_positions = n_relations, n_arguments, n_positions
        self.reasoning = Reasoning(config)
        self.relation_embedding = embedding(n_relations, config.d_symbol, config.embedding_scale)
        self.argument_embedding = embedding(n_arguments, config.d_symbol, config.embedding_scale)
        self.lstm = AttentionLSTM(config, (1 + n_positions) * config.d_symbol)
        # The p'_i, learned, the same for all tuples.
        positions = torch.empty(n_positions, config.d_position)
        if config.position_init == "uniform":
            positions.uniform_(0, 1)
        else:
            nn.init.orthogonal_(positions)
        self.position_unbinding = nn.Parameter(positions)
        # W_dual maps vec(sum_i B_i) to r'.
        self.dual = nn.Linear(config.d_argument * config.d_relation, config.d_relation, bias=config.biases)
        self.relation_output = nn.Linear(config.d_relation, n_relations, bias=config.biases)
        self.argument_output = nn.Linear(config.d_argument, n_arguments, bias=config.biases)
        self.grounding = Grounding(config, n_arguments, n_positions) if config.grounded else None
        self.chaining = Chaining(config, n_arguments, n_positions) if config.d_chained else None

    def unbind(self, hidden: Float[Tensor, "*batch d_tuple"], names: tuple[Tensor, Tensor] | None = None) -> Unbound:
        """Two-step unbinding (equations 12 to 16) and the logits of its results (appendix A.2.3).

        `names` are the keys of grounded arguments, and for every state the names of its text. What chaining adds is not
        in it: that depends on the symbols that are written.
        """
        config = self.config
        structure = hidden.unflatten(-1, (config.d_argument, config.d_relation, config.d_position))
        bindings = unbind_positions(structure, self.position_unbinding)
        relation = self.dual(bindings.sum(-3).flatten(-2))
        arguments = unbind_relation(bindings, relation)
        logits = self.argument_output(arguments)
        if self.grounding is not None and names is not None:
            logits = logits + self.grounding.scores(hidden, *names)
        return Unbound(self.relation_output(relation), logits, relation, arguments)

    def decode(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> TupleLogits:
        """Predicts every tuple from the true ones before it."""
        grounded = self.grounding and self.grounding.look(encoding)
        scanned, attention = self._recur(encoding, tuples, tuple_counts, grounded)
        names = grounded and (grounded.keys, grounded.name_of.unsqueeze(1).expand(-1, tuples.shape[1], -1))
        unbound = self.unbind(scanned, names)
        arguments = unbound.arguments
        if self.chaining is not None:
            rows = torch.arange(len(tuples), device=tuples.device).repeat_interleave(tuples.shape[1])
            added = self._chain(scanned.flatten(0, 1), tuples.flatten(0, 1), rows, grounded)
            arguments = arguments + added.view(arguments.shape)
        config = self.config
        structure = scanned.unflatten(-1, (config.d_argument, config.d_relation, config.d_position))
        return TupleLogits(unbound.relation, arguments, structure, unbound.relation_unbinding, attention)

    def negative_log_likelihood(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch"], Float[Tensor, "batch"]]:
        """Equation 17 for every example: the sum over tuples of the cross-entropies of relation and all arguments.

        Twice: as the target of training, with label smoothing and the guide of attention, and as it is.
        """
        grounded = self.grounding and self.grounding.look(encoding)
        scanned, attention = self._recur(encoding, tuples, tuple_counts, grounded)
        real = within(tuple_counts, tuples.shape[1])
        rows = real.nonzero()[:, 0]
        names = grounded and (grounded.keys, grounded.name_of[rows])
        hidden = F.dropout(scanned[real], self.config.dropout_hidden, self.training)
        unbound = self.unbind(hidden, names)
        relations, arguments = tuples[real][:, 0], tuples[real][:, 1:]
        argument_logits = unbound.arguments
        if self.chaining is not None:
            argument_logits = argument_logits + self._chain(hidden, tuples[real], rows, grounded)
        smoothed = plain = torch.zeros(len(tuples), dtype=scanned.dtype, device=scanned.device)
        for logits, targets, owners in (
            (unbound.relation, relations, rows),
            (argument_logits.flatten(0, 1), arguments.flatten(), rows.repeat_interleave(self.n_positions)),
        ):
            target, as_is = cross_entropies(logits, targets, self.config.label_smoothing)
            smoothed = smoothed.index_add(0, owners, target)
            plain = plain.index_add(0, owners, as_is.detach())
        if self.config.attention_guide and encoding.arguments is not None:
            smoothed = smoothed + self.config.attention_guide * guide(attention, encoding.arguments, tuples[..., 1:])
        return smoothed, plain

    def _chain(
        self, hidden: Tensor, tuples: Int[Tensor, "n slots"], rows: Int[Tensor, "n"], grounded: Grounded | None
    ) -> Float[Tensor, "n positions n_arguments"]:
        """What chaining adds to the scores of the arguments of known tuples, each of the text of its row."""
        assert self.chaining is not None
        names = grounded and (grounded.keys, grounded.name_of[rows])
        slots = [
            self._embed(tuples[:, slot], slot, None if names is None else names[1], grounded)
            for slot in range(self.n_positions)
        ]
        before = F.dropout(torch.stack(slots, dim=1), self.config.dropout_symbols, self.training)
        added = [self.chaining.scores(position, hidden, before, names) for position in range(self.n_positions)]
        return torch.stack(added, dim=1)

    def _embed(
        self, symbols: Int[Tensor, "n"], slot: int, name_of: Tensor | None, grounded: Grounded | None
    ) -> Float[Tensor, "n d_symbol"]:
        """The embeddings of relations (slot 0) or arguments, grounded ones with what their text adds."""
        if slot == 0:
            return self.relation_embedding(symbols)
        vectors = self.argument_embedding(symbols)
        if grounded is None or name_of is None:
            return vectors
        own = torch.cat([grounded.embeddings.new_zeros(1, grounded.embeddings.shape[1]), grounded.embeddings])
        return vectors + own[name_of.gather(1, symbols.unsqueeze(1)).squeeze(1)]

    def attend(
        self,
        encoding: Encoding,
        tuples: Int[Tensor, "batch tuples slots"],
        tuple_counts: Int[Tensor, "batch"],
    ) -> tuple[Float[Tensor, "batch tuples words"], Int[Tensor, "batch tuples positions"]]:
        """What every tuple of known programs attends to, and its arguments."""
        grounded = self.grounding and self.grounding.look(encoding)
        _, attention = self._recur(encoding, tuples, tuple_counts, grounded)
        return attention, tuples[..., 1:]

    def _recur(
        self, encoding: Encoding, tuples: Tensor, tuple_counts: Tensor, grounded: Grounded | None
    ) -> tuple[Tensor, Tensor]:
        before = torch.cat([torch.full_like(tuples[:, :1], START), tuples[:, :-1]], dim=1)
        index, written = before + self._offsets(tuples.device), None
        if grounded is not None:
            arguments, written = grounded.where_written(before[..., 1:], index[..., 1:], self._n_rows)
            index = torch.cat([index[..., :1], arguments], dim=2)
        hidden, cell = self.reasoning(encoding.summary)
        return self.lstm.scan(self._table(grounded, written), index, tuple_counts, hidden, cell, encoding)

    def _table(self, grounded: Grounded | None = None, written: Tensor | None = None) -> Tensor:
        """U_slot e(symbol) for every slot and symbol: relations first, then the arguments position by position.

        The bias is in the relation's part, which every tuple has once. U [e_rel ; e_arg1 ; ...] is a sum of such rows.
        Names that were written, or all, have rows of their own behind all others, position by position too.
        """
        rate, training = self.config.dropout_symbols, self.training
        relations = F.dropout(self.relation_embedding.weight, rate, training)
        arguments = F.dropout(self.argument_embedding.weight, rate, training)
        first, *others = self.lstm.input.split(self.config.d_symbol, dim=1)
        parts = [F.linear(relations, first, self.lstm.bias), *(F.linear(arguments, weight) for weight in others)]
        if grounded is not None:
            own = arguments[grounded.argument_of] + grounded.embeddings
            parts += [
                F.linear(own if written is None else own[written[written // len(own) == position] % len(own)], weight)
                for position, weight in enumerate(others)
            ]
        return torch.cat(parts)

    @property
    def _n_rows(self) -> int:
        """The rows of the table that are no text's own."""
        return self.n_relations + self.n_positions * self.n_arguments

    def _offsets(self, device: torch.device) -> Tensor:
        """Where the rows of a slot's symbols start in the table."""
        slots = torch.arange(1 + self.n_positions, device=device)
        return torch.where(slots > 0, self.n_relations + (slots - 1) * self.n_arguments, slots)

    # Decoding, one symbol at a time. Joint symbols: relations first, then arguments.

    def start(self, encoding: Encoding) -> TupleState:
        """Before the first symbol."""
        hidden, cell = self.reasoning(encoding.summary)
        before = torch.full((len(hidden), 1 + self.n_positions), START, device=hidden.device)
        grounded = self.grounding and self.grounding.look(encoding)
        rows = before + self._offsets(hidden.device)
        return self._next(encoding, hidden, cell, rows, self._table(grounded), grounded)

    def log_probabilities(self, state: TupleState) -> Float[Tensor, "rows n_symbols"]:
        """Of the joint symbols at the state's slot; minus infinity for those that the slot cannot hold."""
        relations = state.relation if state.slot == 0 else torch.full_like(state.relation, -torch.inf)
        if state.slot == 0:
            arguments = state.relation.new_full((len(relations), self.n_arguments), -torch.inf)
        else:
            arguments = state.arguments[:, state.slot - 1]
        return torch.cat([relations, arguments], dim=1)

    def feed(self, state: TupleState, symbols: Int[Tensor, "rows"]) -> TupleState:
        """The state after the chosen joint symbols; after the last slot the Tuple-LSTM makes its next step."""
        # An argument's row in the table is its joint symbol, moved by the earlier positions.
        position = state.slot - 1
        moved = symbols + max(0, position) * self.n_arguments
        if state.grounded is not None and position >= 0:
            names = state.grounded.names((symbols - self.n_relations).unsqueeze(1)).squeeze(1)
            first = self._n_rows + position * len(state.grounded.argument_of)
            moved = torch.where(names > 0, first + names - 1, moved)
        chosen = torch.cat([state.symbols, moved.unsqueeze(1)], dim=1)
        if chosen.shape[1] <= self.n_positions:
            return self._narrow(replace(state, symbols=chosen), symbols)
        following = self._next(state.encoding, state.hidden, state.cell, chosen, state.table, state.grounded)
        return replace(following, texts=state.texts)

    def _narrow(self, state: TupleState, symbols: Int[Tensor, "rows"]) -> TupleState:
        """The state whose next argument knows the joint symbol that was chosen last."""
        if self.chaining is None:
            return state
        position = state.slot - 1
        names = state.grounded and (state.grounded.keys, state.grounded.name_of)
        own = symbols if position == 0 else symbols - self.n_relations
        vectors = self._embed(own, position, None if names is None else names[1], state.grounded).unsqueeze(1)
        before = vectors if state.before is None else torch.cat([state.before, vectors], dim=1)
        arguments = state.arguments.clone()
        added = self.chaining.scores(position, state.hidden, before, names)
        arguments[:, position] = (arguments[:, position] + added).log_softmax(-1)
        return replace(state, before=before, arguments=arguments)

    def _next(
        self,
        encoding: Encoding,
        hidden: Tensor,
        cell: Tensor,
        chosen: Tensor,
        table: Tensor,
        grounded: Grounded | None,
    ) -> TupleState:
        hidden, cell, attention = self.lstm.step(table[chosen].sum(1), hidden, cell, encoding)
        unbound = self.unbind(hidden, grounded and (grounded.keys, grounded.name_of))
        return TupleState(
            encoding,
            hidden,
            cell,
            attention,
            unbound.relation.log_softmax(-1),
            unbound.arguments.log_softmax(-1),
            unbound.relation_unbinding,
            chosen[:, :0],
            table,
            grounded,
        )


def cross_entropies(
    logits: Float[Tensor, "n n_symbols"], targets: Int[Tensor, "n"], smoothing: float
) -> tuple[Float[Tensor, "n"], Float[Tensor, "n"]]:
    """With label smoothing, and without. A padding target costs nothing."""
    scores = widened(logits).log_softmax(-1)
    real = targets != PAD
    plain = -scores.gather(1, targets.unsqueeze(1)).squeeze(1) * real
    if smoothing == 0:
        return plain, plain
    return (1 - smoothing) * plain - smoothing * scores.mean(-1) * real, plain
