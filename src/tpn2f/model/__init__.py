"""TP-N2F and the paper's comparison systems: one family, chosen by a config."""

from tpn2f.model.config import END, NONE, PAD, START, ModelConfig, systems
from tpn2f.model.decoder import TupleLogits, TupleState
from tpn2f.model.encoder import Encoding
from tpn2f.model.tpn2f import Loss, Model, State
from tpn2f.model.variants import load_variant, variant_names

__all__ = [
    "END",
    "NONE",
    "PAD",
    "START",
    "Encoding",
    "Loss",
    "Model",
    "ModelConfig",
    "State",
    "TupleLogits",
    "TupleState",
    "build_model",
    "load_variant",
    "systems",
    "variant_names",
]


def build_model(config: ModelConfig, n_words: int, n_relations: int, n_arguments: int, n_positions: int) -> Model:
    """A model with fresh weights from torch's current seed: of the family, or the variant that the config names."""
    sizes = {"n_words": n_words, "n_relations": n_relations, "n_arguments": n_arguments, "n_positions": n_positions}
    for name, size in sizes.items():
        least = 1 if name == "n_positions" else NONE + 1
        if size < least:
            raise ValueError(f"{name} is {size}; expected at least {least}")
    return load_variant(config.variant)(config, **sizes)
