"""Two processes with one thread each against one process with one thread: training throughput on MathQA.

    python benchmarks/processes.py [--config configs/mathqa.toml] [--batch 64]

Both train the same batches for one short epoch; the time is that of the steps, without start and scoring. The losses
must agree. Writes results/benchmark_processes.json. Needs two idle cores to mean anything.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tpn2f.checkpoint import read_checkpoint

SETTINGS = (
    "data.limit=6000",
    "training.epochs=1",
    "training.evaluate_examples=1",
    "training.checkpoint_seconds=1e9",
    "model.dropout_words=0",
    "model.dropout_symbols=0",
    "model.dropout_hidden=0",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("configs/mathqa.toml"))
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_processes.json"))
    options = parser.parse_args()
    command = ["-m", "tpn2f", "train", str(options.config)]
    for setting in (*SETTINGS, f"training.batch_size={options.batch}"):
        command += ["--set", setting]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    with TemporaryDirectory() as folder:
        one = train([sys.executable, *command], Path(folder) / "one")
        two = train([sys.executable, *torchrun, *command], Path(folder) / "two")
    assert math.isclose(one["loss"], two["loss"], rel_tol=1e-3), (one, two)
    result = {
        "what": f"training {options.config.name}, batch {options.batch}: one process against two, one thread each",
        "one": one,
        "two": two,
        "times_faster": round(one["seconds"] / two["seconds"], 2),
    }
    print(json.dumps(result, indent=2))
    options.out.write_text(json.dumps(result, indent=2) + "\n")


def train(command: list[str], folder: Path) -> dict[str, float]:
    """Seconds of the steps and the epoch's loss."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--folder", str(folder), "--resume"], check=True, env=environment, capture_output=True)
    metrics = json.loads((folder / "metrics.jsonl").read_text())
    steps = read_checkpoint(folder / "checkpoints" / "last").state["standing"]["step"]
    return {"seconds": metrics["seconds"], "steps": steps, "loss": metrics["loss"]}


if __name__ == "__main__":
    main()
