"""What it costs to reach the paper's operation accuracy, against the published structure's time for as many epochs.

    python benchmarks/cost.py RUN [--out results/benchmark_cost.json]

Reads the run's metrics and the step times that benchmarks/training.py measured; trains nothing. The published time is
extrapolated: its measured time of one step, as written (padded to 128), times the steps of an epoch of 29,837 records
in batches of 128, times the epochs that our run needed. Both on one thread. Whether the published structure would
reach the accuracy in so many epochs is not known.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path

PAPER = 0.7189
RECORDS, BATCH = 29_837, 128


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
    result = {
        "what": f"time to {PAPER:.2%} strict on dev, one thread; the published structure's for as many epochs",
        "epochs": reached["epoch"],
        "dev_strict": reached["dev_strict"],
        "ours_seconds": reached["seconds"],
        "published_step_cpu_seconds": published["cpu_seconds"],
        "published_seconds_extrapolated": round(seconds),
        "times": round(seconds / reached["seconds"], 1),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
