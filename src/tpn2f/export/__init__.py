"""A model as two ONNX graphs, for programs without torch: `encoder.onnx` and `step.onnx`, and the words as JSON.

The encoder takes word ids to what the decoder attends to and to its first state; the step takes a state and the tuple
before (of a flat decoder: the symbol before) to the next state and the log-probabilities of what comes. Both take any
number of problems, the encoder any number of words. Of grounded arguments the encoder gives keys and embeddings, which
the step takes beside the state; `symbols.json` says which arguments these are. The graphs are written node by node from
the equations, so the exporter needs no tracing; a test holds them equal to the model. Search and masks are left to
whoever runs them.
"""

from __future__ import annotations

import json
from pathlib import Path

from tpn2f.codec import Codec
from tpn2f.errors import ConfigError
from tpn2f.export.names import grounded_words
from tpn2f.export.reading import encoder_graph
from tpn2f.export.writing import step_graph
from tpn2f.model import END, NONE, PAD, START, Model

FILES = ("encoder.onnx", "step.onnx", "symbols.json")


def export_model(model: Model, codec: Codec, folder: Path) -> list[Path]:
    """Writes the files. Raises ConfigError without the extra, for a model without graphs, or where they cannot be
    written."""
    if model.config.variant:
        raise ConfigError(f"{model.config.variant} cannot be exported: only the models of the package have graphs")
    if model.config.d_contextual:
        raise ConfigError("a model with a pre-trained reader cannot be exported: it would need the reader beside it")
    if model.config.writes_trees or model.config.encoder == "gru" or model.config.encoder_layers > 1:
        raise ConfigError(
            "a decoder of trees, a GRU and an encoder of several layers cannot be exported: no graph has them"
        )
    if model.config.d_chained:
        raise ConfigError(
            "a model with chained arguments (d_chained) cannot be exported: a step of the graph gives all arguments of "
            "a tuple at once"
        )
    encoder, step = encoder_graph(model), step_graph(model)
    symbols = {
        "words": codec.words.tokens,
        "relations": codec.relations.tokens,
        "arguments": codec.arguments.tokens,
        "n_positions": codec.n_positions,
        "decoder": model.config.decoder,
        "specials": {"pad": PAD, "start": START, "end": END, "none": NONE},
        "grounded": [codec.arguments[argument] for argument in grounded_words(model)[1]],
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
