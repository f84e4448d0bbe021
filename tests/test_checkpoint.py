"""Checkpoints: whole or not there, verified on load, the one before as a fallback."""

import errno
import hashlib
import json
import multiprocessing
import os
from pathlib import Path

import pytest
import torch

from tpn2f import checkpoint as module
from tpn2f.checkpoint import (
    Checkpoint,
    find_checkpoint,
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


# A stranger's checkpoint: the sums are right, the rest need not be.


def rewrite(place, name: str = "", content: bytes = b"", **listed: str) -> None:
    """Puts a file into a checkpoint, and whatever else into its manifest, with right sums."""
    manifest = json.loads((place / "manifest.json").read_text())
    if name:
        (place / name).write_bytes(content)
        manifest["files"][name] = hashlib.sha256(content).hexdigest()
    manifest["files"].update(listed)
    (place / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "outer" / "best"
    write_checkpoint(folder, make(1.0))
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "../../outer/secret.txt",
        "ABSOLUTE",
        "sub/x.txt",
        "..",
        ".",
        "",
        ".hidden",
        "a\\b",
        "a\0b",
        "C:x",
    ],
)
def test_a_manifest_cannot_name_what_lies_elsewhere(place, name):
    secret = place.parent / "secret.txt"
    secret.write_text("secret")
    name = str(secret) if name == "ABSOLUTE" else name
    rewrite(place, **{name: hashlib.sha256(b"secret").hexdigest()})
    with pytest.raises(CheckpointError, match="expected plain names of files beside it"):
        read_checkpoint(place)


def link(path):
    (path.parent.parent / "elsewhere").write_text("a\nb ü\n")
    path.symlink_to(path.parent.parent / "elsewhere")


KINDS = {
    "a link": (link, "a link, which may lead anywhere"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "a link"),
    "a pipe": (os.mkfifo, "no regular file"),
    "a folder": (lambda path: path.mkdir(), "no regular file"),
    "a sparse giant": (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 40), "bytes; expected"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["words.txt", "model.safetensors", "state.json", "manifest.json"])
def test_only_regular_files_of_a_bounded_size_are_read(place, kind, name):
    spoil, expected = KINDS[kind]
    (place / name).unlink()
    spoil(place / name)
    with pytest.raises(CheckpointError, match=expected if name != "manifest.json" else "manifest") as caught:
        read_checkpoint(place)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("words.txt", b"<pad>\xff", "words.txt is not text in UTF-8: invalid start byte at byte 5"),
        ("state.json", b"[" * 200_000, "state.json is damaged: it is nested too deeply"),
        ("state.json", b'{"a": ' + b"9" * 5000 + b"}", "state.json is damaged"),
        ("state.json", b"\xff", "state.json is damaged"),
        ("state.json", b"[]", "expected an object"),
        ("model.safetensors", b"", "model.safetensors cannot be read"),
        ("model.safetensors", b"\xff" * 8 + b"{}", "model.safetensors cannot be read"),
        ("model.safetensors", b"\x02" + bytes(7) + b"[]", "model.safetensors cannot be read"),
    ],
)
def test_content_with_right_sums_is_one_clear_line(place, name, content, expected):
    rewrite(place, name, content)
    with pytest.raises(CheckpointError, match=expected) as caught:
        read_checkpoint(place)
    assert "\n" not in str(caught.value)


def test_a_manifest_is_a_short_list(place):
    rewrite(place, **{f"{number}.txt": "" for number in range(100)})
    with pytest.raises(CheckpointError, match="lists 104 files; expected at most 64"):
        read_checkpoint(place)
    (place / "manifest.json").write_text('{"format": 1, "files": ' + "[" * 200_000)
    with pytest.raises(CheckpointError, match="nested too deeply"):
        read_checkpoint(place)


def test_no_file_is_written_outside(tmp_path):
    for hostile in (Checkpoint({}, {}, {"../../x": "evil"}), Checkpoint({"../../x": {}}, {}, {})):
        with pytest.raises(CheckpointError, match="no plain name"):
            write_checkpoint(tmp_path / "a" / "b", hostile)
    assert list((tmp_path / "a").iterdir()) == []


def test_who_is_killed_while_replacing_leaves_a_checkpoint(tmp_path, monkeypatch):
    place = tmp_path / "best"
    write_checkpoint(place, make(1.0))
    rename = Path.rename

    def killed(path, target):
        if path.name.endswith("-draft"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(place, make(2.0))
    monkeypatch.undo()
    assert not place.exists()
    assert_same(read_checkpoint(place), make(1.0))
    assert find_checkpoint(place) == tmp_path / ".best-old"
    write_checkpoint(place, make(3.0))
    assert_same(read_checkpoint(place), make(3.0))
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_all_files_are_for_the_same_readers(tmp_path):
    before = os.umask(0o022)
    try:
        write_checkpoint(tmp_path / "best", make(1.0))
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "best").iterdir()} == {"0o644"}


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
        ({"weight": torch.full((2, 3), torch.nan), "bias": torch.zeros(2)}, "weight has numbers that are not finite"),
        ({"weight": torch.full((2, 3), torch.inf), "bias": torch.zeros(2)}, "weight has numbers that are not finite"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2, dtype=torch.long)}, "bias has numbers of the type"),
        ({"weight": torch.zeros(2, 3), "bias": torch.zeros(2, dtype=torch.cfloat)}, "bias has numbers of the type"),
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
