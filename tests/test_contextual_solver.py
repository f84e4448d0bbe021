"""A model with a pre-trained reader from end to end: training that resumes, answers, explanations, refusals."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_training_loop import CONFIG, assert_same_ends, make_trainer
from tiny_bert import WIDTH, make_bert
from tpn2f.checkpoint import read_checkpoint, write_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config
from tpn2f.contextual import PretrainedReader, StoredReader
from tpn2f.domain import Problem, load_domain
from tpn2f.errors import ConfigError
from tpn2f.explain.attention import measure_attention
from tpn2f.explain.observe import observe_tuples, observe_words
from tpn2f.explain.question import explain_question
from tpn2f.export import export_model
from tpn2f.publish.bundle import halve
from tpn2f.solver import Solver


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    folder = make_bert(tmp_path_factory.mktemp("bert"))
    data = replace(CONFIG.data, reader=str(folder), unmarked=0.2, noise=0.1)
    return replace(CONFIG, data=data, model=replace(CONFIG.model, d_contextual=WIDTH))


@pytest.fixture(scope="module")
def run(config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        assert [event.kind for event in make_trainer(place, config).run()][-1] == "finished"
    return place


def test_stopping_anywhere_and_going_on_changes_nothing(config, run, tmp_path, monkeypatch):
    """Also while the texts are being read, and with a store that another training made."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trainer = make_trainer(tmp_path / "stopped", config)
    kinds = []
    for event in trainer.run():
        kinds.append(event.kind)
        trainer.stop = True
    assert kinds == ["reading"] and not (tmp_path / "stopped" / "checkpoints").exists()
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


def test_a_damaged_store_is_told_and_mended(config, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    short = replace(config, training=replace(config.training, epochs=1))
    list(make_trainer(tmp_path / "one", short).run())
    shard = sorted((tmp_path / "cache").rglob("*.f16"))[0]
    shard.write_bytes(shard.read_bytes()[:-100])
    events = list(make_trainer(tmp_path / "two", short).run())
    assert [event.kind for event in events[:2]] == ["note", "reading"] and "is damaged" in events[0].text
    assert_same_ends(tmp_path / "one", tmp_path / "two")


def test_a_strangers_folder_is_not_read_unasked(run, monkeypatch):
    """Right sums say nothing: a stranger wrote them as well."""
    monkeypatch.setattr(PretrainedReader, "load", None)
    with pytest.raises(ConfigError, match="is a folder, which is not read unasked: if you trust it, say --trust"):
        Solver.load(run)


def test_a_checkpoint_names_its_reader_and_does_not_carry_it(config, run):
    best = read_checkpoint(run / "checkpoints" / "best")
    assert best.state["reader"] == PretrainedReader(config.data.reader).identity()
    contextual = [name for name, tensor in best.tensors["model"].items() if WIDTH in tensor.shape]
    assert contextual == ["encoder.embedding.contextual"]
    assert halve(best).state["reader"] == best.state["reader"]


def test_it_answers_with_the_live_reader_as_it_did_with_the_stored_one(config, run, tmp_path):
    solver = Solver.load(run, trust=True)
    problems = [example.problem for example in list(solver.domain.examples("dev"))[:20]]
    live = solver.predict(problems)
    stored = StoredReader(solver.codec.reader, tmp_path)
    list(stored.prepare(problems))
    solver.codec = replace(solver.codec, reader=stored)
    for one, other in zip(live, solver.predict(problems)):
        assert one[0].log_probability == pytest.approx(other[0].log_probability, abs=0.05)
    assert Solver.load(run, trust=True).solve("what is 3 plus 4 ?", width=3).program is not None


def test_it_can_be_explained(run):
    solver = Solver.load(run, trust=True)
    examples = list(solver.domain.examples("dev"))[:8]
    assert len(explain_question(solver, examples[0].problem).fillers) == len(examples[0].problem.words)
    assert observe_words(solver, examples) is not None and observe_tuples(solver, examples) is not None
    assert measure_attention(solver, examples).steps > 0


def test_it_is_not_exported(run, tmp_path):
    solver = Solver.load(run, trust=True)
    with pytest.raises(ConfigError, match="a model with a pre-trained reader cannot be exported"):
        export_model(solver.model, solver.codec, tmp_path)


def test_without_its_reader_a_model_says_how_to_get_it(config, run, tmp_path):
    best = read_checkpoint(run / "checkpoints" / "best")

    def with_reader(name: str) -> Path:
        settings = {**best.state["config"], "data": {**best.state["config"]["data"], "reader": name}}
        write_checkpoint(tmp_path / "changed", replace(best, state={**best.state, "config": settings}))
        return tmp_path / "changed"

    with pytest.raises(ConfigError, match=r'neither a folder nor an installed package; .* "tpn2f\[pretrained\]"'):
        Solver.load(with_reader("gone-elsewhere"))
    with pytest.raises(ConfigError, match="the model was trained with another reader: the weights"):
        Solver.load(with_reader(str(make_bert(tmp_path / "bert", seed=1))), trust=True)
    with pytest.raises(ConfigError, match=r"d_contextual is 32, but the reader .* has vectors of width 16"):
        Solver.load(with_reader(str(make_bert(tmp_path / "narrow", width=16))), trust=True)


class Places:
    """A reader whose vectors say where a word stands."""

    width = 2

    def read(self, problems):
        return [torch.arange(max(len(p.words), 1)).float()[:, None].expand(-1, 2) + 1 for p in problems]

    def identity(self):
        return {}


def test_words_that_are_left_out_take_their_vectors_with_them():
    examples = list(load_domain("arithmetic").examples("train"))[:50]
    codec = replace(Codec.build(examples), reader=Places())
    torch.manual_seed(0)
    batch = codec.batch(examples, noise=0.6, unmarked=0.5)
    assert batch.contextual is not None and batch.contextual.shape[:2] == batch.words.shape
    left_out = 0
    for example, ids, count, vectors in zip(examples, batch.words, batch.word_counts, batch.contextual):
        own = codec.encode_words(example.problem)
        places = (vectors[:count, 0] - 1).long().tolist()
        assert places == sorted(set(places)) and not vectors[count:].any()
        left_out += len(own) - int(count)
        for word, place in zip(ids.tolist(), places):
            if codec.words[own[place]] in codec.arguments:
                assert word == own[place]
    assert left_out
    texts = codec.batch_texts([Problem(("never", "seen")), Problem(())])
    assert texts.contextual is not None and texts.contextual[:, :, 0].tolist() == [[1, 2], [1, 0]]
    assert replace(codec, reader=None) == codec and replace(codec, reader=None).batch(examples).contextual is None
