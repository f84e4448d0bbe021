"""Makes AlgoLisp records: programs put together from a grammar's skeletons, texts that say them, inputs and outputs.

Programs follow the grammar's counts of what fills which hole, inputs the ranges that it has seen, and outputs come from
our evaluator within limits. A record is kept if its program runs on all its inputs, its text is new, and its program
occurs in none of the splits for evaluation, whatever its arguments are called. The same seed gives the same file.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tpn2f.domain import Domain, Example
from tpn2f.domains.algolisp.generation.grammar import ARGUMENT, LEVELS, Span, TextGrammar, whole_file
from tpn2f.domains.algolisp.generation.induction import induce, measure_coverage
from tpn2f.domains.algolisp.generation.skeletons import calls, generalise, mark_arguments
from tpn2f.domains.algolisp.generation.wording import Argument, Draft, NoMoreLetters, Task, Wording
from tpn2f.domains.lisp.language import compile_tree
from tpn2f.domains.lisp.machine import MachineLimits
from tpn2f.errors import DataError, ExecutionError
from tpn2f.program import Program, Tree, write_tree

LEARN_FROM = "dev-train"
"""The only split that a grammar is learned from."""
JUDGES = ("dev-valid", "test")
"""Splits whose programs are never generated."""
TESTS = 10
TRIES = 30
"""Inputs that are tried for one program before it is rejected."""
LIMITS = MachineLimits(steps=20_000, length=2_000, bits=256)
PRIOR = 3.0
"""Observations that the usual fillers of a type count for, next to those of one hole."""
DEEPEST = 4
"""The level at which arguments fill all holes."""
MAX_TUPLES = 90
MAX_WORDS = 125
MAX_ATTEMPTS = 200
"""Programs that are tried for one record before the grammar counts as exhausted."""

OnRecords = Callable[[str, int, int], None]


class Generator:
    """An endless source of records."""

    def __init__(
        self, grammar: TextGrammar, seed: int, forbidden: Iterable[bytes] = (), texts: Iterable[str] = ()
    ) -> None:
        self._grammar = grammar
        self._chance = random.Random(seed)
        self._wording = Wording(grammar, self._chance)
        self._forbidden = frozenset(forbidden)
        self._texts = {_digest(text) for text in texts}
        self.rejected: Counter[str] = Counter()
        self._roots = Counter(grammar.roots)
        usual: dict[tuple[str, int], Counter[Tree]] = defaultdict(Counter)
        for (skeleton, hole, level), counts in grammar.fillers.items():
            usual[grammar.shapes[skeleton].holes[int(hole[1:-1])], level].update(counts)
        self._usual = usual
        self._let_in_uncounted()
        self._choices: dict[tuple[Tree, str, int], tuple[list[Tree], list[float]]] = {}

    def _let_in_uncounted(self) -> None:
        """Gives skeletons without counts at the root, or in a hole, the counts of their phrases.

        So a phrase that a user added is used, and a skeleton that was only seen inside others is also asked for alone.
        """
        wanted = {skeleton: sum(rule.count for rule in rules) for skeleton, rules in self._grammar.rules.items()}
        filling = {filler for counts in self._usual.values() for filler in counts}
        unit = (self._roots.total() or 1.0) / sum(wanted.values())
        for skeleton, count in wanted.items():
            if skeleton not in self._roots:
                self._roots[skeleton] = unit * count  # type: ignore[assignment]
            if skeleton not in filling:
                for level in range(LEVELS):
                    counts = self._usual[self._grammar.shapes[skeleton].type, level]
                    counts[ARGUMENT] = counts[ARGUMENT] or 1
                    counts[skeleton] = counts.total() * count / sum(wanted.values())  # type: ignore[assignment]

    def record(self) -> dict:
        """One more record, in the form of the data's lines."""
        for _ in range(MAX_ATTEMPTS):
            root = self._chance.choices(list(self._roots), list(self._roots.values()))[0]
            draft = self._draft(root, 0)
            try:
                task = self._wording.say(draft)
            except NoMoreLetters:
                self.rejected["too many arguments"] += 1
                continue
            reason = self._objection(task)
            tests = self._tests(draft, task) if reason is None else None
            if reason is None and tests is None:
                reason = "does not run on its inputs"
            if reason is None and tests is not None:
                self._texts.add(_digest(" ".join(task.words)))
                return {
                    "text": list(task.words),
                    "short_tree": _lists(task.tree),
                    "args": {name: argument.type for argument, name in task.names.items()},
                    "return_type": self._grammar.shapes[root].type,
                    "tests": tests,
                    "nodes": [write_tree(root)],
                    "funcs": [],
                    "tags": ["generated"],
                }
            self.rejected[str(reason)] += 1
        raise DataError(
            f"the grammar gives no new record in {MAX_ATTEMPTS} attempts "
            f"(rejected: {', '.join(f'{count} x {why}' for why, count in self.rejected.most_common(4))}); "
            "ask for fewer records or add phrases"
        )

    def _draft(self, skeleton: Tree, level: int) -> Draft:
        parts: dict[str, Draft | Argument] = {}
        for index, kind in enumerate(self._grammar.shapes[skeleton].holes):
            hole = f"{{{index}}}"
            fillers, weights = self._fillers(skeleton, hole, kind, level)
            filler = self._chance.choices(fillers, weights)[0]
            parts[hole] = Argument(kind) if filler == ARGUMENT else self._draft(filler, level + 1)
        return Draft(skeleton, parts)

    def _fillers(self, skeleton: Tree, hole: str, kind: str, level: int) -> tuple[list[Tree], list[float]]:
        """What may fill a hole: what was seen there, and a little of what fills holes of the type at that level."""
        key = (skeleton, hole, min(level, DEEPEST))
        if key not in self._choices:
            counted = min(level, LEVELS - 1)
            weights: Counter[Tree] = Counter()
            usual = self._usual.get((kind, counted), Counter())
            for filler, count in usual.items():
                weights[filler] += PRIOR * count / usual.total()  # type: ignore[assignment]
            weights.update(self._grammar.fillers.get((skeleton, hole, counted), {}))
            if not weights or level >= DEEPEST:
                weights = Counter({ARGUMENT: 1})
            self._choices[key] = (list(weights), [float(weight) for weight in weights.values()])
        return self._choices[key]

    def _objection(self, task: Task) -> str | None:
        if len(task.words) > MAX_WORDS or sum(1 for _ in calls(task.tree)) > MAX_TUPLES:
            return "too long"
        if program_hash(task.tree, task.names.values()) in self._forbidden:
            return "stands in a split that is for judging"
        return "has a text that exists" if _digest(" ".join(task.words)) in self._texts else None

    def _tests(self, draft: Draft, task: Task) -> list[dict] | None:
        """Inputs with the outputs of the program, None if it fails too often or never gives anything."""
        spans = dict(self._spans(draft, ()))
        try:
            compiled = compile_tree(task.tree, task.names.values())
        except ExecutionError:
            return None
        tests: list[dict] = []
        for _ in range(TRIES):
            inputs = {name: self._value(spans[argument], argument.type) for argument, name in task.names.items()}
            try:
                output = compiled.run(inputs, LIMITS)
            except ExecutionError:
                continue
            if isinstance(output, float):
                return None
            tests.append({"input": inputs, "output": output})
            if len(tests) == TESTS:
                return tests if any(test["output"] != [] for test in tests) else None
        return None

    def _spans(self, part: Draft | Argument, path: tuple[tuple[Tree, str], ...]) -> Iterator[tuple[Argument, Span]]:
        """For every argument the values that all holes above it allow."""
        if isinstance(part, Draft):
            for hole, inner in part.parts.items():
                yield from self._spans(inner, (*path, (part.skeleton, hole)))
            return
        span: Span | None = None
        for place in path:
            seen = self._grammar.inputs.get(place, {}).get(part.type)
            if seen is not None:
                span = seen if span is None else span & seen
        yield part, span or DEFAULTS[part.type]

    def _value(self, span: Span, kind: str) -> object:
        if kind.endswith("[]"):
            size = self._chance.randint(span.shortest, span.longest)
            return [self._value(span, kind[:-2]) for _ in range(size)]
        number = self._chance.randint(span.low, span.high)
        if kind == "int":
            return number
        return "".join(self._chance.choices(span.letters or "abc", k=number))


DEFAULTS = {
    "int": Span(1, 30),
    "int[]": Span(1, 30, 5, 15),
    "string": Span(2, 5, letters="abc"),
    "string[]": Span(2, 5, 5, 15, "abc"),
}
"""Inputs of a type where nothing was seen: the data's usual ones."""


def program_hash(tree: Tree | list, names: Iterable[str]) -> bytes:
    """A program's hash, the same whatever its arguments are called."""
    canonical, _ = generalise(mark_arguments(tree, set(names)))
    return _digest(write_tree(canonical))


def example_hash(example: Example) -> bytes:
    """The hash of an example's gold program."""
    return program_hash(example.program.to_tree(), example.problem.bindings)


def generate(
    domain: Domain, output: Path, records: int, seed: int, grammar: Path | None, progress: OnRecords
) -> dict[str, Any]:
    """Writes records, learns and writes the grammar if none is given, and reports what the records are like.

    The report has counts and percentages only and can be written as JSON.
    """
    # First, because it fails where there is no data, and learning takes a minute.
    progress("reading", 0, 1)
    known = list(domain.examples(LEARN_FROM))
    forbidden = {split: {example_hash(example) for example in domain.examples(split)} for split in JUDGES}
    if grammar is None:
        rules = induce(known, progress)
        grammar = output.with_name(f"{output.name.partition('.')[0]}.grammar.jsonl")
        rules.save(grammar)
    else:
        rules = TextGrammar.load(grammar)
    texts = (" ".join(example.problem.words) for example in known)
    generator = Generator(rules, seed, frozenset().union(*forbidden.values()), texts)
    made = Profile()
    with whole_file(output) as file:
        for done in range(records):
            record = generator.record()
            file.write(json.dumps(record) + "\n")
            made.add(record["short_tree"], len(record["text"]), len(record["args"]), record["return_type"])
            if done % 50 == 0:
                progress("records", done, records)
    progress("coverage", 0, 1)
    learned = Profile()
    for example in known:
        learned.add(
            example.program.to_tree(),
            len(example.problem.words),
            len(example.problem.bindings),
            example.answer.return_type,  # type: ignore[attr-defined]
        )
    coverage = measure_coverage(rules, domain.examples("dev-valid"))
    return {
        **{"output": str(output), "grammar": str(grammar), "records": records, "seed": seed},
        "rejected": dict(generator.rejected.most_common()),
        "phrases": sum(map(len, rules.rules.values())),
        "skeletons": len(rules.rules),
        "programs never made": {split: len(hashes) for split, hashes in forbidden.items()},
        "coverage of dev-valid": asdict(coverage),
        "profiles": {LEARN_FROM: learned.shares(), "generated": made.shares()},
    }


class Profile:
    """What a set of records is like."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._programs: set[bytes] = set()
        self._records = 0

    def add(self, tree: Tree | list, words: int, arguments: int, kind: str) -> None:
        """Takes one record in."""
        self._records += 1
        self._sums.update({"tuples": len(Program.from_tree(tree)), "words": words, "arguments": arguments})
        self._programs.add(_digest(write_tree(tree)))
        self._counts.update([f"type {kind}", f"outermost {tree[0]}"])

    def shares(self) -> dict[str, float]:
        """Counts, means, and the types and outermost functions in per cent, the frequent ones first."""
        total = max(self._records, 1)
        means = {f"mean {name}": round(value / total, 2) for name, value in self._sums.items()}
        shares = {name: round(100 * count / total, 2) for name, count in self._counts.most_common()}
        return {"records": self._records, "programs": len(self._programs), **means, **shares}


def _lists(tree: Tree) -> str | list:
    return tree if isinstance(tree, str) else [tree[0], *map(_lists, tree[1:])]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
