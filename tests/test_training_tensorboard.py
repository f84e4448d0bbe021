"""TensorBoard: the same numbers as metrics.jsonl, each point once, and a clear word where it is missing."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from test_training_loop import CONFIG, TRAINING, make_trainer
from tpn2f.errors import ConfigError

pytest.importorskip("tensorboard", reason="needs the extra `tracking`")
TRACKED = replace(CONFIG, training=replace(TRAINING, epochs=3, tensorboard=True))


def scalars(run: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads: tag -> (step, value)."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(run / "tensorboard"))
    reader.Reload()
    return {
        tag: [(event.step, event.value) for event in reader.Scalars(tag)]
        for tag in reader.Tags()["scalars"]  # pyright: ignore[reportOptionalIterable]
    }


def assert_same_numbers(run: Path) -> None:
    """The points of the event files are the lines of metrics.jsonl."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    shown = scalars(run)
    for name, tag in {"loss": "training/loss", "rate": "training/rate", "dev_strict": "dev/strict"}.items():
        points = [(line["step"], pytest.approx(line[name])) for line in lines]
        assert shown[tag] == points, tag
    for name in ("filler_entropy", "role_entropy", "fillers_used", "roles_used", "residual"):
        assert shown[f"health/{name}"] == [(line["step"], pytest.approx(line[name])) for line in lines]
    speeds = dict(shown["training/examples_per_second"])
    # A run that resumes just before a scoring has no speed to report.
    assert {line["step"] for line in lines[1:]} <= speeds.keys() and min(speeds.values()) > 0
    assert not {"training/step", "health/step", "health/seconds"} & shown.keys()


def test_every_record_is_a_point(tmp_path: Path) -> None:
    records = [event.record for event in make_trainer(tmp_path, TRACKED).run() if event.kind == "dev"]
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    speeds = [record["examples_per_second"] for record in records]
    assert records == [{**line, "examples_per_second": speed} for line, speed in zip(lines, speeds)]
    assert_same_numbers(tmp_path)


@pytest.mark.parametrize("moment", ["a step into the second epoch", "scored, not saved"])
def test_no_point_is_doubled_by_resuming(tmp_path: Path, moment: str) -> None:
    trainer = make_trainer(tmp_path, replace(TRACKED, training=replace(TRACKED.training, checkpoint_seconds=0)))
    for event in trainer.run():
        # Saved after every step; then gone without a word, as by kill -9.
        if event.epoch == 1 and event.kind == ("step" if moment.startswith("a step") else "dev"):
            break
    again = make_trainer(tmp_path, TRACKED)
    assert again.resume() is not None
    assert [event.kind for event in again.run()][-1] == "finished"
    assert_same_numbers(tmp_path)


def test_nothing_is_written_unless_asked_for(tmp_path: Path) -> None:
    for _ in make_trainer(tmp_path, replace(CONFIG, training=replace(TRAINING, epochs=1))).run():
        pass
    assert not (tmp_path / "tensorboard").exists()


def test_a_missing_tensorboard_is_told_before_anything_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"tensorboard is not installed: pip install 'tpn2f\[tracking\]'"):
        make_trainer(tmp_path, TRACKED)
