"""Bundled models: halved, verified, found by name, with a card that tells what they are worth."""

import pytest
import torch

from tpn2f import pretrained
from tpn2f.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError
from tpn2f.model import ModelConfig
from tpn2f.pretrained import bundled_models
from tpn2f.publish import bundle
from tpn2f.publish.bundle import CARD, halve, write_bundle, write_half
from tpn2f.solver import Solver, make_model, setting

MODEL = ModelConfig(
    n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
)
CONFIG = Config("tiny", DataConfig("arithmetic"), MODEL)
ESTIMATE = {"value": 0.8125, "low": 0.8, "high": 0.82}
REPORT = {"title": "arithmetic test: tiny", "groups": [{"name": "all", "count": 1234, "metrics": {"strict": ESTIMATE}}]}


@pytest.fixture
def run(tmp_path):
    """A run directory as training leaves it."""
    domain = load_domain("arithmetic")
    codec = Codec.build(list(domain.examples("train"))[:200])
    torch.manual_seed(0)
    state, texts = setting(CONFIG, codec)
    standing = {"epoch": 7, "seconds": 90.0}
    state = {**state, "data_sha256": "abc", "standing": standing, "secret": "left behind"}
    weights = make_model(CONFIG, codec).state_dict()
    write_checkpoint(tmp_path / "run" / "checkpoints" / "best", Checkpoint({"model": weights}, state, texts))
    return tmp_path / "run"


def test_a_halved_model_is_the_rounded_one_and_half_as_large(run):
    whole = read_checkpoint(run / "checkpoints" / "best")
    half = read_checkpoint(write_half(run))
    assert half.state.keys() == {"config", "n_positions", "longest", "data_sha256", "standing"}
    for name, tensor in whole.tensors["model"].items():
        assert torch.equal(half.tensors["model"][name], tensor.to(torch.float16))
    problems = [example.problem for example in list(load_domain("arithmetic").examples("dev"))[:10]]
    rounded = Solver.load(run / "half")
    assert all(parameter.dtype == torch.float32 for parameter in rounded.model.parameters())
    assert len(rounded.predict(problems)) == 10


def test_weights_that_float16_cannot_hold_are_refused(run):
    whole = read_checkpoint(run / "checkpoints" / "best")
    name = next(iter(whole.tensors["model"]))
    huge = {**whole.tensors["model"], name: torch.full_like(whole.tensors["model"][name], 1e6)}
    with pytest.raises(CheckpointError, match=f"{name} has weights that float16 cannot hold"):
        halve(Checkpoint({"model": huge}, whole.state, whole.texts))


def test_a_bundle_is_found_by_its_name_and_has_a_card(run, tmp_path, monkeypatch):
    monkeypatch.setattr(pretrained, "PRETRAINED", tmp_path / "pretrained")
    place = write_bundle(run, "toy", [REPORT], tmp_path / "pretrained")
    assert bundled_models() == ["toy"]
    assert Solver.load("toy").domain.name == "arithmetic"
    card = (place / CARD).read_text()
    for part in ("# toy", "| all | 1,234 | 81.25 |", "| data sha256 | abc |", "7 of 60", "[training]", "## Limits"):
        assert part in card
    with pytest.raises(CheckpointError, match=r"no model nothing: expected a run directory or a bundled model \(toy\)"):
        Solver.load("nothing")


def test_a_model_that_is_too_large_is_not_bundled(run, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "LARGEST", 1000)
    with pytest.raises(CheckpointError, match="expected at most 1,000 for a bundled model"):
        write_bundle(run, "toy", [], tmp_path / "pretrained")
    assert not (tmp_path / "pretrained").exists()
