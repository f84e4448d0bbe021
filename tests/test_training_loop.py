"""Training: it learns, it stops where it should, and it goes on bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tpn2f.checkpoint import Checkpoint, read_checkpoint, read_latest, write_checkpoint
from tpn2f.config import Config, DataConfig, TrainingConfig, write_config
from tpn2f.domain import load_domain
from tpn2f.errors import CheckpointError, DataError, DivergedError
from tpn2f.model import ModelConfig, tree_systems
from tpn2f.solver import Solver
from tpn2f.training import Trainer, loop
from tpn2f.vocabulary import SPECIALS

MODEL = ModelConfig(
    n_fillers=12,
    d_filler=6,
    n_roles=8,
    d_role=5,
    d_word=16,
    d_symbol=12,
    d_relation=6,
    d_argument=6,
    d_position=4,
    d_hidden=48,
    dictionary_deviation=1.0,
    forget_bias=1.0,
    embedding_scale=1.0,
)
TRAINING = TrainingConfig(
    epochs=2, batch_size=16, learning_rate=5e-3, schedule="cosine", warmup_steps=5, clip=5.0, average=0.9
)
CONFIG = Config("small", DataConfig("arithmetic", limit=160), replace(MODEL, dropout_words=0.2), TRAINING)


def make_trainer(folder: Path, config: Config = CONFIG) -> Trainer:
    trainer = Trainer(config, load_domain("arithmetic"), folder)
    trainer.dev = trainer.dev[:20]
    return trainer


def assert_same_ends(one: Path, other: Path) -> None:
    """The same weights, moments, averages, counters and metrics, to the last bit; only times differ."""
    first, second = (read_checkpoint(run / "checkpoints" / "last") for run in (one, other))
    for group, tensors in first.tensors.items():
        assert tensors.keys() == second.tensors[group].keys()
        for name, tensor in tensors.items():
            assert torch.equal(tensor, second.tensors[group][name]), (group, name)
    standings = [{**checkpoint.state["standing"], "seconds": 0, "cpu_seconds": 0} for checkpoint in (first, second)]
    assert standings[0] == standings[1]
    metrics = [
        [
            {**json.loads(line), "seconds": 0, "cpu_seconds": 0}
            for line in (run / "metrics.jsonl").read_text().splitlines()
        ]
        for run in (one, other)
    ]
    assert metrics[0] == metrics[1]


@pytest.mark.parametrize("system", ["tpn2f", *tree_systems])
def test_stopping_anywhere_and_going_on_changes_nothing(tmp_path, system):
    config = replace(CONFIG, model=replace(CONFIG.model, **tree_systems.get(system, {})))
    straight = make_trainer(tmp_path / "straight", config)
    assert [event.kind for event in straight.run()][-1] == "finished"
    for attempt in range(40):
        trainer = make_trainer(tmp_path / "stopped", config)
        assert (trainer.resume() is None) == (attempt == 0)
        steps = 0
        for event in trainer.run():
            steps += event.kind == "step"
            trainer.stop = steps == 3
        if trainer.standing.finished:
            break
    assert trainer.standing.finished and attempt > 3
    assert_same_ends(tmp_path / "straight", tmp_path / "stopped")


@pytest.mark.parametrize("times", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_killed_at_random_moments_it_goes_on_bit_for_bit(times, tmp_path):
    config = replace(CONFIG, training=replace(TRAINING, epochs=4 * times, evaluate_examples=20, checkpoint_seconds=0.2))
    path = tmp_path / "small.toml"
    path.write_text(write_config(config))
    command = [sys.executable, "-m", "tpn2f", "train", str(path)]
    subprocess.run([*command, "--folder", str(tmp_path / "straight")], check=True, capture_output=True)
    random = torch.Generator().manual_seed(0)
    kills = 0
    while True:
        process = subprocess.Popen(
            [*command, "--folder", str(tmp_path / "killed"), "--resume"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        last = tmp_path / "killed" / "checkpoints" / "last" / "state.json"
        before = last.stat().st_mtime_ns if last.exists() else 0
        if kills < times:
            # Wait until it has saved something new, then a random moment more.
            while process.poll() is None and (not last.exists() or last.stat().st_mtime_ns == before):
                time.sleep(0.01)
            time.sleep(float(torch.rand((), generator=random)) * 0.3)
            process.send_signal(signal.SIGKILL)
            kills += 1
        _, errors = process.communicate(timeout=120)
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, errors.decode()
    assert kills == times
    assert_same_ends(tmp_path / "straight", tmp_path / "killed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_saves_and_says_how_to_go_on(tmp_path, number):
    config = replace(CONFIG, training=replace(TRAINING, epochs=500))
    path = tmp_path / "small.toml"
    path.write_text(write_config(config))
    command = [sys.executable, "-m", "tpn2f", "train", str(path), "--folder", str(tmp_path / "run")]
    # Whoever starts the tests with nohup has hang-ups ignored, and so would the training.
    before = signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    signal.signal(number, before)
    while process.poll() is None and not (tmp_path / "run" / "config.toml").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors.decode()
    assert b"--resume" in errors
    assert read_checkpoint(tmp_path / "run" / "checkpoints" / "last").state["standing"]["step"] > 0
    again = subprocess.run(command, capture_output=True, check=False)
    assert again.returncode == 2
    assert b"already holds a training" in again.stderr and b"Traceback" not in again.stderr


def test_another_config_or_other_data_is_refused(tmp_path):
    trainer = make_trainer(tmp_path)
    for _ in trainer.run():
        trainer.stop = True
    other = make_trainer(tmp_path, replace(CONFIG, training=replace(TRAINING, clip=1.0)))
    with pytest.raises(CheckpointError, match=r"clip = 5\.0 there, clip = 1\.0 here"):
        other.resume()
    assert other.resume(force=True) is not None
    less = make_trainer(tmp_path, CONFIG)
    less.data_digest = "0"
    with pytest.raises(CheckpointError, match="other data"):
        less.resume()


def test_ten_examples_are_learned_by_heart(tmp_path):
    """The other systems learn a few in test_baselines.py; the loop is the same."""
    training = TrainingConfig(epochs=400, batch_size=10, learning_rate=5e-3, clip=5.0, evaluate_every=10)
    trainer = make_trainer(tmp_path, Config("by-heart", DataConfig("arithmetic", limit=10), MODEL, training))
    trainer.dev = [weighted.example for weighted in trainer.examples]
    for event in trainer.run():
        trainer.stop = event.best == 1.0
    assert trainer.standing.best == 1.0


def test_the_kept_model_is_the_one_that_dev_chose(tmp_path):
    trainer = make_trainer(tmp_path, replace(CONFIG, training=replace(TRAINING, epochs=4)))
    scores = [event.dev for event in trainer.run() if event.kind == "dev"]
    assert trainer.standing.best == max(scores)
    solver = Solver.load(tmp_path)
    found = solver.predict([example.problem for example in trainer.dev])
    right = [candidates[0].program == example.program for candidates, example in zip(found, trainer.dev)]
    assert sum(right) / len(right) == max(scores)


def test_patience_ends_a_training(tmp_path):
    config = replace(CONFIG, training=replace(TRAINING, epochs=50, learning_rate=1e-9, patience=2, average=0.0))
    trainer = make_trainer(tmp_path, config)
    events = list(trainer.run())
    assert events[-1].kind == "finished"
    assert trainer.standing.epoch == 3


@pytest.mark.parametrize(
    ("schedule", "expected"), [("constant", [1, 1, 1]), ("exponential", [1, 0.95, 0.95**2]), ("cosine", [1, 0.5, 0.0])]
)
def test_schedules(tmp_path, schedule, expected):
    training = TrainingConfig(epochs=2, learning_rate=1.0, schedule=schedule, final_rate=0.0)
    trainer = make_trainer(tmp_path, replace(CONFIG, training=training))
    places = [0, trainer.batches_an_epoch, 2 * trainer.batches_an_epoch]
    assert [trainer.rate(place) for place in places] == pytest.approx(expected)
    warm = replace(CONFIG, training=replace(training, warmup_steps=10, schedule="constant"))
    trainer = make_trainer(tmp_path, warm)
    assert [trainer.rate(step) for step in (0, 4, 9, 50)] == pytest.approx([0.1, 0.5, 1.0, 1.0])


def test_words_in_the_same_company_start_alike_and_values_do_not(tmp_path):
    trainers = [
        make_trainer(tmp_path / kind, replace(CONFIG, training=replace(TRAINING, word_vectors=kind)))
        for kind in ("random", "company")
    ]
    before, after = (trainer.model.encoder.embedding.weight.detach() for trainer in trainers)
    words = trainers[0].codec.words
    named = [place for place, word in enumerate(words.tokens) if word in trainers[0].codec.arguments]
    others = [place for place in range(len(SPECIALS), len(words)) if place not in named]
    assert named and torch.equal(before[named], after[named])
    assert (before[others] != after[others]).any(1).all()
    rough = before[others].square().mean().sqrt()
    torch.testing.assert_close(after[others].square().mean().sqrt(), rough, rtol=0.2, atol=0)


def test_splits_are_joined_in_order(tmp_path):
    domain = load_domain("arithmetic")
    parts = {name: list(domain.examples(name)) for name in ("train", "dev")}
    data = DataConfig("arithmetic", train="dev+train", distinct=False, limit=len(parts["dev"]) + 30)
    trainer = make_trainer(tmp_path, replace(CONFIG, data=data))
    assert [example for example, _ in trainer.examples] == [*parts["dev"], *parts["train"][:30]]
    alone = make_trainer(tmp_path, replace(CONFIG, data=replace(data, train="dev")))
    assert alone.data_digest != trainer.data_digest
    for wrong in ("train+tren", "train+", "+"):
        with pytest.raises(DataError, match="no split"):
            make_trainer(tmp_path, replace(CONFIG, data=replace(data, train=wrong, limit=10)))


def test_a_checkpoint_from_before_a_setting_existed_goes_on(tmp_path):
    """What a setting's default was before it could be set."""
    trainer = make_trainer(tmp_path)
    for _ in trainer.run():
        trainer.stop = True
    place = tmp_path / "checkpoints" / "last"
    checkpoint = read_checkpoint(place)
    state = json.loads(json.dumps(checkpoint.state))
    for name in ("device", "precision", "tensorboard"):
        del state["config"]["training"][name]
    write_checkpoint(place, replace(checkpoint, state=state))
    again = make_trainer(tmp_path)
    assert again.resume() == "continuing after step 1 (epoch 1)"


def test_where_it_runs_and_how_it_is_watched_may_change(tmp_path):
    trainer = make_trainer(tmp_path)
    for _ in trainer.run():
        trainer.stop = True
    watched = replace(TRAINING, checkpoint_seconds=1.0, device="cpu")
    assert make_trainer(tmp_path, replace(CONFIG, training=watched)).resume() is not None
    with pytest.raises(CheckpointError, match=r"precision = \"float32\" there, precision = \"bf16\" here"):
        make_trainer(tmp_path, replace(CONFIG, training=replace(watched, precision="bf16"))).resume()


# Faults


def test_a_rate_that_makes_weights_infinite_names_the_step_and_what_to_lower(tmp_path):
    trainer = make_trainer(tmp_path, replace(CONFIG, training=replace(TRAINING, learning_rate=1e30)))
    with pytest.raises(
        DivergedError, match=r"step \d+: .*training\.learning_rate is 1e\+30.* lower the rate"
    ) as caught:
        list(trainer.run())
    assert "\n" not in str(caught.value)
    found = read_latest(tmp_path / "checkpoints")
    assert found is None or all(tensor.isfinite().all() for tensor in found[0].tensors["model"].values())


def test_weights_that_are_not_finite_are_never_saved(tmp_path):
    trainer = make_trainer(tmp_path)
    with torch.no_grad():
        next(trainer.model.parameters())[0] = torch.inf
    with pytest.raises(DivergedError):
        trainer._save()
    assert not (tmp_path / "checkpoints" / "last").exists()


@pytest.mark.parametrize("what", ["best", "metrics"])
def test_a_full_disk_costs_no_score(tmp_path, monkeypatch, what):
    trainer = make_trainer(tmp_path)

    def full(*arguments: object) -> None:
        raise CheckpointError("cannot write the checkpoint: No space left on device")

    if what == "best":
        monkeypatch.setattr(loop, "write_checkpoint", full)
    else:
        (tmp_path / "metrics.jsonl").mkdir(parents=True)
    events = []
    with pytest.raises(CheckpointError, match=r"No space left|metrics\.jsonl"):
        for event in trainer.run():
            events.append(event)
    assert events[-1].kind == "dev" and 0 <= events[-1].dev <= 1


def test_a_disk_without_room_is_found_before_the_first_step(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(1 << 20, 1 << 20, 1000))
    with pytest.raises(CheckpointError, match=r"the disk has 1,000 bytes left; the checkpoints may need [\d,]+"):
        next(make_trainer(tmp_path / "new" / "run").run())
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda c: c.state.update(standing={"nonsense": 1}), "cannot be continued"),
        (lambda c: c.state.update(standing=None), "cannot be continued"),
        (lambda c: c.tensors.pop("optimizer"), "cannot be continued"),
        (lambda c: c.tensors.update(optimizer={"x.y": torch.zeros(1)}), "cannot be continued"),
        (lambda c: c.tensors.pop("model"), "has no"),
    ],
)
def test_a_strangers_training_is_one_line(tmp_path, spoil, expected):
    trainer = make_trainer(tmp_path)
    trainer._save()
    found = read_checkpoint(tmp_path / "checkpoints" / "last")
    spoiled = Checkpoint(dict(found.tensors), dict(found.state), dict(found.texts))
    spoil(spoiled)
    write_checkpoint(tmp_path / "checkpoints" / "last", spoiled)
    with pytest.raises(CheckpointError, match=expected) as caught:
        make_trainer(tmp_path).resume()
    assert "\n" not in str(caught.value)


# Several processes

SEVERAL = replace(
    CONFIG,
    model=replace(MODEL, dropout_words=0.0),
    training=replace(TRAINING, average=0.0, evaluate_examples=21, checkpoint_seconds=0.0),
)


def train_with_two(folder: Path, name: str, *program: str) -> subprocess.CompletedProcess[str]:
    """`torchrun` with two processes in FOLDER/NAME; the program is `-m tpn2f` or a script that ends there."""
    (folder / "small.toml").write_text(write_config(SEVERAL))
    words = ["train", str(folder / "small.toml"), "--folder", str(folder / name), "--resume"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "--max-restarts", "2", *program, *words],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done


def assert_trained_alike(one: Path, two: Path) -> None:
    """The same losses and, within rounding, the same weights."""
    first, second = (read_checkpoint(run / "checkpoints" / "last") for run in (one, two))
    assert first.state["standing"]["step"] == second.state["standing"]["step"] > 0
    for name, tensor in first.tensors["model"].items():
        assert torch.allclose(tensor, second.tensors["model"][name], atol=2e-3), name
    losses = [
        [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()] for run in (one, two)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


MORTAL = """
import json, os, signal, threading, time
from pathlib import Path
from tpn2f.cli import main

def die_after_a_checkpoint():
    state = Path({run!r}) / "checkpoints" / "last" / "state.json"
    while True:
        try:
            step = json.loads(state.read_text())["standing"]["step"]
        except (OSError, ValueError):
            step = 0
        if step >= 3:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.01)

if os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    threading.Thread(target=die_after_a_checkpoint, daemon=True).start()
main()
"""


def test_two_processes_train_as_one(tmp_path):
    """The same batches give the same model as one process does."""
    trainer = Trainer(SEVERAL, load_domain("arithmetic"), tmp_path / "one")
    assert [event.kind for event in trainer.run()][-1] == "finished"
    train_with_two(tmp_path, "two", "-m", "tpn2f")
    assert_trained_alike(tmp_path / "one", tmp_path / "two")


@pytest.mark.slow
def test_two_processes_come_back_when_one_of_them_dies(tmp_path):
    """A death changes nothing of the model."""
    train_with_two(tmp_path, "two", "-m", "tpn2f")
    script = tmp_path / "mortal.py"
    script.write_text(MORTAL.format(run=str(tmp_path / "killed")))
    done = train_with_two(tmp_path, "killed", str(script))
    assert "has no checkpoint yet: starting from the beginning" in done.stderr
    assert "continuing after step" in done.stderr, "one process died, and all came back"
    assert_same_ends(tmp_path / "two", tmp_path / "killed")
