"""Training steps on MathQA at the paper's sizes: ours, and the published structure as written and with trimmed batches.

    python benchmarks/training.py [--data DIR] [--threads 1] [--quick]

First asserts that both give the same likelihoods where they must (same weights, no padding), then prints ratios of CPU
time and of wall time from this one run, and writes results/benchmark_training.json.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from published import LENGTH, PublishedModel, copy_weights, end_tuple, pad
from tpn2f.domain import data_folder
from tpn2f.kernels import keep_memory
from tpn2f.model import NONE, PAD, Model, ModelConfig, build_model
from tpn2f.model.encoder import Reader, TPREncoder

N_POSITIONS = 2
BATCH = 128
CONFIG = ModelConfig(attention_tanh=True, biases=True)
"""The paper's sizes with the published code's equations."""

Batch = tuple[Tensor, Tensor, Tensor, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="leave out the published structure as written")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_training.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    # For both: the published structure gains from it as well.
    keep_memory()
    torch.manual_seed(0)
    problems, sizes = read_mathqa(data_folder("mathqa", options.data) / "train.json")
    model = build_model(CONFIG, *sizes, N_POSITIONS)
    published = copy_weights(model)
    difference = largest_difference(model, published, problems)
    print(f"largest relative difference of likelihoods without padding: {difference:.1e}")
    assert difference < 1e-5

    order = torch.randperm(len(problems)).tolist()
    batches = {
        "random": [to_batch([problems[i] for i in order[k * BATCH :][:BATCH]]) for k in range(options.batches)],
        "bucketed": bucketed(problems, options.batches),
    }
    rows = []
    for kind, chosen in batches.items():
        ours, trimmed = [], []
        for batch in chosen:
            one, other = measure(
                lambda b=batch: train_ours(model, b), lambda b=batch: train_published(published, *trim(b))
            )
            ours.append(one)
            trimmed.append(other)
        rows.append({"batches": kind, "structure": "ours", **mean(ours)})
        rows.append({"batches": kind, "structure": "published, trimmed", **mean(trimmed)})
    if not options.quick:
        words, _, tuples, _ = batches["random"][0]
        padded = pad(words, tuples)
        (time_padded,) = measure(lambda: train_published(published, *padded), repeat=1)
        rows.append({"batches": "random", "structure": f"published, padded to {LENGTH}", **mean([time_padded])})
    for row in rows:
        ours = next(one for one in rows if one["structure"] == "ours" and one["batches"] == row["batches"])
        row["times_ours_cpu"] = round(row["cpu_seconds"] / ours["cpu_seconds"], 2)
        row["times_ours_wall"] = round(row["wall_seconds"] / ours["wall_seconds"], 2)
        print(
            f"{row['batches']:9} {row['structure']:25} {row['cpu_seconds']:7.2f} CPU-s {row['wall_seconds']:7.2f} s"
            f"   x{row['times_ours_cpu']:.2f} CPU  x{row['times_ours_wall']:.2f} wall"
        )
    encoder = encoder_against_bound(model)
    print(
        "encoder, forward and backward, {batch} rows of {words} words: {cpu_seconds:.2f} CPU-s, GEMM bound "
        "{bound_cpu_seconds:.2f}: {share_of_bound:.0%} of the bound".format(**encoder)
    )
    result = {
        "what": "one training step (loss and gradients), MathQA train lengths, batch 128, the paper's sizes",
        "torch": torch.__version__,
        "threads": options.threads,
        "largest_relative_difference": difference,
        "steps": rows,
        "encoder": encoder,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")


# Data: ids with real lengths and real repetition of words. What the ids mean does not matter here.

Problem = tuple[list[int], list[list[int]]]


def read_mathqa(path: Path) -> tuple[list[Problem], tuple[int, int, int]]:
    records = json.loads(path.read_text())
    words, relations, arguments = Counter(), Counter(), Counter()
    read = []
    for record in records:
        text = record["Problem"].split()
        steps = [(name, inner.split(",")) for name, inner in re.findall(r"(\w+)\(([^()]*)\)", record["linear_formula"])]
        words.update(text)
        for name, inner in steps:
            relations[name] += 1
            arguments.update(inner[:N_POSITIONS])
        read.append((text, steps))
    # As many words as a vocabulary without numerals and rarities has; the rest share one id.
    ids = [
        {word: NONE + 1 + i for i, (word, _) in enumerate(counter.most_common(size))}
        for counter, size in ((words, 6000), (relations, None), (arguments, None))
    ]
    problems = []
    for text, steps in read:
        tuples = []
        for name, inner in steps:
            found = [ids[2][word] for word in inner[:N_POSITIONS]]
            tuples.append([ids[1][name], *found, *[NONE] * (N_POSITIONS - len(found))])
        if text and steps:
            problems.append(([ids[0].get(word, NONE) for word in text], tuples))
    n_words, n_relations, n_arguments = (NONE + 1 + len(one) for one in ids)
    return problems, (n_words, n_relations, n_arguments)


def to_batch(problems: list[Problem]) -> Batch:
    word_counts = torch.tensor([len(words) for words, _ in problems])
    tuple_counts = torch.tensor([len(tuples) + 1 for _, tuples in problems])
    words = torch.full((len(problems), int(word_counts.max())), PAD)
    tuples = torch.full((len(problems), int(tuple_counts.max()), 1 + N_POSITIONS), PAD)
    for row, (text, steps) in enumerate(problems):
        words[row, : len(text)] = torch.tensor(text)
        tuples[row, : len(steps)] = torch.tensor(steps)
        tuples[row, len(steps)] = end_tuple(N_POSITIONS)
    return words, word_counts, tuples, tuple_counts


def bucketed(problems: list[Problem], n: int) -> list[Batch]:
    """Batches of like length, from short to long: the kindest data for a structure that pads."""
    ordered = sorted(problems, key=lambda one: (len(one[0]), len(one[1])))
    starts = [int(len(ordered) * (k + 0.5) / n) for k in range(n)]
    return [to_batch(ordered[start : start + BATCH]) for start in starts]


def trim(batch: Batch) -> tuple[Tensor, Tensor]:
    words, _, tuples, _ = batch
    return words, tuples


# What is measured.


def train_ours(model: Model, batch: Batch) -> None:
    model.zero_grad()
    model.loss(*batch).value.backward()


def train_published(published: PublishedModel, words: Tensor, tuples: Tensor) -> None:
    published.zero_grad()
    published.loss(words, tuples).backward()


def measure(*works: Callable[[], object], repeat: int = 3) -> list[tuple[float, float]]:
    """The least CPU and wall seconds of each, run in turns so that a busy machine affects all of them alike."""
    best = [(float("inf"), float("inf"))] * len(works)
    for _ in range(repeat):
        for place, work in enumerate(works):
            cpu, wall = time.process_time(), time.perf_counter()
            work()
            found = time.process_time() - cpu, time.perf_counter() - wall
            best[place] = (min(best[place][0], found[0]), min(best[place][1], found[1]))
    return best


def mean(times: list[tuple[float, float]]) -> dict[str, float]:
    cpu, wall = (sum(values) / len(times) for values in zip(*times))
    return {"cpu_seconds": round(cpu, 4), "wall_seconds": round(wall, 4)}


def largest_difference(model: Model, published: PublishedModel, problems: list[Problem]) -> float:
    """On real problems of one length, so that nothing is padded."""
    sizes = Counter((len(words), len(tuples)) for words, tuples in problems)
    size = sizes.most_common(1)[0][0]
    words, word_counts, tuples, tuple_counts = to_batch(
        [one for one in problems if (len(one[0]), len(one[1])) == size][:32]
    )
    with torch.no_grad():
        ours = -model.loss(words, word_counts, tuples, tuple_counts).per_example
        theirs = published.log_likelihoods(words, tuples)
    return float(((ours - theirs).abs() / theirs.abs()).max())


def encoder_against_bound(model: Model, batch: int = BATCH, words: int = 40) -> dict[str, float]:
    """The encoder, forward and backward, against nothing but its matrix products, alternating in one run."""
    config, encoder = model.config, model.encoder
    assert isinstance(encoder, TPREncoder)
    reader = encoder.readers[0]
    assert isinstance(reader, Reader)
    ids = torch.randint(NONE + 1, 1500, (batch, words))
    counts = torch.full((batch,), words)
    n_types, d, tokens = len(ids.unique()), config.d_binding, batch * words

    def encode() -> None:
        model.zero_grad()
        encoding = model.encode(ids, counts)
        (encoding.summary.sum() + encoding.fillers.sum()).backward()  # pyright: ignore[reportOptionalMemberAccess]

    embedded = torch.randn(n_types, config.d_word)
    table_gradient = torch.randn(n_types, 8 * d)
    state, gates, states = torch.randn(batch, d), torch.randn(batch, 8 * d), torch.randn(tokens - batch, d)
    all_gates, back = torch.randn(tokens - batch, 8 * d), torch.empty(batch, d)
    selections = [
        (reader.filler_selection.detach(), config.n_fillers),
        (reader.role_selection.detach(), config.n_roles),
    ]
    dictionaries = [reader.filler_dictionary.detach(), reader.role_dictionary.detach()]
    recurrent, inputs = reader.recurrent.detach(), reader.input.detach()
    choices = [(torch.randn(batch, n), torch.randn(tokens, n), torch.randn(tokens, d)) for _, n in selections]
    vectors = [(torch.randn(batch, len(one)), torch.randn(tokens, len(one))) for one in dictionaries]

    def bound() -> None:
        torch.mm(embedded, inputs.T)
        for _ in range(words - 1):
            torch.mm(state, recurrent.T, out=gates)
            torch.mm(gates, recurrent, out=back)
        for (selection, _), dictionary, (some, many, hidden), (few, all_few) in zip(
            selections, dictionaries, choices, vectors
        ):
            for _ in range(words):
                torch.mm(state, selection.T)
                torch.mm(some, dictionary.T)
                torch.mm(few, dictionary)
                torch.mm(some, selection)
            torch.mm(many.T, hidden)
            torch.mm(all_few.T, many)
        torch.mm(all_gates.T, states)
        torch.mm(table_gradient.T, embedded)
        torch.mm(table_gradient, inputs)

    (cpu, wall), (bound_cpu, bound_wall) = measure(encode, bound, repeat=5)
    return {
        "batch": batch,
        "words": words,
        "cpu_seconds": round(cpu, 4),
        "wall_seconds": round(wall, 4),
        "bound_cpu_seconds": round(bound_cpu, 4),
        "bound_wall_seconds": round(bound_wall, 4),
        "share_of_bound": round(bound_cpu / cpu, 3),
    }


if __name__ == "__main__":
    main()
