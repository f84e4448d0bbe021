"""Vectors of texts on disk, so that a frozen encoder reads every training text once.

A shard is a pair of files: NAME.f16 holds the rows of some texts one after the other, NAME.json which texts, and the
sum of the first. The second is written last, so a shard is whole or absent. Vectors are kept with 16 bits. A shard that
is damaged is noticed when the store is opened, dropped with a note, and its texts are read again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor

from tpn2f.contextual.text import text_of
from tpn2f.domain import Problem, cache_folder
from tpn2f.errors import ConfigError

SHARD = 256
"""How many texts a shard holds: what is lost when a process is killed."""

Text = tuple[str, ...]


class VectorStore:
    """The vectors of one encoder, by text."""

    def __init__(self, folder: Path, width: int) -> None:
        self.folder, self.width = folder, width
        self.notes: list[str] = []
        """What was found damaged."""
        self._rows: dict[bytes, tuple[np.ndarray, int, int]] = {}
        self._known: set[str] = set()
        self.refresh()

    def refresh(self) -> None:
        """Takes in the shards that have come since."""
        for index in sorted(self.folder.glob("*.json")):
            if index.stem in self._known:
                continue
            try:
                self._open(index)
            except (OSError, ValueError, KeyError, TypeError) as error:
                self.notes.append(f"{index} is damaged ({error}); its texts are read again")
                for path in (index, index.with_suffix(".f16")):
                    path.unlink(missing_ok=True)

    def _open(self, index: Path) -> None:
        shard, data = json.loads(index.read_text(encoding="utf-8")), index.with_suffix(".f16")
        counts = [int(count) for count in shard["counts"]]
        size, expected = data.stat().st_size, 2 * self.width * sum(counts)
        if size != expected:
            raise ValueError(f"{data.name} has {size:,} bytes, expected {expected:,}")
        with data.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != shard["sha256"]:
                raise ValueError(f"{data.name} has another sum than it had")
        keys = [bytes.fromhex(key) for key in shard["texts"]]
        if len(keys) != len(counts):
            raise ValueError(f"{len(keys)} texts, but {len(counts)} lengths")
        rows, start = np.memmap(data, np.float16, "r", shape=(sum(counts), self.width)), 0
        for key, count in zip(keys, counts):
            self._rows[key] = (rows, start, start + count)
            start += count
        self._known.add(index.stem)

    def __contains__(self, text: Text) -> bool:
        return _key(text) in self._rows

    def get(self, text: Text) -> Tensor | None:
        """[words, width] in float32; None for a text that is not here."""
        place = self._rows.get(_key(text))
        if place is None:
            return None
        rows, start, stop = place
        return torch.from_numpy(rows[start:stop].astype(np.float32))

    def add(self, texts: Sequence[Text], vectors: Sequence[Tensor]) -> None:
        """Writes one shard. Raises ConfigError where it cannot be written."""
        data = b"".join(rows.numpy().astype(np.float16).tobytes() for rows in vectors)
        total = hashlib.sha256(data).hexdigest()
        keys = [_key(text).hex() for text in texts]
        index = {"texts": keys, "counts": [len(rows) for rows in vectors], "sha256": total}
        name = hashlib.sha256("".join(keys).encode()).hexdigest()[:24]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self.folder / f"{name}.f16", data)
            _write(self.folder / f"{name}.json", json.dumps(index).encode())
        except OSError as error:
            raise ConfigError(f"cannot keep vectors in {self.folder}: {error.strerror}") from error
        self._open(self.folder / f"{name}.json")


@runtime_checkable
class TextReader(Protocol):
    """What a store can stand before: a row for every word of a text, or for every piece."""

    width: int

    def key(self) -> str: ...

    def identity(self) -> Mapping[str, object]: ...

    def read_texts(self, texts: Sequence[Sequence[str]]) -> list[Tensor]: ...


class StoredReader:
    """A frozen encoder, or the frozen layers of one, with a store before it."""

    def __init__(self, live: TextReader, folder: Path | None = None) -> None:
        self.live, self.width = live, live.width
        self.store = VectorStore((folder or cache_folder() / "contextual") / live.key(), live.width)

    def identity(self) -> Mapping[str, object]:
        return self.live.identity()

    def read(self, problems: Sequence[Problem]) -> list[Tensor]:
        texts = [text_of(problem) for problem in problems]
        found = [self.store.get(text) for text in texts]
        unread = iter(self.live.read_texts([text for text, vectors in zip(texts, found) if vectors is None]))
        return [next(unread) if vectors is None else vectors for vectors in found]

    def prepare(
        self, problems: Sequence[Problem], stop: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, int]]:
        """Reads what the store does not have yet. Yields how many words are done, of how many, after every shard.

        Texts of similar length are read together. Another process that needs the same texts waits for this one.
        """
        texts = sorted({text_of(problem) for problem in problems}, key=lambda text: (len(text), text))
        if all(text in self.store for text in texts):
            return
        self.store.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.store.folder / "lock", thread_local=False):
            self.store.refresh()
            left = [text for text in texts if text not in self.store]
            total, done = sum(map(len, left)), 0
            for start in range(0, len(left), SHARD):
                if stop():
                    return
                part = left[start : start + SHARD]
                self.store.add(part, self.live.read_texts(part))
                done += sum(map(len, part))
                yield done, total


def _key(text: Text) -> bytes:
    return hashlib.sha256("\n".join(text).encode()).digest()[:16]


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
