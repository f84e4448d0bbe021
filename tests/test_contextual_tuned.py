"""A reader whose last layers are tuned: it begins as the frozen one, only these layers learn, and training resumes."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_contextual_reader import TEXTS
from test_training_loop import CONFIG, assert_same_ends, make_trainer
from tiny_bert import LONGEST, WIDTH, make_bert
from tpn2f.checkpoint import read_checkpoint, write_checkpoint
from tpn2f.config import Config
from tpn2f.contextual import LowerLayers, PretrainedReader, StoredReader, TunedReader
from tpn2f.domain import Problem
from tpn2f.errors import CheckpointError, ConfigError
from tpn2f.export import export_model
from tpn2f.model import ModelConfig
from tpn2f.publish.bundle import OWN_WORDS, halve, without_rare_words
from tpn2f.solver import Solver

LAYERS = 4
PROBLEMS = [Problem(text) for text in (*TEXTS, (), ("what", "is", "sum") * LONGEST, TEXTS[0])]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"), layers=LAYERS)


@pytest.fixture(scope="module")
def frozen(folder: Path) -> PretrainedReader:
    return PretrainedReader(str(folder)).load()


@pytest.fixture(scope="module")
def config(folder: Path) -> Config:
    data = replace(CONFIG.data, reader=str(folder), unmarked=0.2, noise=0.1)
    model = replace(CONFIG.model, d_contextual=WIDTH, reader_layers=1)
    return replace(CONFIG, data=data, model=model, training=replace(CONFIG.training, clip=0.0))


@pytest.fixture(scope="module")
def run(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        assert [event.kind for event in make_trainer(place / "run", config).run()][-1] == "finished"
    return place / "run"


@pytest.mark.parametrize("layers", range(1, LAYERS + 1))
def test_it_begins_as_the_frozen_reader(frozen, layers):
    """Also where tuning begins below the middle layer, in texts of several windows, and in empty ones."""
    for one, other in zip(TunedReader(frozen, layers).read(PROBLEMS), frozen.read(PROBLEMS), strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("layers", [1, LAYERS])
def test_a_store_below_gives_the_same_but_for_rounding(frozen, layers, tmp_path):
    stored = StoredReader(LowerLayers(frozen, layers), tmp_path)
    list(stored.prepare(PROBLEMS))
    assert all(tuple(problem.words) in stored.store for problem in PROBLEMS)
    for one, other in zip(TunedReader(frozen, layers, stored).read(PROBLEMS), frozen.read(PROBLEMS), strict=True):
        torch.testing.assert_close(one.detach(), other, rtol=0, atol=2e-2)
    assert LowerLayers(frozen, 3).key() not in (LowerLayers(frozen, 1).key(), frozen.key())


def test_gradients_reach_the_tuned_layers_alone(frozen):
    reader = TunedReader(frozen, 2)
    torch.cat(reader.read(PROBLEMS)).square().sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for name, weight in reader.tuned.named_parameters())
    assert all(weight.grad is None for weight in frozen._encoder.parameters())
    names = [name for name, _ in reader.tuned.named_parameters()]
    assert {name.partition(".")[0] for name in names} == {"0", "1"}


def test_tuned_at_the_rate_nothing_it_learns_what_it_learns_with_the_frozen_one(config, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A store rounds to 16 bits, and at another layer.
    monkeypatch.setattr(StoredReader, "read", lambda self, problems: self.live.read(problems))
    losses = []
    for name, layers in (("frozen", 0), ("tuned", 2)):
        model = replace(config.model, reader_layers=layers)
        trainer = make_trainer(
            tmp_path / name, replace(config, model=model, training=replace(config.training, reader_rate=0.0, epochs=1))
        )
        started = {part: tensor.clone() for part, tensor in trainer.model.state_dict().items()}
        steps = [event.loss for event in trainer.run() if event.kind == "step"]
        losses.append(torch.tensor(steps))
        for part, tensor in trainer.model.state_dict().items():
            assert torch.equal(tensor, started[part]) == part.startswith("reader."), part
    assert len(losses[0]) > 5
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-5, atol=1e-5)


def test_its_layers_learn_at_a_rate_of_their_own(config, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trainer = make_trainer(tmp_path / "run", config)
    assert trainer.model.reader is not None
    own = {id(weight) for weight in trainer.model.reader.parameters()}
    factors = {
        group["factor"] for group in trainer.optimizer.param_groups if own & {id(weight) for weight in group["params"]}
    }
    assert factors == {config.training.reader_rate}
    list(trainer.run())
    started = dict(TunedReader(PretrainedReader(config.data.reader), 1).tuned.named_parameters())
    for name, weight in trainer.model.reader.named_parameters():
        assert not torch.equal(weight, started[name]), name


def test_stopping_anywhere_and_going_on_changes_nothing(config, run, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(run.parent / "cache"))
    for _ in range(20):
        trainer = make_trainer(tmp_path / "stopped", config)
        trainer.resume()
        steps = 0
        for event in trainer.run():
            steps += event.kind == "step"
            trainer.stop = steps == 5
        if trainer.standing.finished:
            break
    assert_same_ends(run, tmp_path / "stopped")


def test_a_checkpoint_carries_the_tuned_layers_and_their_average(config, run):
    last, best = (read_checkpoint(run / "checkpoints" / name) for name in ("last", "best"))
    tuned = {name for name in last.tensors["model"] if name.startswith("reader.")}
    assert tuned and tuned <= last.tensors["average"].keys() and tuned <= best.tensors["model"].keys()
    assert all(name.startswith("reader.0.") for name in tuned)
    assert any(not torch.equal(last.tensors["model"][name], last.tensors["average"][name]) for name in tuned)
    assert best.state["reader"] == PretrainedReader(config.data.reader).identity()
    half = halve(best)
    assert all(half.tensors["model"][name].dtype == torch.float16 for name in tuned)


def test_a_model_that_is_a_little_too_large_leaves_out_its_rarest_words(run, tmp_path):
    half = halve(read_checkpoint(run / "checkpoints" / "best"))
    table, words = half.tensors["model"][OWN_WORDS], half.texts["words.txt"].split("\n")[:-1]
    size = sum(tensor.nbytes for tensor in half.tensors["model"].values())
    least = size - 2 * table[0].nbytes
    small = without_rare_words(half, least)
    assert sum(tensor.nbytes for tensor in small.tensors["model"].values()) <= least
    assert torch.equal(small.tensors["model"][OWN_WORDS], table[:-2])
    assert small.texts["words.txt"].split("\n")[:-1] == words[:-2] and words[-1].isascii()
    write_checkpoint(tmp_path / "small", small)
    solver = Solver.load(tmp_path / "small", trust=True)
    assert words[-1] not in solver.codec.words and len(solver.codec.words) == len(words) - 2
    assert solver.solve("what is 3 plus 4 ?").program is not None
    assert without_rare_words(half, size) is half
    assert without_rare_words(half, size - len(table) // 2 * table[0].nbytes) is half, "half of its words are too many"


def test_it_answers_with_its_tuned_layers(config, run, tmp_path):
    solver = Solver.load(run, trust=True)
    kept = read_checkpoint(run / "checkpoints" / "best").tensors["model"]
    assert isinstance(solver.codec.reader, TunedReader) and solver.model.reader is not None
    assert solver.model.reader is solver.codec.reader.tuned
    for name, weight in solver.model.reader.named_parameters():
        assert torch.equal(weight, kept[f"reader.{name}"])
    assert solver.solve("what is 3 plus 4 ?", width=3).program is not None
    with pytest.raises(ConfigError, match="a model with a pre-trained reader cannot be exported"):
        export_model(solver.model, solver.codec, tmp_path)


def test_more_layers_learn_on_from_a_model_that_tuned_fewer(config, run, tmp_path):
    more = replace(config.model, reader_layers=3)
    trainer = make_trainer(tmp_path, replace(config, model=more, training=replace(config.training, start=str(run))))
    published = TunedReader(PretrainedReader(config.data.reader).load(), 3).tuned.state_dict()
    kept = read_checkpoint(run / "checkpoints" / "best").tensors["model"]
    for name, weight in trainer.model.named_parameters():
        if name.startswith("reader.2."):
            assert torch.equal(weight, kept[name.replace("reader.2.", "reader.0.")])
        elif name.startswith("reader."):
            assert torch.equal(weight, published[name.removeprefix("reader.")])
        else:
            assert torch.equal(weight, kept[name]), name
    # One layer below is read anew with every batch: nothing is kept on a disk for it.
    assert trainer.reader is None


def test_what_does_not_fit_is_refused_in_a_line(config, run, frozen, tmp_path):
    with pytest.raises(ConfigError, match=r"model.reader_layers is 5, but the reader .* has 4 layers"):
        TunedReader(frozen, 5)
    with pytest.raises(ValueError, match="reader_layers is 2, but d_contextual is 0: there is no reader"):
        ModelConfig(reader_layers=2)
    best = read_checkpoint(run / "checkpoints" / "best")

    def with_layers(count: int) -> Path:
        settings = {**best.state["config"], "model": {**best.state["config"]["model"], "reader_layers": count}}
        write_checkpoint(tmp_path / "changed", replace(best, state={**best.state, "config": settings}))
        return tmp_path / "changed"

    with pytest.raises(CheckpointError, match=r"the checkpoint has no reader\.1\."):
        Solver.load(with_layers(2), trust=True)
    with pytest.raises(CheckpointError, match=r"the checkpoint has reader\.0\..*, which the model does not have"):
        Solver.load(with_layers(0), trust=True)


def test_an_encoder_of_another_kind_is_not_tuned(frozen, monkeypatch):
    monkeypatch.setattr(frozen, "kind", "mpnet")
    with pytest.raises(ConfigError, match="cannot be tuned: it is of the kind mpnet; expected bert, roberta"):
        LowerLayers(frozen, 1)
