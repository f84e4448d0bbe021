"""Models to give away: float16 weights, vocabularies, the config and a card that says what to expect.

A bundled model is a checkpoint directory, verified like any other: under `pretrained/`, or as a folder in the layout of
model hubs. What it is worth is measured after its weights were converted to float16, so the card describes exactly what
is shipped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from tpn2f.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tpn2f.errors import CheckpointError, DataError
from tpn2f.model.bounds import is_plain_name
from tpn2f.pretrained import PRETRAINED
from tpn2f.publish.card import LICENCE, make_card
from tpn2f.setting import MEMORY, read_setting

LARGEST = 30_000_000
"""The most bytes of weights that a bundled model may have."""
HEAD = 16_384
"""What a file of weights has beside them, at most: their names and shapes."""
RARE = 0.15
"""The most of its own words that a model leaves out to keep within that, where a pre-trained encoder reads them too."""
OWN_WORDS = "encoder.embedding.weight"
WORDS = "words.txt"
KEPT = (
    "config",
    "n_positions",
    "longest",
    "reader",
    "data_sha256",
    "standing",
    "temperature",
    "threshold",
    "belief",
    "guess_below",
    "choice",
    "second",
)
"""What of a checkpoint's state goes into a bundle."""
CARD = "README.md"
"""The card of a model, where hubs look for it. A person may edit it, so it is not in the manifest."""
HUB = "config.json"


def halve(checkpoint: Checkpoint) -> Checkpoint:
    """The model of a checkpoint with float16 weights and without what only training needs."""
    weights = {
        name: tensor.to(torch.float16) if tensor.is_floating_point() else tensor
        for name, tensor in checkpoint.tensors.get("model", {}).items()
    }
    for name, tensor in weights.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise CheckpointError(f"{name} has weights that float16 cannot hold")
    state = {key: checkpoint.state[key] for key in KEPT if key in checkpoint.state}
    kept = {group: tensors for group, tensors in checkpoint.tensors.items() if group == MEMORY}
    return Checkpoint({"model": weights, **kept}, state, dict(checkpoint.texts))


def without_rare_words(checkpoint: Checkpoint, largest: int) -> Checkpoint:
    """The model without vectors of its own for its rarest words, as many as make it too large: its pre-trained encoder
    reads them. A model that has none, that has fixed vectors beside its own, or that would lose more than a few stays
    as it is."""
    model = read_setting(checkpoint, "half")[0].model
    weights = dict(checkpoint.tensors["model"])
    over = sum(tensor.nbytes for tensor in weights.values()) - largest
    if over <= 0 or not model.d_contextual or model.d_static:
        return checkpoint
    table = weights[OWN_WORDS]
    kept = len(table) - math.ceil(over / table[0].nbytes)
    if kept < (1 - RARE) * len(table):
        return checkpoint
    # The most frequent ones stand first.
    weights[OWN_WORDS] = table[:kept].clone()
    words = "".join(f"{word}\n" for word in checkpoint.texts[WORDS].split("\n")[:kept])
    tensors = {**checkpoint.tensors, "model": weights}
    return Checkpoint(tensors, checkpoint.state, {**checkpoint.texts, WORDS: words})


def write_half(run: Path) -> Path:
    """The best weights of a run as float16, beside its checkpoints; small enough to be bundled, if rare words make the
    difference. Always written again, so never of older weights."""
    place = run / "half"
    half = halve(read_checkpoint(run / "checkpoints" / "best"))
    write_checkpoint(place, without_rare_words(half, LARGEST - HEAD))
    return place


def write_bundle(
    run: Path,
    name: str,
    reports: Sequence[Mapping[str, Any]],
    folder: Path | None = None,
    texts: Mapping[str, str] | None = None,
    licence: str = LICENCE,
) -> Path:
    """Writes the float16 model of a run, with other `texts` and a card made of its reports: into the package under its
    name, or as a folder of its own, in the layout of model hubs. What else is in that folder stays there."""
    if not is_plain_name(name):
        raise DataError(
            f"{name!r} cannot be the name of a bundled model; expected a plain name: no / \\ : and no dot first"
        )
    half = read_checkpoint(write_half(run))
    size = sum(tensor.nbytes for tensor in half.tensors["model"].values())
    if folder is None and size > LARGEST:
        raise CheckpointError(
            f"{run}: the float16 weights have {size:,} bytes; expected at most {LARGEST:,} for a bundled model"
        )
    place = PRETRAINED / name if folder is None else folder
    try:
        told = make_card(name, half, reports, licence, "" if folder is None else folder.name)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DataError(f"{run}: no card can be made of its state and the reports: {error!r}") from error
    added = {HUB: json.dumps(hub_config(half), indent=1), **(texts or {})}
    write_checkpoint(place, Checkpoint(half.tensors, half.state, {**half.texts, **added}))
    (place / CARD).write_text(told, encoding="utf-8")
    return place


def hub_config(checkpoint: Checkpoint) -> dict[str, Any]:
    """What hubs and their tools look for in `config.json`; loading does not need it."""
    config, codec = read_setting(checkpoint, HUB)
    return {
        "model_type": "tpn2f",
        "architectures": [f"{config.model.encoder} to {config.model.decoder}"],
        "torch_dtype": "float16",
        "vocab_size": len(codec.words),
        "library_name": "tpn2f",
        "library_version": version("tpn2f"),
    }
