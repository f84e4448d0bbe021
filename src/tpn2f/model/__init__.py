"""TP-N2F and the paper's comparison systems: one family, chosen by a config."""

from collections.abc import Sequence
from typing import Any

from tpn2f.model.config import END, NONE, PAD, START, ModelConfig, systems, tree_systems
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
    "tree_systems",
    "variant_names",
]


def build_model(
    config: ModelConfig,
    n_words: int,
    n_relations: int,
    n_arguments: int,
    n_positions: int,
    argument_of_word: Sequence[int] = (),
    tuple_of_argument: Sequence[int] = (),
) -> Model:
    """A model with fresh weights from torch's current seed: of the family, or the variant that the config names.

    `argument_of_word` has for every word the argument that it is, PAD for none; models with `knows_names` need it.
    `tuple_of_argument` has for every argument the tuple that it refers to, -1 for none; models of trees need it.
    """
    sizes = {"n_words": n_words, "n_relations": n_relations, "n_arguments": n_arguments, "n_positions": n_positions}
    for name, size in sizes.items():
        least = 1 if name == "n_positions" else NONE + 1
        if size < least:
            raise ValueError(f"{name} is {size}; expected at least {least}")
    if config.knows_names:
        if len(argument_of_word) != n_words:
            raise ValueError(f"argument_of_word has {len(argument_of_word)} entries; expected one per word, {n_words}")
        if not all(PAD <= argument < n_arguments for argument in argument_of_word):
            raise ValueError(f"argument_of_word names arguments that do not exist; expected 0 to {n_arguments - 1}")
    given: dict[str, Any] = {"tuple_of_argument": tuple_of_argument} if config.writes_trees else {}
    return load_variant(config.variant)(config, **sizes, argument_of_word=argument_of_word, **given)
