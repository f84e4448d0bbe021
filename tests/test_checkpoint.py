"""Checkpoints: whole or not there, verified on load, the one before as a fallback."""

import errno
import json
import multiprocessing

import pytest
import torch

from tpn2f import checkpoint as module
from tpn2f.checkpoint import (
    Checkpoint,
    load_weights,
    locked,
    read_checkpoint,
    read_latest,
    rotate_checkpoint,
    write_checkpoint,
)
from tpn2f.errors import CheckpointError


def make(value: float) -> Checkpoint:
    return Checkpoint(
        {"model": {"w": torch.full((3, 2), value), "half": torch.ones(2, dtype=torch.float16)}, "optimizer": {}},
        {"step": value, "nested": {"a": [1, 2.5, None]}},
        {"words.txt": "a\nb ü\n"},
    )


def assert_same(one: Checkpoint, other: Checkpoint) -> None:
    assert one.state == other.state
    assert one.texts == other.texts
    assert one.tensors.keys() == other.tensors.keys()
    for group, tensors in one.tensors.items():
        assert tensors.keys() == other.tensors[group].keys()
        for name, tensor in tensors.items():
            assert tensor.dtype == other.tensors[group][name].dtype
            assert torch.equal(tensor, other.tensors[group][name])


def test_what_is_written_is_read(tmp_path):
    write_checkpoint(tmp_path / "best", make(0.1))
    assert_same(read_checkpoint(tmp_path / "best"), make(0.1))
    write_checkpoint(tmp_path / "best", make(0.2))
    assert_same(read_checkpoint(tmp_path / "best"), make(0.2))
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_the_last_and_the_previous_are_kept(tmp_path):
    assert read_latest(tmp_path) is None
    for value in (1.0, 2.0, 3.0):
        rotate_checkpoint(tmp_path, make(value))
    found = read_latest(tmp_path)
    assert found is not None and found[1] == ""
    assert_same(found[0], make(3.0))
    assert_same(read_checkpoint(tmp_path / "previous"), make(2.0))


DAMAGES = {
    "flipped byte": lambda place: _flip(place / "model.safetensors"),
    "truncated": lambda place: (place / "model.safetensors").write_bytes(
        (place / "model.safetensors").read_bytes()[:50]
    ),
    "missing file": lambda place: (place / "words.txt").unlink(),
    "missing manifest": lambda place: (place / "manifest.json").unlink(),
    "broken state": lambda place: (place / "state.json").write_text("{"),
    "broken manifest": lambda place: (place / "manifest.json").write_text("{"),
    "manifest of another kind": lambda place: (place / "manifest.json").write_text("[]"),
    "from the future": lambda place: (place / "manifest.json").write_text(json.dumps({"format": 99, "files": {}})),
}


def _flip(path) -> None:
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_taken(tmp_path, damage):
    rotate_checkpoint(tmp_path, make(1.0))
    rotate_checkpoint(tmp_path, make(2.0))
    DAMAGES[damage](tmp_path / "last")
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(tmp_path / "last")
    assert "\n" not in str(caught.value) and str(tmp_path) in str(caught.value)
    found = read_latest(tmp_path)
    assert found is not None
    assert_same(found[0], make(1.0))
    assert "continuing from the checkpoint before it" in found[1]
    DAMAGES[damage](tmp_path / "previous")
    with pytest.raises(CheckpointError):
        read_latest(tmp_path)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    rotate_checkpoint(tmp_path, make(1.0))

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "save_file", full)
    for write in (rotate_checkpoint, lambda folder, checkpoint: write_checkpoint(folder / "last", checkpoint)):
        with pytest.raises(CheckpointError, match=r"No space left.*the one before it is intact"):
            write(tmp_path, make(2.0))
    found = read_latest(tmp_path)
    assert found is not None
    assert_same(found[0], make(1.0))
    assert [path.name for path in tmp_path.iterdir()] == ["last"]


def _hold(folder, ready, release) -> None:
    with locked(folder):
        ready.set()
        release.wait(30)


def test_a_run_directory_has_one_writer_and_a_killed_one_frees_it(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    process = context.Process(target=_hold, args=(tmp_path, ready, release))
    process.start()
    assert ready.wait(60)
    with pytest.raises(CheckpointError, match="in use by another training"), locked(tmp_path):
        pass
    process.kill()
    process.join()
    with locked(tmp_path):
        pass


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"weight": torch.zeros(2, 3)}, "has no bias"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2), "more": torch.zeros(1)}, "has more, which"),
        (
            {"weight": torch.zeros(3, 2), "bias": torch.zeros(2)},
            r"weight has the shape \(3, 2\); the model expects \(2, 3\)",
        ),
    ],
)
def test_weights_of_another_model_are_refused(weights, message):
    linear = torch.nn.Linear(3, 2)
    before = linear.weight.detach().clone()
    with pytest.raises(CheckpointError, match=message):
        load_weights(linear, weights, "there")
    assert torch.equal(linear.weight, before)


def test_reading_needs_no_lock(tmp_path):
    write_checkpoint(tmp_path / "best", make(1.0))
    tmp_path.chmod(0o500)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "FileLock", None)
            assert_same(read_checkpoint(tmp_path / "best"), make(1.0))
        assert [path.name for path in tmp_path.iterdir()] == ["best"]
    finally:
        tmp_path.chmod(0o700)
