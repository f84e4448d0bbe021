"""What each option of the reader costs: CPU time of a training step and of decoding, against the plain reader.

    python benchmarks/options.py [--data DIR] [--threads 1] [--rounds 21] [--quick]

The plain reader is the first row of the MathQA ablation, but it reads from left to right only. Every other row adds one
option to it, not to the row before. The training loop makes the steps: batches of 32, from the examples to the changed
weights. Then `Solver` decodes 32 dev problems greedily with what was saved. The weights know next to nothing, so every
program is made to have as many tuples as is usual for these problems.

All options take turns in one run, with the same batches; a ratio is the median over the rounds of the ratio to the
plain reader in the same round. In training, vectors of MiniLM come from disk, where they are put before the first step,
which is not counted: they stay in the cache, as after any training. In decoding MiniLM reads. The static vectors are
made up. Writes results/benchmark_options.json.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean, median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tpn2f.config import Config, change_config
from tpn2f.domain import Domain, Example, Problem, Splits, load_domain
from tpn2f.grammar import Grammar, Progress
from tpn2f.kernels import keep_memory
from tpn2f.publish.ablation import SYSTEMS, ablation_config
from tpn2f.publish.reproduce import describe_commit
from tpn2f.solver import Solver
from tpn2f.training import Event, Trainer
from tpn2f.training.examples import spread
from tpn2f.training.vector_file import convert_vectors
from tpn2f.vocabulary import END

CONFIGS = Path(__file__).parents[1] / "configs"
PLAIN = "plain"
D_STATIC = 100
"""The width of the static vectors of configs/everyday.toml."""
PROBLEMS = 32
STEPS = 2
"""Training steps in a round."""

Row = tuple[str, str]
"""A system and an option."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--quick", action="store_true", help="three rounds only")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_options.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    keep_memory()
    # Before the long run, in which somebody may change a file.
    commit = describe_commit(CONFIGS)
    rounds = 3 if options.quick else options.rounds
    domain = load_domain("mathqa", options.data)
    splits = Splits(domain)
    with TemporaryDirectory() as name:
        folder = Path(name)
        limit = examples_for(rounds)
        examples = splits.take("train", limit)
        changes = option_settings(write_vectors(examples, folder))
        configs = option_configs(changes, limit)
        problems = spread(splits.take("dev"), PROBLEMS)
        times = measure(configs, domain, splits, problems, folder, rounds)
    rows = [
        {
            "encoder": SYSTEMS[system],
            "option": option,
            "settings": told(changes[option]),
            **costs(times, system, option),
        }
        for system, option in configs
    ]
    result = {
        "what": "CPU time with one option more than the plain reader, as a ratio to the plain reader; MathQA",
        "training": f"one step of the training loop, batches of {next(iter(configs.values())).training.batch_size}",
        "decoding": f"greedy search, {len(problems)} dev problems, {usual_length(problems)} tuples each",
        "words_a_training_text": round(mean(len(example.problem.words) for example in examples), 1),
        "words_a_decoded_text": round(mean(len(example.problem.words) for example in problems), 1),
        "rounds": rounds,
        "steps_a_round": STEPS,
        "torch": torch.__version__,
        "threads": options.threads,
        "commit": commit,
        "rows": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    for row in rows:
        print(
            f"{row['encoder']:8} {row['option']:16} step {row['training_cpu_seconds']:7.4f} CPU-s"
            f" x{row['training_ratio']:.2f}   decoding {row['decoding_cpu_seconds']:7.4f} CPU-s"
            f" x{row['decoding_ratio']:.2f}"
        )


# What is compared.


def option_settings(vectors: Path) -> dict[str, dict[str, Any]]:
    """What each option changes; those that the ablation has are read from there."""
    steps = tomllib.loads((CONFIGS / "ablation" / "rows.toml").read_text(encoding="utf-8"))["step"]
    return {
        PLAIN: {},
        "bidirectional": {"model.bidirectional": True},
        "grounded": steps["grounded"],
        "sharp attention": steps["sharp"],
        "repeats": {"model.repeats": True},
        "static vectors": {"model.d_static": D_STATIC, "training.word_vectors": str(vectors)},
        "MiniLM, frozen": steps["minilm"],
        "MiniLM, tuned": steps["minilm"] | steps["tuned"],
    }


def option_configs(changes: Mapping[str, Mapping[str, Any]], limit: int) -> dict[Row, Config]:
    """Every option for every encoder."""
    settings = ["model.bidirectional=false", f"data.limit={limit}", "training.evaluate_examples=1"]
    # Nothing is saved between the steps that are measured.
    settings.append("training.checkpoint_seconds=1e9")
    return {
        (system, option): change_config(
            ablation_config(CONFIGS, f"ablation-mathqa-{system}-words", settings), change, option
        )
        for system in SYSTEMS
        for option, change in changes.items()
    }


def examples_for(rounds: int, batch: int = 32) -> int:
    """Enough for all rounds in one epoch, in which a problem that the file has several times comes once."""
    return batch * (1 + rounds * STEPS) * 4 // 3


def write_vectors(examples: Sequence[Example], folder: Path) -> Path:
    """Numbers without a meaning for the words of examples."""
    words = sorted({word for example in examples for word in example.problem.words})
    rows = np.random.default_rng(0).standard_normal((len(words), D_STATIC)).round(3)
    source, target = folder / "vectors.txt", folder / "vectors.safetensors"
    lines = (" ".join([word, *map(str, row)]) for word, row in zip(words, rows.tolist()))
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    convert_vectors(source, target, len(words))
    return target


def told(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for the file of results, which has no use for the name of a temporary file."""
    return {key: "made up" if key == "training.word_vectors" else value for key, value in changes.items()}


# What is measured.


def measure(
    configs: Mapping[Row, Config],
    domain: Domain,
    splits: Splits,
    examples: Sequence[Example],
    folder: Path,
    rounds: int,
) -> dict[str, dict[Row, list[float]]]:
    """For training and for decoding, and for every config, the CPU seconds of a step or of all examples, by round."""
    runs = {key: folder / str(number) for number, key in enumerate(configs)}
    trainers = {key: Trainer(config, domain, runs[key], splits=splits) for key, config in configs.items()}
    for trainer in trainers.values():
        if trainer.batches_an_epoch <= rounds * STEPS:
            raise SystemExit(f"{trainer.batches_an_epoch} batches are too few for {rounds} rounds of {STEPS}")
    events = {key: trainer.run() for key, trainer in trainers.items()}
    print("MiniLM reads the training texts, then everyone makes a first step", flush=True)
    for some in events.values():
        make_steps(some, 1)
    print("training", flush=True)
    steps = in_turns({key: lambda e=some: make_steps(e, STEPS) for key, some in events.items()}, rounds)
    problems = [example.problem for example in examples]
    longest = usual_length(examples)
    solvers = {key: stop(trainers[key], events[key]) for key in configs}
    for solver in solvers.values():
        solver.grammar = EqualLengths(
            domain.relations, domain.constants, solver.codec, slots_filled=True, longest=longest
        )
        check_lengths(solver, problems, longest)
    print("decoding", flush=True)
    decoding = in_turns({key: lambda s=solver: s.predict(problems) for key, solver in solvers.items()}, rounds)
    return {
        "training": {key: [seconds / STEPS for seconds in found] for key, found in steps.items()},
        "decoding": decoding,
    }


def make_steps(events: Iterator[Event], count: int) -> None:
    """So many steps of a training. What comes before them is done, too."""
    while count:
        count -= next(events).kind == "step"


def stop(trainer: Trainer, events: Iterator[Event]) -> Solver:
    """The model of a training that is saved and ends, loaded as any other."""
    trainer.stop = True
    for _ in events:
        pass
    return Solver.load(trainer.folder / "checkpoints" / "last")


class EqualLengths(Grammar):
    """Masks with which every program has the most tuples, and so the same number."""

    def allowed(self, progress: Progress, log_probabilities: Tensor | None = None, ahead: bool = True) -> Tensor:
        mask = super().allowed(progress, log_probabilities, ahead)
        mask[(progress.position == 0) & (progress.count < self.longest), END] = False
        return mask


def usual_length(examples: Sequence[Example]) -> int:
    """The tuples of a reference program."""
    return round(median(len(example.program) for example in examples))


def check_lengths(solver: Solver, problems: Sequence[Problem], length: int) -> None:
    """Decodes once, and asserts that no option has less to write."""
    for best, *_ in solver.predict(problems):
        assert best.program is not None and len(best.program) == length


def in_turns(works: Mapping[Row, Callable[[], object]], rounds: int) -> dict[Row, list[float]]:
    """CPU seconds by round. Each works once, then each again, so that a busy moment meets all of them."""
    found: dict[Row, list[float]] = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            started = time.process_time()
            work()
            found[key].append(time.process_time() - started)
    return found


def costs(times: Mapping[str, Mapping[Row, Sequence[float]]], system: str, option: str) -> dict[str, Any]:
    """The numbers of a row: seconds, the ratio to the plain reader, and the quartiles of that ratio."""
    row: dict[str, Any] = {}
    for what, found in times.items():
        ratios = [one / plain for one, plain in zip(found[system, option], found[system, PLAIN])]
        low, _, high = quantiles(ratios, n=4, method="inclusive")
        row[f"{what}_cpu_seconds"] = round(median(found[system, option]), 4)
        row[f"{what}_ratio"] = round(median(ratios), 3)
        row[f"{what}_quartiles"] = [round(low, 3), round(high, 3)]
    return row


if __name__ == "__main__":
    main()
