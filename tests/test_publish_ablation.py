"""The ablation: a step keeps what those before it have, rows are comparable, scored rows are left, costs are told."""

import json
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from tiny_training import TINY, load_benchmark
from tpn2f.config import Config, load_config
from tpn2f.domain import Splits, load_domain, split_roles
from tpn2f.errors import ConfigError, DataError
from tpn2f.evaluation import Mode
from tpn2f.model import systems
from tpn2f.publish.ablation import (
    ROWS,
    STEPS,
    SYSTEMS,
    TASKS,
    ablation_config,
    ablation_rows,
    ablation_table,
    options_table,
)
from tpn2f.publish.reproduce import TABLES, Table, is_kept

CONFIGS = Path(__file__).parent.parent / "configs"


def config_of(task: str, system: str, step: str) -> Config:
    return ablation_config(CONFIGS, f"ablation-{task}-{system}-{step}")


@pytest.mark.parametrize("task", TASKS)
def test_a_step_keeps_what_the_steps_before_it_have(task):
    words, glove, grounded, sharp, minilm, tuned = (config_of(task, "tpn2f", step) for step in STEPS)
    assert (words.training.word_vectors, words.model.grounded, words.model.d_contextual) == ("random", False, 0)
    assert glove.training.word_vectors.endswith(".safetensors") and glove.model == words.model
    assert glove.model.d_static == 0  # a start that is learned further, not fixed vectors
    assert grounded.model == replace(glove.model, grounded=True)
    assert sharp.model.grounded and sharp.model.sharpness and sharp.model.attention_guide
    assert minilm.model == replace(sharp.model, d_contextual=384) and minilm.data.reader
    assert tuned.model == replace(minilm.model, reader_layers=2)
    assert tuned.training == replace(minilm.training, reader_rate=0.1, reader_precision="bf16")
    assert minilm.training.word_vectors == glove.training.word_vectors


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("system", ["lstm2tp", "tpn2f"])
def test_what_stands_alone_is_added_to_the_first_step(task, system):
    words, chained = (config_of(task, system, step) for step in ("words", "chained"))
    assert chained == replace(words, name=chained.name, model=replace(words.model, d_chained=128))


@pytest.mark.parametrize("task", TASKS)
def test_rows_of_a_task_learn_the_same_for_as_long(task):
    configs = [ablation_config(CONFIGS, row) for row in ablation_rows(task)]
    assert [config.name for config in configs] == list(ablation_rows(task))
    assert len({(config.training.epochs, config.training.batch_size, config.training.seed) for config in configs}) == 1
    assert len({replace(config.data, reader="") for config in configs}) == 1
    # One system more costs one encoder more: nothing else differs.
    for step in STEPS:
        plain, ours = config_of(task, "lstm2tp", step), config_of(task, "tpn2f", step)
        assert plain == replace(ours, name=plain.name, model=replace(ours.model, **systems["lstm2tp"]))


@pytest.mark.parametrize("task", TASKS)
def test_rows_are_scored_on_dev_and_on_tests_that_choose_nothing(task):
    domain = load_domain(task)
    known, config = TASKS[task], config_of(task, "tpn2f", "words")
    assert set(known.splits) <= set(domain.splits)
    assert not set(config.data.dev.split("+")) & set(split_roles(domain).tests)
    assert {split for split, _, _ in known.columns.values()} == set(known.splits)


def test_settings_of_a_person_come_last():
    (row, *_) = ROWS
    assert ablation_config(CONFIGS, row, ["training.epochs=1"]).training.epochs == 1
    with pytest.raises(ConfigError, match=r"there is no training\.epoch"):
        ablation_config(CONFIGS, row, ["training.epoch=1"])


@pytest.mark.parametrize("text", [None, "task = [", "task = 1\n", "[task.everyday]\n", "[task]\neveryday=1\nmathqa=2"])
def test_rows_that_cannot_be_read_are_told(text, tmp_path):
    (tmp_path / "ablation").mkdir()
    if text is not None:
        (tmp_path / "ablation" / "rows.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"rows\.toml.*(cannot be read|expected the tables task\.everyday, task\.m)"):
        ablation_config(tmp_path, next(iter(ROWS)))


def test_the_plan_has_all_rows(tpn2f, tmp_path):
    asked = ("reproduce", "ablation", "--dry-run", "--root", str(CONFIGS.parent), "--runs", str(tmp_path))
    told = tpn2f(*asked)
    assert told.code == 0, told.err
    rows = [line.partition(":")[0] for line in told.out.splitlines() if line.startswith("ablation-")]
    assert rows == list(ROWS) and len(rows) == 28
    few = tpn2f(*asked, "--row", "ablation-mathqa-tpn2f-words")
    assert few.out.splitlines()[0].startswith("ablation-mathqa-tpn2f-words: ") and few.out.count("\n") == 2


def report(values: dict[str, dict[str, float]], weights: int = 1_000_000) -> dict:
    groups = [
        {"name": name, "count": 10, "metrics": {m: {"value": v, "low": v, "high": v} for m, v in metrics.items()}}
        for name, metrics in values.items()
    ]
    training = {"cpu_hours": 0.0712, "weights": weights}
    return {"title": "t", "groups": groups, "facts": {"answer_cpu_milliseconds": 12.4, "training": training}}


def test_the_table_has_accuracy_and_costs_of_the_rows_that_are_scored(tmp_path):
    table = ablation_table("mathqa")
    assert table(tmp_path) == "No row is scored yet."
    values = {"all": {"strict": 0.5, "nearest_option": 0.6}, "template unseen in train": {"strict": 0.25}}
    place = tmp_path / "ablation-mathqa-dev-tpn2f-grounded.json"
    place.write_text(json.dumps(report(values)))
    head, _, row = table(tmp_path).splitlines()
    assert head.count("|") == row.count("|") and head.startswith("| ablation | strict | template seen | unseen |")
    assert row == "| TP-N2F, + grounded arguments | 50.0 |  | 25.0 | 60.0 | 0.07 | 12 | 2.0 |"
    assert ablation_table("everyday")(tmp_path) == "No row is scored yet."
    place.write_text(json.dumps({**report(values), "facts": {"training": {}}}))
    with pytest.raises(DataError, match="does not say what the row cost"):
        table(tmp_path)


def test_a_row_that_is_scored_is_left_as_it_is(tpn2f, tmp_path, monkeypatch):
    tiny = Table({"tiny": (Mode(),)}, (), (), splits=("dev",), limit=7, keeps=True)
    monkeypatch.setitem(TABLES, "arithmetic", tiny)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 1"))
    (tmp_path / "README.md").write_text("no tables\n")
    told = ("reproduce", "arithmetic", "--root", str(tmp_path), "--runs", str(tmp_path / "runs"))
    first = tpn2f(*told)
    assert first.code == 0, first.err
    place = tmp_path / "results" / "arithmetic-dev-tiny.json"
    made = json.loads(place.read_text())
    assert made["groups"][0]["count"] == 7 and made["facts"]["answer_cpu_milliseconds"] > 0
    before = place.stat().st_mtime_ns
    again = tpn2f(*told)
    assert "tiny: scored already" in again.err and place.stat().st_mtime_ns == before
    assert tpn2f(*told, "--dry-run").out.startswith("tiny: trained already (1 of 1 epochs); scored already")
    # With another config it is another row.
    other = tpn2f(*told, "--set", "training.epochs=2", "--dry-run")
    assert "scored already" not in other.out
    monkeypatch.setitem(TABLES, "arithmetic", replace(tiny, keeps=False))
    config = ablation_config(CONFIGS, next(iter(ROWS)))
    assert not is_kept("arithmetic", "tiny", config, tmp_path / "results")


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    return load_benchmark("options")


def test_an_option_is_measured_alone(benchmark, tmp_path):
    changes = benchmark.option_settings(tmp_path / "vectors.safetensors")
    configs = benchmark.option_configs(changes, 100)
    assert list(configs) == [(system, option) for system in SYSTEMS for option in changes]
    for system in SYSTEMS:
        plain = configs[system, "plain"].model
        assert plain == replace(config_of("mathqa", system, "words").model, bidirectional=False)
        expected = {
            "bidirectional": {"bidirectional": True},
            "grounded": {"grounded": True},
            "sharp attention": {"attention": "general", "sharpness": 4.0, "attention_guide": 0.3},
            "repeats": {"repeats": True},
            "static vectors": {"d_static": 100},
            "MiniLM, frozen": {"d_contextual": 384},
            "MiniLM, tuned": {"d_contextual": 384, "reader_layers": 2},
        }
        assert ["plain", *expected] == list(changes)
        assert all(configs[system, option].model == replace(plain, **more) for option, more in expected.items())


def test_options_take_turns_and_write_programs_of_one_length(benchmark, tmp_path):
    """A round with small models; `benchmarks/options.py` takes MathQA and MiniLM."""
    (tmp_path / "tiny.toml").write_text(TINY)
    tiny = load_config(tmp_path / "tiny.toml", ["data.limit=80", "training.evaluate_examples=1"])
    configs = {
        ("tpn2f", "plain"): tiny,
        ("tpn2f", "grounded"): replace(tiny, model=replace(tiny.model, grounded=True)),
    }
    domain = load_domain("arithmetic")
    splits = Splits(domain)
    times = benchmark.measure(configs, domain, splits, splits.take("dev", 4), tmp_path, 1)
    assert list(times) == ["training", "decoding"] and all(list(found) == list(configs) for found in times.values())
    assert all(len(seconds) == 1 and seconds[0] > 0 for found in times.values() for seconds in found.values())
    with pytest.raises(SystemExit, match="4 batches are too few for 2 rounds of 2"):
        benchmark.measure(configs, domain, splits, splits.take("dev", 4), tmp_path, 2)
    # The median is of the ratios within a round, so a busy round does no harm.
    slow = {("tpn2f", "plain"): [1.0, 8.0, 2.0], ("tpn2f", "grounded"): [1.5, 12.0, 4.0]}
    found = benchmark.costs({"training": slow}, "tpn2f", "grounded")
    assert found == {"training_cpu_seconds": 4.0, "training_ratio": 1.5, "training_quartiles": [1.5, 1.75]}


def test_the_table_has_what_an_option_costs(tmp_path):
    assert options_table(tmp_path) == "No option is measured yet."
    measured = {"training_cpu_seconds": 0.0684, "decoding_cpu_seconds": 0.0282}
    rows = [
        {"encoder": "LSTM2TP", "option": "plain", **measured, "training_ratio": 1.0, "decoding_ratio": 1.0},
        {"encoder": "LSTM2TP", "option": "grounded", **measured, "training_ratio": 1.058, "decoding_ratio": 21.6},
    ]
    (tmp_path / "benchmark_options.json").write_text(json.dumps({"rows": rows}))
    assert options_table(tmp_path).splitlines()[2:] == [
        "| LSTM2TP, plain | 68 ms | 28 ms |",
        "| LSTM2TP, + grounded | 1.06 times plain | 21.60 times plain |",
    ]
