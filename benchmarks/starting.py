"""How long a person waits: for the help, for a first answer, and for one more answer once a model is loaded.

    python benchmarks/starting.py [--times 10] [--before OLD/src]

Commands are timed from their start to their end, each as a process of its own, one version after the other in turn.
`--before` is src/ of an older checkout; it answers with the bundled MathQA model of this one. Medians, in milliseconds.
The answers after loading are timed one question at a time, as `Solver.solve` gives them. Writes
results/benchmark_starting.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import torch

import tpn2f
from tpn2f import Solver
from tpn2f.domain import load_domain
from tpn2f.pretrained import find_model

QUESTION = "A train travels 300 km in 5 hours. What is its speed?"
HERE = Path(tpn2f.__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--before", type=Path, default=None, help="src/ of an older checkout")
    parser.add_argument("--models", nargs="*", default=["mathqa", "everyday", "everyday-minilm"])
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_starting.json"))
    options = parser.parse_args()
    result: dict[str, Any] = {"what": "milliseconds that a person waits", "times": options.times}
    result["commands"] = measure_commands(options.before, options.models, options.times)
    result["one_answer_after_loading"] = {name: measure_answers(name, options.questions) for name in options.models}
    print(json.dumps(result, indent=2))
    options.out.write_text(json.dumps(result, indent=2) + "\n")


def measure_commands(before: Path | None, models: list[str], times: int) -> dict[str, float]:
    """Every command once, then every command again, so that a busy moment meets all of them."""
    commands = {"help": (HERE, ["--help"])}
    commands |= {f"first answer of {name}": (HERE, ["solve", QUESTION, "--model", name]) for name in models}
    if before is not None:
        asked = ["solve", QUESTION, "--model", str(find_model("mathqa"))]
        commands |= {"help, before": (before, ["--help"]), "first answer of mathqa, before": (before, asked)}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, (source, words) in commands.items():
            seconds[name].append(timed(source, words))
    return {name: round(1000 * median(some), 1) for name, some in seconds.items()}


def timed(source: Path, words: list[str]) -> float:
    environment = {**os.environ, "PYTHONPATH": str(source)}
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tpn2f", *words], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def measure_answers(model: str, count: int) -> dict[str, float]:
    """Questions of the generator, one at a time."""
    texts = [example.text for example in islice(load_domain("everyday").examples("generated-test"), count + 5)]
    started = time.perf_counter()
    solver = Solver.load(model)
    loading = time.perf_counter() - started
    seconds = []
    for text in texts:
        started = time.perf_counter()
        solver.solve(text)
        seconds.append(time.perf_counter() - started)
    seconds = sorted(seconds[5:])
    return {
        "loading": round(1000 * loading, 1),
        "median": round(1000 * median(seconds), 1),
        "slowest_of_20": round(1000 * quantiles(seconds, n=20)[-1], 1),
        "threads": torch.get_num_threads(),
    }


if __name__ == "__main__":
    main()
