"""What is learned from: splits joined by a plus, what each example counts, and the part of dev that selects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tpn2f.codec import Weighted, distinct
from tpn2f.config import Config
from tpn2f.domain import Example, Splits
from tpn2f.errors import DataError
from tpn2f.program import Program

MOST_TIMES = 1000
"""How often an epoch may show an example."""


class Worth(NamedTuple):
    """What a split of a mixture is worth."""

    weight: float
    """What each of its examples counts."""
    times: int
    """How often an epoch shows each of them."""


class Taught(NamedTuple):
    """An example of a mixture."""

    example: Example
    part: Worth


def read_mixture(splits: Splits, names: str, limit: int = 0) -> list[Taught]:
    """The examples of a split, or of several joined by a plus, one split after the other: `gsm8k+generated*0.5`.

    A number behind a split is what each of its examples counts; 1 without one. A second number, as in `mathqa*0.5*3`,
    is how often an epoch shows them. A limit takes only the first examples.
    """
    parts = mixture_parts(names)
    for name in parts:  # checked before anything is read, also those that a limit would never reach
        splits.check(name)
    found: list[Taught] = []
    for name, part in parts.items():
        if not limit or len(found) < limit:
            taken = splits.take(name, limit - len(found) if limit else 0)
            found += [Taught(example, part) for example in taken]
    return found


def mixture_parts(names: str) -> dict[str, Worth]:
    """The splits of a mixture with what each is worth. Raises DataError."""
    return dict(_read_part(part) for part in names.split("+"))


def _read_part(text: str) -> tuple[str, Worth]:
    name, *numbers = text.split("*")
    try:
        weight, times, *more = (*map(float, numbers[:1]), *map(int, numbers[1:]), *(1, 1)[len(numbers) :])
    except ValueError:
        weight, times, more = math.nan, 0, []
    if more or not 0 < weight < math.inf or not 0 < times <= MOST_TIMES:
        raise DataError(
            f"{text.strip()!r}: expected a split, a number above 0, and a whole number from 1 to {MOST_TIMES}, such as "
            "generated, generated*0.5 or generated*0.5*3"
        )
    return name.strip(), Worth(weight, int(times))


def weigh(parts: Sequence[Taught], config: Config) -> list[Weighted]:
    """The examples of an epoch; weights have the mean 1, so that the learning rate means the same."""
    pairs = [Weighted(example, part.weight) for example, part in parts]
    times = {_pair(example): part.times for example, part in reversed(parts)}
    if config.data.distinct:
        pairs = distinct(pairs, config.data.weight_power)
    shown = [pair for pair in pairs for _ in range(times[_pair(pair.example)])]
    mean = sum(weight for _, weight in shown) / len(shown)
    return [Weighted(example, weight / mean) for example, weight in shown]


def _pair(example: Example) -> tuple[tuple[str, ...], Program]:
    return example.problem.words, example.program


def spread(examples: list[Example], count: int) -> list[Example]:
    """`count` of the examples, spread evenly; all of them for 0."""
    if not count or count >= len(examples):
        return examples
    return [examples[place * len(examples) // count] for place in range(count)]
