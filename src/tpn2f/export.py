"""A model as two ONNX graphs, for programs without torch: `encoder.onnx` and `step.onnx`, and the words as JSON.

The encoder takes word ids to what the decoder attends to and to its first state; the step takes a state and the tuple
before (of a flat decoder: the symbol before) to the next state and the log-probabilities of what comes. Both take any
number of problems, the encoder any number of words. Of grounded arguments the encoder gives keys and embeddings, which
the step takes beside the state; `symbols.json` says which arguments these are. The graphs are written node by node from the equations, so the
exporter needs no tracing; a test holds them equal to the model. Search and masks are left to whoever runs them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tpn2f.codec import Codec
from tpn2f.errors import ConfigError
from tpn2f.model import END, NONE, PAD, START, Model
from tpn2f.model.attention import AttentionLSTM
from tpn2f.model.baselines import LSTMEncoder
from tpn2f.model.decoder import TupleDecoder
from tpn2f.model.encoder import Reader, TPREncoder
from tpn2f.model.grounding import Grounding

OPSET = 18
FILES = ("encoder.onnx", "step.onnx", "symbols.json")


def export_model(model: Model, codec: Codec, folder: Path) -> list[Path]:
    """Writes the files. Raises ConfigError without the extra, or where they cannot be written."""
    encoder, step = encoder_graph(model), step_graph(model)
    symbols = {
        "words": codec.words.tokens,
        "relations": codec.relations.tokens,
        "arguments": codec.arguments.tokens,
        "n_positions": codec.n_positions,
        "decoder": model.config.decoder,
        "specials": {"pad": PAD, "start": START, "end": END, "none": NONE},
        "grounded": [codec.arguments[argument] for argument in _grounded(model)[1]],
    }
    paths = [folder / name for name in FILES]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, graph in zip(paths, (encoder, step)):
            path.write_bytes(graph.SerializeToString())
        paths[2].write_text(json.dumps(symbols, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    return paths


class Graph:
    """An ONNX graph as it grows. A value is its name; constants and weights become initializers."""

    def __init__(self, name: str) -> None:
        try:
            import onnx
        except ImportError as error:
            raise ConfigError("export needs the extra of that name: pip install 'tpn2f[export]'") from error
        self.onnx, self.name = onnx, name
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.made = 0

    def take(self, name: str, kind: str, *shape: str | int) -> str:
        """An input of the graph; kinds are FLOAT, INT64 and BOOL."""
        code = getattr(self.onnx.TensorProto, kind)
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, code, shape))
        return name

    def give(self, name: str, value: str, kind: str, *shape: str | int) -> None:
        """An output of the graph."""
        code = getattr(self.onnx.TensorProto, kind)
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, code, shape))

    def weight(self, value: Tensor | np.ndarray | list[int] | float) -> str:
        """A constant of the graph."""
        array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = self._new("constant")
        self.weights.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The one output of a new node."""
        return self.nodes_of(kind, 1, *inputs, **attributes)[0]

    def nodes_of(self, kind: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        outputs = [self._new(kind.lower()) for _ in range(count)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, outputs, **attributes))
        return outputs

    def linear(self, value: str, weight: Tensor, bias: Tensor | None = None) -> str:
        """value @ weight.T + bias."""
        product = self.node("MatMul", value, self.weight(weight.detach().T))
        return product if bias is None else self.node("Add", product, self.weight(bias))

    def finish(self) -> Any:
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        made = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tpn2f", ir_version=10
        )
        self.onnx.checker.check_model(made, full_check=True)
        return made

    def _new(self, kind: str) -> str:
        self.made += 1
        return f"{self.name}_{kind}_{self.made}"


def lstm_gates(graph: Graph, gates: str, cell: str, width: int) -> tuple[str, str]:
    """The next cell and output of an LSTM whose gates are stacked: forget, input, output, candidate."""
    forget, write, show, new = graph.nodes_of("Split", 4, gates, graph.weight([width] * 4), axis=1)
    kept = graph.node("Mul", graph.node("Sigmoid", forget), cell)
    added = graph.node("Mul", graph.node("Sigmoid", write), graph.node("Tanh", new))
    cell = graph.node("Add", kept, added)
    return cell, graph.node("Mul", graph.node("Sigmoid", show), graph.node("Tanh", cell))


# The encoder


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
        fillers, roles, summary = read_plainly(graph, model.encoder, words, counts, real)
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
    if model.decoder.grounding is not None:
        give_names(graph, model, model.decoder.grounding, words, real, fillers, roles)
    return graph.finish()


def _grounded(model: Model) -> tuple[list[int], list[int]]:
    """The words that are arguments, and which arguments they are."""
    known = [] if model.argument_of_word is None else model.argument_of_word.tolist()
    words = [word for word, argument in enumerate(known) if argument != PAD]
    return words, [known[word] for word in words]


def give_names(
    graph: Graph, model: Model, grounding: Grounding, words: str, real: str, fillers: str, roles: str
) -> None:
    """Keys and embeddings of all grounded arguments, from the mean binding of each; zero for what stands nowhere."""
    config, (names, _) = model.config, _grounded(model)
    same = graph.node("Equal", graph.node("Unsqueeze", words, graph.weight([2])), graph.weight(np.array(names, int)))
    places = graph.node("Mul", graph.node("Cast", same, to=1), real)
    counts = graph.node("ReduceSum", places, graph.weight([1]), keepdims=1)
    shares = graph.node("Div", places, graph.node("Max", counts, graph.weight(1.0)))
    column, row = graph.node("Unsqueeze", fillers, graph.weight([4])), graph.node("Unsqueeze", roles, graph.weight([3]))
    bound = graph.node("Transpose", graph.node("Mul", column, row), perm=[0, 2, 1, 3, 4])
    bound = graph.node("Reshape", bound, graph.weight([0, 0, -1]))
    means = graph.node("MatMul", graph.node("Transpose", shares, perm=[0, 2, 1]), bound)
    keys, embeddings = graph.linear(means, grounding.key.weight), graph.linear(means, grounding.feedback.weight)
    graph.give("grounded_keys", keys, "FLOAT", "batch", len(names), config.d_grounded)
    graph.give("grounded_embeddings", embeddings, "FLOAT", "batch", len(names), config.d_symbol)


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
    embedding = graph.weight(encoder.embedding.table())
    directions: list[list[str]] = []
    for way, reader in enumerate(encoder.readers):
        assert isinstance(reader, Reader)
        ids = words if way == 0 else graph.node("GatherElements", words, mirror, axis=1)
        embedded = graph.node("Gather", embedding, ids, axis=0)
        given = graph.node("Transpose", graph.linear(embedded, reader.input, reader.bias), perm=[1, 0, 2])
        shape = graph.node("Concat", batch, graph.weight([reader.recurrent.shape[1]]), axis=0)
        nothing = graph.node("Expand", graph.weight(np.zeros((1, 1), np.float32)), shape)
        body = scan_body(f"word_{way}", reader)
        _, _, _, *scanned = graph.nodes_of("Scan", 5, nothing, nothing, nothing, given, body=body, num_scan_inputs=1)
        found = []
        for values in scanned:
            ordered = graph.node("Mul", graph.node("Transpose", values, perm=[1, 0, 2]), real)
            if way:
                index = graph.node("Unsqueeze", mirror, graph.weight([2]))
                index = graph.node("Expand", index, graph.node("Shape", ordered))
                ordered = graph.node("GatherElements", ordered, index, axis=1)
            found.append(graph.node("Unsqueeze", ordered, graph.weight([1])))
        directions.append(found)
    fillers, roles = (graph.node("Concat", *parts, axis=1) for parts in zip(*directions))
    return fillers, roles


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

    given = graph.node("Gather", graph.weight(encoder.embedding.table()), words, axis=0)
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


# The decoding step


def step_graph(model: Model) -> Any:
    """Recur and unbind: the symbols before and a state -> the next state and the log-probabilities of what comes."""
    graph = Graph("step")
    decoder, d = model.decoder, model.config.d_state
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


def take_names(graph: Graph, model: Model, previous: str) -> str:
    """What grounded arguments of the symbols before add to the decoder's input: U of their embeddings."""
    config, (_, arguments) = model.config, _grounded(model)
    graph.take("grounded_keys", "FLOAT", "rows", len(arguments), config.d_grounded)
    embeddings = graph.take("grounded_embeddings", "FLOAT", "rows", len(arguments), config.d_symbol)
    # Which grounded argument a symbol is: a row with a one, or none.
    which = graph.node("Gather", graph.weight(_places(model).T), previous, axis=0)
    vectors = graph.node("Reshape", graph.node("MatMul", which, embeddings), graph.weight([0, -1]))
    return graph.linear(vectors, model.decoder.lstm.input)


def score_names(graph: Graph, model: Model, grounding: Grounding, hidden: str) -> str:
    """What is added to the scores of arguments, or of joint symbols, at every position."""
    queries = graph.linear(hidden, grounding.query.weight)
    queries = graph.node("Reshape", queries, graph.weight([0, grounding.n_positions, -1]))
    scores = graph.node("MatMul", queries, graph.node("Transpose", "grounded_keys", perm=[0, 2, 1]))
    return graph.node("MatMul", scores, graph.weight(_places(model)))


def _places(model: Model) -> np.ndarray:
    """[grounded, symbol]: a one where the argument is; symbols are joint ones for a flat decoder."""
    _, arguments = _grounded(model)
    first, size = (
        (0, model.n_arguments) if isinstance(model.decoder, TupleDecoder) else (model.n_relations, model.n_symbols)
    )
    places = np.zeros((len(arguments), size), np.float32)
    places[np.arange(len(arguments)), first + np.array(arguments, int)] = 1
    return places


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
