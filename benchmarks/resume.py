"""Exact resume on real data: a straight training against one that is killed at random moments and resumed.

    python benchmarks/resume.py [--config configs/mathqa.toml] [--kills 5] [--seed 0]

Trains twice for some 200 steps, the second time with `kill -9` at random moments after a checkpoint, and compares
weights, moments, averages, counters and metrics to the last bit. Writes results/resume_mathqa.json; exits with 1 if
anything differs.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import torch

from tpn2f.checkpoint import Checkpoint, read_latest

SETTINGS = (
    "data.limit=5000",
    "training.epochs=2",
    "training.evaluate_every=1",
    "training.evaluate_examples=50",
    "training.checkpoint_seconds=2",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/mathqa.toml"))
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("results/resume_mathqa.json"))
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        straight, killed = Path(folder) / "straight", Path(folder) / "killed"
        run(options.config, straight, None)
        places: list[int] = []
        random = Random(options.seed)
        while not is_finished(killed):
            run(options.config, killed, random if len(places) < options.kills else None)
            places.append(step_of(killed))
        differences = compare(straight, killed)
        steps = step_of(straight)
    result = {
        "what": f"{options.config.name}: {steps} steps straight against killed and resumed",
        "settings": SETTINGS,
        "steps": steps,
        "kills": len(places) - 1,
        "resumed_from_steps": places[:-1],
        "differences": differences,
    }
    print(json.dumps(result, indent=2))
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    return 1 if differences else 0


def run(config: Path, folder: Path, random: Random | None) -> None:
    """Trains to the end, or kills the training at a random moment after it has saved something new."""
    command = [sys.executable, "-m", "tpn2f", "train", str(config), "--folder", str(folder), "--resume"]
    command += [word for setting in SETTINGS for word in ("--set", setting)]
    before = step_of(folder)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if random is not None:
        while process.poll() is None and step_of(folder) == before:
            time.sleep(0.05)
        time.sleep(random.uniform(0, 3))
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(errors.decode())


def last(folder: Path) -> Checkpoint:
    found = read_latest(folder / "checkpoints")
    assert found is not None
    return found[0]


def step_of(folder: Path) -> int:
    try:
        state = json.loads((folder / "checkpoints" / "last" / "state.json").read_text())
    except (OSError, ValueError):
        return 0
    return state["standing"]["step"]


def is_finished(folder: Path) -> bool:
    return (folder / "checkpoints").exists() and last(folder).state["standing"]["finished"]


def compare(one: Path, other: Path) -> list[str]:
    """What differs between the ends of two runs, times left out."""
    first, second = last(one), last(other)
    found = [
        f"{group}.{name}"
        for group, tensors in first.tensors.items()
        for name, tensor in tensors.items()
        if not torch.equal(tensor, second.tensors[group][name])
    ]
    standings = [{**checkpoint.state["standing"], "seconds": 0} for checkpoint in (first, second)]
    metrics = [
        [{**json.loads(line), "seconds": 0} for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (one, other)
    ]
    return found + ["counters"] * (standings[0] != standings[1]) + ["metrics"] * (metrics[0] != metrics[1])


if __name__ == "__main__":
    sys.exit(main())
