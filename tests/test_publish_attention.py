"""Where attention looks: the tables say what was measured, and the study measures what it says."""

import json
from argparse import Namespace
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from conftest import unchecked
from tiny_training import TINY, load_benchmark, tiny_trainer
from tpn2f.config import load_config
from tpn2f.domain import load_domain
from tpn2f.errors import DataError
from tpn2f.explain import explain_question
from tpn2f.publish.ablation import SYSTEMS, ablation_config
from tpn2f.publish.attention import MODELS, STUDY, models_table, scores_table, study_table
from tpn2f.publish.tables import TABLES

ROOT = Path(__file__).parent.parent
TIME = "cpu_seconds"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("attention_study")


def moment(step: int, evenness: float, length: float | None = -0.5) -> dict:
    shares = {"evenness": evenness, "on_used": 0.25, "chance": 0.04}
    return {"step": step, **shares, "spread": 1 - evenness, "with_length": length, "neighbours": 0.875, "any_two": 0.5}


def study_of(*rows: dict) -> dict:
    settings = {"data.limit": 3000, "training.epochs": 10}
    return {"problems": 200, "scored": 1000, "settings": settings, "commit": "abc", "rows": rows}


def test_the_table_has_attention_at_both_ends_of_a_run(tmp_path):
    assert study_table(tmp_path) == scores_table(tmp_path) == "No run is measured yet."
    moments = [moment(0, 0.999), moment(50, 0.7), moment(100, 0.5)]
    made = {"system": "TP-N2F", "finished": True, TIME: 90.0, "moments": moments}
    short = [moment(0, 1.0, None)]
    rows = [{**made, "variant": "plain", "strict": 0.125}]
    rows.append({**made, "variant": "sharp", "strict": None, "finished": False, "moments": short})
    (tmp_path / STUDY).write_text(json.dumps(study_of(*rows)))
    head, _, first, second, _, told = study_table(tmp_path).splitlines()
    assert head.count("|") == first.count("|") == second.count("|")
    assert first == "| TP-N2F, plain | 99.9 % | 50.0 % | 25.0 % | 4.0 % | 12.5 % |"
    assert second == "| TP-N2F, sharp (stopped early) | 100.0 % | 100.0 % | 25.0 % | 4.0 % |  |"
    assert told.startswith("3,000 training problems, 10 epochs") and told.endswith(
        "3 CPU-minutes in all, commit `abc`."
    )
    assert scores_table(tmp_path).splitlines()[2:] == [
        "| TP-N2F, plain | 0.00 | 0.50 | -0.50 | 0.88 | 0.50 |",
        "| TP-N2F, sharp | 0.00 | 0.00 | all equal | 0.88 | 0.50 |",
    ]


def test_the_table_has_the_models_that_were_measured(tmp_path):
    assert models_table(tmp_path) == "No model is measured yet."
    seen = {"split": "dev", "steps": 1234, "evenness": 0.5, "on_used": 0.25, "chance": 0.04, "found": 0.6}
    (tmp_path / MODELS).write_text(json.dumps([{"model": "runs/mine", **seen}]))
    assert models_table(tmp_path).splitlines()[2:] == ["| `mine`, dev | 1,234 | 50.0 % | 25.0 % | 4.0 % | 60.0 % |"]
    (tmp_path / MODELS).write_text("[")
    with pytest.raises(DataError, match=MODELS):
        models_table(tmp_path)


def test_the_page_has_all_tables_of_attention():
    page = (ROOT / "docs" / "attention.md").read_text(encoding="utf-8")
    named = [name for name in TABLES if name.startswith("attention")]
    assert len(named) == 3 and all(f"<!-- results: {name} -->" in page for name in named)


def test_a_variant_changes_attention_alone(benchmark):
    configs = benchmark.study_configs(3000, 10, 1000, causes=True)
    asked = [(system, variant) for system in SYSTEMS for variant in benchmark.VARIANTS]
    assert list(configs) == [*asked, *(("tpn2f", cause) for cause in benchmark.CAUSES)]
    for (system, variant), config in configs.items():
        plain = configs[system, "plain"]
        assert replace(config, model=plain.model) == plain
        expected = {
            "plain": {},
            "normalised": {"normalised": True},
            "sharp": {"attention": "general", "sharpness": 4.0},
            "guided": {"attention": "general", "sharpness": 4.0, "attention_guide": 0.3},
            "no tanh": {"attention_tanh": False},
            "last binding as summary": {"summary": "last"},
            "harder selection": {"temperature": 0.02},
        }
        assert config.model == replace(plain.model, **expected[variant])
        assert config.model != plain.model or variant == "plain"
    for system in SYSTEMS:
        row = ablation_config(ROOT / "configs", f"ablation-mathqa-{system}-words")
        assert configs[system, "plain"].model == row.model


def test_steps_that_are_measured(benchmark):
    assert [step for step in range(1, 500) if benchmark.is_measured(step, 180)] == [50, 100, 180, 200, 360, 400]


@pytest.fixture
def tiny(tmp_path):
    return partial(tiny_trainer, tmp_path)


def test_a_run_is_followed_to_its_end_and_no_further_than_its_time(benchmark, tiny):
    trainer = tiny()
    examples = trainer.dev
    row = benchmark.follow(trainer, examples, 60.0)
    assert row["finished"] and row["steps"] == trainer.steps and 0 <= row["strict"] <= 1
    each = trainer.batches_an_epoch
    assert [at["step"] for at in row["moments"]] == [0, each, 2 * each]
    assert row["moments"][0] != row["moments"][-1] == benchmark.look(trainer, examples)
    stopped = tiny()
    row = benchmark.follow(stopped, examples, 0.0)
    assert not row["finished"] and row["strict"] is None
    assert [at["step"] for at in row["moments"]] == [0, row["steps"]] == [0, 1]


@pytest.mark.parametrize("more", [[], ["model.normalised=true"], ["model.encoder=lstm", "model.bidirectional=true"]])
def test_scores_are_those_before_the_softmax(benchmark, tiny, more):
    """Against NumPy, word by word, with what the decoder attends to when it writes step by step."""
    solver = tiny("model.attention=general", "model.sharpness=2.0", "model.dictionary_deviation=1.0", *more).solver
    model, examples = solver.model, tiny().dev
    spreads, correlations, neighbours, any_two = [], [], [], []
    for example in examples:
        texts = solver.codec.batch_texts([example.problem])
        with torch.no_grad():
            encoding = model.eval().encode(*texts)
        fillers, roles = encoding.context_fillers[0].numpy(), encoding.context_roles[0].numpy()
        words = [
            np.concatenate([np.outer(f, r).ravel() for f, r in zip(fillers[:, place], roles[:, place])])
            for place in range(len(example.problem.words))
        ]
        lengths = np.array([np.linalg.norm(word) for word in words])
        units = [word / length for word, length in zip(words, lengths)]
        cosines = np.array([[one @ other for other in units] for one in units])
        neighbours += list(np.diagonal(cosines, 1))
        any_two.append(cosines[~np.eye(len(words), dtype=bool)].mean())
        seen = explain_question(solver, example.problem, program=example.program)
        for step, weights in zip(example.program, seen.attention, strict=True):
            if set(step.arguments) & set(example.problem.words):
                scores = np.log(weights)
                spreads.append(scores.std())
                correlations.append(np.corrcoef(scores, lengths)[0, 1])
    found = benchmark.measure_scores(solver, examples)
    assert found["spread"] == pytest.approx(np.mean(spreads), rel=1e-3)
    assert found["neighbours"] == pytest.approx(np.mean(neighbours), rel=1e-4)
    assert found["any_two"] == pytest.approx(np.mean(any_two), rel=1e-4)
    if "model.normalised=true" in more:
        assert found["with_length"] is None and found["by_length"] is None
    else:
        assert found["with_length"] == pytest.approx(np.mean(correlations), abs=1e-3)
        assert found["by_length"] == pytest.approx(np.mean(np.square(correlations)), abs=1e-3)


@pytest.mark.parametrize("heights", [[0.5, 0.5, 0.5], [0.1, 0.9, 0.12, 0.11], [0.3], [0.0, 0.09, 0.18, 1.0]])
def test_labels_do_not_touch_and_keep_their_order(benchmark, heights):
    moved = benchmark.apart(heights, 0.1)
    assert len(moved) == len(heights) and sum(moved) == pytest.approx(sum(heights))
    order = sorted(range(len(heights)), key=lambda place: heights[place])
    assert all(moved[b] - moved[a] > 0.1 - 1e-9 for a, b in pairwise(order))


def test_the_study_leaves_numbers_and_pictures(benchmark, mathqa_data, tmp_path, monkeypatch):
    """Two short runs; `benchmarks/attention_study.py` makes eight."""
    small = ["model.d_hidden=8", "model.n_fillers=7", "model.d_filler=4", "model.n_roles=5", "model.d_role=3"]

    def configs(limit: int, epochs: int, scored: int, causes: bool) -> dict:
        (tmp_path / "tiny.toml").write_text(TINY)
        settings = ["data.domain=mathqa", f"data.limit={limit}", f"training.epochs={epochs}", *small]
        config = load_config(tmp_path / "tiny.toml", [*settings, f"training.evaluate_examples={scored}"])
        return {("tpn2f", variant): config for variant in ("plain", "guided")}

    monkeypatch.setattr(benchmark, "study_configs", configs)
    place = tmp_path / "results" / STUDY
    options = Namespace(limit=100, epochs=1, problems=8, scored=2, seconds=60.0, causes=False)
    with unchecked():
        benchmark.study(load_domain("mathqa", mathqa_data.parent), options, place)
    result = json.loads(place.read_text())
    assert result["torch"] == torch.__version__ and result["problems"] == 8 and result["scored"] == 2
    maps = result["question"]["maps"]
    assert list(maps) == ["plain", "guided"] and len(maps["plain"]["attention"]) == 3
    assert len(study_table(tmp_path / "results").splitlines()) == 6
    made = {path.name for path in benchmark.draw(result, tmp_path)}
    assert made == {f"attention-{name}.{kind}" for name in ("study", "before", "after") for kind in ("png", "svg")}
