"""A model that has learned nothing, as a run directory: quick to load, and its answers are the same every time."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import torch

from conftest import unchecked
from tpn2f.checkpoint import Checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import load_domain
from tpn2f.model import ModelConfig
from tpn2f.setting import make_model, setting

SIZES = {
    **{"n_fillers": 7, "d_filler": 4, "n_roles": 5, "d_role": 3, "d_word": 6, "d_relation": 3, "d_argument": 4},
    **{"d_position": 3, "d_symbol": 5},
}


def make_run(folder: Path, seed: int = 0) -> Path:
    """The run directory of a model for arithmetic."""
    config = Config("tiny", DataConfig("arithmetic"), ModelConfig(**SIZES))
    with unchecked():
        codec = Codec.build(islice(load_domain("arithmetic").examples("train"), 60))
    before = torch.random.get_rng_state()
    torch.manual_seed(seed)
    model = make_model(config, codec)
    torch.random.set_rng_state(before)
    state, texts = setting(config, codec)
    write_checkpoint(folder / "checkpoints" / "best", Checkpoint({"model": model.state_dict()}, state, texts))
    return folder
