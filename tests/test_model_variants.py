"""Models of one's own: found by name or file, refused with a reason, and treated like any other model."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch

from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig, TrainingConfig, load_config
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError, ConfigError
from tpn2f.export import export_model
from tpn2f.model import Model, ModelConfig, build_model, load_variant, variants
from tpn2f.solver import Solver
from tpn2f.training import Trainer

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "gru_reader.py"
SPEC = f"{EXAMPLE}:GRUReader"
SMALL = ModelConfig(variant=SPEC, d_word=16, d_hidden=24, d_symbol=12, d_relation=6, d_argument=6, d_position=3)


def test_no_variant_is_the_family_itself() -> None:
    assert load_variant("") is Model
    assert type(build_model(ModelConfig(), 20, 9, 12, 2)) is Model


def test_a_variant_is_found_by_file_by_module_and_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_variant(SPEC).__name__ == "GRUReader"
    assert load_variant("tpn2f.model.tpn2f:Model") is Model
    point = EntryPoint("mine", "tpn2f.model.tpn2f:Model", variants.ENTRY_POINTS)
    monkeypatch.setattr(variants, "entry_points", lambda group: [point] if group == variants.ENTRY_POINTS else [])
    assert variants.variant_names() == ["mine"]
    assert load_variant("mine") is Model


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("nobody", "no model variant is called 'nobody'"),
        ("nowhere.py:Name", r"nowhere\.py is not a file"),
        (f"{EXAMPLE}:Missing", "has no 'Missing'"),
        (f"{EXAMPLE}:GRUEncoder", "expected a subclass of tpn2f.model.Model"),
        ("tpn2f.model.no_such_module:Name", "loading it failed: ModuleNotFoundError"),
    ],
)
def test_what_is_no_variant_is_refused_with_a_reason(spec: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        load_variant(spec)


def test_padding_and_the_other_questions_of_a_batch_change_nothing() -> None:
    torch.manual_seed(0)
    model = build_model(SMALL, 20, 9, 12, 2).eval()
    words = torch.randint(4, 20, (3, 7))
    counts = torch.tensor([7, 4, 2])
    together = model.encode(words, counts)
    for row, count in enumerate(counts.tolist()):
        alone = model.encode(words[row : row + 1, :count], counts[row : row + 1])
        torch.testing.assert_close(alone.summary[0], together.summary[row])
        torch.testing.assert_close(alone.context_fillers[0], together.context_fillers[row, :, :count])


def test_a_variant_trains_saves_and_solves_like_any_other_model(tmp_path: Path) -> None:
    training = TrainingConfig(epochs=2, batch_size=16, learning_rate=4e-3)
    config = Config("variant", DataConfig("arithmetic", limit=60), SMALL, training)
    events = list(Trainer(config, load_domain("arithmetic"), tmp_path / "run").run())
    losses = [event.loss for event in events if event.kind == "dev"]
    assert losses[-1] < losses[0]
    with pytest.raises(CheckpointError, match=r"names code as its model variant, .*gru_reader\.py:GRUReader.* --trust"):
        Solver.load(tmp_path / "run")
    solver = Solver.load(tmp_path / "run", trust=True)
    assert type(solver.model).__name__ == "GRUReader"
    assert solver.solve("What is the sum of 12 and 4?").program is not None
    with pytest.raises(ConfigError, match="GRUReader cannot be exported"):
        export_model(solver.model, solver.codec, tmp_path / "onnx")


def test_the_setting_of_the_command_line_names_it() -> None:
    config = load_config(Path("arithmetic"), [f"model.variant={SPEC}"])
    domain = load_domain("arithmetic")
    codec = Codec.build(list(domain.examples("dev"))[:50])
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    assert type(build_model(config.model, *sizes)).__name__ == "GRUReader"
