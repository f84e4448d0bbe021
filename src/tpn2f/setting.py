"""What of a checkpoint makes a model again: its config, its vocabularies, and what it remembers of training texts."""

from __future__ import annotations

from dataclasses import asdict

import torch

from tpn2f.checkpoint import Checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config, make_config
from tpn2f.errors import CheckpointError
from tpn2f.model import Model, build_model
from tpn2f.trust.memory import Memory
from tpn2f.vocabulary import Vocabulary

VOCABULARIES = ("words", "relations", "arguments")
MEMORY, RUNS, KNOWN = "memory", "runs", "known.txt"
"""Where a checkpoint has what its model remembers: a group of tensors, the one in it, and a text."""


def make_model(config: Config, codec: Codec) -> Model:
    """A fresh model of the right sizes."""
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    return build_model(config.model, *sizes, codec.argument_of_word())


def setting(config: Config, codec: Codec) -> tuple[dict[str, object], dict[str, str]]:
    """The part of a checkpoint that `read_setting` reads: state and texts."""
    state: dict[str, object] = {
        "config": asdict(config),
        "n_positions": codec.n_positions,
        "longest": codec.longest,
    }
    if codec.reader is not None:
        state["reader"] = dict(codec.reader.identity())
    texts = {f"{name}.txt": getattr(codec, name).text() for name in VOCABULARIES}
    return state, texts


def read_setting(checkpoint: Checkpoint, where: str) -> tuple[Config, Codec]:
    """The config and the codec of a checkpoint. Raises CheckpointError for what is missing."""
    for key in ("config", "n_positions", "longest"):
        if key not in checkpoint.state:
            raise CheckpointError(f"{where}: the checkpoint's state has no {key!r}")
    vocabularies: dict[str, Vocabulary] = {}
    for name in VOCABULARIES:
        if f"{name}.txt" not in checkpoint.texts:
            raise CheckpointError(f"{where}: the checkpoint has no vocabulary {name}.txt")
        vocabularies[name] = Vocabulary.parse(checkpoint.texts[f"{name}.txt"], f"{where}/{name}.txt")
    config = make_config(checkpoint.state["config"], where)
    words, relations, arguments = (vocabularies[name] for name in VOCABULARIES)
    return config, Codec(words, relations, arguments, checkpoint.state["n_positions"], checkpoint.state["longest"])


def read_memory(checkpoint: Checkpoint, where: str) -> Memory | None:
    """What a checkpoint's model remembers of its training texts; None if it was never calibrated with them."""
    field = checkpoint.tensors.get(MEMORY, {}).get(RUNS)
    if field is None:
        return None
    if field.dtype != torch.uint8 or field.dim() != 1 or not len(field):
        raise CheckpointError(f"{where}: the memory is {field.dtype} {tuple(field.shape)}; expected a row of bytes")
    return Memory(checkpoint.texts.get(KNOWN, "").splitlines(), field.numpy())
