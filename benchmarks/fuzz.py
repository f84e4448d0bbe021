"""Runs random and mutated programs of a language and fails on whatever is not a value or an ExecutionError.

    python benchmarks/fuzz.py algolisp --programs 1000000 --seed 0

Everything goes through the `Domain` protocol, so that a language is one line of LANGUAGES. Half of the programs are
drawn from the domain's relations and words, half are gold programs with up to three edits (drawn ones too, if there is
no data). Exits with 1 at an exception of another kind, or at a program that takes more than a second of CPU time.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from tpn2f.domain import ANY, Domain, Example, Problem, load_domain
from tpn2f.errors import DataError, ExecutionError, N2FError, ProgramSyntaxError
from tpn2f.program import Program, RelationalTuple, reference

SLOWEST = 1.0
"""Seconds of CPU time that one program may take."""
GOLD = 20_000
"""Gold programs that are read for mutation."""
HOSTILE = ("#0", "#7", "#999", "nothing", '"text"', '""', "-1", "0", "9" * 90, "1e999", "inf", "nan", "n99", "const_0")
"""Words that a program might hold although nobody offers them."""


@dataclass(frozen=True)
class Language:
    """What the fuzzer has to know of a domain beyond the protocol: how to find values to run on."""

    split: str
    """The gold programs to mutate, if there is data."""
    problem: Callable[[Example], Problem]
    """An example's problem with values for its names."""
    problems: Sequence[Problem]
    """Problems to run drawn programs on."""
    endings: Sequence[str] = ()
    """What may follow a drawn program so that more of it comes to run; {0} is its last tuple, {1} the next."""


def _first_test(example: Example) -> Problem:
    return Problem(example.problem.words, example.answer.tests[0].inputs)  # type: ignore[attr-defined]


def _numbers(*values: float) -> Problem:
    return Problem(("x",), {f"n{index}": value for index, value in enumerate(values)})


LANGUAGES = {
    "algolisp": Language(
        "dev",
        _first_test,
        [
            Problem(("x",), {"a": [3, 1, 2, 10, -4], "b": 7, "c": [], "d": "a few words", "e": ["x", "yz", ""]}),
            Problem(("x",), {"a": list(range(1000)), "b": 10**9, "c": [10**30, -1], "d": "z" * 1000, "e": ["w"] * 99}),
        ],
        [
            "lambda1({0}) | invoke1({1}, b)",
            "lambda1({0}) | map(a, {1})",
            "lambda1({0}) | filter(a, {1})",
            "lambda1({0}) | map(e, {1})",
            "lambda2({0}) | reduce(a, 0, {1})",
            'lambda2({0}) | reduce(e, "z", {1})',
            "lambda2({0}) | reduce(a, c, {1})",
        ],
    ),
    "mathqa": Language(
        "dev",
        lambda example: example.problem,
        [_numbers(3.0, 4.0, 0.5), _numbers(0.0, 1e9, 1e300, -2.0), _numbers(100.0)],
    ),
    "arithmetic": Language("test", lambda example: example.problem, [_numbers(3.0, 4.0), _numbers(0.0, 1e300, -1.0)]),
}


class Drawer:
    """Draws programs for a domain. A seed gives the same programs on every machine with the same data."""

    def __init__(self, domain: Domain, language: Language, random: Random) -> None:
        self.random = random
        self.relations = {name: signature.arguments for name, signature in domain.relations.items()}
        self.results = {name: signature.result for name, signature in domain.relations.items()}
        self.names = sorted(self.relations)
        self.constants = dict(domain.constants)
        self.endings = language.endings
        self.problems = [(problem, {**self.constants, **domain.names(problem)}) for problem in language.problems]
        try:
            examples = list(islice(domain.examples(language.split), GOLD))
        except DataError as error:
            print(f"no gold programs to mutate: {error}", file=sys.stderr)
            examples = []
        self.gold = [(example.program, language.problem(example)) for example in examples]

    def draw(self) -> tuple[list[RelationalTuple], Problem]:
        """The tuples of a program, and a problem to run it on."""
        if self.gold and self.random.random() < 0.5:
            program, problem = self.random.choice(self.gold)
            words = [*problem.bindings, *self.constants]
            steps = list(program.tuples)
            for _ in range(self.random.randint(1, 3)):
                steps = self._edit(steps, words)
            return steps, problem
        problem, words = self.random.choice(self.problems)
        steps: list[RelationalTuple] = []
        fits = self.random.random() < 0.7
        for index in range(self.random.randint(1, 14)):
            steps.append(self._step(index, words, steps if fits else None))
        if self.endings and self.random.random() < 0.6:
            last = len(steps) - 1
            ending = self.random.choice(self.endings).format(f"#{last}", f"#{last + 1}")
            steps.extend(Program.parse(ending).tuples)
        return steps, problem

    def _step(self, index: int, words: dict[str, str], earlier: list[RelationalTuple] | None) -> RelationalTuple:
        """A tuple; with the earlier ones given, mostly one whose types fit, using the last of them often."""
        relation = self.random.choice(self.names)
        arguments = []
        for wanted in self.relations[relation]:
            if earlier is None or self.random.random() < 0.02:
                arguments.append(self._word(index, list(words)))
                continue
            references = [
                f"#{place}" for place, step in enumerate(earlier) if _fits(self.results.get(step.relation, ANY), wanted)
            ]
            leaves = [word for word, kind in words.items() if _fits(kind, wanted)]
            if references and (self.random.random() < 0.6 or not leaves):
                arguments.append(references[-1] if self.random.random() < 0.5 else self.random.choice(references))
            else:
                arguments.append(self.random.choice(leaves or list(words)))
        return RelationalTuple(relation, tuple(arguments))

    def _word(self, index: int, words: Sequence[str]) -> str:
        kind = self.random.random()
        if kind < 0.35 and index:
            return f"#{self.random.randrange(index)}"
        return self.random.choice(words if kind < 0.9 else HOSTILE)

    def _edit(self, steps: list[RelationalTuple], words: Sequence[str]) -> list[RelationalTuple]:
        """The tuples with one thing changed. Where tuples come or go, references mostly move along."""
        if not steps:
            return steps
        place = self.random.randrange(len(steps))
        step = steps[place]
        arguments = list(step.arguments)
        match self.random.randrange(7):
            case 0:
                same = [name for name in self.names if len(self.relations[name]) == len(arguments)]
                new = RelationalTuple(self.random.choice(same or self.names), step.arguments)
            case 1 | 2 if arguments:
                arguments[self.random.randrange(len(arguments))] = self._word(place, words)
                new = RelationalTuple(step.relation, tuple(arguments))
            case 3:
                new = RelationalTuple(step.relation, tuple(reversed(arguments)))
            case 4:
                new = RelationalTuple(step.relation, tuple(arguments[:-1] if arguments else ["0"]))
            case 5:
                return [*steps[:place], step, *_moved(steps[place:], place, 1)]
            case _ if len(steps) > 1:
                return [*steps[:place], *_moved(steps[place + 1 :], place, -1)]
            case _:
                return [step, step]
        return [*steps[:place], new, *steps[place + 1 :]]


def _moved(steps: Sequence[RelationalTuple], place: int, by: int) -> list[RelationalTuple]:
    """The tuples with references to tuple `place` and later ones moved, so that they point to what they did."""

    def move(word: str) -> str:
        target = reference(word)
        return word if target is None or target < place else f"#{max(0, target + by)}"

    return [RelationalTuple(step.relation, tuple(map(move, step.arguments))) for step in steps]


def _fits(kind: str, wanted: str) -> bool:
    return ANY in (kind, wanted) or kind == wanted


def _kind(error: N2FError) -> str:
    """The error without what differs from program to program."""
    text = re.sub(r"'[^']*'|#[0-9]+|[-+]?[0-9][0-9.,e+]*", "_", str(error).split(": ")[-1].split("; ")[0])
    return f"{type(error).__name__}: {text[:60]}"


def fuzz(domain: Domain, drawer: Drawer, programs: int) -> Iterator[tuple[str, float, Program]]:
    """The kind of outcome, the CPU time and the program, for each of so many programs."""
    for _ in range(programs):
        steps, problem = drawer.draw()
        try:
            program = Program(tuple(steps))
        except ProgramSyntaxError as error:
            yield _kind(error), 0.0, Program()
            continue
        start = time.process_time()
        try:
            domain.execute(program, problem)
            kind = "a value"
        except ExecutionError as error:
            kind = _kind(error)
        except BaseException:
            print(f"\nthis program raised something else:\n{program}\non {problem.bindings}", file=sys.stderr)
            raise
        yield kind, time.process_time() - start, program


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=sorted(LANGUAGES))
    parser.add_argument("--programs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="the folder of the data; without it, the usual places")
    parser.add_argument("--out", type=Path, help="where the findings go; default: results/fuzz_LANGUAGE.json")
    options = parser.parse_args()

    domain = load_domain(options.language, options.data)
    drawer = Drawer(domain, LANGUAGES[options.language], Random(options.seed))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, kinds, slowest, worst = time.perf_counter(), Counter(), 0.0, Program()
    for number, (kind, seconds, program) in enumerate(fuzz(domain, drawer, options.programs), start=1):
        kinds[kind] += 1
        if seconds > slowest:
            slowest, worst = seconds, program
            if slowest > SLOWEST:
                print(f"\na program took {slowest:.2f} s:\n{worst}", file=sys.stderr)
                return 1
        if number % 20_000 == 0:
            rate = number / (time.perf_counter() - start)
            print(f"\r{number:,} programs, {rate:,.0f} per second", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)

    print(f"{options.language}: {options.programs:,} programs, seed {options.seed}, {len(drawer.gold):,} gold ones")
    for place, (kind, count) in enumerate(kinds.most_common()):
        if place < 30 or kind.startswith("LimitError"):
            print(f"{count:>10,}  {count / options.programs:7.2%}  {kind}")
    print(f"{len(kinds)} kinds of outcome; no exception but ExecutionError")
    print(f"slowest program {slowest:.3f} s of CPU time: {str(worst)[:200]}")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory {after / 1024:,.0f} MB at most, {before / 1024:,.0f} MB before the first program")
    print(f"time {time.perf_counter() - start:,.0f} s")
    result = {
        "what": f"random and mutated programs of {options.language}; any exception but ExecutionError fails",
        "programs": options.programs,
        "seed": options.seed,
        "values": kinds["a value"],
        "kinds_of_outcome": len(kinds),
        "slowest_program_cpu_seconds": round(slowest, 3),
        "memory_megabytes": round(after / 1024),
        "memory_megabytes_before": round(before / 1024),
        "seconds": round(time.perf_counter() - start),
    }
    out = options.out or Path(f"results/fuzz_{options.language}.json")
    out.write_text(json.dumps(result, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
