"""The published TP-N2F's structure, written anew from its description, to be measured against.

Everything as `docs/equations.md` describes it: rows padded to 128 words and 128 tuples, two LSTMs stepped word by word,
the input of every step projected in that step, outputs grown by concatenation, no masks, every key of the attention
projected, decoding that runs the encoder and the whole prefix again for each of 128 tuples. One thing is left out that
would only make it slower: the second cell of its "bidirectional" LSTMs.

Same equations as `tpn2f.model` with `attention_tanh` and `biases` on, so the weights of such a model can be copied, and
without padding both must give the same numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tpn2f.model import END, NONE, PAD, START, Model, ModelConfig
from tpn2f.model.decoder import TupleDecoder
from tpn2f.model.encoder import Reader, TPREncoder

LENGTH = 128
"""What every row is padded to, words and tuples alike."""


class PublishedEncoder(nn.Module):
    def __init__(self, config: ModelConfig, n_words: int) -> None:
        super().__init__()
        d = config.d_binding
        self.config = config
        self.embedding = nn.Embedding(n_words, config.d_word)
        self.filler_lstm = nn.LSTM(config.d_word, d, batch_first=True)
        self.role_lstm = nn.LSTM(config.d_word, d, batch_first=True)
        self.filler_selection = nn.Linear(d, config.n_fillers)
        self.role_selection = nn.Linear(d, config.n_roles)
        self.fillers = nn.Linear(config.n_fillers, config.d_filler)
        self.roles = nn.Linear(config.n_roles, config.d_role)

    def forward(self, words: Tensor) -> Tensor:
        embedded = self.embedding(words)
        hidden = embedded.new_zeros(1, len(words), self.config.d_binding)
        filler_cell, role_cell = torch.zeros_like(hidden), torch.zeros_like(hidden)
        bindings = filler_scores = role_scores = None
        for place in range(words.shape[1]):
            word = embedded[:, place : place + 1]
            filler_out, (_, filler_cell) = self.filler_lstm(word, (hidden, filler_cell))
            role_out, (_, role_cell) = self.role_lstm(word, (hidden, role_cell))
            filler_score = torch.softmax(self.filler_selection(filler_out) / self.config.temperature, dim=-1)
            role_score = torch.softmax(self.role_selection(role_out) / self.config.temperature, dim=-1)
            filler, role = self.fillers(filler_score)[:, 0], self.roles(role_score)[:, 0]
            binding = torch.bmm(filler.unsqueeze(2), role.unsqueeze(1)).flatten(1)
            hidden = binding.unsqueeze(0)
            if bindings is None or filler_scores is None or role_scores is None:
                bindings, filler_scores, role_scores = binding.unsqueeze(1), filler_score, role_score
            else:
                bindings = torch.cat([bindings, binding.unsqueeze(1)], dim=1)
                filler_scores = torch.cat([filler_scores, filler_score], dim=1)
                role_scores = torch.cat([role_scores, role_score], dim=1)
        assert bindings is not None
        return bindings


class PublishedDecoder(nn.Module):
    def __init__(self, config: ModelConfig, n_relations: int, n_arguments: int, n_positions: int) -> None:
        super().__init__()
        d = config.d_tuple
        self.config = config
        self.reasoning = nn.Linear(config.d_binding, d)
        self.context = nn.Linear(config.d_binding, d)
        self.relation_embedding = nn.Embedding(n_relations, config.d_symbol)
        self.argument_embedding = nn.Embedding(n_arguments, config.d_symbol)
        self.input = nn.Linear((1 + n_positions) * config.d_symbol, 4 * d)
        self.recurrent = nn.Linear(d, 4 * d)
        self.query = nn.Linear(d, d, bias=False)
        self.output = nn.Linear(2 * d, d, bias=False)
        self.positions = nn.Parameter(torch.rand(n_positions, config.d_position))
        self.dual = nn.Linear(config.d_argument * config.d_relation, config.d_relation)
        self.relation_output = nn.Linear(config.d_relation, n_relations)
        self.argument_output = nn.Linear(config.d_argument, n_arguments)

    def forward(self, bindings: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the relations and arguments that follow the given tuples."""
        config = self.config
        cell = self.reasoning(bindings.sum(1))
        hidden = torch.tanh(cell)
        context = self.context(bindings)
        relations = arguments = None
        for place in range(inputs.shape[1]):
            relation, rest = self.relation_embedding(inputs[:, place, 0]), self.argument_embedding(inputs[:, place, 1:])
            gates = self.input(torch.cat([relation, rest.flatten(1)], dim=1)) + self.recurrent(hidden)
            write, forget, new, show = gates.chunk(4, dim=1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(write) * torch.tanh(new)
            shown = torch.sigmoid(show) * torch.tanh(cell)
            shares = torch.softmax(torch.bmm(context, self.query(shown).unsqueeze(2))[:, :, 0], dim=1)
            summary = torch.bmm(shares.unsqueeze(1), context)[:, 0]
            hidden = torch.tanh(self.output(torch.cat([summary, shown], dim=1)))
            structure = hidden.view(-1, config.d_argument, config.d_relation, config.d_position)
            unbound = [structure @ position for position in self.positions]
            relation_unbinding = self.dual(torch.stack(unbound).sum(0).flatten(1))
            relation_logits = self.relation_output(relation_unbinding).unsqueeze(1)
            argument_logits = torch.stack(
                [self.argument_output((one @ relation_unbinding.unsqueeze(2))[:, :, 0]) for one in unbound], dim=1
            ).unsqueeze(1)
            if relations is None or arguments is None:
                relations, arguments = relation_logits, argument_logits
            else:
                relations = torch.cat([relations, relation_logits], dim=1)
                arguments = torch.cat([arguments, argument_logits], dim=1)
        assert relations is not None and arguments is not None
        return relations, arguments


class PublishedModel(nn.Module):
    def __init__(self, config: ModelConfig, n_words: int, n_relations: int, n_arguments: int, n_positions: int) -> None:
        super().__init__()
        self.encoder = PublishedEncoder(config, n_words)
        self.decoder = PublishedDecoder(config, n_relations, n_arguments, n_positions)
        self.n_positions = n_positions

    def forward(self, words: Tensor, tuples: Tensor) -> tuple[Tensor, Tensor]:
        inputs = torch.cat([torch.full_like(tuples[:, :1], START), tuples[:, :-1]], dim=1)
        return self.decoder(self.encoder(words), inputs)

    def loss(self, words: Tensor, tuples: Tensor) -> Tensor:
        """One mean over the real tuples for every slot, and their sum."""
        relations, arguments = self(words, tuples)
        total = nn.functional.cross_entropy(relations.flatten(0, 1), tuples[..., 0].flatten(), ignore_index=PAD)
        for position in range(self.n_positions):
            logits, targets = arguments[:, :, position].flatten(0, 1), tuples[..., 1 + position].flatten()
            total = total + nn.functional.cross_entropy(logits, targets, ignore_index=PAD)
        return total

    def log_likelihoods(self, words: Tensor, tuples: Tensor) -> Tensor:
        """Of every row's tuples, which must all be real: what `Loss.per_example` is the negative of."""
        relations, arguments = self(words, tuples)
        return relations.log_softmax(-1).gather(2, tuples[..., :1]).sum((1, 2)) + arguments.log_softmax(-1).gather(
            3, tuples[..., 1:, None]
        ).sum((1, 2, 3))


def published_greedy_decode(model: PublishedModel, words: Tensor, steps: int = LENGTH) -> Tensor:
    """The likeliest tuples, slot by slot: always `steps` of them, each after running everything again."""
    tuples = torch.full((len(words), 1, 1 + model.n_positions), START)
    with torch.no_grad():
        for _ in range(steps):
            relations, arguments = model.decoder(model.encoder(words), tuples)
            best = torch.cat([relations[:, -1].argmax(-1, keepdim=True), arguments[:, -1].argmax(-1)], dim=1)
            tuples = torch.cat([tuples, best.unsqueeze(1)], dim=1)
    return tuples[:, 1:]


def copy_weights(model: Model) -> PublishedModel:
    """A published model with the weights of ours, which must have its equations."""
    config = model.config
    if not (config.attention_tanh and config.biases and config.attention == "dot") or config.bidirectional:
        raise ValueError("the model has other equations than the published one")
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, TPREncoder) and isinstance(decoder, TupleDecoder)
    other = PublishedModel(config, model.n_words, model.n_relations, model.n_arguments, model.n_positions)
    reader, ours, theirs = encoder.readers[0], decoder, other.decoder
    assert isinstance(reader, Reader) and reader.filler_shift is not None and reader.role_shift is not None
    mapping = ours.reasoning.layers[0]
    assert isinstance(mapping, nn.Linear)
    with torch.no_grad():
        other.encoder.embedding.weight.copy_(encoder.embedding.weight)
        for place, lstm in enumerate((other.encoder.filler_lstm, other.encoder.role_lstm)):
            for name, stacked in (
                ("weight_ih_l0", reader.input),
                ("weight_hh_l0", reader.recurrent),
                ("bias_ih_l0", reader.bias),
            ):
                # Ours: forget, input, output, candidate, each for both LSTMs. Theirs: input, forget, candidate, output.
                gates = stacked.chunk(8)
                forget, write, show, new = gates[place], gates[2 + place], gates[4 + place], gates[6 + place]
                getattr(lstm, name).copy_(torch.cat([write, forget, new, show]))
            lstm.get_parameter("bias_hh_l0").zero_()
        pairs = [
            (other.encoder.filler_selection, reader.filler_selection, reader.filler_bias),
            (other.encoder.role_selection, reader.role_selection, reader.role_bias),
            (other.encoder.fillers, reader.filler_dictionary, reader.filler_shift.flatten()),
            (other.encoder.roles, reader.role_dictionary, reader.role_shift.flatten()),
            (theirs.reasoning, mapping.weight, mapping.bias),
            (theirs.context, ours.lstm.context, torch.zeros(config.d_tuple)),
            (theirs.input, _reordered(ours.lstm.input), _reordered(ours.lstm.bias)),
            (theirs.recurrent, _reordered(ours.lstm.recurrent), torch.zeros(4 * config.d_tuple)),
            (theirs.query, torch.eye(config.d_tuple), None),
            (theirs.output, torch.cat(ours.lstm.output.chunk(2, dim=1)[::-1], dim=1), None),
            (theirs.dual, ours.dual.weight, ours.dual.bias),
            (theirs.relation_output, ours.relation_output.weight, ours.relation_output.bias),
            (theirs.argument_output, ours.argument_output.weight, ours.argument_output.bias),
        ]
        for linear, weight, bias in pairs:
            linear.weight.copy_(weight)
            if bias is not None:
                linear.bias.copy_(bias)
        theirs.relation_embedding.weight.copy_(ours.relation_embedding.weight)
        theirs.argument_embedding.weight.copy_(ours.argument_embedding.weight)
        theirs.positions.copy_(ours.position_unbinding)
    return other


def _reordered(stacked: Tensor) -> Tensor:
    forget, write, show, new = stacked.chunk(4)
    return torch.cat([write, forget, new, show])


def pad(words: Tensor, tuples: Tensor, n_words: int = LENGTH, n_tuples: int = LENGTH) -> tuple[Tensor, Tensor]:
    """Rows cut or padded to the given lengths."""
    wide = torch.full((len(words), n_words), PAD)
    long = torch.full((len(tuples), n_tuples, tuples.shape[2]), PAD)
    words, tuples = words[:, :n_words], tuples[:, :n_tuples]
    wide[:, : words.shape[1]] = words
    long[:, : tuples.shape[1]] = tuples
    return wide, long


def end_tuple(n_positions: int) -> Tensor:
    return torch.tensor([END, *[NONE] * n_positions])
