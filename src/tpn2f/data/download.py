"""Fetches the public files of the data sets: from their servers, from a mirror, or from a local folder.

An interrupted download continues where it stopped. A file gets its final name only when it is complete and its checksum
is right, so the files in the folder can be trusted. Archives are never unpacked by the names they contain.

Not every checksum is known. The original `train.json` of MathQA was never available whole; its git blob id is, and so
is the checksum of the reconstruction that our results are made with (`docs/results.md`). A train file that is neither
is kept, and a notice says so; so is the train file of AlgoLisp, of which nothing is known. This module prints nothing.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tpn2f.data.sources import SOURCES, Source, SourceFile
from tpn2f.domain import cache_folder
from tpn2f.domain.packed import open_packed
from tpn2f.errors import ConfigError, DataError

try:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry
except ImportError as error:
    raise ConfigError("fetching data needs the extra `download`: pip install 'tpn2f[download]'") from error

OnBytes = Callable[[int, int | None], None]
"""Called with the bytes received and the total, if known, of the current file; each file begins at 0."""

MAX_BYTES = 1 << 29
"""The largest file that is fetched or unpacked."""
TIMEOUT = 30.0
"""Seconds without a byte after which a server counts as unavailable."""
ATTEMPTS = 4
"""How often a file is requested when the server is busy or the connection breaks."""
PAUSE = 1.0
"""Seconds before the second attempt; later ones wait longer."""
_CHUNK = 1 << 16
_EMPTY = hashlib.sha256().hexdigest()


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
    folder, members = Path(into), [member for one in SOURCES[dataset] for member in one.members]
    absent: list[SourceFile] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        missing = [member for member in members if _problem(member, folder / member.name)]
        wanted = [(one, member) for one in SOURCES[dataset] for member in one.members if member in missing]
        tell = progress or (lambda done, total: None)
        if source is None or "://" in str(source):
            for one in dict.fromkeys(one for one, _ in wanted):
                url = f"{str(source).rstrip('/')}/{one.name}" if source else one.url
                _download(one, [member for member in one.members if member in missing], folder, url, tell)
        else:
            inner = Path(source) / dataset
            absent = _copy(wanted, folder, inner if inner.is_dir() else Path(source), tell)
        there = [member for member in members if member not in absent]
        notices = [f"{source} has no {member.name}" for member in absent]
        notices += [notice for member in there if (notice := _notice(member, folder / member.name))]
    except OSError as error:
        # For example a full disk or a read-only folder. What was fetched so far is kept for the next attempt.
        raise DataError(f"{error.filename or folder}: {error.strerror or error}") from error
    kept = tuple(member.name for member in members if member not in missing)
    return Fetched(folder, tuple(member.name for member in there), kept, tuple(notices))


def _copy(wanted: list[tuple[Source, SourceFile]], folder: Path, place: Path, tell: OnBytes) -> list[SourceFile]:
    """Takes the files from a local folder, or from what a server would give; returns the optional ones it lacks."""
    if not place.is_dir():
        raise DataError(f"{place} is not a folder")
    absent = [member for one, member in wanted if not ((place / member.name).is_file() or (place / one.name).is_file())]
    if needed := [member.name for member in absent if not member.optional]:
        raise DataError(f"{place} has no {', '.join(needed)}")
    for one, member in wanted:
        loose = place / member.name
        if loose.is_file():
            with loose.open("rb") as reader:
                _install(reader.read, member, folder, str(loose), tell)
        elif member not in absent:
            _unpack(place / one.name, one, [member], folder)
    return absent


def _download(source: Source, missing: list[SourceFile], folder: Path, url: str, tell: OnBytes) -> None:
    part = folder / f"{source.name}.part"
    part.parent.mkdir(parents=True, exist_ok=True)
    begun = part.is_file()
    _receive(url, part, tell)
    try:
        _unpack(part, source, missing, folder)
    except DataError:
        part.unlink()
        # Pieces of two versions do not fit together. A file that came in one piece would be wrong again.
        if not begun:
            raise
        return _download(source, missing, folder, url, tell)
    part.unlink()


def _receive(url: str, part: Path, tell: OnBytes) -> None:
    """Fetches to `part`, continuing from its end. Written by hand because pooch and others always start again."""
    busy = Retry(ATTEMPTS - 1, 0, status_forcelist=range(500, 600), backoff_factor=PAUSE, raise_on_status=False)
    session = requests.Session()
    session.mount("https://", HTTPAdapter(max_retries=busy))
    session.mount("http://", HTTPAdapter(max_retries=busy))
    session.headers.update({"Accept-Encoding": "identity", "User-Agent": "tpn2f"})
    for attempt in range(ATTEMPTS):
        time.sleep(PAUSE * attempt)
        done = part.stat().st_size if part.is_file() else 0
        wanted = {"Range": f"bytes={done}-"} if done else {}
        try:
            response = session.get(url, headers=wanted, stream=True, timeout=TIMEOUT)
        except (requests.RequestException, ValueError) as error:
            # An address that is none, such as `http://[`, is a ValueError of several kinds.
            # urllib3 wraps the reason in a list of its attempts.
            reason = getattr(error.args[0], "reason", error) if error.args else error
            raise DataError(
                f"{url}: cannot be reached ({reason}); name a folder with --source to use files that you already have"
            ) from error
        if done and response.status_code == 416:
            return  # Nothing is left to send.
        if not response.ok:
            raise DataError(f"{url}: the server answers {response.status_code} {response.reason}")
        if "text/html" in response.headers.get("Content-Type", ""):
            raise DataError(f"{url}: the server sent a web page instead of the file")
        if response.status_code != 206:
            done = 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
        try:
            with response, part.open("ab" if done else "wb") as writer:
                writer.writelines(_counted(response.iter_content(_CHUNK), part, done, total, tell))
            return
        except requests.RequestException:
            continue
        except DataError:
            part.unlink()
            raise
    raise DataError(
        f"{url}: the connection broke {ATTEMPTS} times; fetch again to continue from {part.stat().st_size} bytes"
    )


def _unpack(whole: Path, source: Source, members: list[SourceFile], folder: Path) -> None:
    """Installs what a server sent: the file itself, or members of an archive, wherever they are in it."""
    if not source.is_archive:
        with whole.open("rb") as reader:
            return _install(reader.read, source.members[0], folder, source.name)
    try:
        with zipfile.ZipFile(whole) as archive:
            paths = {entry: PurePosixPath(entry.filename.replace("\\", "/")) for entry in archive.infolist()}
            for path in paths.values():
                if path.is_absolute() or ".." in path.parts or ":" in str(path):
                    raise DataError(f"{source.name} holds {str(path)!r}, which points outside of the folder")
            for member in members:
                found = [
                    entry for entry, path in paths.items() if path.name == member.name and "__MACOSX" not in path.parts
                ]
                if len(found) != 1:
                    raise DataError(f"{source.name} holds {len(found)} files called {member.name}; expected one")
                with archive.open(found[0]) as reader:
                    _install(reader.read, member, folder, f"{member.name} in {source.name}")
    except (DataError, OSError):
        raise
    except Exception as error:
        # A damaged, encrypted or unusual archive: zipfile raises a dozen kinds of errors.
        raise DataError(f"{source.name} is not a zip archive that can be read: {error}") from error


def _install(
    read: Callable[[int], bytes],
    member: SourceFile,
    folder: Path,
    origin: str,
    tell: OnBytes = lambda done, total: None,
) -> None:
    """Gives a file its final name if its checksum is right. A plain file that is stored as .gz is packed."""
    target = folder / member.name
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f"{target.name}.draft")
    packs = member.name.endswith(".gz") and not origin.endswith(".gz")
    try:
        with gzip.open(draft, "wb") if packs else draft.open("wb") as writer:
            writer.writelines(_counted(iter(lambda: read(_CHUNK), b""), target, 0, None, tell))
        with draft.open("r+b") as written:
            os.fsync(written.fileno())
        if problem := _problem(member, draft):
            raise DataError(f"{origin} {problem}")
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _counted(chunks: Iterable[bytes], path: Path, done: int, total: int | None, tell: OnBytes) -> Iterator[bytes]:
    """Reports the progress; refuses a file larger than MAX_BYTES before it is on the disk."""
    tell(done, total)
    for chunk in chunks:
        done += len(chunk)
        if max(done, total or 0) > MAX_BYTES:
            raise DataError(f"{path.name}: more than {MAX_BYTES} bytes; no file of a data set is so large")
        yield chunk
        tell(done, total)


def _problem(member: SourceFile, path: Path) -> str | None:
    """What is wrong with a file. A file with an unknown checksum must exist, and be complete if it is packed."""
    if not path.is_file():
        return "is missing"
    try:
        with _open_member(member, path) as reader:
            got = hashlib.file_digest(reader, "sha256").hexdigest()  # type: ignore[arg-type]
    except DataError as error:
        return f"is too large: {error}"
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        return f"is not a whole gzip file: {error}"
    if member.sha256 not in (None, got):
        return f"is not the known file: expected sha256 {member.sha256}, got {got}"
    return "is empty" if got == _EMPTY else None


def _open_member(member: SourceFile, path: Path) -> Any:
    """A draft has another name than the file that it becomes."""
    return open_packed(path, packed=member.name.endswith(".gz"))


def _notice(member: SourceFile, path: Path) -> str | None:
    """What the user should know about a file whose original checksum is unknown."""
    if member.sha256 is not None:
        return None
    content = path.read_bytes()
    if member.reconstructed == hashlib.sha256(content).hexdigest():
        return f"{member.name} is the reconstruction that the published results of this toolkit use, not the original"
    if member.git_blob is None:
        return f"the checksum of {member.name} is not known; only its form was checked"
    is_original = member.git_blob == hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return None if is_original else f"{member.name} is not the known original (git blob {member.git_blob})"
