"""Greedy decoding of real MathQA problems at the paper's sizes: ours, and the published decoding.

    python benchmarks/decoding.py [--data DIR] [--threads 1] [--problems 32] [--steps 128]

The published decoding always writes 128 tuples and runs the encoder and the whole prefix again for each. Ours encodes
once and stops; the weights are fresh, so that nothing stops by itself, and ours is made to write as many tuples for
each problem as the longest gold program has, which is more than a trained model writes. First asserts that both write
the same tuples where nothing is padded, then prints ratios from this run and writes results/benchmark_decoding.json.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import islice
from pathlib import Path

import torch

from published import LENGTH, copy_weights, pad, published_greedy_decode
from tpn2f.codec import Codec
from tpn2f.domain import Example, load_domain
from tpn2f.domains.mathqa.operations import to_binary
from tpn2f.grammar import Grammar
from tpn2f.kernels import keep_memory
from tpn2f.model import Model, ModelConfig, build_model
from tpn2f.search import beam, greedy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--problems", type=int, default=32)
    parser.add_argument("--steps", type=int, default=LENGTH, help="tuples that the published decoding writes")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_decoding.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    keep_memory()
    domain = load_domain("mathqa", options.data)
    examples = list(islice(domain.examples("dev"), options.problems))
    codec = Codec.build([_binary(example) for example in domain.examples("train")])
    torch.manual_seed(0)
    config = ModelConfig(attention_tanh=True, biases=True)
    sizes = len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions
    model = build_model(config, *sizes).eval()
    published = copy_weights(model).eval()
    assert_same_tuples(model, published, codec, examples[:4])

    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    longest = max(len(_binary(example).program) for example in examples)
    grammar = Grammar(domain.relations, domain.constants, codec, slots_filled=True, longest=longest)
    words, _ = codec.batch_words(problems)
    padded, _ = pad(words, torch.zeros(len(words), 1, 1 + codec.n_positions, dtype=torch.long))
    rows = [
        measure("greedy", lambda: greedy(model, codec, problems, longest=longest), 5),
        measure("greedy with masks", lambda: greedy(model, codec, problems, grammar, names), 5),
        measure("beam of 5 with masks", lambda: beam(model, codec, problems, 5, grammar, names), 3),
        measure("published decoding", lambda: published_greedy_decode(published, padded, options.steps), 1),
    ]
    for row in rows:
        row["times_greedy_cpu"] = round(row["cpu_seconds"] / rows[0]["cpu_seconds"], 1)
        row["times_greedy_wall"] = round(row["wall_seconds"] / rows[0]["wall_seconds"], 1)
        print(
            f"{row['what']:24} {row['cpu_seconds']:9.3f} CPU-s {row['wall_seconds']:9.3f} s   "
            f"x{row['times_greedy_cpu']} CPU  x{row['times_greedy_wall']} wall"
        )
    result = {
        "what": f"decoding {len(problems)} MathQA dev problems, the paper's sizes, fresh weights",
        "our_tuples_a_problem": longest + 1,
        "published_tuples_a_problem": options.steps,
        "threads": options.threads,
        "torch": torch.__version__,
        "rows": rows,
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n")


def _binary(example: Example) -> Example:
    """With the paper's two argument positions."""
    return Example(example.problem, to_binary(example.program), example.answer, example.text, example.id)


def assert_same_tuples(model: Model, published, codec: Codec, examples: list[Example]) -> None:
    """One problem at a time, so that nothing is padded: both write the same symbols."""
    for example in examples:
        words, counts = codec.batch_words([example.problem])
        theirs = published_greedy_decode(published, words, 6)[0]
        state = model.start(model.encode(words, counts))
        for row in theirs.tolist():
            for symbol in (row[0], *map(codec.argument_symbol, row[1:])):
                assert model.log_probabilities(state).argmax().item() == symbol
                state = model.feed(state, torch.tensor([symbol]))
    print(f"the same first 6 tuples for {len(examples)} problems without padding")


def measure(what: str, work, repeat: int) -> dict:
    """CPU and wall seconds of the best of some runs; the first of several only warms up."""
    if repeat > 1:
        work()
    best = (float("inf"), float("inf"))
    for _ in range(repeat):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
    return {"what": what, "cpu_seconds": round(best[0], 4), "wall_seconds": round(best[1], 4)}


if __name__ == "__main__":
    main()
