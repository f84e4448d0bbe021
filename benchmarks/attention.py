"""Where models look while they write: evenness of attention, and its share on the arguments that a tuple writes.

    python benchmarks/attention.py mathqa runs/mine [--split dev] [--limit 0] [--question TEXT]

Prints one row per model, from this run, and writes results/benchmark_attention.json. With a question it also prints
what each model attends to while it writes each tuple of its own program: the map before and after.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from tpn2f.explain import explain_question, measure_attention
from tpn2f.explain.observe import take
from tpn2f.solver import Solver

MOST = 5
"""How many words of a tuple are printed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="run directories, or names of bundled models")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--limit", type=int, default=0, help="how many examples, from the first on; 0 for all")
    parser.add_argument("--question", default="", help="a question whose attention is shown")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_attention.json"))
    options = parser.parse_args()
    rows = []
    for place in options.models:
        solver = Solver.load(place)
        seen = measure_attention(solver, take(solver, options.split, options.limit))
        rows.append({"model": place, "split": options.split, **asdict(seen)})
        print(
            f"{place}: {seen.steps:,} steps, entropy {seen.entropy:.2f}, evenness {seen.evenness:.3f}, largest"
            f" {seen.largest:.3f}, on arguments {seen.on_used:.3f} (chance {seen.chance:.3f}), found {seen.found:.3f}"
        )
        if options.question:
            show(solver, options.question)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def show(solver: Solver, question: str) -> None:
    """The heaviest words of every tuple."""
    seen = explain_question(solver, question)
    for step, weights in zip(seen.program or (), seen.attention):
        best = sorted(range(len(weights)), key=lambda place: -weights[place])[:MOST]
        print(f"  {step!s:40s} " + "  ".join(f"{seen.words[place]} {weights[place]:.2f}" for place in best))


if __name__ == "__main__":
    main()
