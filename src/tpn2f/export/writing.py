"""One step of the decoder as an ONNX graph: from a state and what was written to the next state and its scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from tpn2f.export.graph import Graph, lstm_gates
from tpn2f.export.names import score_names, take_names
from tpn2f.export.reading import context_sizes
from tpn2f.model import Model
from tpn2f.model.attention import AttentionLSTM
from tpn2f.model.baselines import FlatDecoder
from tpn2f.model.decoder import TupleDecoder


def step_graph(model: Model) -> Any:
    """Recur and unbind: the symbols before and a state -> the next state and the log-probabilities of what comes."""
    graph = Graph("step")
    decoder, d = model.decoder, model.config.d_state
    assert isinstance(decoder, TupleDecoder | FlatDecoder)
    directions, d_filler, d_role = context_sizes(model)
    slots = 1 + model.n_positions if isinstance(decoder, TupleDecoder) else 1
    previous = graph.take("previous", "INT64", "rows", slots)
    hidden = graph.take("hidden", "FLOAT", "rows", d)
    cell = graph.take("cell", "FLOAT", "rows", d)
    mask = graph.take("mask", "BOOL", "rows", "words")
    fillers = graph.take("fillers", "FLOAT", "rows", directions, "words", d_filler)
    roles = graph.take("roles", "FLOAT", "rows", directions, "words", d_role)
    added = None
    if decoder.grounding is not None:
        added = take_names(graph, model, previous)
    if isinstance(decoder, TupleDecoder):
        previous = graph.node("Add", previous, graph.weight(decoder._offsets(decoder.position_unbinding.device)))
    given = graph.node("Gather", graph.weight(decoder._table()), previous, axis=0)
    given = graph.node("ReduceSum", given, graph.weight([1]), keepdims=0)
    if added is not None:
        given = graph.node("Add", given, added)
    hidden, cell, attention = attend(graph, decoder.lstm, given, hidden, cell, fillers, roles, mask, d_filler, d_role)
    graph.give("next_hidden", hidden, "FLOAT", "rows", d)
    graph.give("next_cell", cell, "FLOAT", "rows", d)
    graph.give("attention", attention, "FLOAT", "rows", "words")
    if isinstance(decoder, TupleDecoder):
        relation, arguments = unbind(graph, model, decoder, hidden)
        graph.give("relation", relation, "FLOAT", "rows", model.n_relations)
        graph.give("arguments", arguments, "FLOAT", "rows", model.n_positions, model.n_arguments)
    else:
        scores = graph.linear(hidden, decoder.output.weight, decoder.output.bias)
        if decoder.grounding is not None:
            more = score_names(graph, model, decoder.grounding, hidden)
            scores = graph.node("Add", scores, graph.node("Squeeze", more, graph.weight([1])))
        graph.give("symbols", graph.node("LogSoftmax", scores, axis=1), "FLOAT", "rows", model.n_symbols)
    return graph.finish()


def attend(
    graph: Graph,
    lstm: AttentionLSTM,
    given: str,
    hidden: str,
    cell: str,
    fillers: str,
    roles: str,
    mask: str,
    d_filler: int,
    d_role: int,
) -> tuple[str, str, str]:
    """One step of the attentional LSTM, as `kernels.reference.attention_step` has it."""
    query, value, output, squash = lstm._projections()
    gates = graph.node("Add", given, graph.linear(hidden, lstm.recurrent))
    cell, shown = lstm_gates(graph, gates, cell, output.shape[0])
    asked = graph.node("MatMul", shown, graph.weight(query))
    asked = graph.node("Reshape", asked, graph.weight([0, -1, d_filler, d_role]))
    scores = graph.node("Mul", graph.node("MatMul", fillers, asked), roles)
    scores = graph.node("ReduceSum", scores, graph.weight([1, 3]), keepdims=0)
    scores = graph.node("Where", mask, scores, graph.weight(-np.inf))
    attention = graph.node("Softmax", scores, axis=1)
    weighted = graph.node("Mul", roles, graph.node("Unsqueeze", attention, graph.weight([1, 3])))
    weighted = graph.node("MatMul", graph.node("Transpose", fillers, perm=[0, 1, 3, 2]), weighted)
    summary = graph.linear(graph.node("Reshape", weighted, graph.weight([-1, value.shape[1]])), value)
    hidden = graph.linear(graph.node("Concat", shown, summary, axis=1), output)
    return graph.node("Tanh", hidden) if squash else hidden, cell, attention


def unbind(graph: Graph, model: Model, decoder: TupleDecoder, hidden: str) -> tuple[str, str]:
    """Two-step unbinding (equations 12 to 16): log-probabilities of the relation and of every argument."""
    config, positions = decoder.config, decoder.n_positions
    d_argument, d_relation = config.d_argument, config.d_relation
    structure = graph.node("Reshape", hidden, graph.weight([-1, d_argument * d_relation, config.d_position]))
    bindings = graph.node("Transpose", graph.linear(structure, decoder.position_unbinding), perm=[0, 2, 1])
    together = graph.node("ReduceSum", bindings, graph.weight([1]), keepdims=0)
    relation = graph.linear(together, decoder.dual.weight, decoder.dual.bias)
    unbinding = graph.node("Unsqueeze", relation, graph.weight([1, 3]))
    matrices = graph.node("Reshape", bindings, graph.weight([-1, positions, d_argument, d_relation]))
    arguments = graph.node("Squeeze", graph.node("MatMul", matrices, unbinding), graph.weight([3]))
    relations = graph.linear(relation, decoder.relation_output.weight, decoder.relation_output.bias)
    logits = graph.linear(arguments, decoder.argument_output.weight, decoder.argument_output.bias)
    if decoder.grounding is not None:
        logits = graph.node("Add", logits, score_names(graph, model, decoder.grounding, hidden))
    return graph.node("LogSoftmax", relations, axis=1), graph.node("LogSoftmax", logits, axis=2)
