"""How time and memory grow with the length of a problem, at the paper's sizes.

    python benchmarks/scaling.py [--threads 1]

Time per word must not grow with the number of words, and memory must be linear in it. Every length runs in a process of
its own, because the peak of memory belongs to a process. Writes results/benchmark_scaling.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import torch

from tpn2f.kernels import keep_memory
from tpn2f.model import END, NONE, ModelConfig, build_model

LENGTHS = (20, 40, 80, 120)
BATCH = 64
N_TUPLES = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--words", type=int, help="measure one length and print it as JSON")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_scaling.json"))
    options = parser.parse_args()
    if options.words:
        print(json.dumps(measure(options.words, options.threads)))
        return
    # In turns, so that a busy moment of the machine affects all lengths; the best of each counts.
    rows: dict[int, dict[str, float]] = {}
    for _ in range(options.repeat):
        for words in LENGTHS:
            command = [sys.executable, __file__, "--words", str(words), "--threads", str(options.threads)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            best = rows.setdefault(words, found)
            rows[words] = {name: min(best[name], value) for name, value in found.items()}
    for words, row in rows.items():
        print(
            f"{words:4} words: encoder {row['encoder_microseconds_a_word']:6.1f} us per word, whole step "
            f"{row['step_microseconds_a_word']:6.1f} us per word, {row['peak_megabytes']:7.0f} MB"
        )
    short, long = rows[LENGTHS[0]], rows[LENGTHS[-1]]
    growth = {
        name: round(long[name] / short[name], 3) for name in ("encoder_microseconds_a_word", "step_microseconds_a_word")
    }
    slopes = [(rows[b]["peak_megabytes"] - rows[a]["peak_megabytes"]) / (b - a) for a, b in pairwise(LENGTHS)]
    print(f"time per word, {LENGTHS[-1]} against {LENGTHS[0]} words: {growth}")
    print(f"megabytes for one word more in each of {BATCH} rows: {', '.join(f'{slope:.2f}' for slope in slopes)}")
    result = {
        "what": f"loss and gradients of {BATCH} problems of equal length, {N_TUPLES} tuples each, the paper's sizes",
        "torch": torch.__version__,
        "threads": options.threads,
        "lengths": [{"words": words, **row} for words, row in rows.items()],
        "growth_of_time_a_word": growth,
        "megabytes_a_word": [round(slope, 3) for slope in slopes],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")


def measure(words: int, threads: int) -> dict[str, float]:
    """CPU microseconds per word, of the encoder and of a whole training step, and the peak of memory."""
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    keep_memory()
    torch.manual_seed(0)
    model = build_model(ModelConfig(), 6000, 62, 110, 2)
    ids, counts = torch.randint(NONE + 1, 6000, (BATCH, words)), torch.full((BATCH,), words)
    tuples = torch.randint(NONE + 1, 62, (BATCH, N_TUPLES, 3))
    tuples[:, -1] = torch.tensor([END, NONE, NONE])
    tuple_counts = torch.full((BATCH,), N_TUPLES)

    def encode() -> None:
        model.zero_grad()
        model.encode(ids, counts).summary.sum().backward()

    def step() -> None:
        model.zero_grad()
        model.loss(ids, counts, tuples, tuple_counts).value.backward()

    found = {}
    for name, work in (("encoder", encode), ("step", step)):
        work()
        times = []
        for _ in range(2):
            start = time.process_time()
            work()
            times.append(time.process_time() - start)
        found[f"{name}_microseconds_a_word"] = round(min(times) / (BATCH * words) * 1e6, 2)
    return {**found, "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)}


if __name__ == "__main__":
    main()
