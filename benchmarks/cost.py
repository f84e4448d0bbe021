"""What it costs to reach the paper's operation accuracy, against the published structure's time for as many epochs.

    python benchmarks/cost.py RUN [--out results/benchmark_cost.json]

Both times are CPU times on one thread: an epoch's, times the epochs that the run needed on dev. Ours is measured: one
epoch of the run's config, with loading the data and scoring dev. The published one is extrapolated: its time of one
step as written (padded to 128), which benchmarks/training.py measured, times the steps of an epoch of 29,837 records in
batches of 128. Whether the published structure would reach the accuracy in so many epochs is not known. The wall time
that the run itself took is reported too; it shared its machine with other work.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

PAPER = 0.7189
RECORDS, BATCH = 29_837, 128


def epoch_seconds(config: Path) -> float:
    """The CPU time of one epoch in a process of its own, from loading the data to scoring dev."""
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "tpn2f", "train", str(config), "--folder", f"{folder}/run"]
        settings = ["--set", "training.epochs=1", "--set", "training.evaluate_every=1"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, *settings], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run directory of mathqa")
    parser.add_argument("--training", type=Path, default=Path("results/benchmark_training.json"))
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_cost.json"))
    options = parser.parse_args()
    lines = [json.loads(line) for line in (options.run / "metrics.jsonl").read_text().splitlines()]
    reached = next((line for line in lines if line["dev_strict"] >= PAPER), None)
    if reached is None:
        best = max((line["dev_strict"] for line in lines), default=0.0)
        raise SystemExit(f"{options.run} has not reached {PAPER:.2%} on dev yet; its best is {best:.2%}")
    steps = json.loads(options.training.read_text())["steps"]
    published = next(step for step in steps if step["structure"] == "published, padded to 128")
    seconds = published["cpu_seconds"] * math.ceil(RECORDS / BATCH) * reached["epoch"]
    ours = epoch_seconds(options.run / "config.toml") * reached["epoch"]
    result = {
        "what": f"time to {PAPER:.2%} strict on dev, one thread; the published structure's for as many epochs",
        "epochs": reached["epoch"],
        "dev_strict": reached["dev_strict"],
        "ours_seconds": round(ours),
        "ours_wall_seconds_of_the_run": round(reached["seconds"]),
        "published_step_cpu_seconds": published["cpu_seconds"],
        "published_seconds_extrapolated": round(seconds),
        "times": round(seconds / ours, 1),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
