"""The paper's tables redone: rows are configs, a stopped table goes on, reports say what a row cost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tiny_training import TINY
from tpn2f.checkpoint import Checkpoint, write_checkpoint
from tpn2f.config import load_config
from tpn2f.domain import load_domain, split_roles
from tpn2f.errors import ConfigError, DataError
from tpn2f.evaluation import Mode
from tpn2f.metrics import Report
from tpn2f.model import Model
from tpn2f.publish import reproduce as reproduction
from tpn2f.publish.plan import plan_rows, whole_plan
from tpn2f.publish.reproduce import TABLES, Table, report_path, row_config, stamped, training_facts
from tpn2f.publish.rows import APPENDIX, SEEDS
from tpn2f.publish.variants import variant_config

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("table", TABLES)
def test_every_row_has_a_config_and_all_learn_from_the_same(table):
    configs = [row_config(ROOT / "configs", row) for row in TABLES[table].rows]
    assert [config.name for config in configs] == list(TABLES[table].rows)
    assert {config.data.domain for config in configs} == {table.removeprefix("ablation-")}
    if table != "everyday":  # whose second row leaves MathQA out, and is no comparison
        assert len({config.data.dev for config in configs}) == 1
    assert all("test" not in (config.data.train, config.data.dev) for config in configs)


def test_ablations_differ_from_tp_n2f_in_the_representation_only():
    best, short = (row_config(ROOT / "configs", row) for row in ("mathqa-60", "mathqa-24"))
    budget = replace(best.training, epochs=24, patience=0)
    assert short == replace(best, name="mathqa-24", training=budget)
    for row in ("mathqa-lstm2tp", "mathqa-tp2lstm", "mathqa-lstm2lstm"):
        config = row_config(ROOT / "configs", row)
        assert (config.data, config.training) == (best.data, best.training)
    for row in (*APPENDIX, "mathqa-lstm2lstm-100"):
        config = row_config(ROOT / "configs", row)
        assert (config.data, config.training) == (short.data, short.training)
    lisp = row_config(ROOT / "configs", "algolisp")
    rows = ("lstm2tp", "tp2lstm", "lstm2lstm", "seq2tree", "saps")
    for row in (f"algolisp-{system}" for system in rows):
        config = row_config(ROOT / "configs", row)
        assert (config.data, config.training) == (lisp.data, lisp.training)


def test_rows_of_a_system_differ_in_the_seed_alone():
    for first, *others in SEEDS.values():
        config = row_config(ROOT / "configs", first)
        for seed, row in enumerate(others, 1):
            training = replace(config.training, seed=seed)
            assert row_config(ROOT / "configs", row) == replace(config, name=row, training=training)


def test_a_row_may_be_a_preset_with_changes(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    assert variant_config(tmp_path, "tiny") is None
    rows = tmp_path / "variants" / "rows.toml"
    rows.parent.mkdir()
    rows.write_text('["tiny-long"]\npreset = "tiny"\n"training.epochs" = 9\n')
    tiny, changed = (row_config(tmp_path, row, ["training.seed=4"]) for row in ("tiny", "tiny-long"))
    assert changed == replace(tiny, name="tiny-long", training=replace(tiny.training, epochs=9))
    for text, told in (
        ("rows", "the rows cannot be read"),
        ("[tiny]\nepochs = 3\n", "tiny names no preset"),
        ('[tiny]\npreset = "tiny"\n"training.epoch" = 3\n', "epoch"),
        ('[tiny]\npreset = "huge"\n', "cannot read the config"),
    ):
        rows.write_text(text)
        with pytest.raises(ConfigError, match=told):
            row_config(tmp_path, "tiny")


def test_an_lstm_of_equal_size_is_of_equal_size():
    """Weights are counted with the sizes of MathQA's vocabularies."""
    sizes = {"n_words": 3000, "n_relations": 62, "n_arguments": 120, "n_positions": 3}
    counts = [
        sum(weight.numel() for weight in Model(row_config(ROOT / "configs", row).model, **sizes).parameters())
        for row in ("mathqa-24", "mathqa-24-equal")
    ]
    assert abs(counts[1] / counts[0] - 1) < 0.02


def test_reports_have_places_of_their_own():
    places = [
        report_path(Path("results"), table, split, row, mode)
        for table in TABLES
        for split in TABLES[table].splits
        for row, modes in TABLES[table].rows.items()
        for mode in modes
    ]
    assert len(set(places)) == len(places)
    assert report_path(Path("r"), "mathqa", "test", "mathqa") == Path("r/mathqa-test-tpn2f.json")
    assert report_path(Path("r"), "mathqa", "test", "mathqa-tp2lstm", Mode(5)).name == "mathqa-test-tp2lstm-beam5.json"
    helped = report_path(Path("r"), "algolisp", "test", "algolisp", Mode(10, tests=3))
    assert helped.name == "algolisp-test-tpn2f-beam10-tests3.json"
    asked = report_path(Path("r"), "mathqa", "test", "mathqa", Mode(5, options=True))
    assert asked.name == "mathqa-test-tpn2f-beam5-options.json"
    assert report_path(Path("r"), "everyday", "mawps-test", "everyday").name == "everyday-mawps-test.json"


@pytest.mark.parametrize("table", [table for table in TABLES if not table.startswith("ablation-")])
def test_rows_are_scored_on_splits_that_are_for_testing(table):
    domain = load_domain(table)
    assert set(TABLES[table].splits) <= set(domain.splits)
    assert set(TABLES[table].splits) <= set(split_roles(domain).tests)


def test_a_row_is_scored_on_every_split_of_its_table(tpn2f, tmp_path, monkeypatch):
    splits = ("test", "dev")
    monkeypatch.setitem(
        TABLES, "arithmetic", Table({"tiny": (Mode(),)}, (), (), splits=splits, metric="commutative", own="")
    )
    commits = iter(("clean", "dirty"))
    monkeypatch.setattr(reproduction, "describe_commit", lambda: next(commits))
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 1"))
    (tmp_path / "README.md").write_text("no tables\n")
    made = tpn2f("reproduce", "arithmetic", "--root", str(tmp_path), "--runs", str(tmp_path / "runs"))
    assert made.code == 0, made.err
    for split in splits:
        facts = json.loads((tmp_path / "results" / f"arithmetic-{split}-tiny.json").read_text())["facts"]
        # The reports of a row do not make its tree a changed one.
        assert (facts["split"], facts["commit"]) == (split, "clean")
        assert f"arithmetic {split}: tiny (greedy): commutative" in made.out


def test_a_report_names_the_commit_it_was_made_from(monkeypatch):
    report = Report("t", (), (), {"split": "dev"})
    monkeypatch.setattr(reproduction, "describe_commit", lambda: "abc-dirty")
    assert stamped(report).facts == {"split": "dev", "commit": "abc-dirty"}
    monkeypatch.setattr(reproduction, "describe_commit", lambda: "")  # no clone
    assert stamped(report) == report


def test_the_plan_is_told_before_anything_is_trained(tpn2f, tmp_path, monkeypatch):
    monkeypatch.setitem(TABLES, "arithmetic", Table({"tiny": (Mode(), Mode(2)), "new": (Mode(),)}, (), ()))
    (tmp_path / "configs").mkdir()
    for row in ("tiny", "new"):
        (tmp_path / "configs" / f"{row}.toml").write_text(TINY.replace("epochs = 2", "epochs = 8"))
    (tmp_path / "results").mkdir()
    report = {"facts": {"training": {"hours": 0.5, "epochs": 2}}}
    (tmp_path / "results" / "arithmetic-test-tiny.json").write_text(json.dumps(report))
    told = ("reproduce", "arithmetic", "--root", str(tmp_path), "--runs", str(tmp_path / "runs"), "--dry-run")
    assert tpn2f(*told).out.splitlines() == [
        "tiny: 8 epochs, about 2 h 0 min by what arithmetic-test-tiny.json cost; scored on test (greedy; beam 2)",
        "new: 8 epochs, time unknown, it was never trained here; scored on test (greedy)",
        "2 to train: about 2 h 0 min one after the other, and 1 whose time is unknown",
    ]
    assert not (tmp_path / "runs").exists()
    short = ("train", str(tmp_path / "configs" / "tiny.toml"), "--folder", str(tmp_path / "runs" / "tiny"))
    trained = tpn2f(*short, "--set", "training.epochs=1")
    assert trained.code == 0 and trained.out.startswith("epoch 1 of 1: step 2, loss ")
    assert tpn2f(*told).out.startswith("tiny: trained already (1 of 8 epochs); scored on test")


def test_the_plan_of_a_stopped_run_goes_by_its_own_pace(tmp_path, monkeypatch):
    monkeypatch.setitem(TABLES, "arithmetic", Table({"tiny": (Mode(),)}, (), ()))
    standing = {"epoch": 2, "seconds": 600.0, "finished": False}
    write_checkpoint(tmp_path / "tiny" / "checkpoints" / "last", Checkpoint({}, {"standing": standing}, {}))
    (tmp_path / "tiny.toml").write_text(TINY.replace("epochs = 2", "epochs = 8"))
    (row,) = plan_rows("arithmetic", {"tiny": row_config(tmp_path, "tiny")}, tmp_path, tmp_path)
    assert str(row) == "tiny: 8 epochs, 2 of them done, about 30 min by its own pace; scored on test (greedy)"
    assert whole_plan([row]) == "1 to train: about 30 min one after the other"
    assert whole_plan([replace(row, finished=True)]) == "nothing to train"


def test_a_run_without_a_checkpoint_has_cost_nothing_to_tell(tmp_path):
    with pytest.raises(DataError, match="was not trained yet"):
        training_facts(tmp_path)


def test_a_table_is_made_from_nothing_and_made_again_without_training(tpn2f, tmp_path, monkeypatch):
    monkeypatch.setitem(TABLES, "arithmetic", Table({"tiny": (Mode(), Mode(2))}, ("gold",), ("Nothing is alike.",)))
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.toml").write_text(TINY)
    (tmp_path / "README.md").write_text("no tables\n")
    told = ("reproduce", "arithmetic", "--root", str(tmp_path), "--runs", str(tmp_path / "runs"))
    unfinished = tpn2f(*told, "--unfinished")
    assert unfinished.code == 0 and "tiny: not trained yet, left out" in unfinished.err
    first = tpn2f(*told)
    assert first.code == 0, first.err
    assert "Nothing is alike." in first.out and "tiny (greedy): strict" in first.out
    report = json.loads((tmp_path / "results" / "arithmetic-test-tiny.json").read_text())
    facts = report["facts"]["training"]
    assert (facts["epochs"], facts["finished"]) == (2, True)
    assert facts["weights"] > 0 and facts["hours"] >= 0
    assert 0 <= facts["cpu_hours"] < 0.1 and "cores" in facts["machine"]
    assert (tmp_path / "results" / "arithmetic-test-gold.json").exists()
    assert (tmp_path / "results" / "arithmetic-test-tiny-beam2.json").exists()
    assert load_config(tmp_path / "runs" / "tiny" / "config.toml") == load_config(tmp_path / "configs" / "tiny.toml")
    again = tpn2f(*told)
    assert again.code == 0 and "loss" in first.out and "loss" not in again.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "weather"), "there is no table 'weather'; there are mathqa, algolisp"),
        (("reproduce", "mathqa", "--row", "best"), "mathqa has no row 'best'; it has mathqa, mathqa-60"),
        (("reproduce", "mathqa", "--root", "/nowhere"), "cannot read the config"),
        (("bundle", "/nowhere", "toy"), "there is no model /nowhere"),
        (("bundle", "/nowhere", "toy", "--report", "/nowhere.json"), "/nowhere.json is not a report"),
    ],
)
def test_wrong_wishes_are_told_in_a_line(tpn2f, arguments, message):
    outcome = tpn2f(*arguments)
    assert outcome.code == 2 and message in outcome.err and outcome.err.count("\n") == 1


def test_the_commit_is_told_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert reproduction.describe_commit() == ""
