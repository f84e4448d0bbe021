"""Mutates checkpoints, with right checksums, and fails on whatever loading them does but load them or raise our error.

    python benchmarks/fuzz_checkpoints.py --checkpoints 100000 --seed 0 --seconds 300

A tiny model of `arithmetic` is the start. A mutant differs in the manifest, the state, a vocabulary, the tensors, or in
what kind of file one of its files is. One that loads is asked a question now and then, and its answer must be JSON.
Exits with 1 at an exception of another kind, at a file that was written outside, or if memory grows by more than
GROWTH. The short version is in `tests/test_setting.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import save

from tpn2f.checkpoint import MANIFEST, STATE
from tpn2f.codec import Codec
from tpn2f.config import Config, DataConfig
from tpn2f.domain import load_domain, loading
from tpn2f.errors import N2FError
from tpn2f.model import ModelConfig
from tpn2f.setting import make_model, setting
from tpn2f.solver import Solver

GROWTH = 256 << 20
"""How many bytes of memory all mutants together may add."""
ROOM = 1 << 30
"""How many bytes of address space one mutant may add: more is a MemoryError, and so a failure."""
QUESTION = "What is the sum of 3 and 4?"
NAMES = ("../../x", "/etc/passwd", "/dev/zero", "a/b", "..", ".", "", ".bashrc", "a\0b", "C:x", "\ud800", "words.txt")
VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 63, 65, 1024, 1025, 2**31, 2**63, 2**64, -(2**63), 10**400),
    *(0.5, -0.0, 1e308, 1e-320, float("nan"), float("inf"), -float("inf")),
    *("", "x", "x" * 5000, "../../x", "/etc/passwd", "\ud800", "\x1b[31m", "mathqa", "algolisp", "everyday", "nobody"),
    *("os:system", "evil.py", "evil.py:Evil", "lstm", "tpr", "orthogonal", "general"),
    *([], {}, [1], [[]], {"a": 1}, [None] * 100, {"model": {}}, {"epochs": "x"}),
)


def base_files() -> dict[str, bytes]:
    """A checkpoint that loads, as the bytes of its files without the manifest."""
    model = ModelConfig(
        n_fillers=7, d_filler=4, n_roles=5, d_role=3, d_word=6, d_relation=3, d_argument=4, d_position=3, d_symbol=5
    )
    config = Config("tiny", DataConfig("arithmetic"), model)
    codec = Codec.build(list(load_domain("arithmetic").examples("train"))[:200])
    torch.manual_seed(0)
    state, texts = setting(config, codec)
    belief = {"names": ["a"], "means": [0.0], "deviations": [1.0], "weights": [0.5], "bias": 0.1}
    state = {**state, "temperature": 1.5, "threshold": 0.9, "standing": {"step": 1, "epoch": 1}}
    state |= {"belief": belief, "guess_below": 0.7}
    weights = {name: tensor.half() for name, tensor in make_model(config, codec).state_dict().items()}
    files = {name: text.encode() for name, text in texts.items()}
    return {**files, STATE: json.dumps(state).encode(), "model.safetensors": save(weights)}


def manifest_of(files: dict[str, bytes]) -> dict[str, Any]:
    return {"format": 1, "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}}


class Mutator:
    """Draws mutants of a checkpoint. A seed gives the same ones on every machine."""

    def __init__(self, base: dict[str, bytes], random: Random) -> None:
        self.base, self.random = base, random
        self.kinds: tuple[Callable[[dict[str, bytes]], bytes | None], ...] = (
            *[self.state] * 6,
            *[self.vocabulary] * 3,
            *[self.header] * 3,
            *[self.numbers] * 1,
            *[self.manifest] * 3,
            *[self.rough] * 2,
        )

    def draw(self) -> tuple[str, dict[str, bytes], bytes]:
        """The kind of a mutant, its files, and its manifest."""
        files = dict(self.base)
        kind = self.random.choice(self.kinds)
        manifest = kind(files)
        return kind.__name__, files, manifest or json.dumps(manifest_of(files)).encode()

    def state(self, files: dict[str, bytes]) -> None:
        state = json.loads(files[STATE])
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            state = self.edit(state)
        text = json.dumps(state)
        if self.random.random() < 0.03:
            depth = self.random.choice((50, 900, 5_000, 100_000))
            text = text.replace("1.5", "[" * depth + "]" * depth, 1)
        files[STATE] = text.encode("utf-8", "surrogatepass")

    def vocabulary(self, files: dict[str, bytes]) -> None:
        name = self.random.choice(["words.txt", "relations.txt", "arguments.txt"])
        lines = files[name].split(b"\n")
        place = self.random.randrange(len(lines))
        lines = self.random.choice(
            [
                lines[:place] + lines[place + 1 :],
                [*lines[:place], self.hostile_word(), *lines[place + 1 :]],
                [*lines[:place], self.hostile_word(), *lines[place:]],
                lines[:place] + lines[place:][::-1],
                lines[:place],
                lines * 2,
            ]
        )
        files[name] = b"\n".join(lines)

    def hostile_word(self) -> bytes:
        words = (b"", b"\xff\xfe", b"\x1b[2J", b"#0", b"#999999", b"a(b", b'"', b"n0", b"<end>", b"\0", b"x" * 10_000)
        return self.random.choice((*words, "\u202e".encode(), b"const_1", b"add", b"divide"))

    def header(self, files: dict[str, bytes]) -> None:
        content = files["model.safetensors"]
        (size,) = struct.unpack("<Q", content[:8])
        head: Any = json.loads(content[8 : 8 + size])
        if self.random.random() < 0.3:
            name = self.random.choice(list(head))
            types = ("F64", "I64", "BOOL", "U8", "C64", "F8_E4M3", "F8_E8M0", "BF16", "F4", "?")
            head[name]["dtype"] = self.random.choice(types)
        elif self.random.random() < 0.3:
            name = self.random.choice(list(head))
            head[self.random.choice(["x", "", "\x1b", "encoder", "__metadata__"])] = head.pop(name)
        else:
            head = self.edit(head)
        text = json.dumps(head).encode("utf-8", "surrogatepass")
        length = len(text) if self.random.random() < 0.9 else self.random.choice((0, 1, 2**32, 2**63, 2**64 - 1))
        files["model.safetensors"] = struct.pack("<Q", length) + text + content[8 + size :]

    def numbers(self, files: dict[str, bytes]) -> None:
        content = bytearray(files["model.safetensors"])
        (size,) = struct.unpack("<Q", content[:8])
        for _ in range(self.random.choice((1, 10, 1000))):
            place = 8 + size + 2 * self.random.randrange((len(content) - 8 - size) // 2)
            # Half precision: the largest, infinity, not a number, zero.
            content[place : place + 2] = self.random.choice((b"\xff\x7b", b"\x00\x7c", b"\x00\x7e", b"\x00\x00"))
        files["model.safetensors"] = bytes(content)

    def manifest(self, files: dict[str, bytes]) -> bytes:
        manifest: Any = manifest_of(files)
        if self.random.random() < 0.5:
            name = self.random.choice(NAMES)
            manifest["files"][name] = manifest["files"].get(name, hashlib.sha256(b"").hexdigest())
        else:
            manifest = self.edit(manifest)
        if isinstance(manifest, dict) and self.random.random() < 0.05:
            manifest["files"] = {str(number): "" for number in range(10_000)}
        return json.dumps(manifest).encode("utf-8", "surrogatepass")

    def rough(self, files: dict[str, bytes]) -> None:
        """Bytes that are changed without any knowledge of what they mean."""
        name = self.random.choice(list(files))
        content = bytearray(files[name])
        for _ in range(self.random.choice((1, 3, 30))):
            place = self.random.randrange(len(content) or 1)
            how = self.random.randrange(3)
            if how == 0:
                content[place : place + 1] = self.random.randbytes(1)
            elif how == 1:
                del content[place : place + self.random.choice((1, 10, 10_000))]
            else:
                content[place:place] = self.random.randbytes(self.random.choice((1, 10)))
        files[name] = bytes(content)

    def edit(self, value: Any) -> Any:
        """One place of a JSON value changed: replaced, removed or renamed."""
        value = json.loads(json.dumps(value))
        spots: list[tuple[Any, Any]] = []
        pending = [value] if isinstance(value, dict | list) else []
        while pending:
            inner = pending.pop()
            for key in inner if isinstance(inner, dict) else range(len(inner)):
                spots.append((inner, key))
                if isinstance(inner[key], dict | list):
                    pending.append(inner[key])
        if not spots or self.random.random() < 0.02:
            return self.random.choice(VALUES)
        inside, key = self.random.choice(spots)
        how = self.random.random()
        if how < 0.15:
            del inside[key]
        elif how < 0.25 and isinstance(inside, dict):
            inside[self.random.choice(NAMES)] = inside.pop(key)
        else:
            inside[key] = self.random.choice(VALUES)
        return value


def spoil_kind(path: Path, random: Random) -> str:
    """Makes a file of a checkpoint something that is no file."""
    path.unlink()
    kind = random.choice(("link", "device", "pipe", "folder", "sparse"))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    else:
        path.symlink_to("/dev/zero" if kind == "device" else "/etc/hostname")
    return kind


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def fuzz(folder: Path, count: int, seed: int, seconds: float = float("inf")) -> tuple[Counter[str], list[str]]:
    """Loads mutants; returns what became of them, by kind, and the failures."""
    random = Random(seed)
    base = base_files()
    mutator = Mutator(base, random)
    place = folder / "outer" / "checkpoint"
    place.mkdir(parents=True)
    there: dict[str, bytes] = {}
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    started = time.process_time()
    for number in range(count):
        if time.process_time() - started > seconds:
            break
        kind, files, manifest = mutator.draw()
        for name, content in {**files, MANIFEST: manifest}.items():
            if there.get(name) != content:
                (place / name).write_bytes(content)
                there[name] = content
        spoiled = random.choice([*files, MANIFEST]) if random.random() < 0.05 else ""
        if spoiled:
            kind = spoil_kind(place / spoiled, random)
            there.pop(spoiled)
        try:
            solver = Solver.load(place)
            outcome = "loaded"
            if kind != "manifest" and random.random() < 0.2:
                json.dumps(solver.solve(QUESTION, width=random.choice((1, 2))).to_json(), allow_nan=False)
                outcome = "answered"
        except N2FError as error:
            outcome = f"refused ({type(error).__name__})"
            if "\n" in str(error):
                failures.append(f"mutant {number} ({kind}): more than one line: {error}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            outcome = "FAILED"
            failures.append(f"mutant {number} ({kind}): {''.join(traceback.format_exception(error)[-6:])}")
        if spoiled:
            remove(place / spoiled)
        outcomes[f"{kind}: {outcome}"] += 1
        if outcomes.total() % 5_000 == 0:
            spent = time.process_time() - started
            print(f"{outcomes.total():,} mutants after {spent:.0f} s, {len(failures)} failures", flush=True)
        if len(failures) >= 20:
            break
    if [path.name for path in folder.iterdir()] != ["outer"] or len(list((folder / "outer").iterdir())) != 1:
        failures.append(f"something was written outside of {place}")
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoints", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0, help="of processor time, after which it ends")
    options = parser.parse_args()
    # Looking for entry points takes longer than all the rest; they do not change meanwhile.
    loading.entry_points = cache(loading.entry_points)  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        fuzz(Path(folder) / "first", 200, options.seed + 1)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, resource.RLIM_INFINITY))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        started = time.process_time()
        outcomes, failures = fuzz(Path(folder) / "second", options.checkpoints, options.seed, options.seconds)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    for name, count in sorted(outcomes.items()):
        print(f"{count:8,}  {name}")
    spent = time.process_time() - started
    print(f"{outcomes.total():,} mutants in {spent:.0f} s of processor time; memory grew by {grown / 2**20:.0f} MB")
    if grown > GROWTH:
        failures.append(f"memory grew by {grown:,} bytes; expected at most {GROWTH:,}")
    for failure in failures:
        print(failure, file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
