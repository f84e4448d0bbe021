"""Where word embeddings start: anywhere, from the neighbours that words have in training, or from a file of vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from tpn2f.codec import Codec, Weighted
from tpn2f.config import Config
from tpn2f.errors import ConfigError
from tpn2f.model import Model
from tpn2f.training.processes import Processes
from tpn2f.training.vector_file import VectorFile, read_vectors
from tpn2f.training.word_vectors import word_vectors

OWN = 0.3
"""The random part of an embedding that starts from a given vector."""


def named_vectors(config: Config) -> VectorFile | None:
    """The file that the config names, checked against what the model expects; None where it names none."""
    place, width = config.training.word_vectors, config.model.d_static
    if place in ("random", "company"):
        if width or config.data.more_words:
            raise ConfigError("model.d_static and data.more_words need a file in training.word_vectors")
        return None
    vectors = read_vectors(Path(place))
    if width not in (0, vectors.width):
        raise ConfigError(f"model.d_static is {width}, but {place} has vectors of width {vectors.width}")
    if config.data.more_words and not width:
        raise ConfigError("data.more_words needs model.d_static: without it the additional words are not learned")
    return vectors


@torch.no_grad()
def start_words(
    model: Model,
    codec: Codec,
    examples: Sequence[Weighted],
    config: Config,
    vectors: VectorFile | None,
    processes: Processes,
) -> None:
    """Puts the start into the model. Draws from torch's random numbers."""
    weight = model.encoder.embedding.weight
    # Names of values, such as n0, all have the same neighbours and must stay distinct: they are not changed.
    named = torch.tensor([token in codec.arguments for token in codec.words.tokens], device=weight.device)
    if vectors is not None:
        found = vectors.of(codec.words.tokens).to(weight.device)
    elif config.training.word_vectors == "company":
        found = torch.zeros(weight.shape)
        if processes.leads:
            found = word_vectors((codec.encode_words(example.problem) for example, _ in examples), *weight.shape)
        found = found.to(weight.device)
        processes.sum(found)
    else:
        return
    found[named] = 0.0
    if config.model.d_static:
        learned = torch.zeros(len(found), dtype=torch.bool, device=weight.device)
        learned[list({word for example, _ in examples for word in codec.encode_words(example.problem)})] = True
        model.encoder.embedding.set_static(found, learned)
    else:
        _blend(weight, found)


def _blend(weight: Tensor, vectors: Tensor) -> None:
    """Embeddings become the given directions with a random part of their own, as long as they were before."""
    width = weight.shape[1]
    vectors = torch.nn.functional.pad(vectors, (0, max(0, width - vectors.shape[1])))[:, :width]
    known = vectors.any(1)
    length = weight.square().sum(1).mean().sqrt()
    weight[known] = OWN * weight[known] + math.sqrt(1 - OWN**2) * length * vectors[known]
