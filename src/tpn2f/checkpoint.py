"""Checkpoints: directories of safetensors, JSON and text that are complete or absent, and that contain no code.

A checkpoint is written to a temporary directory, synced, and renamed into place; the one before it is kept. A manifest
with the sha256 of every file is verified on load. A run directory is locked while a process writes to it.

    run/checkpoints/last        where training stands        run/checkpoints/previous   the one before
    run/checkpoints/best        the weights that dev chose
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from tpn2f.errors import CheckpointError

MANIFEST = "manifest.json"
STATE = "state.json"
FORMAT = 1


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
    """Writes the directory `place` completely or not at all; an older one is replaced."""
    draft = _draft(place, checkpoint)
    old = place.with_name(f".{place.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    draft.rename(place)
    _sync(place.parent)
    shutil.rmtree(old, ignore_errors=True)


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
    manifest = _read_json(place / MANIFEST)
    if manifest.get("format") != FORMAT or not isinstance(manifest.get("files"), dict):
        raise CheckpointError(
            f"{place}: the checkpoint has format {manifest.get('format')!r}; this version of tpn2f reads {FORMAT}"
        )
    for name, expected in manifest["files"].items():
        try:
            got = _sha256(place / name)
        except OSError as error:
            raise CheckpointError(f"{place / name}: {error.strerror}, but the manifest lists it") from error
        if got != expected:
            raise CheckpointError(f"{place / name} is damaged: its sha256 is {got[:12]}…, expected {expected[:12]}…")
    tensors: dict[str, dict[str, Tensor]] = {}
    texts: dict[str, str] = {}
    state: dict[str, Any] = {}
    for name in manifest["files"]:
        path = place / name
        if name == STATE:
            state = _read_json(path)
        elif name.endswith(".safetensors"):
            try:
                tensors[name.removesuffix(".safetensors")] = load_file(path)
            except (SafetensorError, OSError, ValueError) as error:
                raise CheckpointError(f"{path} cannot be read: {error}") from error
        else:
            texts[name] = path.read_text(encoding="utf-8")
    return Checkpoint(tensors, state, texts)


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


@contextmanager
def locked(run: Path) -> Iterator[None]:
    """Keeps others from writing to the run directory meanwhile. The lock ends with the process."""
    run.mkdir(parents=True, exist_ok=True)
    # One lock for all threads: a training that is a generator may be closed by another one than began it.
    lock = FileLock(run / "lock", blocking=False, thread_local=False)
    try:
        held = lock.acquire()
    except Timeout as error:
        raise CheckpointError(f"{run} is in use by another training") from error
    with held:
        yield


def load_weights(module: torch.nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Puts tensors into a module; wrong names and shapes are reported, and then nothing is changed."""
    own = module.state_dict()
    missing, foreign = own.keys() - weights.keys(), weights.keys() - own.keys()
    if missing or foreign:
        what = f"has no {sorted(missing)[0]}" if missing else f"has {sorted(foreign)[0]}, which the model does not have"
        raise CheckpointError(f"{where}: the checkpoint {what}")
    for name, tensor in own.items():
        if weights[name].shape != tensor.shape:
            raise CheckpointError(
                f"{where}: {name} has the shape {tuple(weights[name].shape)}; the model expects {tuple(tensor.shape)}"
            )
    module.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in weights.items()})


def _draft(place: Path, checkpoint: Checkpoint) -> Path:
    """All files of a checkpoint in a temporary directory beside its place, synced."""
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}-draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir()
        for group, tensors in checkpoint.tensors.items():
            flat = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            save_file(flat, draft / f"{group}.safetensors")
        (draft / STATE).write_text(json.dumps(checkpoint.state, indent=1), encoding="utf-8")
        for name, text in checkpoint.texts.items():
            (draft / name).write_text(text, encoding="utf-8")
        files = {path.name: _sha256(path) for path in sorted(draft.iterdir())}
        manifest = json.dumps({"format": FORMAT, "files": files}, indent=1)
        (draft / MANIFEST).write_text(manifest, encoding="utf-8")
        for path in draft.iterdir():
            _sync(path)
        _sync(draft)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(draft, ignore_errors=True)
        raise CheckpointError(f"cannot write the checkpoint {place}: {error}; the one before it is intact") from error
    return draft


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}; this is not a checkpoint") from error
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
