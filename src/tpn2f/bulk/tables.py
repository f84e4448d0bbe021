"""Files of records in parts: plain text, JSONL, CSV and Parquet, read part by part and written in one step each.

A file is looked through once, to say where its parts begin. After that every part can be read on its own, by any
process, and nobody holds the whole file.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tpn2f.bulk.records import COLUMNS, READ, Unread, parse_line
from tpn2f.errors import DataError

if TYPE_CHECKING:
    from pyarrow import Schema, Table

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
WRITTEN = ("jsonl", "csv", "parquet")
"""The formats of answers."""
BOM = b"\xef\xbb\xbf"
MISSING = "Parquet files need pyarrow, which is not installed: pip install 'tpn2f[ray]'"


@dataclass(frozen=True, slots=True)
class Part:
    """Some records of a file, one after another."""

    number: int
    first: int
    """The number of its first record in the file, from 1."""
    count: int
    start: int
    """The first byte; of a Parquet file the row group."""
    end: int
    """The byte behind the last; of a Parquet file the place in the row group."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A file in parts, and a sum by which the same file is known again."""

    parts: list[Part]
    sha256: str

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)


def format_of(path: Path) -> str:
    """jsonl, csv or parquet by the ending; text for any other."""
    return FORMATS.get(path.suffix.lower(), "text")


def divide(path: Path, size: int) -> Parts:
    """Looks through a file: where its parts of `size` records begin. Empty lines are no records."""
    try:
        if format_of(path) == "parquet":
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Parts(list(_row_groups(path, size)), digest)
        with path.open("rb") as file:
            lines = _Counted(file)
            ends = _csv_ends(lines, path) if format_of(path) == "csv" else _line_ends(lines)
            return Parts(list(_cut(ends, size)), lines.sum.hexdigest())
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def read(path: Path, part: Part) -> list[object]:
    """The records of a part: objects, or Unread with the reason. Invalid bytes become question marks."""
    kind = format_of(path)
    try:
        if kind == "parquet":
            return _row_group(path, part.start).slice(part.end, part.count).to_pylist()
        with path.open("rb") as file:
            names = next(_csv_rows(file, path), []) if kind == "csv" else []
            file.seek(part.start)
            raw = file.read(part.end - part.start)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    if kind == "csv":
        return [_csv_record(names, cells) for cells in _csv_rows(io.BytesIO(raw), path) if cells]
    lines = [line for line in raw.removeprefix(BOM).split(b"\n") if line.strip()]
    texts = (line.decode("utf-8", "replace") for line in lines)
    if kind == "jsonl":
        return [parse_line(text, only_json=True) for text in texts]
    found = (parse_line(text) for text in texts)
    return [{"question": one} if isinstance(one, str) else one for one in found]


def write(path: Path, rows: Sequence[Mapping[str, object]], kind: str = "jsonl") -> None:
    """Writes a table completely or not at all; who writes it twice leaves it once."""
    draft = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}")
    try:
        with draft.open("wb") as file:
            if kind == "parquet":
                _write_parquet(file, rows)
            else:
                text = _csv_text(rows) if kind == "csv" else "".join(f"{_json(row)}\n" for row in rows)
                file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise DataError(f"cannot write {path}: {error.strerror}") from error


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of a table that was written here."""
    kind = format_of(path)
    if kind == "parquet":
        yield from _parquet(path).read().to_pylist()
        return
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file) if kind == "csv" else map(json.loads, file)


class _Counted:
    """The lines of a file as text, with a count and a sum of the bytes that were read."""

    def __init__(self, file: Iterable[bytes]) -> None:
        self._file, self.place, self.sum = file, 0, hashlib.sha256()

    def __iter__(self) -> Iterator[str]:
        for line in self._file:
            text = line.removeprefix(BOM) if self.place == 0 else line
            self.place += len(line)
            self.sum.update(line)
            yield text.decode("utf-8", "replace")


def _line_ends(lines: _Counted) -> Iterator[tuple[int, int]]:
    """Where each record begins and ends."""
    start = 0
    for line in lines:
        if line.strip():
            yield start, lines.place
        start = lines.place


def _csv_ends(lines: _Counted, path: Path) -> Iterator[tuple[int, int]]:
    """The same for CSV, where a record may be many lines; the first record has the names."""
    rows = _checked(csv.reader(iter(lines)), path)
    names = next(rows, [])
    if not {"question", "text"} & set(names):
        raise DataError(f"{path}: expected a column `question` or `text` in the first line, got {', '.join(names)!r}")
    start = lines.place
    for row in rows:
        if row:
            yield start, lines.place
        start = lines.place


def _cut(ends: Iterable[tuple[int, int]], size: int) -> Iterator[Part]:
    """Parts of `size` records."""
    number = count = start = last = 0
    for begin, end in ends:
        start = begin if count == 0 else start
        count, last = count + 1, end
        if count == size:
            yield Part(number, number * size + 1, count, start, last)
            number, count = number + 1, 0
    if count:
        yield Part(number, number * size + 1, count, start, last)


def _checked(rows: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:
        raise DataError(f"{path} is no CSV file that can be read: {error}") from error


def _csv_rows(file: Iterable[bytes], path: Path) -> Iterator[list[str]]:
    return _checked(csv.reader(iter(_Counted(file))), path)


def _csv_record(names: Sequence[str], cells: Sequence[str]) -> object:
    """Empty cells are as good as none; `inputs` are JSON in a cell."""
    record: dict[str, object] = {name: cell for name, cell in zip(names, cells) if cell and name in READ}
    given = record.get("inputs")
    if isinstance(given, str):
        found = parse_line(given, only_json=True)
        if isinstance(found, Unread):
            return Unread(f"`inputs`: {found.reason}")
        record["inputs"] = found
    return record


def _json(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False)


def flat(value: object) -> object:
    """A value for a cell of text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(COLUMNS)
    table.writerows([flat(row.get(name)) for name in COLUMNS] for row in rows)
    return text.getvalue()


def _parquet(path: Path) -> Any:
    try:
        from pyarrow import ArrowInvalid
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DataError(MISSING) from error
    try:
        return ParquetFile(path)
    except ArrowInvalid as error:
        raise DataError(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from error


def _row_groups(path: Path, size: int) -> Iterator[Part]:
    """Parts of at most `size` rows, none over the end of a row group."""
    file = _parquet(path)
    if not {"question", "text"} & set(file.schema_arrow.names):
        raise DataError(f"{path}: expected a column `question` or `text`, got {', '.join(file.schema_arrow.names)!r}")
    number, first = 0, 1
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        for offset in range(0, rows, size):
            count = min(size, rows - offset)
            yield Part(number, first, count, group, offset)
            number, first = number + 1, first + count


@lru_cache(maxsize=1)
def _row_group(path: Path, group: int) -> Table:
    """Kept, because the next part is most often of the same group."""
    file = _parquet(path)
    return file.read_row_group(group, [name for name in file.schema_arrow.names if name in READ])


def _schema() -> Schema:
    import pyarrow

    kinds = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
        "count": pyarrow.int64(),
    }
    return pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])


def _write_parquet(file: BinaryIO, rows: Sequence[Mapping[str, object]]) -> None:
    try:
        from pyarrow import Table
        from pyarrow.parquet import write_table
    except ImportError as error:
        raise DataError(MISSING) from error
    table = [
        {name: flat(row.get(name)) if kind == "text" else row.get(name) for name, kind in COLUMNS.items()}
        for row in rows
    ]
    write_table(Table.from_pylist(table, _schema()), file)
