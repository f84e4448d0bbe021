"""Files that may be gzipped, read up to a size: three million bytes can unpack to as many as somebody likes."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

from tpn2f.errors import DataError

MOST_UNPACKED = 1 << 30
"""The most bytes that are read of one file of a data set."""


def open_packed(path: Path, packed: bool | None = None, most: int | None = None) -> Any:
    """A file for reading, unpacked if it is called .gz, or if told so.

    Reading raises DataError once more than `most` bytes came.
    """
    unpacks = path.suffix == ".gz" if packed is None else packed
    opened = gzip.GzipFile(path) if unpacks else path.open("rb")
    return io.BufferedReader(_Bounded(opened, path.name, most or MOST_UNPACKED), 1 << 18)


class _Bounded(io.RawIOBase):
    """A stream that ends in an error when it does not end in time."""

    def __init__(self, stream: Any, name: str, most: int) -> None:
        self._stream, self._name, self._most = stream, name, most
        self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise DataError(f"{self._name} has more than {self._most:,} bytes when it is unpacked")
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()
