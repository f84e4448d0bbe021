"""Vectors on disk: read once, the same ever after, whatever is killed or damaged."""

from pathlib import Path

import pytest
import torch

from tiny_bert import WIDTH, make_bert
from tpn2f.contextual import PretrainedReader, StoredReader, VectorStore, store
from tpn2f.domain import Problem

PROBLEMS = [Problem(("what", "is") * n + ("n0", "?"), {"n0": float(n)}) for n in range(1, 8)] + [Problem(())]


@pytest.fixture
def live(tmp_path: Path) -> PretrainedReader:
    return PretrainedReader(str(make_bert(tmp_path / "bert")))


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SHARD", 3)


def test_what_is_read_once_is_there_without_the_encoder(live, tmp_path, monkeypatch):
    expected = live.read(PROBLEMS)
    counts = list(StoredReader(live, tmp_path / "cache").prepare([*PROBLEMS, PROBLEMS[0]]))
    total = sum(len(problem.words) for problem in PROBLEMS)
    assert len(counts) == 3 and counts[-1] == (total, total) and counts == sorted(counts)
    again = StoredReader(live, tmp_path / "cache")
    monkeypatch.setattr(live, "read_texts", lambda texts: [] if not texts else pytest.fail("it was read again"))
    assert list(again.prepare(PROBLEMS)) == []
    for one, other in zip(expected, again.read(PROBLEMS)):
        assert other.dtype == torch.float32
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-3)
    assert again.identity() == live.identity()


def test_a_text_that_is_not_there_is_read_at_once(live, tmp_path):
    stored = StoredReader(live, tmp_path / "cache")
    list(stored.prepare(PROBLEMS[:2]))
    for one, other in zip(live.read(PROBLEMS[::-1]), stored.read(PROBLEMS[::-1])):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-3)


def test_stopped_in_the_middle_it_goes_on(live, tmp_path):
    reader = StoredReader(live, tmp_path / "cache")
    stops = iter([False, True])
    assert len(list(reader.prepare(PROBLEMS, lambda: next(stops)))) == 1
    reader = StoredReader(live, tmp_path / "cache")
    done = list(reader.prepare(PROBLEMS))
    assert len(done) == 2 and done[-1][1] < sum(len(problem.words) for problem in PROBLEMS)
    assert list(StoredReader(live, tmp_path / "cache").prepare(PROBLEMS)) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-2])


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("suffix", "harm"),
    [("f16", cut), ("f16", change), ("json", cut), ("f16", Path.unlink)],
    ids=["cut", "changed", "index cut", "gone"],
)
def test_a_damaged_shard_is_noticed_and_read_again(suffix, harm, live, tmp_path):
    reader = StoredReader(live, tmp_path / "cache")
    list(reader.prepare(PROBLEMS))
    expected = reader.read(PROBLEMS)
    harm(sorted(reader.store.folder.glob(f"*.{suffix}"))[1])
    again = StoredReader(live, tmp_path / "cache")
    (note,) = again.store.notes
    assert "is damaged" in note and note.endswith("its texts are read again")
    assert len(list(again.prepare(PROBLEMS))) == 1
    for one, other in zip(expected, again.read(PROBLEMS)):
        assert torch.equal(one, other)


def test_other_encoders_have_other_folders(live, tmp_path):
    other = PretrainedReader(str(make_bert(tmp_path / "other", seed=1)))
    one, two = StoredReader(live, tmp_path / "cache"), StoredReader(other, tmp_path / "cache")
    assert one.store.folder != two.store.folder
    list(one.prepare(PROBLEMS))
    assert len(list(two.prepare(PROBLEMS))) == 3


def test_a_draft_that_was_left_behind_does_no_harm(tmp_path):
    kept = VectorStore(tmp_path, WIDTH)
    kept.add([("a", "b")], [torch.ones(2, WIDTH)])
    (tmp_path / ".name.f16-77").write_bytes(b"half")
    (tmp_path / "lonely.f16").write_bytes(b"half")
    again = VectorStore(tmp_path, WIDTH)
    assert ("a", "b") in again and not again.notes and ("a",) not in again
    assert torch.equal(again.get(("a", "b")), torch.ones(2, WIDTH))
