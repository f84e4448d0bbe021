"""Grounded arguments in ONNX: the encoder gives their keys and embeddings, the step takes them.

Both graphs have a place for every argument that is a word, whether it stands in a text or not.
"""

from __future__ import annotations

import numpy as np

from tpn2f.export.graph import Graph
from tpn2f.model import PAD, Model
from tpn2f.model.baselines import FlatDecoder
from tpn2f.model.decoder import TupleDecoder
from tpn2f.model.grounding import Grounding


def grounded_words(model: Model) -> tuple[list[int], list[int]]:
    """The words that are arguments, and which arguments they are; none where arguments are not grounded."""
    known = [] if model.argument_of_word is None else model.argument_of_word.tolist()
    words = [word for word, argument in enumerate(known) if argument != PAD]
    return words, [known[word] for word in words]


def give_names(
    graph: Graph, model: Model, grounding: Grounding, words: str, real: str, fillers: str, roles: str
) -> None:
    """Keys and embeddings of all grounded arguments, from the mean binding of each; zero for what stands nowhere."""
    config, (names, _) = model.config, grounded_words(model)
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


def take_names(graph: Graph, model: Model, previous: str) -> str:
    """What the grounded ones among the symbols before add to the decoder's input: U of their embeddings."""
    config, (_, arguments) = model.config, grounded_words(model)
    graph.take("grounded_keys", "FLOAT", "rows", len(arguments), config.d_grounded)
    embeddings = graph.take("grounded_embeddings", "FLOAT", "rows", len(arguments), config.d_symbol)
    assert isinstance(model.decoder, TupleDecoder | FlatDecoder)
    weight = model.decoder.lstm.input
    if isinstance(model.decoder, TupleDecoder):
        # Slot 0 is the relation, which is never grounded.
        ends = graph.weight([1]), graph.weight([1 + model.n_positions]), graph.weight([1])
        previous, weight = graph.node("Slice", previous, *ends), weight[:, config.d_symbol :]
    # A row for every symbol, with a one for the grounded argument that it is.
    which = graph.node("Gather", graph.weight(_places(model).T), previous, axis=0)
    vectors = graph.node("Reshape", graph.node("MatMul", which, embeddings), graph.weight([-1, weight.shape[1]]))
    return graph.linear(vectors, weight)


def score_names(graph: Graph, model: Model, grounding: Grounding, hidden: str) -> str:
    """What is added to the scores of arguments, or of joint symbols, at every position."""
    queries = graph.linear(hidden, grounding.query.weight)
    queries = graph.node("Reshape", queries, graph.weight([-1, grounding.n_positions, model.config.d_grounded]))
    scores = graph.node("MatMul", queries, graph.node("Transpose", "grounded_keys", perm=[0, 2, 1]))
    return graph.node("MatMul", scores, graph.weight(_places(model)))


def _places(model: Model) -> np.ndarray:
    """[grounded, symbol]: a one where the argument is; a flat decoder's symbols are joint ones."""
    flat = not isinstance(model.decoder, TupleDecoder)
    arguments = np.array(grounded_words(model)[1], np.int64)
    places = np.zeros((len(arguments), model.n_symbols if flat else model.n_arguments), np.float32)
    places[np.arange(len(arguments)), arguments + (model.n_relations if flat else 0)] = 1
    return places
