"""Where all weights start: those of a model that was trained before, on other texts or for other words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from tpn2f.checkpoint import read_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.errors import CheckpointError, ConfigError
from tpn2f.model import Model
from tpn2f.pretrained import find_model
from tpn2f.setting import read_setting
from tpn2f.vocabulary import Vocabulary

BEGIN_AS_NOTHING = ("encoder.shortcut", "decoder.chaining.")
"""What adds nothing before it is trained: a model that has none of it is a start, too."""


BY_POSITION = {"decoder.position_unbinding": 0, "decoder.grounding.query.weight": 0, "decoder.lstm.input": 1}
"""What grows with the positions of a tuple, in their order, and along which axis: a model that writes fewer arguments
is a start, too."""


class Earlier(NamedTuple):
    """A trained model to start from."""

    place: str
    codec: Codec
    weights: Mapping[str, Tensor]


def read_start(config: Config) -> Earlier | None:
    """The model that `training.start` names; None where it names none. Raises ConfigError or CheckpointError."""
    place = config.training.start
    if not place:
        return None
    if config.model.decoder != "tpr" or config.model.variant:
        raise ConfigError("training.start is for models that write tuples, without model.variant")
    try:
        checkpoint = read_checkpoint(find_model(place))
    except CheckpointError as error:
        raise CheckpointError(f"training.start: {error}") from error
    return Earlier(place, read_setting(checkpoint, place)[1], checkpoint.tensors.get("model", {}))


@torch.no_grad()
def start_weights(model: Model, codec: Codec, earlier: Earlier) -> None:
    """Puts the weights of another model into one of the same sizes. Words and symbols are found by their names; those
    that the other model does not have stay as they are. So do layers of a reader that it did not tune, and what begins
    as nothing. Raises CheckpointError."""
    place, other, _ = earlier
    weights = _from_the_top(model, earlier.weights)
    for name, parameter in model.named_parameters():
        if name not in weights:
            if name.startswith(BEGIN_AS_NOTHING) or (name.startswith("reader.") and _layers(weights)):
                continue
            raise CheckpointError(f"training.start: {place} has no weights {name}; expected a model of the same config")
        found = weights[name].to(parameter)
        tables = _tables(name, other, codec)
        if tables is not None:
            _copy_rows(parameter, found, *tables)
        elif found.shape == parameter.shape:
            parameter.copy_(found)
        elif name in BY_POSITION and other.n_positions < codec.n_positions:
            _copy_positions(parameter, found, BY_POSITION[name], (other.n_positions, codec.n_positions), place)
        else:
            raise CheckpointError(
                f"training.start: {name} of {place} has the shape {tuple(found.shape)}; this config makes "
                f"{tuple(parameter.shape)}"
            )


def _from_the_top(model: Model, weights: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
    """Tuned layers are counted from the lowest; where more are tuned now, the same layers have higher numbers."""
    here, there = (_layers(names) for names in (dict(model.named_parameters()), weights))
    return {_raised(name, max(here - there, 0)): tensor for name, tensor in weights.items()}


def _layers(names: Iterable[str]) -> int:
    """How many layers of a reader are tuned."""
    return len({name.split(".")[1] for name in names if name.startswith("reader.")})


def _raised(name: str, by: int) -> str:
    part, *rest = name.split(".")
    return ".".join((part, str(int(rest[0]) + by), *rest[1:])) if part == "reader" else name


def _tables(name: str, other: Codec, codec: Codec) -> tuple[Vocabulary, Vocabulary] | None:
    """The vocabularies of which a parameter has a row a token, there and here; None where it has none."""
    if name == "encoder.embedding.weight":
        return other.words, codec.words
    part, _, last = name.rpartition(".")
    if last in ("weight", "bias"):
        if part in ("decoder.relation_embedding", "decoder.relation_output"):
            return other.relations, codec.relations
        if part in ("decoder.argument_embedding", "decoder.argument_output", "decoder.chaining.output"):
            return other.arguments, codec.arguments
    return None


def _copy_rows(parameter: Tensor, found: Tensor, there: Vocabulary, here: Vocabulary) -> None:
    both = [(here.id(token), there.id(token)) for token in here.tokens if token in there]
    new, old = (torch.tensor(places, device=parameter.device) for places in zip(*both))
    if found.shape[1:] != parameter.shape[1:]:
        raise CheckpointError(
            f"training.start: rows of width {tuple(found.shape[1:])} do not fit {tuple(parameter.shape[1:])}"
        )
    parameter[new] = found[old]


def _copy_positions(parameter: Tensor, found: Tensor, axis: int, counts: tuple[int, int], place: str) -> None:
    """Positions that are new begin as nothing: a relation is unbound from all positions together, and the decoder reads
    all of them."""
    # The decoder's input has the relation before the positions: one part more.
    there, here = (count + axis for count in counts)
    along, beside = found.shape[axis] * here, found.shape[1 - axis]
    if (along, beside) != (parameter.shape[axis] * there, parameter.shape[1 - axis]):
        raise CheckpointError(
            f"training.start: {place} has the shape {tuple(found.shape)} for {counts[0]} positions; this config makes "
            f"{tuple(parameter.shape)} for {counts[1]}"
        )
    parameter.zero_()
    parameter.narrow(axis, 0, found.shape[axis]).copy_(found)
