"""Whether training texts say things in enough ways, and what another wording of them would do.

Texts that a generator makes of a few patterns teach a model these patterns. People use other words. What a rewording
does is shown by the words that training does not have, or, by who has a model, by its answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tpn2f.domain.offers import inputs_of
from tpn2f.domain.protocol import Domain, Example, Problem
from tpn2f.domain.running import read_problem
from tpn2f.errors import DataError
from tpn2f.numbers import in_words
from tpn2f.program import Program

FEW_WAYS = 8
"""Training that says a relation in fewer ways than this has little variety."""
SHOWN = 3
"""How many relations are named."""
CONSTANT, VALUE = "…", "#"
"""What stands for a constant and for a value where only the wording counts."""

_PAIRS = (
    "on off|left right|up down|more less|before after|open close|start stop|add remove|largest smallest|first last|"
    "above below|with without|highest lowest|longest shortest|increase decrease|all no|rise fall|multiply divide"
)
_OPPOSITE = {one: other for pair in _PAIRS.split("|") for one, other in (pair.split(), pair.split()[::-1])}
_WORDS = (
    "set put|turn switch|switch turn|walk march|go travel|show display|find get|dim lower|light illuminate|give hand|"
    "calculate compute|compute calculate|want need|take bring|list show|move shift|add append|largest biggest|"
    "smallest tiniest|total overall|what which|sort order|count number"
)
_SAME = {pair.split()[0]: pair.split()[1] for pair in _WORDS.split("|")}


class Rewording(NamedTuple):
    """A text in other words, and the training text that it comes from."""

    how: str
    before: str
    after: str


def ways(domain: Domain, examples: Sequence[Example]) -> dict[str, dict[tuple[str, ...], str]]:
    """For every relation the wordings of the shortest programs that use it: the words without constants and values, and
    a text that has them."""
    shortest: dict[str, int] = {}
    for example in examples:
        for relation in _relations(example.program):
            shortest[relation] = min(len(example.program), shortest.get(relation, len(example.program)))
    found: dict[str, dict[tuple[str, ...], str]] = {relation: {} for relation in shortest}
    spelled = {word.lower() for word in domain.constants}
    for example in examples:
        for relation in _relations(example.program):
            if len(example.program) == shortest[relation]:
                found[relation].setdefault(_wording(example.problem, spelled), example.text)
    return found


def little_variety(domain: Domain, examples: Sequence[Example]) -> str | None:
    """What to say of training texts that say some relation in few ways; None where there is nothing to say."""
    # Relations that always come together, such as a beginning and what follows it, are said in the same ways.
    together: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    samples: dict[tuple[tuple[str, ...], ...], str] = {}
    for relation, wordings in ways(domain, examples).items():
        if len(wordings) < FEW_WAYS:
            together.setdefault(tuple(wordings), []).append(relation)
            samples[tuple(wordings)] = next(iter(wordings.values()))
    if not together:
        return None
    few = sorted(together, key=len)
    told = ", ".join(
        f"{' and '.join(together[one][:SHOWN])} in {len(one)} way{'s' * (len(one) != 1)}" for one in few[:SHOWN]
    )
    more = f" and {len(few) - SHOWN:,} more relations" if len(few) > SHOWN else ""
    return (
        f"little variety: the training texts say {told}{more}, such as {samples[few[0]][:80]!r}; people will use other "
        f"words: write at least {FEW_WAYS} ways"
    )


def rewordings(examples: Sequence[Example]) -> Iterator[Rewording]:
    """One rewording of each kind, of the shortest texts that allow it. The same examples give the same ones."""
    texts = sorted(dict.fromkeys(example.text for example in examples), key=len)
    for how, change in _CHANGES.items():
        for text in texts:
            after = change(text)
            if after is not None and after != text:
                yield Rewording(how, text, after)
                break


def new_words(domain: Domain, examples: Sequence[Example], text: str) -> tuple[str, ...]:
    """The words of a text that no example has. Raises DataError for a text that cannot be read."""
    known = {word for example in examples for word in example.problem.words}
    given = examples[0].problem.bindings if examples else {}
    problem = read_problem(domain, text, {name: given[name] for name in inputs_of(domain) if name in given})
    return tuple(word for word in dict.fromkeys(problem.words) if word not in known and word not in problem.bindings)


def tell_rewordings(domain: Domain, examples: Sequence[Example]) -> Iterator[str]:
    """What rewordings would do, by their words."""
    for _, before, after in rewordings(examples):
        try:
            new = new_words(domain, examples, after)
        except DataError:
            continue
        what = f"new to a model: {', '.join(new)}" if new else "all its words are known"
        yield f"reworded: {before[:60]!r} as {after[:60]!r}: {what}"


def _relations(program: Program) -> list[str]:
    return list(dict.fromkeys(step.relation for step in program))


def _wording(problem: Problem, constants: set[str]) -> tuple[str, ...]:
    said = (VALUE if word in problem.bindings else word for word in problem.words)
    return tuple(
        CONSTANT if word in constants else word for word in said if word == VALUE or any(map(str.isalnum, word))
    )


def _replaced(table: Mapping[str, str]) -> Callable[[str], str | None]:
    def change(text: str) -> str | None:
        for found in re.finditer(r"[a-z]+", text):
            if found.group() in table:
                return text[: found.start()] + table[found.group()] + text[found.end() :]
        return None

    return change


def _politely(text: str) -> str | None:
    return None if "please" in text.lower() else f"please {text[:1].lower()}{text[1:]}"


def _number_in_words(text: str) -> str | None:
    found = re.search(r"(?<![\w.,-])[1-9][0-9]?(?![\w.,])", text)
    return None if found is None else text[: found.start()] + in_words(int(found.group())) + text[found.end() :]


_CHANGES: Mapping[str, Callable[[str], str | None]] = {
    "politely": _politely,
    "another word for it": _replaced(_SAME),
    "the opposite": _replaced(_OPPOSITE),
    "a number in words": _number_in_words,
}
