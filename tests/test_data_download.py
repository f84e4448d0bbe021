"""Fetching against a server in a thread: whole, cut, changed, wrong, missing; and from local folders."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import hashlib
import io
import re
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tpn2f.data import download
from tpn2f.data.download import fetch, target_folder
from tpn2f.data.sources import Source, SourceFile
from tpn2f.domain import data_folder, load_domain, packed
from tpn2f.errors import DataError


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Larger than one chunk, and not compressible, so that a cut falls inside.
NOISE = b"".join(hashlib.sha256(b"%d" % index).digest() for index in range(10_000))
DEV = gzip.compress(NOISE, mtime=0)
TRAIN = gzip.compress(b'{"text": []}\n', mtime=0)
FILES = {"train.json": b"[1]", "dev.json": NOISE, "notes.txt": b"+ -"}


def zip_of(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


class Server(ThreadingHTTPServer):
    """Serves `files`; the other attributes are the ways in which servers misbehave."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.ranges = True
        self.content_type = "application/octet-stream"
        self.length_known = True
        self.cuts: list[int] = []
        """After how many bytes each of the next answers is cut."""
        self.statuses: list[int] = []
        """The error statuses of the next answers."""
        self.asked: list[tuple[str, str | None]] = []
        """Path and Range of each request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/mirror/"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked.append((self.path, self.headers.get("Range")))
        content = server.files.get(self.path.rpartition("/")[2])
        status = server.statuses.pop(0) if server.statuses else 200
        if content is None or status != 200:
            self.send_error(404 if content is None else status)
            return
        offset = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and server.ranges:
            offset = int(wanted[1])
            if offset >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {offset}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Type", server.content_type)
        if server.length_known:
            self.send_header("Content-Length", str(len(content) - offset))
        self.end_headers()
        body = content[offset:]
        self.wfile.write(body[: server.cuts.pop(0)] if server.cuts else body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        running.files = {"small.dev.gz": DEV, "small.train.gz": TRAIN, "Small.zip": zip_of(FILES)}
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def small_originals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two data sets shaped like the real ones: an archive, and loose files of which train has no known sum."""
    members = (
        SourceFile("train.json", reconstructed=sha256(b"[1]")),
        SourceFile("dev.json", sha256(NOISE)),
        SourceFile("notes.txt", sha256(b"+ -"), optional=True),
    )
    originals = {
        "packed": (Source("Small.zip", "https://example.invalid/Small.zip", members),),
        "loose": (
            Source("small.dev.gz", "https://example.invalid/d?dl=1", (SourceFile("small.dev.gz", sha256(NOISE)),)),
            Source("small.train.gz", "https://example.invalid/t", (SourceFile("small.train.gz", optional=True),)),
        ),
        "folders": (
            Source("in/some.txt", "https://example.invalid/s", (SourceFile("in/some.txt.gz", sha256(NOISE)),)),
        ),
    }
    monkeypatch.setattr(download, "SOURCES", originals)
    monkeypatch.setattr(download, "PAUSE", 0.0)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def assert_refused(message: str, *arguments: object, **keywords: object) -> None:
    with pytest.raises(DataError, match=message):
        fetch(*arguments, **keywords)  # type: ignore[arg-type]


# From a server


def test_an_archive_is_fetched_and_unpacked(server: Server, tmp_path: Path) -> None:
    fetched = fetch("packed", tmp_path / "packed", server.url)
    assert fetched.folder == tmp_path / "packed"
    assert contents(fetched.folder) == FILES
    assert fetched.files == ("train.json", "dev.json", "notes.txt")
    assert fetched.kept == ()
    fetched_line, notice = fetched
    assert fetched_line == "fetched train.json, dev.json, notes.txt"
    assert notice.startswith("train.json is the reconstruction")
    assert server.asked == [("/mirror/Small.zip", None)]


def test_loose_files_are_fetched_and_what_is_unknown_is_said(server: Server, tmp_path: Path) -> None:
    fetched = fetch("loose", str(tmp_path / "loose"), server.url.rstrip("/"))
    assert contents(fetched.folder) == {"small.dev.gz": DEV, "small.train.gz": TRAIN}
    assert fetched.notices == ("the checksum of small.train.gz is not known; only its form was checked",)


def test_what_is_there_and_right_is_kept_and_what_is_wrong_is_fetched(server: Server, tmp_path: Path) -> None:
    fetch("packed", tmp_path / "packed", server.url)
    server.asked.clear()
    assert fetch("packed", tmp_path / "packed", server.url).kept == ("train.json", "dev.json", "notes.txt")
    assert server.asked == []
    (tmp_path / "packed" / "dev.json").write_bytes(b"damaged")
    assert fetch("packed", tmp_path / "packed", server.url).kept == ("train.json", "notes.txt")
    assert contents(tmp_path / "packed") == FILES


def test_a_plain_file_is_packed_in_its_folder(server: Server, tmp_path: Path) -> None:
    server.files["some.txt"] = NOISE
    fetched = fetch("folders", tmp_path / "folders", server.url)
    assert server.asked == [("/mirror/in/some.txt", None)]
    assert gzip.decompress((tmp_path / "folders" / "in" / "some.txt.gz").read_bytes()) == NOISE
    assert [path.name for path in (tmp_path / "folders" / "in").iterdir()] == ["some.txt.gz"]
    assert fetched.files == ("in/some.txt.gz",) and fetched.notices == ()
    # A local folder may hold it either way.
    (tmp_path / "plain" / "in").mkdir(parents=True)
    (tmp_path / "plain" / "in" / "some.txt").write_bytes(NOISE)
    for number, place in enumerate((tmp_path / "folders", tmp_path / "plain")):
        fetch("folders", tmp_path / str(number), place)
        assert gzip.decompress((tmp_path / str(number) / "in" / "some.txt.gz").read_bytes()) == NOISE


@pytest.mark.parametrize("length_known", [True, False])
def test_progress_begins_at_nothing_grows_and_ends_at_all(server: Server, tmp_path: Path, length_known: bool) -> None:
    server.length_known = length_known
    told: list[tuple[int, int | None]] = []
    fetch("loose", tmp_path / "loose", server.url, lambda done, total: told.append((done, total)))
    dev = told[: told.index((len(DEV), len(DEV) if length_known else None)) + 1]
    assert dev[0][0] == 0 and [done for done, _ in dev] == sorted(done for done, _ in dev)
    assert {total for _, total in dev} == {len(DEV) if length_known else None}
    assert told[-1][0] == len(TRAIN)


def test_a_packed_file_is_unpacked_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The train file of AlgoLisp has no known sum: three million bytes of it could become six thousand million."""
    monkeypatch.setattr(packed, "MOST_UNPACKED", 1_000)
    place = tmp_path / "source"
    place.mkdir()
    for split in ("dev", "test", "train"):
        (place / f"metaset3.{split}.jsonl.gz").write_bytes(gzip.compress(b"x" * 100_000))
    member = SourceFile("metaset3.train.jsonl.gz")
    monkeypatch.setattr(download, "SOURCES", {"algolisp": (Source(member.name, "", (member,)),)})
    with pytest.raises(DataError, match=r"train\.jsonl\.gz is too large: .* more than 1,000 bytes when it is unpacked"):
        fetch("algolisp", tmp_path / "into", place)
    with pytest.raises(DataError, match="more than 1,000 bytes"):
        list(load_domain("algolisp", place).examples("train"))


def test_a_cut_download_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000, 70_000]
    fetch("loose", tmp_path / "loose", server.url)
    assert contents(tmp_path / "loose")["small.dev.gz"] == DEV
    assert [wanted for path, wanted in server.asked if "dev" in path] == [None, "bytes=65536-", "bytes=131072-"]


def test_a_download_goes_on_in_the_next_call(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.cuts = [100_000]
    assert_refused(
        "broke 1 times; fetch again to continue from 65536 bytes",
        "loose",
        tmp_path / "loose",
        server.url,
    )
    assert "small.dev.gz" not in contents(tmp_path / "loose")
    fetch("loose", tmp_path / "loose", server.url)
    assert server.asked[1] == ("/mirror/small.dev.gz", "bytes=65536-")
    assert contents(tmp_path / "loose") == {"small.dev.gz": DEV, "small.train.gz": TRAIN}


def test_a_server_that_cannot_go_on_starts_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.cuts = [100_000]
    fetch("loose", tmp_path / "loose", server.url)
    assert contents(tmp_path / "loose")["small.dev.gz"] == DEV
    assert len([path for path, _ in server.asked if "dev" in path]) == 2


def test_a_file_that_changed_meanwhile_is_fetched_anew(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    server.files["small.dev.gz"] = DEV[::-1]
    server.cuts = [100_000]
    assert_refused("connection broke", "loose", tmp_path / "loose", server.url)
    server.files["small.dev.gz"] = DEV
    fetch("loose", tmp_path / "loose", server.url)
    assert server.asked[1][1] == "bytes=65536-"
    assert contents(tmp_path / "loose")["small.dev.gz"] == DEV


def test_a_part_that_was_whole_already_is_used(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    (folder / "small.dev.gz.part").write_bytes(DEV)
    fetch("loose", tmp_path / "loose", server.url)
    assert server.asked[0] == ("/mirror/small.dev.gz", f"bytes={len(DEV)}-")
    assert len([path for path, _ in server.asked if "dev" in path]) == 1
    assert contents(folder) == {"small.dev.gz": DEV, "small.train.gz": TRAIN}


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "loose"
    folder.mkdir()
    (folder / "small.dev.gz.part").write_bytes(DEV + b"more")
    fetch("loose", tmp_path / "loose", server.url)
    assert contents(folder) == {"small.dev.gz": DEV, "small.train.gz": TRAIN}


def test_a_server_that_is_busy_for_a_moment_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.statuses = [503, 500]
    fetch("loose", tmp_path / "loose", server.url)
    assert contents(tmp_path / "loose")["small.dev.gz"] == DEV
    server.statuses = [503] * 10
    assert_refused("the server answers 503 Service Unavailable", "packed", tmp_path / "packed", server.url)
    assert len(server.statuses) == 10 - download.ATTEMPTS


def test_a_wrong_sum_is_refused_and_nothing_is_left(server: Server, tmp_path: Path) -> None:
    server.files["small.dev.gz"] = gzip.compress(b"another file", mtime=0)
    message = f"small.dev.gz is not the known file: expected sha256 {sha256(NOISE)}, got {sha256(b'another file')}"
    assert_refused(message, "loose", tmp_path / "loose", server.url)
    assert contents(tmp_path / "loose") == {}


def test_a_wrong_member_is_refused_and_takes_no_name(server: Server, tmp_path: Path) -> None:
    server.files["Small.zip"] = zip_of(FILES | {"dev.json": b"[]"})
    assert_refused(
        f"dev.json in Small.zip is not the known file: .*got {sha256(b'[]')}",
        "packed",
        tmp_path / "packed",
        server.url,
    )
    assert set(contents(tmp_path / "packed")) <= {"train.json"}


def test_a_missing_file_is_named_with_its_address(server: Server, tmp_path: Path) -> None:
    del server.files["small.dev.gz"]
    assert_refused(f"^{server.url}small.dev.gz: .* answers 404 Not Found$", "loose", tmp_path / "loose", server.url)
    assert len(server.asked) == 1
    assert contents(tmp_path / "loose") == {}


def test_a_web_page_is_not_taken_for_data(server: Server, tmp_path: Path) -> None:
    server.content_type = "text/html; charset=utf-8"
    assert_refused("sent a web page instead of the file", "loose", tmp_path / "loose", server.url)
    assert contents(tmp_path / "loose") == {}


def test_a_file_of_unknown_sum_must_have_its_form(server: Server, tmp_path: Path) -> None:
    for wrong, message in ((b"no gzip", "not a whole gzip"), (TRAIN[:-5], "not a whole gzip"), (b"", "empty")):
        server.files["small.train.gz"] = wrong
        assert_refused(f"small.train.gz is {message}", "loose", tmp_path / "loose", server.url)
        assert set(contents(tmp_path / "loose")) == {"small.dev.gz"}


def test_a_file_without_end_is_refused(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 70_000)
    for length_known in (True, False):
        server.length_known = length_known
        assert_refused("more than 70000 bytes", "loose", tmp_path / "loose", server.url)
        assert contents(tmp_path / "loose") == {}


def test_no_network_is_said_plainly(server: Server, tmp_path: Path) -> None:
    free = server.url
    server.shutdown()
    server.server_close()
    assert_refused("cannot be reached .*refused", "loose", tmp_path / "loose", free)
    for address in ("ftp://127.0.0.1/", "file:///etc/"):
        assert_refused("cannot be reached .No connection adapters", "loose", tmp_path / "loose", address)


def test_a_full_disk_keeps_what_was_fetched(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(download.os, "fsync", full)
        assert_refused(f"^{tmp_path / 'loose'}: No space left on device$", "loose", tmp_path / "loose", server.url)
    assert (tmp_path / "loose" / "small.dev.gz.part").read_bytes() == DEV
    fetch("loose", tmp_path / "loose", server.url)
    assert server.asked[1][1] == f"bytes={len(DEV)}-"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert_refused(f"{tmp_path / 'file' / 'in'}: Not a directory", "loose", tmp_path / "file" / "in", tmp_path)


def test_an_unknown_data_set_is_an_error_that_lists_the_others(tmp_path: Path) -> None:
    assert_refused("no data set is called 'mathqq'; there are packed, loose, folders", "mathqq", tmp_path)


def test_data_are_fetched_to_where_they_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    places = {None: tmp_path / "cache" / "tpn2f" / "loose"}
    places |= {str(told): tmp_path / "told" / "loose" for told in (tmp_path / "told", tmp_path / "told" / "loose")}
    for told, expected in places.items():
        monkeypatch.delenv("TPN2F_DATA", raising=False)
        if told:
            monkeypatch.setenv("TPN2F_DATA", told)
        assert target_folder("loose") == expected
        expected.mkdir(parents=True, exist_ok=True)
        assert data_folder("loose") == expected


# Archives


@pytest.mark.parametrize(
    "name", ["../evil.json", "a/../../evil.json", "/etc/evil.json", "..\\evil.json", "C:\\evil.json"]
)
def test_an_archive_that_points_outside_is_refused(server: Server, tmp_path: Path, name: str) -> None:
    server.files["Small.zip"] = zip_of({name: b"evil", **FILES})
    assert_refused("which points outside of the folder", "packed", tmp_path / "packed", server.url)
    assert contents(tmp_path / "packed") == {}
    assert [path.name for path in tmp_path.rglob("*")] == ["packed"]


def test_members_are_found_in_a_folder_of_the_archive_and_nothing_else_is_written(
    server: Server, tmp_path: Path
) -> None:
    files = {f"MathQA/{name}": content for name, content in FILES.items()}
    server.files["Small.zip"] = zip_of(files | {"MathQA/other.sh": b"", "__MACOSX/MathQA/dev.json": b"x"})
    fetch("packed", tmp_path / "packed", server.url)
    assert contents(tmp_path / "packed") == FILES


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"train.json": b"[1]"}, "holds 0 files called dev.json; expected one"),
        ({**FILES, "copy/dev.json": NOISE}, "holds 2 files called dev.json; expected one"),
    ],
)
def test_an_archive_with_a_member_missing_or_twice(
    server: Server, tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    server.files["Small.zip"] = zip_of(files)
    assert_refused(message, "packed", tmp_path / "packed", server.url)


def test_damaged_archives_are_refused(server: Server, tmp_path: Path) -> None:
    whole = zip_of(FILES)
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    for archive in (b"", b"no zip", whole[:-30], bytes(damaged)):
        server.files["Small.zip"] = archive
        assert_refused("Small.zip is not a zip archive that can be read", "packed", tmp_path / "packed", server.url)
        assert set(contents(tmp_path / "packed")) <= {"train.json"}


def test_an_archive_that_grows_without_end_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.files["Small.zip"] = zip_of(FILES | {"train.json": b"\0" * 2_000_000})
    monkeypatch.setattr(download, "MAX_BYTES", 1_000_000)
    assert_refused("train.json: more than 1000000 bytes", "packed", tmp_path / "packed", server.url)
    assert contents(tmp_path / "packed") == {}


# From a local folder


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("inner", ["", "packed"])
@pytest.mark.parametrize("files", [FILES, {"Small.zip": zip_of(FILES)}], ids=["files", "archive"])
def test_a_local_folder_is_copied_by_the_same_rules(tmp_path: Path, inner: str, files: dict[str, bytes]) -> None:
    fill(tmp_path / "source" / inner, files)
    fetched = fetch("packed", tmp_path / "into", tmp_path / "source")
    assert contents(fetched.folder) == FILES
    assert contents(tmp_path / "source" / inner) == files
    assert fetch("packed", tmp_path / "into", tmp_path / "source").kept == tuple(FILES)


def test_a_folder_can_be_its_own_source(tmp_path: Path) -> None:
    fill(tmp_path / "packed", FILES)
    assert fetch("packed", tmp_path / "packed", tmp_path).kept == tuple(FILES)
    assert contents(tmp_path / "packed") == FILES


def test_what_a_local_folder_lacks_is_listed(tmp_path: Path) -> None:
    place = fill(tmp_path / "source", {"small.dev.gz": DEV})
    fetched = fetch("loose", tmp_path / "into", place)
    assert fetched.files == ("small.dev.gz",)
    assert fetched.notices == (f"{place} has no small.train.gz",)
    assert_refused(f"{place} has no train.json, dev.json$", "packed", tmp_path / "into", place)
    assert_refused(f"{tmp_path / 'nowhere'} is not a folder", "packed", tmp_path / "into", tmp_path / "nowhere")


def test_a_wrong_local_file_is_refused(tmp_path: Path) -> None:
    place = fill(tmp_path / "source", FILES | {"dev.json": b"[]"})
    assert_refused(f"{place / 'dev.json'} is not the known file: expected", "packed", tmp_path / "into", place)
    assert contents(tmp_path / "into") == {"train.json": b"[1]"}
    assert contents(place) == FILES | {"dev.json": b"[]"}


def test_the_git_blob_id_tells_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What `printf '[2]' | git hash-object --stdin` prints.
    blob = hashlib.sha1(b"blob 3\0[2]").hexdigest()
    packed = download.SOURCES["packed"][0]
    train = dataclasses.replace(packed.members[0], git_blob=blob)
    original = dataclasses.replace(packed, members=(train, *packed.members[1:]))
    monkeypatch.setitem(download.SOURCES, "packed", (original,))
    for content, notices in ((b"[2]", 0), (b"[3]", 1), (b"[1]", 1)):
        place = fill(tmp_path / content.decode(), FILES | {"train.json": content})
        assert len(fetch("packed", place / "into", place).notices) == notices


# The real table


def test_the_real_table_is_well_formed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    names = [member.name for originals in download.SOURCES.values() for one in originals for member in one.members]
    assert len(names) == len(set(names)) == 18
    for originals in download.SOURCES.values():
        for original in originals:
            assert original.url.startswith("https://")
            assert "dropbox" not in original.url or original.url.endswith("?dl=1")
            for member in original.members:
                assert member.sha256 is None or re.fullmatch("[0-9a-f]{64}", member.sha256)
                assert (member.sha256 is None) == (member.name in ("train.json", "metaset3.train.jsonl.gz"))
                assert original.is_archive or member.name.removesuffix(".gz") == original.name.removesuffix(".gz")


@pytest.mark.parametrize(("name", "count"), [("mathqa", 6), ("algolisp", 2), ("everyday", 9)])
def test_our_copies_are_the_known_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int) -> None:
    monkeypatch.undo()
    try:
        place = data_folder(name)
    except DataError as error:
        pytest.skip(str(error))
    if place.name != name:
        pytest.skip(f"no {name} in {place}")
    fetched = fetch(name, tmp_path / name, place)
    assert len(fetched.files) >= count and fetched.kept == ()
    assert [path.name for path in tmp_path.rglob("*.draft")] == []
