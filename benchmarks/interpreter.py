"""How fast AlgoLisp's gold programs run: the compiled evaluator against the tree walker that specifies it.

    python benchmarks/interpreter.py [--data DIR] [--split test] [--repeat 3]

First every result of the two is compared, errors included. Then each runs all tests of the split, ten per record; the
compiled one compiles once per record, and that time counts. The best of the repetitions is printed: runs per second of
CPU time and of wall time, on one core, and the ratio from this run. Writes results/benchmark_interpreter.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tpn2f.domains.algolisp.domain import AlgoLisp, Answer
from tpn2f.domains.lisp.language import compile_tree, evaluate
from tpn2f.errors import ExecutionError
from tpn2f.program import Tree

Record = tuple[Tree, list[Mapping[str, object]], list[object]]
Evaluator = Callable[[Tree, list[Mapping[str, object]]], list[object]]


def compiled(tree: Tree, inputs: list[Mapping[str, object]]) -> list[object]:
    program = compile_tree(tree, inputs[0])
    return [_outcome(program.run, values) for values in inputs]


def walked(tree: Tree, inputs: list[Mapping[str, object]]) -> list[object]:
    return [_outcome(lambda values: evaluate(tree, values), values) for values in inputs]


def _outcome(run: Callable[[Mapping[str, object]], object], values: Mapping[str, object]) -> object:
    try:
        return run(values)
    except ExecutionError as error:
        return type(error), str(error)


def read(data: str | None, split: str) -> list[Record]:
    records: list[Record] = []
    for example in AlgoLisp(data).examples(split):
        assert isinstance(example.answer, Answer)
        tests = example.answer.tests
        records.append((example.program.to_tree(), [test.inputs for test in tests], [test.output for test in tests]))
    return records


def measure(evaluator: Evaluator, records: list[Record]) -> tuple[float, float]:
    """Seconds of CPU time and of wall time for all records."""
    cpu, wall = time.process_time(), time.perf_counter()
    for tree, inputs, _ in records:
        evaluator(tree, inputs)
    return time.process_time() - cpu, time.perf_counter() - wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder of the data; without it, the usual places")
    parser.add_argument("--split", default="test")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_interpreter.json"))
    options = parser.parse_args()

    records = read(options.data, options.split)
    runs = sum(len(inputs) for _, inputs, _ in records)
    passed = 0
    for tree, inputs, outputs in records:
        results = compiled(tree, inputs)
        assert results == walked(tree, inputs), f"the evaluators differ on {tree}"
        passed += results == outputs
    print(f"{options.split}: {len(records):,} records, {runs:,} runs; both evaluators agree on all of them")
    print(f"all tests pass for {passed:,} records")

    best: dict[str, tuple[float, float]] = {}
    for _ in range(options.repeat):
        for name, evaluator in (("tree walker", walked), ("compiled", compiled)):
            times = measure(evaluator, records)
            best[name] = min(best.get(name, times), times)
    print(f"{'':12} {'CPU s':>8} {'runs/s':>9} {'wall s':>8} {'runs/s':>9}")
    for name, (cpu, wall) in best.items():
        print(f"{name:12} {cpu:8.2f} {runs / cpu:9,.0f} {wall:8.2f} {runs / wall:9,.0f}")
    ratio = best["tree walker"][0] / best["compiled"][0]
    print(f"the compiled evaluator is {ratio:.1f} times faster (CPU time, compilation included)")
    result = {
        "what": f"gold programs of AlgoLisp {options.split} on their tests, one core, compilation included",
        "records": len(records),
        "runs": runs,
        "records_that_pass_all_tests": passed,
        "runs_a_second_cpu": round(runs / best["compiled"][0]),
        "runs_a_second_wall": round(runs / best["compiled"][1]),
        "times_tree_walker": round(ratio, 2),
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
