"""Checkpoints: directories of safetensors, JSON and text that are complete or absent, and that contain no code.

A checkpoint is written to a temporary directory, synced, and renamed into place; the one before it is kept. A manifest
with the sha256 of every file is verified on load. A run directory is locked while a process writes to it.

A checkpoint may come from a stranger: only regular files in the directory itself are read, under plain names and up to
a size, and no link is followed. Right checksums make nothing in them true.

    run/checkpoints/last        where training stands        run/checkpoints/previous   the one before
    run/checkpoints/best        the weights that dev chose
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tpn2f.errors import CheckpointError
from tpn2f.model.bounds import is_plain_name

MANIFEST = "manifest.json"
STATE = "state.json"
FORMAT = 1
TENSORS = ".safetensors"
MOST_FILES = 64
MOST_TEXT = 1 << 24
"""The most bytes of a file of text or JSON."""
MOST_TENSORS = 1 << 33
"""The most bytes of a file of tensors."""
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""How weights may be stored."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a checkpoint directory holds."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    """Group -> name -> tensor; a group is a file, such as model.safetensors."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """Everything that JSON can say."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """File name -> text: the config, the vocabularies."""


def write_checkpoint(place: Path, checkpoint: Checkpoint) -> None:
    """Writes the directory `place` completely or not at all; an older one is replaced. What people put beside it, such
    as a card or what git keeps, stays."""
    draft = _draft(place, checkpoint)
    old = _old(place)
    if place.exists():
        shutil.rmtree(old, ignore_errors=True)
        place.rename(old)
    # Whoever is killed here leaves the old one under its other name, where it is found; see `find_checkpoint`.
    draft.rename(place)
    _carry(old, place)
    _sync(place.parent)
    shutil.rmtree(old, ignore_errors=True)


def find_checkpoint(place: Path) -> Path | None:
    """Where the checkpoint of a place is: there, or where a process left it that was killed while it replaced it."""
    return next((there for there in (place, _old(place)) if (there / MANIFEST).is_file()), None)


def _carry(old: Path, place: Path) -> None:
    """Moves what no manifest of a replaced directory lists into the new one."""
    if not old.is_dir():
        return
    try:
        listed = {MANIFEST, *_listed(old)}
    except CheckpointError:
        listed = {MANIFEST}
    for path in old.iterdir():
        if path.name not in listed and not (place / path.name).exists():
            path.rename(place / path.name)


def _old(place: Path) -> Path:
    return place.with_name(f".{place.name}-old")


def rotate_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Writes `last`, and keeps what was `last` as `previous`. At every moment one of the two is whole."""
    last, previous = folder / "last", folder / "previous"
    draft = _draft(last, checkpoint)
    if last.exists():
        shutil.rmtree(previous, ignore_errors=True)
        last.rename(previous)
    draft.rename(last)
    _sync(folder)


def read_checkpoint(place: Path) -> Checkpoint:
    """Reads and verifies a checkpoint directory. Raises CheckpointError that says what is wrong with which file."""
    place = find_checkpoint(place) or place
    tensors: dict[str, dict[str, Tensor]] = {}
    texts: dict[str, str] = {}
    state: dict[str, Any] = {}
    for name, expected in _listed(place).items():
        path = place / name
        binary = name.endswith(TENSORS)
        try:
            with _open_plain(path, MOST_TENSORS if binary else MOST_TEXT) as file:
                content = b"" if binary else file.read()
                got = hashlib.file_digest(file, "sha256") if binary else hashlib.sha256(content)
        except OSError as error:
            raise CheckpointError(f"{path}: {error.strerror}, but the manifest lists it") from error
        if got.hexdigest() != expected:
            if binary and path.stat().st_size < 1_000 and path.read_bytes().startswith(b"version https://git-lfs"):
                raise CheckpointError(f"{path} is only a pointer of Git LFS: fetch the file itself with git lfs pull")
            raise CheckpointError(
                f"{path} is damaged: its sha256 is {got.hexdigest()[:12]}…, expected {str(expected)[:12]}…"
            )
        if name == STATE:
            state = _parse_json(content, path)
        elif binary:
            tensors[name.removesuffix(TENSORS)] = _load_tensors(path)
        else:
            try:
                texts[name] = content.decode("utf-8")
            except UnicodeDecodeError as error:
                raise CheckpointError(f"{path} is not text in UTF-8: {error.reason} at byte {error.start}") from error
    return Checkpoint(tensors, state, texts)


def fingerprint(place: Path) -> str:
    """One word for a checkpoint; what has other files has another one. The files themselves are not read."""
    files = _listed(find_checkpoint(place) or place)
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def _listed(place: Path) -> dict[str, str]:
    """The files that a manifest lists, with their checksums. Raises CheckpointError for names that lead elsewhere."""
    path = place / MANIFEST
    try:
        with _open_plain(path, MOST_TEXT) as file:
            manifest = _parse_json(file.read(), path)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}; this is not a checkpoint") from error
    files = manifest.get("files")
    if manifest.get("format") != FORMAT or not isinstance(files, dict):
        raise CheckpointError(
            f"{place}: the checkpoint has format {str(manifest.get('format'))[:20]!r}; this version of tpn2f reads "
            f"{FORMAT}"
        )
    if len(files) > MOST_FILES:
        raise CheckpointError(f"{path} lists {len(files):,} files; expected at most {MOST_FILES}")
    for name in files:
        if not is_plain_name(name) or name == MANIFEST:
            raise CheckpointError(f"{path} lists {name[:60]!r}; expected plain names of files beside it")
    return files


def _open_plain(path: Path, most: int) -> BufferedReader:
    """A regular file for reading: no link, pipe or device, and not too large. Nothing is read of any other."""
    no_links, no_waiting = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK"))  # not on Windows
    found = path.lstat()
    if stat.S_ISREG(found.st_mode) and found.st_size <= most:
        return os.fdopen(os.open(path, os.O_RDONLY | no_links | no_waiting | getattr(os, "O_BINARY", 0)), "rb")
    if stat.S_ISREG(found.st_mode):
        raise CheckpointError(f"{path} has {found.st_size:,} bytes; expected at most {most:,}")
    what = "a link, which may lead anywhere" if stat.S_ISLNK(found.st_mode) else "no regular file"
    raise CheckpointError(f"{path} is {what}; expected a file in the checkpoint itself")


def _load_tensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except Exception as error:
        # Safetensors has an error of its own, and passes on those of torch for types and shapes that torch lacks.
        raise CheckpointError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from error


def read_latest(folder: Path) -> tuple[Checkpoint, str] | None:
    """The newest whole checkpoint of a run and a note if it is not the last one; None if there is none at all.

    Raises CheckpointError when there are checkpoints, but all are damaged.
    """
    problems: list[str] = []
    for name in ("last", "previous"):
        if not (folder / name).exists():
            continue
        try:
            note = f"{problems[0]}; continuing from the checkpoint before it" if problems else ""
            return read_checkpoint(folder / name), note
        except CheckpointError as error:
            problems.append(str(error))
    if problems:
        raise CheckpointError("; ".join(problems))
    return None


def check_room(folder: Path, size: int) -> None:
    """Raises CheckpointError if the disk of a directory has no room for so many bytes; the directory may be new."""
    there = next(place for place in (folder.resolve(), *folder.resolve().parents) if place.exists())
    free = shutil.disk_usage(there).free
    if free < size:
        raise CheckpointError(f"{folder}: the disk has {free:,} bytes left; the checkpoints may need {size:,}")


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Keeps others from writing to the run directory meanwhile. The lock ends with the process."""
    # One lock for all threads: a training that is a generator may be closed by another one than began it.
    lock = FileLock(run / "lock", blocking=False, thread_local=False)
    try:
        run.mkdir(parents=True, exist_ok=True)
        held = lock.acquire()
    except Timeout as error:
        raise CheckpointError(f"{run} is in use by another training") from error
    except OSError as error:
        raise CheckpointError(f"cannot write into {run}: {error.strerror}") from error
    with held:
        yield


def load_weights(module: torch.nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Puts tensors into a module; wrong names, shapes, types and numbers are reported, and then nothing is changed."""
    own = module.state_dict()
    check_weights(own, weights, where)
    for name, tensor in weights.items():
        if not tensor.isfinite().all():
            raise CheckpointError(f"{where}: {name} has numbers that are not finite")
    module.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in weights.items()})


def check_weights(own: Mapping[str, Tensor], weights: Mapping[str, Tensor], where: str) -> None:
    """Raises CheckpointError if weights have not the names, shapes and types of a model's own. Reads no number."""
    missing, foreign = own.keys() - weights.keys(), weights.keys() - own.keys()
    if missing or foreign:
        what = f"has no {sorted(missing)[0]}" if missing else f"has {sorted(foreign)[0]}, which the model does not have"
        raise CheckpointError(f"{where}: the checkpoint {what}")
    for name, tensor in own.items():
        if weights[name].shape != tensor.shape:
            raise CheckpointError(
                f"{where}: {name} has the shape {tuple(weights[name].shape)}; the model expects {tuple(tensor.shape)}"
            )
        if weights[name].dtype not in (tensor.dtype, *(FLOATS if tensor.is_floating_point() else ())):
            raise CheckpointError(f"{where}: {name} has numbers of the type {weights[name].dtype}")


def save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    """A file that others may read as they may read any new file; safetensors would give it to this user alone."""
    path.touch()
    mode = path.stat().st_mode
    save_file(tensors, path)
    path.chmod(stat.S_IMODE(mode))


def _draft(place: Path, checkpoint: Checkpoint) -> Path:
    """All files of a checkpoint in a temporary directory beside its place, synced."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}-draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir()
        for name in (*checkpoint.tensors, *checkpoint.texts):
            if not is_plain_name(name):
                raise ValueError(f"{name[:60]!r} is no plain name of a file")
        for group, tensors in checkpoint.tensors.items():
            flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            save_tensors(flat, draft / f"{group}{TENSORS}")
        (draft / STATE).write_text(json.dumps(checkpoint.state, indent=1), encoding="utf-8")
        for name, text in checkpoint.texts.items():
            (draft / name).write_text(text, encoding="utf-8")
        files = {path.name: _sha256(path) for path in sorted(draft.iterdir())}
        manifest = json.dumps({"format": FORMAT, "files": files}, indent=1)
        (draft / MANIFEST).write_text(manifest, encoding="utf-8")
        for path in draft.iterdir():
            _sync(path)
        _sync(draft)
    except (OSError, SafetensorError, ValueError) as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise CheckpointError(f"cannot write the checkpoint {place}: {error}; the one before it is intact") from error
    return draft


def _parse_json(content: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise CheckpointError(f"{path} is damaged: it is nested too deeply") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} is damaged: expected an object")
    return value


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot sync a directory.
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
