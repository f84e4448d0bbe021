"""A training that starts from the weights of another: words and symbols by name, and what does not fit is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_training_loop import CONFIG, make_trainer
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError, ConfigError
from tpn2f.model import ModelConfig
from tpn2f.solver import Solver, make_model
from tpn2f.training import Trainer


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "first"
    for _ in make_trainer(folder).run():
        pass
    return folder


def build(model: ModelConfig, codec: Codec):
    return make_model(replace(CONFIG, model=model), codec)


def starting(trained: Path, folder: Path, **changes) -> Trainer:
    config: Config = replace(CONFIG, training=replace(CONFIG.training, start=str(trained)))
    config = replace(config, **{part: replace(getattr(config, part), **values) for part, values in changes.items()})
    return Trainer(config, load_domain("arithmetic"), folder)


def test_the_same_model_starts_with_the_best_weights(trained, tmp_path):
    earlier = dict(Solver.load(trained).model.named_parameters())
    for name, parameter in starting(trained, tmp_path).model.named_parameters():
        assert torch.equal(parameter, earlier[name]), name


def test_rows_are_found_by_their_tokens(trained, tmp_path):
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
    earlier = dict(Solver.load(trained).model.named_parameters())
    model = starting(trained, tmp_path, model={"d_chained": 6}).model
    chaining = {name for name, _ in model.named_parameters()} - set(earlier)
    assert chaining and all(name.startswith("decoder.chaining.") for name in chaining)
    assert all(torch.equal(parameter, earlier[name]) for name, parameter in model.named_parameters() if name in earlier)
    assert not model.decoder.chaining.output.weight.any()


def test_a_model_that_writes_fewer_arguments_is_a_start(trained, tmp_path):
    from tpn2f.training.weight_start import Earlier, start_weights

    earlier = Solver.load(trained)
    codec = replace(earlier.codec, n_positions=earlier.codec.n_positions + 1)
    for more in ({}, {"grounded": True}):
        model = replace(CONFIG.model, **more)
        start = build(model, earlier.codec)
        wider = build(model, codec)
        start_weights(wider, codec, Earlier("first", earlier.codec, start.state_dict()))
        symbol = CONFIG.model.d_symbol
        kept = (1 + earlier.codec.n_positions) * symbol
        assert torch.equal(wider.decoder.lstm.input[:, :kept], start.decoder.lstm.input)
        assert not wider.decoder.lstm.input[:, kept:].any()
        assert torch.equal(wider.decoder.position_unbinding[:-1], start.decoder.position_unbinding)
        # Relations have the same scores.
        batch = earlier.codec.batch(list(earlier.domain.examples("dev"))[:4])
        states = [one.eval().start(one.encode(batch.words, batch.word_counts)) for one in (start, wider)]
        scores = [one.log_probabilities(state) for one, state in zip((start, wider), states)]
        n = len(earlier.codec.relations)
        assert torch.allclose(scores[0][:, :n].softmax(-1), scores[1][:, :n].softmax(-1), atol=1e-5)


def test_arguments_that_are_chained_are_found_by_their_names(trained, tmp_path):
    from tpn2f.training.weight_start import Earlier, start_weights
    from tpn2f.vocabulary import SPECIALS, Vocabulary

    earlier = Solver.load(trained)
    model = replace(CONFIG.model, d_chained=6)
    start, later = build(model, earlier.codec), build(model, earlier.codec)
    tokens = earlier.codec.arguments.tokens
    turned = Vocabulary(reversed(tokens[len(SPECIALS) :]))
    torch.nn.init.normal_(start.decoder.chaining.output.weight)
    start_weights(later, replace(earlier.codec, arguments=turned), Earlier("first", earlier.codec, start.state_dict()))
    for token in turned.tokens:
        mine, its = turned.id(token), earlier.codec.arguments.id(token)
        assert torch.equal(later.decoder.chaining.output.weight[mine], start.decoder.chaining.output.weight[its])


def test_what_does_not_fit_is_refused(trained, tmp_path):
    with pytest.raises(CheckpointError, match="has the shape"):
        starting(trained, tmp_path, model={"d_relation": 8})
    with pytest.raises(CheckpointError, match="has no weights"):
        starting(trained, tmp_path, model={"grounded": True})
    with pytest.raises(ConfigError, match=r"training\.start"):
        starting(trained, tmp_path, model={"decoder": "lstm"})
    with pytest.raises(CheckpointError, match="nowhere"):
        starting(tmp_path / "nowhere", tmp_path)
