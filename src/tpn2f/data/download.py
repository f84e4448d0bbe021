"""Fetches the public originals of the data sets: from their servers, from a mirror, or from a local folder.

A download that was cut goes on where it stopped. A file takes its final name only after it is whole and its sum is
right, so what stands in the folder can be trusted. Archives are never unpacked by the names they hold.

Not every sum is known. The original `train.json` of MathQA was never at hand whole; its git blob id is, and so is the
sum of the reconstruction that our results are made with (`docs/results.md`). A train file that is neither is kept, and
a notice says so. The same holds for the train file of AlgoLisp, of which nothing is known. This module prints nothing.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from tpn2f.data.sources import SOURCES, Source, SourceFile
from tpn2f.domain import cache_folder
from tpn2f.errors import DataError

OnBytes = Callable[[int, int | None], None]
"""Told the bytes done and the bytes in all, if known, of the file that is being fetched; each file begins at 0."""

MAX_BYTES = 1 << 29
"""The largest file that is fetched or unpacked."""
TIMEOUT = 30.0
"""Seconds without a byte after which a server is given up."""
ATTEMPTS = 4
"""How often a download is taken up again after the connection was cut."""
PAUSE = 1.0
"""Seconds before the first new attempt; each further one waits twice as long."""
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was done: where the files are, which were there already, and what the user should know.

    Its items are the lines to show.
    """

    folder: Path
    files: tuple[str, ...]
    kept: tuple[str, ...]
    notices: tuple[str, ...]

    def __iter__(self) -> Iterator[str]:
        fetched = [name for name in self.files if name not in self.kept]
        if fetched:
            yield f"fetched {', '.join(fetched)}"
        if self.kept:
            yield f"kept {', '.join(self.kept)}"
        yield from self.notices


def target_folder(dataset: str) -> Path:
    """Where a data set is looked for, and so the place to fetch it to: in TPN2F_DATA if set, else in the cache."""
    told = os.environ.get("TPN2F_DATA")
    place = Path(told) if told else cache_folder()
    return place if place.name == dataset else place / dataset


def fetch(dataset: str, into: Path | str, source: Path | str | None = None, progress: OnBytes | None = None) -> Fetched:
    """Brings a data set into the folder `into` and checks it; what is there and right is kept.

    `source` is None for the public servers, an http(s) address for a mirror with the same file names, or a local folder
    that holds the files or the archive. Raises DataError.
    """
    if dataset not in SOURCES:
        raise DataError(f"no data set is called {dataset!r}; there are {', '.join(SOURCES)}")
    folder = Path(into)
    tell = progress or (lambda done, total: None)
    kept: list[str] = []
    notices: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if source is None or "://" in str(source):
            _fetch_remote(SOURCES[dataset], folder, str(source) if source else None, tell, kept)
        else:
            inner = Path(source) / dataset
            place = inner if inner.is_dir() else Path(source)
            notices += _fetch_local(SOURCES[dataset], folder, place, tell, kept)
        members = [member for original in SOURCES[dataset] for member in original.members]
        there = [member for member in members if (folder / member.name).is_file()]
        notices += [notice for member in there if (notice := _notice(member, folder / member.name))]
    except OSError as error:
        # A full disk, a folder that may not be written. What was fetched so far is kept for the next attempt.
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from error
    return Fetched(folder, tuple(member.name for member in there), tuple(kept), tuple(notices))


def _fetch_remote(
    originals: tuple[Source, ...], folder: Path, base: str | None, tell: OnBytes, kept: list[str]
) -> None:
    for original in originals:
        missing = _missing(original, folder, kept)
        if not missing:
            continue
        url = f"{base.rstrip('/')}/{original.name}" if base else original.url
        part = folder / f"{original.name}.part"
        _download(url, part, tell)
        try:
            _check_sum(part, original.sha256, url)
            if original.is_archive:
                _unpack(part, missing, folder)
            else:
                _install(part, original.members[0], folder, url)
        except DataError:
            # A whole file that is wrong will not become right by going on.
            _forget(part)
            raise
        _forget(part)


def _fetch_local(originals: tuple[Source, ...], folder: Path, place: Path, tell: OnBytes, kept: list[str]) -> list[str]:
    if not place.is_dir():
        raise DataError(f"{place} is not a folder")
    archives = {original for original in originals if original.is_archive and (place / original.name).is_file()}
    absent = [
        member
        for original in originals
        for member in original.members
        if original not in archives and not (place / member.name).is_file()
    ]
    needed = [member.name for member in absent if not member.optional]
    if needed:
        raise DataError(f"{place} has no {', '.join(needed)}")
    for original in originals:
        missing = _missing(original, folder, kept)
        loose = [member for member in missing if (place / member.name).is_file()]
        for member in loose:
            path, part = place / member.name, folder / f"{member.name}.part"
            try:
                with path.open("rb") as reader:
                    _write(part, "wb", _chunks(reader.read), 0, path.stat().st_size, tell)
                _install(part, member, folder, str(path))
            finally:
                _forget(part)
        packed = [member for member in missing if member not in loose]
        if packed and original in archives:
            _unpack(place / original.name, packed, folder)
    return [f"{place} has no {member.name}" for member in absent]


def _missing(original: Source, folder: Path, kept: list[str]) -> list[SourceFile]:
    """The members that are not there, or are wrong; the others are added to `kept`."""
    missing: list[SourceFile] = []
    for member in original.members:
        path = folder / member.name
        # Files get their names when they are whole, so one whose sum is unknown is right by being there.
        if path.is_file() and member.sha256 in (None, _sha256(path)):
            kept.append(member.name)
        else:
            missing.append(member)
    return missing


def _download(url: str, part: Path, tell: OnBytes) -> None:
    """Fetches to `part`, going on from what is there; tries again when the connection is cut."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise DataError(f"{url}: only http and https addresses are fetched")
    problem = ""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            if _download_once(url, part, tell):
                return
            problem = "the connection was cut"
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500:
                raise DataError(f"{url}: the server answers {error.code} {error.reason}") from error
            problem = f"the server answers {error.code} {error.reason}"
        except urllib.error.URLError as error:
            raise DataError(
                f"{url}: cannot be reached ({error.reason}); files that were fetched elsewhere are taken from a folder"
            ) from error
    raise DataError(f"{url}: {problem} {ATTEMPTS} times; fetch again to go on from {_size(part)} bytes")


def _download_once(url: str, part: Path, tell: OnBytes) -> bool:
    """One request; False if the connection was cut before the end."""
    validator_file = part.with_name(f"{part.name}.validator")
    # Only with the server's own mark of this version can two pieces be known to belong together.
    validator = validator_file.read_text() if validator_file.is_file() else ""
    offset = _size(part) if validator else 0
    headers = {"Accept-Encoding": "identity", "User-Agent": "tpn2f"}
    if offset:
        headers |= {"Range": f"bytes={offset}-", "If-Range": validator}
    try:
        response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not offset:
            raise
        error.close()
        # Nothing is left to send: the file ends where the part ends, or it has changed.
        if error.headers.get("Content-Range") == f"bytes */{offset}":
            return True
        _forget(part)
        return False
    except (http.client.HTTPException, ConnectionError, TimeoutError):
        return False
    with response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {offset}-")
        if response.status == 206 and not goes_on:
            _forget(part)
            return False
        if response.headers.get_content_type() == "text/html":
            raise DataError(f"{url}: the server sent a web page in place of the file")
        length = response.headers.get("Content-Length", "")
        start = offset if goes_on else 0
        total = start + int(length) if length.isdecimal() and len(length) < 20 else None
        if not goes_on:
            _forget(part)
            etag = response.headers.get("ETag", "")
            # A weak mark promises the same meaning and not the same bytes.
            validator = response.headers.get("Last-Modified", "") if etag.startswith("W/") or not etag else etag
            validator_file.write_text(validator)
        try:
            done = _write(part, "ab" if goes_on else "wb", _received(response), start, total, tell)
        except DataError:
            _forget(part)
            raise
    return total is None or done == total


def _received(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The bytes until the end, or until the connection is cut: the count tells which."""
    while True:
        try:
            chunk = response.read(_CHUNK)
        except (http.client.HTTPException, OSError):
            return
        if not chunk:
            return
        yield chunk


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    return iter(lambda: read(_CHUNK), b"")


def _write(path: Path, mode: str, chunks: Iterator[bytes], done: int, total: int | None, tell: OnBytes) -> int:
    """Writes and counts; refuses what is larger than MAX_BYTES before it is on the disk."""
    tell(done, total)
    with path.open(mode) as writer:
        for chunk in chunks:
            done += len(chunk)
            if max(done, total or 0) > MAX_BYTES:
                raise DataError(f"{path.name}: more than {MAX_BYTES} bytes; no file of the data set is so large")
            writer.write(chunk)
            tell(done, total)
        writer.flush()
        os.fsync(writer.fileno())
    return done


def _unpack(archive: Path, members: list[SourceFile], folder: Path) -> None:
    """Unpacks the members, wherever in the archive they are, to the folder; nothing else is written."""
    name = archive.name.removesuffix(".part")
    try:
        with zipfile.ZipFile(archive) as packed:
            paths = {entry: PurePosixPath(entry.filename.replace("\\", "/")) for entry in packed.infolist()}
            for path in paths.values():
                if path.is_absolute() or ".." in path.parts or ":" in str(path):
                    raise DataError(f"{name} holds {str(path)!r}, which points outside of the folder")
            for member in members:
                found = [
                    entry for entry, path in paths.items() if path.name == member.name and "__MACOSX" not in path.parts
                ]
                if len(found) != 1:
                    raise DataError(f"{name} holds {len(found)} files called {member.name}; expected one")
                part = folder / f"{member.name}.part"
                try:
                    with packed.open(found[0]) as reader:
                        _write(part, "wb", _chunks(reader.read), 0, found[0].file_size, lambda done, total: None)
                    _install(part, member, folder, f"{member.name} in {name}")
                finally:
                    _forget(part)
    except (DataError, OSError):
        raise
    except Exception as error:
        # A damaged, encrypted or unusual archive: zipfile raises a dozen kinds of errors.
        raise DataError(f"{name} is not a zip archive that can be read: {error}") from error


def _install(part: Path, member: SourceFile, folder: Path, origin: str) -> None:
    """Gives a whole file its name, if it is right."""
    _check_sum(part, member.sha256, origin)
    if member.name.endswith(".gz"):
        _check_gzip(part, origin)
    part.replace(folder / member.name)


def _check_sum(path: Path, expected: str | None, origin: str) -> None:
    if expected is not None and (got := _sha256(path)) != expected:
        raise DataError(f"{origin} is not the known file: expected sha256 {expected}, got {got}")


def _check_gzip(path: Path, origin: str) -> None:
    """Reads to the end, where the sum of the content stands; this is all the check there is if ours is unknown."""
    try:
        with gzip.open(path) as reader:
            size = sum(map(len, _chunks(reader.read)))
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{origin} is not a whole gzip file: {error}") from error
    if not size:
        raise DataError(f"{origin} is empty")


def _notice(member: SourceFile, path: Path) -> str | None:
    """What the user should know about a file whose original sum is unknown."""
    if member.sha256 is not None:
        return None
    if member.reconstructed is not None and _sha256(path) == member.reconstructed:
        return f"{member.name} is the reconstruction that the published results of this toolkit use, not the original"
    if member.git_blob is not None:
        size = path.stat().st_size
        is_original = _digest(path, hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)) == member.git_blob
        return None if is_original else f"{member.name} is not the known original (git blob {member.git_blob})"
    return f"the sum of {member.name} is not known; only its form was checked"


def _sha256(path: Path) -> str:
    return _digest(path, hashlib.sha256())


def _digest(path: Path, digest) -> str:
    with path.open("rb") as reader:
        for chunk in _chunks(reader.read):
            digest.update(chunk)
    return digest.hexdigest()


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.validator").unlink(missing_ok=True)
