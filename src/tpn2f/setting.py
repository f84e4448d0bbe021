"""What a model is made of, as a checkpoint holds it: the config, the vocabularies, and the weights that fit them.

A checkpoint may come from a stranger. What it says is checked before it costs memory, and the files of Python that it
names are not run unasked. Knows no domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from tpn2f.checkpoint import Checkpoint, check_weights, load_weights
from tpn2f.codec import Codec
from tpn2f.config import Config, make_config
from tpn2f.domain.loading import names_code
from tpn2f.errors import CheckpointError, N2FError
from tpn2f.model import Model, build_model
from tpn2f.program import MAX_ARGUMENTS, MAX_TUPLES
from tpn2f.vocabulary import Vocabulary

VOCABULARIES = ("words", "relations", "arguments")


def make_model(config: Config, codec: Codec) -> Model:
    """A fresh model of the right sizes."""
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    return build_model(config.model, *sizes, codec.argument_of_word())


def check_code(config: Config, domain: str | None, where: str) -> None:
    """Raises CheckpointError if a model would have to run files of Python that the person did not name."""
    if domain is None and names_code(config.data.domain):
        raise CheckpointError(
            f"{where} names code as its domain, {config.data.domain[:100]}, which is not run unasked: if you trust it, "
            f"name it with --domain {config.data.domain[:100]}, or say --trust"
        )
    if names_code(config.model.variant):
        raise CheckpointError(
            f"{where} names code as its model variant, {config.model.variant[:100]}, which is not run unasked: if you "
            "trust it, say --trust"
        )


def names_files(config: Config) -> bool:
    """Whether a config names code, or a folder with a pre-trained encoder, that is not installed."""
    own = (config.data.domain, config.model.variant)
    return any(map(names_code, own)) or (bool(config.data.reader) and Path(config.data.reader).is_dir())


def rebuild_model(config: Config, codec: Codec, weights: Mapping[str, Tensor], where: str) -> Model:
    """The model of a checkpoint. Sizes that do not fit the weights are found before they cost any memory."""
    try:
        if not config.model.variant:
            with torch.device("meta"):
                own = make_model(config, codec).state_dict()
            check_weights(own, weights, where)
        model = make_model(config, codec)
    except N2FError:
        raise
    except Exception as error:
        # What torch says to sizes that it cannot count, and a variant to sizes that it cannot take.
        raise CheckpointError(f"{where}: its settings make no model: {' '.join(str(error).split())[:200]}") from error
    load_weights(model, weights, where)
    return model


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
    counts: dict[str, int] = {}
    for name, most in (("n_positions", MAX_ARGUMENTS), ("longest", MAX_TUPLES)):
        count = checkpoint.state[name]
        if type(count) is not int or not 1 <= count <= most:
            raise CheckpointError(f"{where}: the checkpoint's {name} is {str(count)[:40]}; expected 1 to {most:,}")
        counts[name] = count
    words, relations, arguments = (vocabularies[name] for name in VOCABULARIES)
    return config, Codec(words, relations, arguments, counts["n_positions"], counts["longest"])
