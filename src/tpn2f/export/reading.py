"""The encoder as an ONNX graph: from word ids to what the decoder attends to and to its first state."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tpn2f.export.graph import Graph, lstm_gates
from tpn2f.export.names import give_names
from tpn2f.model import Model
from tpn2f.model.baselines import LSTMEncoder
from tpn2f.model.encoder import Reader, TPREncoder
from tpn2f.model.grounding import Grounding
from tpn2f.model.words import WordEmbedding


def encoder_graph(model: Model) -> Any:
    """Bind and map: words -> mask, fillers, roles, and the decoder's hidden and cell."""
    graph = Graph("encoder")
    words = graph.take("words", "INT64", "batch", "words")
    counts = graph.take("word_counts", "INT64", "batch")
    length = graph.node("Gather", graph.node("Shape", words), graph.weight(np.array(1)), axis=0)
    zero, one = graph.weight(np.array(0)), graph.weight(np.array(1))
    places = graph.node("Range", zero, length, one)
    ends = graph.node("Unsqueeze", counts, graph.weight([1]))
    mask = graph.node("Less", graph.node("Unsqueeze", places, graph.weight([0])), ends)
    real = graph.node("Unsqueeze", graph.node("Cast", mask, to=1), graph.weight([2]))
    if isinstance(model.encoder, TPREncoder):
        fillers, roles = read_words(graph, model.encoder, words, real, mask, ends, places)
        summary = summarise(graph, fillers, roles, model, ends, places)
    else:
        assert isinstance(model.encoder, LSTMEncoder)
        fillers, roles, summary = read_plainly(graph, model.encoder, words, counts, real)
    if model.config.normalised:
        fillers, roles = (unit(graph, part) for part in (fillers, roles))
    hidden = mapped = summary
    for layer in model.decoder.reasoning.layers:
        mapped = graph.linear(hidden, layer.weight, layer.bias)  # type: ignore[arg-type]
        hidden = graph.node("Tanh", mapped)
    cell = mapped if model.config.initial_cell == "mapped" else graph.node("Sub", hidden, hidden)
    directions, d_filler, d_role = context_sizes(model)
    graph.give("mask", mask, "BOOL", "batch", "words")
    graph.give("fillers", fillers, "FLOAT", "batch", directions, "words", d_filler)
    graph.give("roles", roles, "FLOAT", "batch", directions, "words", d_role)
    graph.give("hidden", hidden, "FLOAT", "batch", model.config.d_state)
    graph.give("cell", cell, "FLOAT", "batch", model.config.d_state)
    if isinstance(model.decoder.grounding, Grounding):
        give_names(graph, model, model.decoder.grounding, words, real, fillers, roles)
    return graph.finish()


def unit(graph: Graph, vectors: str) -> str:
    """Vectors of length 1; zero stays zero."""
    square = graph.node("ReduceSum", graph.node("Mul", vectors, vectors), graph.weight([-1]), keepdims=1)
    return graph.node("Div", vectors, graph.node("Max", graph.node("Sqrt", square), graph.weight(1e-12)))


def context_sizes(model: Model) -> tuple[int, int, int]:
    """Directions, width of a filler, width of a role, as the decoder attends to them."""
    config = model.config
    if isinstance(model.encoder, TPREncoder):
        return len(model.encoder.readers), config.d_filler, config.d_role
    return 1, config.d_context, 1


def read_words(
    graph: Graph, encoder: TPREncoder, words: str, real: str, mask: str, ends: str, places: str
) -> tuple[str, str]:
    """The TPR encoder: fillers and roles of every word in every reading direction."""
    one = graph.weight(np.array(1))
    mirror = graph.node("Where", mask, graph.node("Sub", graph.node("Sub", ends, one), places), places)
    batch = graph.node("Gather", graph.node("Shape", words), graph.weight([0]), axis=0)
    embedded = embed_words(graph, encoder.embedding, words, real)
    directions: list[list[str]] = []
    for way, reader in enumerate(encoder.readers):
        assert isinstance(reader, Reader)
        seen = embedded if way == 0 else _reorder(graph, embedded, mirror)
        given = graph.node("Transpose", graph.linear(seen, reader.input, reader.bias), perm=[1, 0, 2])
        shape = graph.node("Concat", batch, graph.weight([reader.recurrent.shape[1]]), axis=0)
        nothing = graph.node("Expand", graph.weight(np.zeros((1, 1), np.float32)), shape)
        body = scan_body(f"word_{way}", reader)
        _, _, _, *scanned = graph.nodes_of("Scan", 5, nothing, nothing, nothing, given, body=body, num_scan_inputs=1)
        found = []
        for values in scanned:
            ordered = graph.node("Mul", graph.node("Transpose", values, perm=[1, 0, 2]), real)
            if way:
                ordered = _reorder(graph, ordered, mirror)
            found.append(graph.node("Unsqueeze", ordered, graph.weight([1])))
        directions.append(found)
    fillers, roles = (graph.node("Concat", *parts, axis=1) for parts in zip(*directions))
    return fillers, roles


def _reorder(graph: Graph, values: str, places: str) -> str:
    """The values [batch, words, d] of each row in the order of its places."""
    index = graph.node("Unsqueeze", places, graph.weight([2]))
    index = graph.node("Expand", index, graph.node("Shape", values))
    return graph.node("GatherElements", values, index, axis=1)


def embed_words(graph: Graph, embedding: WordEmbedding, words: str, real: str) -> str:
    """The vectors [batch, words, d_word] of words; those that are repeated in their text are marked."""
    vectors = graph.node("Gather", graph.weight(embedding.table()), words, axis=0)
    if embedding.repeats is None:
        return vectors
    pairs = (graph.node("Unsqueeze", words, graph.weight([axis])) for axis in (2, 1))
    same = graph.node("Cast", graph.node("Equal", *pairs), to=1)
    same = graph.node("Mul", same, graph.node("Transpose", real, perm=[0, 2, 1]))
    later = graph.node("Trilu", same, graph.weight(np.array(1)), upper=1)
    before = graph.node("Trilu", same, graph.weight(np.array(-1)), upper=0)
    # All products are 0 or 1, so a sum that is limited says whether there is any.
    counts = (graph.node("ReduceSum", part, graph.weight([2]), keepdims=1) for part in (later, before))
    limit = graph.weight(np.array(1, np.float32))
    marks = graph.node("Concat", *(graph.node("Min", count, limit) for count in counts), axis=2)
    return graph.node("Add", vectors, graph.node("MatMul", marks, graph.weight(embedding.repeats)))


def summarise(graph: Graph, fillers: str, roles: str, model: Model, ends: str, places: str) -> str:
    """T_S: the sum of all bindings, or of those of the last word that each direction reads."""
    if model.config.summary == "last":
        one, zero = graph.weight(np.array(1)), graph.weight(np.array(0))
        last = [graph.node("Equal", places, graph.node("Sub", ends, one))]
        if model.config.bidirectional:
            # Read from right to left, the last word is the first.
            last.append(graph.node("Equal", graph.node("Mul", ends, places), zero))
        kept = (graph.node("Unsqueeze", graph.node("Cast", way, to=1), graph.weight([1, 3])) for way in last)
        fillers = graph.node("Mul", fillers, graph.node("Concat", *kept, axis=1))
    bound = graph.node("MatMul", graph.node("Transpose", fillers, perm=[0, 1, 3, 2]), roles)
    return graph.node("Reshape", bound, graph.weight([-1, model.config.d_context]))


def read_plainly(graph: Graph, encoder: LSTMEncoder, words: str, counts: str, real: str) -> tuple[str, str, str]:
    """The plain LSTM: its states as fillers, bound to the role 1, and the summary."""
    lstm = encoder.lstm
    parameters = dict(lstm.named_parameters())
    ways = ("", "_reverse") if lstm.bidirectional else ("",)

    def stacked(*names: str) -> str:
        # torch stacks input, forget, candidate, output; ONNX input, output, forget, candidate.
        rows = []
        for way in ways:
            pieces = [parameters[f"{name}_l0{way}"].detach().chunk(4) for name in names]
            rows.append(torch.cat([piece[gate] for piece in pieces for gate in (0, 3, 1, 2)]))
        return graph.weight(torch.stack(rows))

    given = embed_words(graph, encoder.embedding, words, real)
    states, last = graph.nodes_of(
        "LSTM",
        2,
        graph.node("Transpose", given, perm=[1, 0, 2]),
        stacked("weight_ih"),
        stacked("weight_hh"),
        stacked("bias_ih", "bias_hh"),
        graph.node("Cast", counts, to=6),
        hidden_size=lstm.hidden_size,
        direction="bidirectional" if lstm.bidirectional else "forward",
    )
    flat = graph.node("Reshape", graph.node("Transpose", states, perm=[2, 0, 1, 3]), graph.weight([0, 0, -1]))
    fillers = graph.node("Mul", flat, real)
    if encoder.summary == "sum":
        summary = graph.node("ReduceSum", fillers, graph.weight([1]), keepdims=0)
    else:
        summary = graph.node("Reshape", graph.node("Transpose", last, perm=[1, 0, 2]), graph.weight([0, -1]))
    fillers = graph.node("Unsqueeze", fillers, graph.weight([1]))
    width = len(ways) * lstm.hidden_size
    first = graph.node("Slice", fillers, graph.weight([0]), graph.weight([1]), graph.weight([3]))
    roles = graph.node("Add", graph.node("Sub", first, first), graph.weight(1.0))
    return fillers, roles, graph.node("Reshape", summary, graph.weight([-1, width]))


def scan_body(name: str, reader: Reader) -> Any:
    """One word: gates of both LSTMs, choice of filler and role, their binding (appendix A.2.1)."""
    d_filler, d_role = reader.filler_dictionary.shape[0], reader.role_dictionary.shape[0]
    d = reader.recurrent.shape[1]
    body = Graph(name)
    binding = body.take(f"{name}_before", "FLOAT", "batch", d)
    cells = [body.take(f"{name}_{side}_cell_before", "FLOAT", "batch", d) for side in ("filler", "role")]
    given = body.take(f"{name}_given", "FLOAT", "batch", 8 * d)
    gates = body.node("Add", given, body.linear(binding, reader.recurrent))
    pieces = body.nodes_of("Split", 8, gates, body.weight([d] * 8), axis=1)
    sides = (
        (reader.filler_selection, reader.filler_bias, reader.filler_dictionary, reader.filler_shift),
        (reader.role_selection, reader.role_bias, reader.role_dictionary, reader.role_shift),
    )
    chosen, after = [], []
    for side, (selection, bias, dictionary, shift) in enumerate(sides):
        cell, shown = lstm_gates(body, body.node("Concat", *pieces[side::2], axis=1), cells[side], d)
        scores = body.node("Div", body.linear(shown, selection, bias), body.weight(reader.temperature))
        vectors = dictionary if shift is None else dictionary + shift
        chosen.append(body.linear(body.node("Softmax", scores, axis=1), vectors))
        after.append(cell)
    filler, role = chosen
    column, row = body.node("Unsqueeze", filler, body.weight([2])), body.node("Unsqueeze", role, body.weight([1]))
    bound = body.node("Reshape", body.node("MatMul", column, row), body.weight([-1, d]))
    body.give(f"{name}_binding", bound, "FLOAT", "batch", d)
    body.give(f"{name}_filler_cell", after[0], "FLOAT", "batch", d)
    body.give(f"{name}_role_cell", after[1], "FLOAT", "batch", d)
    body.give(f"{name}_filler", filler, "FLOAT", "batch", d_filler)
    body.give(f"{name}_role", role, "FLOAT", "batch", d_role)
    return body.onnx.helper.make_graph(body.nodes, name, body.inputs, body.outputs, body.weights)
