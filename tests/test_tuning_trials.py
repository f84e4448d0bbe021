"""Tuning: trials are trainings; interruptions, other workers and lost machines change nothing of what is found."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from conftest import REPOSITORY
from test_training_loop import MODEL
from tpn2f import cli
from tpn2f.checkpoint import locked, read_checkpoint
from tpn2f.config import Config, DataConfig, TrainingConfig, load_config, write_config
from tpn2f.domain import Example
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.errors import ConfigError, DataError, DivergedError
from tpn2f.solver import Solver
from tpn2f.training import Trainer
from tpn2f.tuning.settings import read_space
from tpn2f.tuning.trials import LOST_SECONDS, TrialEvent, Tuner

optuna = pytest.importorskip("optuna", reason="needs the extra `tuning`")

TRAINING = TrainingConfig(epochs=3, batch_size=16, learning_rate=5e-3, evaluate_examples=4)
CONFIG = Config("small", DataConfig("arithmetic", limit=32), replace(MODEL, dropout_words=0.1), TRAINING)
SEARCH = ("training.learning_rate=log 1e-3 1e-2", "model.n_roles=int 4 8 2", "model.encoder=choice tpr lstm")
Make = Callable[..., Tuner]


@pytest.fixture
def make_tuner(tmp_path: Path, arithmetic_examples: Callable[[str], list[Example]]) -> Make:
    """A worker of the study in `tmp_path`; every call is a process that starts anew."""

    class Ready(Arithmetic):
        def examples(self, split: str) -> Iterator[Example]:
            return iter(arithmetic_examples(split))

    def make(folder: str = "study", config: Config = CONFIG, search: tuple[str, ...] = SEARCH, **more: Any) -> Tuner:
        return Tuner(config, read_space(search, None, config), Ready(), tmp_path / folder, **more)

    return make


def endings(events: Iterator[TrialEvent]) -> list[tuple[Any, ...]]:
    """How the trials ended, times left out."""
    return [
        (event.kind, event.number, dict(event.settings), event.value, event.epoch)
        for event in events
        if event.kind not in ("begun", "training")
    ]


def test_a_study_finds_the_best_settings(make_tuner: Make, tmp_path: Path) -> None:
    tuner = make_tuner(pruner="none", startup=0)
    found = endings(tuner.run(2))
    assert [(kind, number) for kind, number, *_ in found] == [("finished", 0), ("finished", 1)]
    best = tuner.best()
    assert best is not None
    assert best.value == max(value for *_, value, _ in found)
    assert dict(best.settings) == found[best.number][2]
    config = load_config(tmp_path / "study" / "best.toml")
    assert config == best.config
    assert config.training.learning_rate == best.settings["training.learning_rate"]
    assert config == replace(
        CONFIG,
        model=replace(CONFIG.model, n_roles=config.model.n_roles, encoder=config.model.encoder),
        training=replace(TRAINING, learning_rate=config.training.learning_rate),
    )
    # A trial is a run like any other, without what it would only need to go on.
    trial = tmp_path / "study" / f"trial-{best.number:03d}"
    assert load_config(trial / "config.toml") == config
    assert Solver.load(trial).model.config == config.model
    assert [path.name for path in (trial / "checkpoints").iterdir()] == ["best"]
    # The same command again has nothing to do; more trials go on.
    assert endings(make_tuner().run(2)) == []
    assert [number for _, number, *_ in endings(make_tuner().run(3))] == [2]


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_an_interrupted_trial_goes_on_as_if_nothing_had_happened(make_tuner: Make, tmp_path: Path, way: str) -> None:
    straight = endings(make_tuner("straight").run(2))
    tuner = make_tuner("broken", replace(CONFIG, training=replace(TRAINING, checkpoint_seconds=0)))
    events = tuner.run(2)
    seen = []
    for event in events:
        seen.append(event.kind)
        if event.training is not None and event.training.step == 3:
            if way == "killed":
                break
            tuner.stop = True
    events.close()  # type: ignore[attr-defined]
    assert seen[-1] == ("saved" if way == "stopped" else "training")
    assert not tuner.best()
    again = make_tuner("broken")
    events = again.run(2)
    first = next(iter(events))
    assert (first.kind, first.number) == ("begun", 0) and "continuing after step" in first.text
    assert endings(events) == straight
    for number in range(2):
        one, other = (tmp_path / name / f"trial-{number:03d}" for name in ("straight", "broken"))
        metrics = [
            [
                {**json.loads(line), "seconds": 0, "cpu_seconds": 0}
                for line in (run / "metrics.jsonl").read_text().splitlines()
            ]
            for run in (one, other)
        ]
        assert metrics[0] == metrics[1]
        weights = [read_checkpoint(run / "checkpoints" / "best").tensors["model"] for run in (one, other)]
        assert all(torch.equal(tensor, weights[1][name]) for name, tensor in weights[0].items())


def test_a_trial_that_ended_just_before_it_could_be_told_is_told(make_tuner: Make) -> None:
    tuner = make_tuner()
    events = tuner.run(1)
    for event in events:
        if event.training is not None and event.training.kind == "finished":
            break
    events.close()  # type: ignore[attr-defined]
    assert tuner.best() is None
    found = endings(make_tuner().run(1))
    assert [(kind, number) for kind, number, *_ in found] == [("finished", 0)]


def test_time_that_is_over_saves(make_tuner: Make) -> None:
    assert endings(make_tuner().run(5, timeout=0)) == []
    tuner = make_tuner()
    events = tuner.run(5, timeout=1000)
    assert next(iter(events)).kind == "begun"
    clock, time.monotonic = time.monotonic, lambda: 1e12
    try:
        found = endings(events)
    finally:
        time.monotonic = clock
    assert [(kind, number) for kind, number, *_ in found] == [("saved", 0)]


@pytest.mark.parametrize("pruner", ["median", "halving"])
def test_hopeless_trials_are_pruned(make_tuner: Make, pruner: str) -> None:
    """Others in the study were far better at every epoch."""
    hopeless = ("training.learning_rate=log 1e-9 1e-8",)
    tuner = make_tuner(search=hopeless, pruner=pruner, startup=2)
    kind = optuna.distributions.FloatDistribution(1e-9, 1e-8, log=True)
    for value in (0.9, 0.91, 0.92):
        tuner.study.add_trial(
            optuna.trial.create_trial(
                params={"training.learning_rate": 5e-9},
                distributions={"training.learning_rate": kind},
                intermediate_values=dict.fromkeys(range(1, 4), value),
                value=value,
                system_attrs={f"completed_rung_{rung}": value for rung in range(3)},
            )
        )
    found = endings(tuner.run(4))
    assert len(found) == 1
    ending, number, _, value, epoch = found[0]
    assert (ending, number) == ("pruned", 3) and value < 0.9 and epoch < TRAINING.epochs
    assert tuner.study.trials[3].state.name == "PRUNED"
    assert endings(make_tuner(search=hopeless, pruner=pruner, startup=2).run(4)) == []


def test_two_workers_share_a_study(make_tuner: Make) -> None:
    one, other = make_tuner().run(2), make_tuner().run(2)
    assert next(iter(one)).number == 0
    assert next(iter(other)).number == 1
    assert [number for _, number, *_ in endings(other)] == [1]
    assert [number for _, number, *_ in endings(one)] == [0]
    assert endings(make_tuner().run(2)) == []


def test_several_machines_share_a_database(make_tuner: Make, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'common.db'}"
    one, other = (make_tuner(name, storage=storage, study="common") for name in ("here", "there"))
    running = one.run(2)
    assert next(iter(running)).number == 0
    # What another machine works on is left alone, while it is heard of.
    assert [number for _, number, *_ in endings(other.run(2))] == [1]
    running.close()  # type: ignore[attr-defined]
    assert endings(make_tuner("there", storage=storage, study="common").run(2)) == []
    # One that is gone for good is tried again, with the same settings.
    lost = one.study.trials[0]
    optuna.trial.Trial(one.study, lost._trial_id).set_user_attr("seen", time.time() - LOST_SECONDS - 1)
    found = endings(make_tuner("there", storage=storage, study="common").run(2))
    assert [(kind, number, settings) for kind, number, settings, *_ in found] == [("finished", 2, lost.params)]
    assert [trial.state.name for trial in one.study.trials] == ["FAIL", "COMPLETE", "COMPLETE"]
    assert not (tmp_path / "here" / "study.db").exists()
    assert (tmp_path / "there" / "best.toml").exists()


@pytest.mark.parametrize(
    ("error", "told"),
    [(RuntimeError("out of\nmemory"), "out of memory"), (DivergedError("step 7: not finite"), "step 7: not finite")],
)
def test_a_trial_that_cannot_be_computed_is_told_and_the_next_one_begins(
    make_tuner: Make, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    step = Trainer._step
    broken = [True]

    def fail_once(trainer: Trainer, examples: Any) -> None:
        if broken:
            broken.clear()
            raise error
        step(trainer, examples)

    monkeypatch.setattr(Trainer, "_step", fail_once)
    events = [event for event in make_tuner().run(2) if event.kind in ("failed", "finished")]
    assert [(event.kind, event.number) for event in events] == [("failed", 0), ("finished", 1)]
    assert events[0].text == told


def test_another_study_is_refused(make_tuner: Make, tmp_path: Path) -> None:
    make_tuner()
    assert make_tuner(config=replace(CONFIG, training=replace(TRAINING, checkpoint_seconds=9))) is not None
    with pytest.raises(ConfigError, match=r"has another config \(clip = 0\.0 there, clip = 1\.0 here\)"):
        make_tuner(config=replace(CONFIG, training=replace(TRAINING, clip=1.0)))
    with pytest.raises(ConfigError, match=r"has another space: model.encoder=choice tpr lstm, .* --study"):
        make_tuner(search=SEARCH[:1])
    with pytest.raises(ConfigError, match="belongs to another study: study is small there, other here"):
        make_tuner(study="other")
    with pytest.raises(ConfigError, match="belongs to another study: storage is"):
        make_tuner(storage=f"sqlite:///{tmp_path / 'other.db'}")
    (tmp_path / "study" / "study.json").write_text("{")
    with pytest.raises(ConfigError, match=r"study\.json cannot be read"):
        make_tuner()


def test_other_examples_to_score_on_are_refused(make_tuner: Make) -> None:
    tuner = make_tuner()
    tuner.study.set_user_attr("dev_sha256", "of another machine")
    with pytest.raises(ConfigError, match="has another dev_sha256: of another machine there"):
        endings(tuner.run(1))
    # It was none of the trials that were asked for.
    tuner.study.set_user_attr("dev_sha256", None)
    assert [kind for kind, *_ in endings(make_tuner().run(1))] == ["finished"]


def test_what_would_fail_in_a_trial_fails_before_it(make_tuner: Make, tmp_path: Path) -> None:
    for change, message in (
        ({"device": "gpu"}, "training.device is 'gpu'"),
        ({"precision": "tf32", "device": "cpu"}, "tf32"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_tuner(config=replace(CONFIG, training=replace(TRAINING, **change)))
    with pytest.raises(ConfigError, match="no pruner 'mean'; there are median, halving, none"):
        make_tuner(pruner="mean")
    with pytest.raises(ConfigError, match="--storage is not a database URL"):
        make_tuner("b", storage="nonsense")
    with pytest.raises(DataError, match=r"small in postgresql\+nodriver://me:\*\*\*@host/db cannot be used") as told:
        make_tuner("b", storage="postgresql+nodriver://me:secret@host/db")
    assert "secret" not in str(told.value)
    assert make_tuner("b").best() is None, "a folder is not taken by a study that could not be opened"
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "study.db").write_text("this is no database, but a text that is long enough" * 99)
    with pytest.raises(DataError, match=r"the study small in sqlite:.*/c/study\.db cannot be used: .*not a database"):
        make_tuner("c")
    assert not list(tmp_path.glob("*/trial-*"))


def test_a_missing_optuna_is_told(make_tuner: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"optuna is not installed, .* pip install 'tpn2f\[tuning\]'"):
        make_tuner()


# The command


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nowhere: Path) -> Callable[..., Any]:
    """`tpn2f tune` on a small config, in an empty folder: exit code, what was printed, what was complained of."""
    (nowhere / "small.toml").write_text(write_config(replace(CONFIG, training=replace(TRAINING, epochs=1))))

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tpn2f", "tune", "small.toml", *words])
        code = 0
        try:
            cli.main()
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        return code, *capsys.readouterr()

    return run


def test_the_command_shows_trials_and_the_best(tune: Callable[..., Any], nowhere: Path) -> None:
    options = ["--search", SEARCH[0], "--search", SEARCH[2], "--set", "training.clip=5.0", "--trials", "2"]
    code, out, err = tune(*options)
    assert (code, err.strip()) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("trial 0: training.learning_rate=0.00") and "model.encoder=" in lines[0]
    assert "dev strict" in lines[0] and lines[0].endswith("(1 epochs, 0 s), the best so far") | ("best" in lines[0])
    assert lines[1].startswith("trial 1: ")
    assert lines[2].startswith("best: trial ") and lines[2].endswith("written to runs/small-tune/best.toml")
    assert lines[3].startswith("train with it: tpn2f train small.toml --set training.clip=5.0 --set training.learning")
    # The settings that are shown are those of the file.
    words = lines[3].split()[4:]
    shown = load_config(nowhere / "small.toml", [word for word in words if "=" in word])
    assert shown == load_config(nowhere / "runs" / "small-tune" / "best.toml")
    assert tune(*options)[:2] == (0, "\n".join(lines[2:]) + "\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is nothing to search"),
        (["--search", "training.epoch=int 1 3"], "did you mean training.epochs?"),
        (["--search", SEARCH[0], "--pruner", "mean"], "there is no pruner 'mean'"),
        (["--space", "none.toml"], "cannot read the space none.toml"),
        (["--search", SEARCH[0], "--set", "training.device=gpu"], "training.device is 'gpu'"),
        (["--search", SEARCH[0], "--set", "data.train=train+tren"], "no split 'tren'"),
    ],
)
def test_what_a_user_can_get_wrong_is_one_line(
    tune: Callable[..., Any], nowhere: Path, words: list[str], message: str
) -> None:
    code, out, err = tune(*words)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
    assert not list(nowhere.glob("runs/*/trial-*"))


def test_the_example_space_fits_the_preset() -> None:
    space = REPOSITORY / "configs" / "search" / "arithmetic.toml"
    assert len(read_space([], space, load_config(REPOSITORY / "configs" / "arithmetic.toml"))) >= 3


def test_a_trial_in_use_is_left_alone(make_tuner: Make) -> None:
    tuner = make_tuner()
    events = tuner.run(1)
    next(iter(events))
    events.close()  # type: ignore[attr-defined]
    with locked(tuner.trial_folder(0)):
        assert endings(make_tuner().run(1)) == []
    assert [kind for kind, *_ in endings(make_tuner().run(1))] == ["finished"]
