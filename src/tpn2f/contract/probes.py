"""The probes of a domain: random well-typed programs, gold programs with one change, strange numbers and texts.

Draws from a given `random.Random`, so that the same seed gives the same probes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

from tpn2f.domain import ANY, Domain, Problem, Signature
from tpn2f.program import Program, RelationalTuple

HOSTILE_NUMBERS = (0, -1, 0.5, 10**9, 1e300)
HOSTILE_TEXTS = (
    "",
    " ",
    "\n\t",
    "?",
    "a" * 2_000,
    "7 " * 500,
    "(((",
    "\x00\ud800",
    "1e999 -5 .5 1,000,00",
    '"',
    "é 漢 ١٢",
)


def random_program(random: Random, domain: Domain, problem: Problem, without: Iterable[str] = ()) -> Program:
    """A well-typed program of up to six tuples, as far as the types allow one."""
    known = {**domain.constants, **domain.names(problem)}
    steps: list[RelationalTuple] = []
    relations = [item for item in domain.relations.items() if item[0] not in set(without)]
    for _ in range(random.randint(1, 6)):
        fitting = [(relation, choices) for relation, s in relations if all(choices := _choices(s, known))]
        if not fitting:
            break
        relation, choices = random.choice(fitting)
        steps.append(RelationalTuple(relation, tuple(random.choice(words) for words in choices)))
        known[f"#{len(steps) - 1}"] = domain.relations[relation].result
    return Program(tuple(steps))


def mutate(random: Random, domain: Domain, program: Program, problem: Problem) -> Program:
    """A program with one thing changed: a relation, a word, a tuple or an argument more or less, another order."""
    steps = list(program.tuples) or [RelationalTuple(random.choice(list(domain.relations)))]
    place = random.randrange(len(steps))
    step = steps[place]
    words = [*domain.names(problem), *domain.constants, "#0", f"#{len(steps)}", "#99", "xyz", '"text"', "1e999"]
    arguments = list(step.arguments)
    match random.choice(("relation", "word", "drop", "repeat", "shorter", "longer", "reversed")):
        case "relation":
            steps[place] = RelationalTuple(random.choice(list(domain.relations)), step.arguments)
        case "word" if arguments:
            arguments[random.randrange(len(arguments))] = random.choice(words)
            steps[place] = RelationalTuple(step.relation, tuple(arguments))
        case "drop":
            del steps[place]
        case "repeat":
            steps.insert(place, step)
        case "shorter":
            steps[place] = RelationalTuple(step.relation, tuple(arguments[:-1]))
        case "longer":
            steps[place] = RelationalTuple(step.relation, (*arguments, random.choice(words)))
        case _:
            steps[place] = RelationalTuple(step.relation, tuple(reversed(arguments)))
    return Program(tuple(steps))


def hostile(random: Random, problem: Problem) -> Problem:
    """The problem with unexpected numbers."""
    values = {
        name: random.choice(HOSTILE_NUMBERS) if is_number(value) else value for name, value in problem.bindings.items()
    }
    return replace(problem, bindings=values)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _choices(signature: Signature, known: Mapping[str, str]) -> list[list[str]]:
    return [
        [word for word, kind in known.items() if kind == expected or ANY in (kind, expected)]
        for expected in signature.arguments
    ]
