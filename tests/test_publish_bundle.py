"""Models to give away: halved, verified, found by name or as a folder, with a card that tells what they are worth."""

import json
import re

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
from tpn2f.publish.bundle import CARD, halve, without_rare_words, write_bundle, write_half
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


def test_only_a_model_with_a_reader_leaves_words_out(run):
    half = halve(read_checkpoint(run / "checkpoints" / "best"))
    assert without_rare_words(half, 10) is half


def test_weights_that_float16_cannot_hold_are_refused(run):
    whole = read_checkpoint(run / "checkpoints" / "best")
    name = next(iter(whole.tensors["model"]))
    huge = {**whole.tensors["model"], name: torch.full_like(whole.tensors["model"][name], 1e6)}
    with pytest.raises(CheckpointError, match=f"{name} has weights that float16 cannot hold"):
        halve(Checkpoint({"model": huge}, whole.state, whole.texts))


def test_a_bundle_is_found_by_its_name_and_has_a_card(run, tmp_path, monkeypatch):
    for module in (pretrained, bundle):
        monkeypatch.setattr(module, "PRETRAINED", tmp_path / "pretrained")
    place = write_bundle(run, "toy", [REPORT])
    assert bundled_models() == ["toy"]
    assert Solver.load("toy").domain.name == "arithmetic"
    card = (place / CARD).read_text()
    for part in ("# toy", "| all | 1,234 | 81.2 [80.0, 82.0] |", "| data sha256 | abc |", "7 of 60", "[training]"):
        assert part in card
    with pytest.raises(CheckpointError, match=r"no model nothing: expected a run directory or a bundled model \(toy\)"):
        Solver.load("nothing")


def test_a_model_that_is_too_large_is_not_bundled(run, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "LARGEST", 1000)
    monkeypatch.setattr(bundle, "PRETRAINED", tmp_path / "pretrained")
    with pytest.raises(CheckpointError, match="expected at most 1,000 for a bundled model"):
        write_bundle(run, "toy", [])
    assert not (tmp_path / "pretrained").exists()


def test_a_folder_for_a_hub_is_loaded_and_keeps_what_else_is_in_it(run, tmp_path):
    folder = tmp_path / "hub"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main")
    assert write_bundle(run, "toy", [REPORT], folder, licence="mit") == folder
    assert {"README.md", "config.json", "model.safetensors", "words.txt", "manifest.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert json.loads((folder / "config.json").read_text())["model_type"] == "tpn2f"
    (folder / CARD).write_text("edited by its owner")
    assert Solver.load(folder).domain.name == "arithmetic", "a card is not what is verified"
    again = read_checkpoint(folder)
    write_checkpoint(folder, again)
    assert (folder / CARD).read_text() == "edited by its owner" and (folder / ".git" / "HEAD").exists()


def test_a_card_has_the_fields_that_hubs_expect(run, tmp_path):
    yaml = pytest.importorskip("yaml")
    card = (write_bundle(run, "toy", [REPORT], tmp_path / "hub", licence="mit") / CARD).read_text()
    found = re.fullmatch(r"---\n(.*?)\n---\n(.*)", card, re.DOTALL)
    assert found is not None
    header = yaml.safe_load(found[1])
    assert (header["license"], header["library_name"], header["language"]) == ("mit", "tpn2f", "en")
    assert header["datasets"] == ["arithmetic"]
    ((result,),) = [index["results"] for index in header["model-index"]]
    assert result["metrics"] == [
        {"type": "strict", "value": 81.2, "name": "strict in percent, 95 % interval 80.0 to 82.0"}
    ]
    assert re.findall("^## (.*)", card, re.MULTILINE) == [
        *("Intended use", "Data and licences", "Metrics", "Limits", "Config", "Citation")
    ]
    assert 'Solver.load("hub")' in card


def test_a_pointer_in_place_of_weights_is_told(run, tmp_path):
    folder = write_bundle(run, "toy", [], tmp_path / "hub")
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    with pytest.raises(CheckpointError, match="pointer of Git LFS"):
        Solver.load(folder)


def test_what_calibration_found_goes_into_a_bundle():
    """A belief is worth nothing without the choice and the second opinion that it was fitted with."""
    found = {"temperature": 1.0, "belief": {}, "guess_below": 0.8, "choice": {}, "second": "everyday"}
    state = halve(Checkpoint({"model": {}}, {"config": {}, "standing": {}, "secret": 1, **found}, {})).state
    assert {key: state.get(key) for key in found} == found and "secret" not in state
