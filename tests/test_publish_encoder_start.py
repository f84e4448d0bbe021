"""How the TPR encoder starts: the study measures what it says, the tables say what was measured."""

import json
from argparse import Namespace
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from tiny_training import arithmetic_splits, load_benchmark, tiny_trainer
from tpn2f.config import load_config
from tpn2f.publish.encoder_start import START, inside_table, start_table
from tpn2f.publish.tables import TABLES

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("encoder_start")


@pytest.fixture
def tiny(tmp_path):
    return partial(tiny_trainer, tmp_path)


def test_a_run_changes_what_its_name_says(benchmark):
    plain = load_config(ROOT / "configs" / "mathqa-24.toml")
    for name, changes in benchmark.RUNS.items():
        config = benchmark.run_config(name)
        assert config.data == plain.data and config.training.epochs == plain.training.epochs
        assert all(getattr(config.model, key[6:]) == value for key, value in changes.items() if key[:6] == "model.")
    assert benchmark.run_config("TP-N2F, temperature 1").model == plain.model
    hard = benchmark.run_config("TP-N2F, temperature 0.1").model
    assert hard == replace(plain.model, temperature=0.1)


def test_a_moment_is_what_numpy_finds(benchmark, tiny):
    trainer = tiny("model.dictionary_deviation=1.0")
    examples = trainer.dev
    first = benchmark.look(trainer, examples)
    model, codec = trainer.solver.model, trainer.codec
    scores, lengths, summaries = [], [], []
    for example in examples:
        with torch.no_grad():
            encoding = model.eval().encode(*codec.batch_texts([example.problem]))
        scores.append(encoding.filler_scores[0, 0].numpy())
        bindings = [np.outer(f, r) for f, r in zip(encoding.fillers[0, 0].numpy(), encoding.roles[0, 0].numpy())]
        lengths.append([np.linalg.norm(binding) for binding in bindings])
        summaries.append(np.sum(bindings, axis=0).ravel())
    every = np.concatenate(scores)
    entropy = -(every * np.log(every)).sum(1).mean()
    assert first["filler_evenness"] == pytest.approx(entropy / np.log(every.shape[1]), rel=1e-4)
    assert first["filler_used"] == pytest.approx(1 / (every.mean(0) ** 2).sum(), rel=1e-4)
    assert first["lengths"]["1"] == pytest.approx(np.mean([each[0] for each in lengths]), rel=1e-4)
    assert first["lengths"]["5"] == pytest.approx(np.mean([each[4] for each in lengths if len(each) > 4]), rel=1e-4)
    common = np.linalg.norm(np.mean(summaries, axis=0)) / np.mean([np.linalg.norm(each) for each in summaries])
    assert first["texts"] == pytest.approx(common, rel=1e-4)
    with torch.no_grad():
        model.encoder.readers[0].filler_selection.mul_(50.0)
    second = benchmark.look(trainer, examples, first)
    assert second["filler_evenness"] < first["filler_evenness"]
    assert 0 < second["filler_changed"] <= 1 and 0 < second["role_changed"] <= 1


def test_gradients_are_told_by_part(benchmark, tiny):
    trainer = tiny()
    examples, model = trainer.dev, trainer.model
    told = benchmark.gradients(trainer, examples)
    assert list(told) == list(benchmark.PARTS) and all(value > 0 for value in told.values())
    assert all(weight.grad is None for weight in model.parameters()) and model.training
    model.eval()
    model.loss(*trainer.codec.batch(examples)).value.backward()
    reader = model.encoder.readers[0]
    weights = (reader.filler_dictionary, reader.role_dictionary)
    slope, size = (
        np.linalg.norm(np.concatenate([part.numpy().ravel() for part in parts]))
        for parts in ([w.grad for w in weights], [w.detach() for w in weights])
    )
    assert told["dictionaries"] == pytest.approx(slope / size, rel=1e-4)
    lstm = benchmark.gradients(tiny("model.encoder=lstm", "model.summary=last"), examples)
    assert "selection" not in lstm and "dictionaries" not in lstm


def test_a_run_ends_after_its_steps(benchmark, tiny, monkeypatch):
    monkeypatch.setattr(benchmark, "FIRST", 1)
    monkeypatch.setattr(benchmark, "EVERY", 1)
    trainer = tiny("training.epochs=9", "training.batch_size=10")
    row = benchmark.follow(trainer, trainer.dev, 6)
    assert row["steps"] == 6 and [at["step"] for at in row["moments"]] == [0, 1, 2, 4, 6]
    assert len(row["losses"]) == 6 and all(loss > 0 for loss in row["losses"])
    assert not any("chosen" in at for at in row["moments"])


def test_the_study_leaves_numbers_and_a_picture(benchmark, tiny, tmp_path, monkeypatch):
    splits = arithmetic_splits()
    monkeypatch.setattr(benchmark, "RUNS", {name: {} for name in list(benchmark.RUNS)[:2]})
    monkeypatch.setattr(benchmark, "EVERY", 1)
    monkeypatch.setattr(benchmark, "run_config", lambda name: tiny().config)
    monkeypatch.setattr(benchmark, "Splits", lambda domain: splits)
    place = tmp_path / "results" / START
    assert start_table(place.parent) == inside_table(place.parent) == "No run is measured yet."
    benchmark.study(splits.domain, Namespace(steps=2, problems=4, only=None), place)
    whole = json.loads(place.read_text())
    assert [row["name"] for row in whole["rows"]] == list(benchmark.RUNS) and whole["problems"] == 4
    # One run made again leaves the other as it is.
    last = list(benchmark.RUNS)[1]
    benchmark.study(splits.domain, Namespace(steps=1, problems=4, only=[last]), place)
    rows = json.loads(place.read_text())["rows"]
    assert rows[0] == whole["rows"][0] and rows[1]["steps"] == 1
    assert {path.suffix for path in benchmark.draw(rows, tmp_path)} == {".png", ".svg"}
    head, _, *lines, _, told = start_table(place.parent).splitlines()
    assert len(lines) == 2 and all(line.count("|") == head.count("|") for line in lines)
    assert told.startswith("2 or 1 steps, one seed, measured on 4 dev problems")
    head, _, *lines = inside_table(place.parent).splitlines()
    assert len(lines) == 2 and all(line.count("|") == head.count("|") for line in lines)


def test_the_page_has_both_tables():
    page = (ROOT / "docs" / "encoder_start.md").read_text(encoding="utf-8")
    named = [name for name in TABLES if name.startswith("encoder-")]
    assert len(named) == 2 and all(f"<!-- results: {name} -->" in page for name in named)
