"""Typed decoding of AlgoLisp: that nothing good is excluded and nothing bad is let through, and what it costs.

    python benchmarks/typed_decoding.py [--data DIR] [--samples 10000] [--longest 6] [--limit 0]

First every gold program of dev is written symbol by symbol under the masks, each of which must allow its symbol. Then
programs are drawn at random, every allowed symbol as likely as any other; each must be a program of the right order and
of the task's type by `types.infer`. Both stop with the first that is not. Last comes the cost of a decoded symbol:
gold programs are fed to a model of the preset's size, with fresh weights, and to the masks of signatures and of types,
in the same batches. Writes results/benchmark_typed_decoding.json.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from tpn2f.codec import Codec
from tpn2f.config import load_config
from tpn2f.domain import Example
from tpn2f.domains.algolisp import AlgoLisp
from tpn2f.domains.lisp.decoding.masks import LispTyping
from tpn2f.domains.lisp.types import infer
from tpn2f.grammar import make_grammar
from tpn2f.program import Program, RelationalTuple
from tpn2f.solver import make_model
from tpn2f.vocabulary import END

CONFIG = Path(__file__).resolve().parents[1] / "configs" / "algolisp.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--longest", type=int, default=6, help="the most tuples of a sample")
    parser.add_argument("--limit", type=int, default=0, help="gold programs to write; 0 for all")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_typed_decoding.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    domain = AlgoLisp(options.data)
    examples = list(domain.examples("dev"))
    codec = Codec.build(examples)
    words = list(codec.relations), list(codec.arguments), codec.n_positions
    result = {
        "what": "typed decoding of AlgoLisp dev",
        "gold": check_gold(domain.typing(*words, codec.longest), examples[: options.limit or None]),
        "samples": check_samples(domain.typing(*words, options.longest), examples, options.samples, options.longest),
        "cost": measure_cost(domain, codec, examples),
        "torch": torch.__version__,
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


def check_gold(typing: LispTyping, examples: Sequence[Example]) -> dict[str, object]:
    """Every symbol of every gold program is allowed at its place."""
    started = time.process_time()
    symbols = 0
    for example in examples:
        partial: Any = typing.start(example.problem)
        for step in example.program:
            for word in (step.relation, *step.arguments):
                choices = typing.choices(partial)
                allowed = choices.relations if choices.begin else choices.arguments
                named = (f"#{number}" for number in typing.references(partial))
                assert word in allowed or word in named, f"{example.id}: {word} is excluded in {step}"
                partial = typing.feed(partial, word)
                symbols += 1
        assert typing.choices(partial).ends, f"{example.id}: the end is excluded"
    spent = time.process_time() - started
    print(f"{len(examples):,} gold programs, {symbols:,} symbols, none excluded, {spent:.1f} CPU-s", flush=True)
    return {"programs": len(examples), "symbols": symbols, "excluded": 0, "cpu_seconds": round(spent, 1)}


def check_samples(
    typing: LispTyping, examples: Sequence[Example], count: int, longest: int, seed: int = 0
) -> dict[str, object]:
    """Programs of uniformly random symbols parse, respect arity, have the order of trees and the task's type."""
    started = time.process_time()
    chance = random.Random(seed)
    lengths: Counter[int] = Counter()
    for number in range(count):
        problem = chance.choice(examples).problem
        partial: Any = typing.start(problem)
        steps: list[list[str]] = []
        while True:
            choices = typing.choices(partial)
            words = [*sorted(choices.relations), *sorted(choices.arguments), *["END"] * choices.ends]
            word = chance.choice(words + [f"#{target}" for target in typing.references(partial)])
            if word == "END":
                break
            steps.extend([[]] if choices.begin else [])
            steps[-1].append(word)
            partial = typing.feed(partial, word)
        program = Program(tuple(RelationalTuple(relation, tuple(arguments)) for relation, *arguments in steps))
        tree = program.to_tree()
        assert Program.from_tree(tree) == program and len(program) <= longest, program
        infer(tree, {name: str(kind) for name, kind in problem.bindings.items()}, problem.result)
        lengths[len(program)] += 1
        if (number + 1) % 1000 == 0:
            print(f"{number + 1:,} random programs, all well typed", flush=True)
    spent = time.process_time() - started
    return {
        "programs": count,
        "well_typed": count,
        "by_tuples": dict(sorted(lengths.items())),
        "cpu_seconds": round(spent, 1),
    }


@torch.no_grad()
def measure_cost(domain: AlgoLisp, codec: Codec, examples: Sequence[Example], rows: int = 256) -> list[dict[str, Any]]:
    """CPU time per symbol of the model alone, and of each kind of masks; typed ones when new and when used before."""
    model = make_model(load_config(CONFIG), codec).eval()
    chosen = random.Random(0).sample(list(examples), 4 * rows)
    batches = [sorted(chosen, key=lambda one: len(one.program))[at : at + rows] for at in range(0, len(chosen), rows)]
    typed = make_grammar(domain, codec, slots_filled=True)
    coarse = make_grammar(domain, codec, slots_filled=True, typed=False)

    def run_model(part: Sequence[Example]) -> tuple[Any, Callable, Callable]:
        state = model.start(model.encode(*codec.batch_words([example.problem for example in part])))
        return state, model.log_probabilities, model.feed

    def run_masks(grammar: Any) -> Callable:
        def begin(part: Sequence[Example]) -> tuple[Any, Callable, Callable]:
            problems = [example.problem for example in part]
            return grammar.start([domain.names(one) for one in problems], problems), grammar.allowed, grammar.feed

        return begin

    table = []
    for what, begin in (
        ("model", run_model),
        ("masks of signatures", run_masks(coarse)),
        ("masks of types, for the first time", run_masks(typed)),
        ("masks of types, again", run_masks(typed)),
    ):
        spent, symbols = 0.0, 0
        for part in batches:
            programs = [codec.batch([example]).tuples[0] for example in part]
            flat = torch.nn.utils.rnn.pad_sequence(
                [torch.cat([row[:, :1], row[:, 1:] + len(codec.relations)], 1).flatten() for row in programs],
                batch_first=True,
                padding_value=END,
            )
            started = time.process_time()
            state, look, feed = begin(part)
            alive = torch.arange(len(part))
            for column in flat.unbind(1):
                look(state)
                symbols += len(alive)
                going = (column[alive] != END).nonzero().squeeze(1)
                if not len(going):
                    break
                if len(going) < len(alive):
                    alive, state = alive[going], state.select(going)
                state = feed(state, column[alive])
            spent += time.process_time() - started
        microseconds = 1e6 * spent / symbols
        row = {"what": what, "symbols": symbols, "cpu_microseconds_a_symbol": round(microseconds, 1)}
        row["share_of_the_model"] = round(
            microseconds / (table[0]["cpu_microseconds_a_symbol"] if table else microseconds), 2
        )
        table.append(row)
        print(
            f"{what:40} {microseconds:8.1f} CPU-us per symbol   x{row['share_of_the_model']} of the model", flush=True
        )
    return table


if __name__ == "__main__":
    main()
