"""A training that starts from the weights of another: words and symbols by name, and what does not fit is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_training_loop import CONFIG, make_trainer
from tpn2f.config import Config
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError, ConfigError
from tpn2f.training import Trainer


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    for _ in make_trainer(folder).run():
        pass
    return folder


def starting(trained: Path, folder: Path, **changes) -> Trainer:
    config: Config = replace(CONFIG, training=replace(CONFIG.training, start=str(trained)))
    config = replace(config, **{part: replace(getattr(config, part), **values) for part, values in changes.items()})
    return Trainer(config, load_domain("arithmetic"), folder)


def test_the_same_model_starts_with_the_best_weights(trained, tmp_path):
    from tpn2f.solver import Solver

    earlier = dict(Solver.load(trained).model.named_parameters())
    for name, parameter in starting(trained, tmp_path).model.named_parameters():
        assert torch.equal(parameter, earlier[name]), name


def test_rows_are_found_by_their_tokens(trained, tmp_path):
    from tpn2f.solver import Solver

    earlier = Solver.load(trained)
    # Rare words are unknown now, so the places of words change.
    later = starting(trained, tmp_path, data={"word_at_least": 20, "limit": 150})
    assert len(later.codec.words) < len(earlier.codec.words)
    table, before = later.model.encoder.embedding.weight, earlier.model.encoder.embedding.weight
    for token in later.codec.words.tokens:
        assert torch.equal(table[later.codec.words.id(token)], before[earlier.codec.words.id(token)]), token


def test_it_learns_on_from_there(trained, tmp_path):
    fresh, further = make_trainer(tmp_path / "fresh"), starting(trained, tmp_path / "further")
    first = [next(event.loss for event in trainer.run() if event.kind == "step") for trainer in (fresh, further)]
    assert first[1] < 0.8 * first[0]


def test_a_chained_model_may_start_from_one_that_is_not(trained, tmp_path):
    from tpn2f.solver import Solver

    earlier = dict(Solver.load(trained).model.named_parameters())
    model = starting(trained, tmp_path, model={"d_chained": 6}).model
    chaining = {name for name, _ in model.named_parameters()} - set(earlier)
    assert chaining and all(name.startswith("decoder.chaining.") for name in chaining)
    assert all(torch.equal(parameter, earlier[name]) for name, parameter in model.named_parameters() if name in earlier)
    assert not model.decoder.chaining.output.weight.any()


def test_what_does_not_fit_is_refused(trained, tmp_path):
    with pytest.raises(CheckpointError, match="has the shape"):
        starting(trained, tmp_path, model={"d_relation": 8})
    with pytest.raises(CheckpointError, match="has no weights"):
        starting(trained, tmp_path, model={"grounded": True})
    with pytest.raises(ConfigError, match=r"training\.start"):
        starting(trained, tmp_path, model={"decoder": "lstm"})
    with pytest.raises(CheckpointError, match="nowhere"):
        starting(tmp_path / "nowhere", tmp_path)
