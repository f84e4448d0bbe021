"""What a model is made of, as a checkpoint holds it: the config, the vocabularies, and the weights that fit them.

A checkpoint may come from a stranger. What it says is checked before it costs memory, and the files of Python that it
names are not run unasked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tpn2f.checkpoint import Checkpoint, check_weights, load_weights
from tpn2f.codec import Codec
from tpn2f.config import Config, make_config
from tpn2f.contextual import TunedReader
from tpn2f.domain.loading import load_domain, names_code
from tpn2f.domain.protocol import Domain
from tpn2f.errors import CheckpointError, DomainError, N2FError
from tpn2f.model import Model, build_model
from tpn2f.program import MAX_ARGUMENTS, MAX_TUPLES
from tpn2f.solution import GUESS
from tpn2f.trust.belief import Belief
from tpn2f.trust.memory import (
    BITS,
    LONGEST,
    LONGEST_PROGRAM,
    MOST_HASHED,
    MOST_KEYS,
    MOST_QUESTIONS,
    NONE,
    Hashes,
    Memory,
)
from tpn2f.vocabulary import Vocabulary

VOCABULARIES = ("words", "relations", "arguments")
MEMORY, RUNS, KEYS, COUNTS, KNOWN = "memory", "runs", "keys", "counts", "known.txt"
"""Where a checkpoint has what its model remembers: a group of tensors, those in it, and a text."""
RANDOM = frozenset({torch.Tensor.uniform_, torch.Tensor.normal_})
"""What fills tensors with random numbers, besides `torch.nn.init`."""


def make_model(config: Config, codec: Codec) -> Model:
    """A fresh model of the right sizes. Layers that its reader tunes are among its weights, as they are."""
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    model = build_model(config.model, *sizes, codec.argument_of_word(), codec.tuple_of_argument())
    if isinstance(codec.reader, TunedReader):
        model.reader = codec.reader.tuned
    return model


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


class Unfilled(TorchFunctionMode):
    """Tensors stay without random numbers. Where they have no memory either, torch would load its compiler for them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if func in RANDOM or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else given["tensor"]
        return func(*args, **given)


def rebuild_model(config: Config, codec: Codec, weights: Mapping[str, Tensor], where: str) -> Model:
    """The model of a checkpoint. Sizes that do not fit the weights are found before they cost any memory."""
    try:
        if not config.model.variant:
            with torch.device("meta"), Unfilled():
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


def read_memory(checkpoint: Checkpoint, where: str) -> Memory | None:
    """What a checkpoint's model remembers of its training texts; None if it was never calibrated with them."""
    field = checkpoint.tensors.get(MEMORY, {}).get(RUNS)
    if field is None:
        return None
    if field.dtype != torch.uint8 or field.dim() != 1 or not 0 < len(field) <= BITS:
        raise CheckpointError(f"{where}: the memory is {field.dtype} {tuple(field.shape)}; expected a row of bytes")
    hashed = _read_hashed(checkpoint.tensors[MEMORY], where)
    lines = checkpoint.texts.get(KNOWN, "").splitlines()
    longest = LONGEST + LONGEST_PROGRAM + 1
    texts = sum(not line.startswith("\t") for line in lines)
    if texts > MOST_QUESTIONS or any(len(line) > longest for line in lines):
        raise CheckpointError(
            f"{where}: {KNOWN} has {texts:,} questions; expected at most {MOST_QUESTIONS:,}, of at most {longest} "
            "characters each with their programs"
        )
    if len(lines) - texts != len(hashed.counts) or any(line.startswith("\t") for line in lines[:texts]):
        raise CheckpointError(
            f"{where}: {KNOWN} has {len(lines) - texts:,} programs without a text; expected {len(hashed.counts):,}, "
            "behind the questions"
        )
    return Memory.parse(lines, field.numpy(), hashed)


def hashed_tensors(memory: Memory) -> dict[str, Tensor]:
    """The questions that a memory has as hashes, for a checkpoint."""
    if not len(memory.hashed.counts):
        return {}
    keys, counts = memory.hashed
    return {KEYS: torch.from_numpy(keys.view(np.int32)), COUNTS: torch.from_numpy(counts.astype(np.int32))}


def _read_hashed(tensors: Mapping[str, Tensor], where: str) -> Hashes:
    keys, counts = tensors.get(KEYS), tensors.get(COUNTS)
    if keys is None or counts is None:
        return NONE
    if any(one.dtype != torch.int32 or one.dim() != 1 for one in (keys, counts)):
        raise CheckpointError(f"{where}: the hashes of its memory are no rows of whole numbers")
    sizes = counts.numpy().astype(np.int64)
    fits = len(sizes) <= MOST_HASHED and len(keys) <= 2 * MOST_KEYS and (sizes >= 0).all()
    if not fits or sizes.sum() != len(keys):
        raise CheckpointError(f"{where}: its memory has {len(keys):,} hashes, which its questions do not add up to")
    return Hashes(keys.numpy().view(np.uint32), sizes)


def read_belief(checkpoint: Checkpoint, where: str) -> tuple[Belief | None, float]:
    """How sure the answers of a checkpoint's model are, if it was calibrated, and below what one is called a guess."""
    if "belief" not in checkpoint.state:
        return None, GUESS
    found = checkpoint.state.get("guess_below", GUESS)
    if type(found) not in (int, float) or not 0 <= found <= 1:
        raise CheckpointError(f"{where}: guess_below is {str(found)[:40]}; expected a number from 0 to 1")
    return Belief.from_json(checkpoint.state["belief"], where), float(found)


def read_choice(checkpoint: Checkpoint, where: str) -> Belief | None:
    """What ranks the candidates of a checkpoint's model; None where calibration found nothing."""
    return Belief.from_json(checkpoint.state["choice"], where) if "choice" in checkpoint.state else None


def read_second(checkpoint: Checkpoint, where: str) -> str | None:
    """The name of the model that is asked for a second opinion; None for none."""
    found = checkpoint.state.get("second")
    if found is not None and (not isinstance(found, str) or not 0 < len(found) <= 100):
        raise CheckpointError(f"{where}: its second model is {str(found)[:40]!r}; expected the name of a bundled model")
    return found


def read_temperature(checkpoint: Checkpoint, where: str) -> float | None:
    """What log-probabilities are divided by; None for a model that was never calibrated."""
    found = checkpoint.state.get("temperature")
    if found is not None and not (type(found) in (int, float) and 1e-6 < found < 1e6):
        raise CheckpointError(
            f"{where}: the checkpoint's temperature is {str(found)[:40]!r}; expected a number above 0"
        )
    return found


def load_language(config: Config, domain: str | None, data: Path | str | None, where: str) -> Domain:
    """The domain that the person names, else that of the model."""
    try:
        return load_domain(domain or config.data.domain, data)
    except DomainError as error:
        if domain is not None:
            raise
        raise DomainError(f"{where}: {error}; if its domain is elsewhere now, say where with --domain") from error
