"""What is learned from: splits joined by a plus, what each example counts, and the part of dev that selects."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tpn2f.codec import Weighted, distinct
from tpn2f.config import Config
from tpn2f.domain import Example, Splits
from tpn2f.errors import DataError


def read_mixture(splits: Splits, names: str, limit: int = 0) -> list[Weighted]:
    """The examples of a split, or of several joined by a plus, one split after the other: `gsm8k+generated*0.5`.

    A number behind a split is what each of its examples counts; 1 without one. A limit takes only the first examples.
    """
    parts = mixture_parts(names)
    for name in parts:  # checked before anything is read, also those that a limit would never reach
        splits.check(name)
    found: list[Weighted] = []
    for name, weight in parts.items():
        if not limit or len(found) < limit:
            taken = splits.take(name, limit - len(found) if limit else 0)
            found += [Weighted(example, weight) for example in taken]
    return found


def mixture_parts(names: str) -> dict[str, float]:
    """The splits of a mixture with what an example of each counts. Raises DataError."""
    return dict(_read_part(part) for part in names.split("+"))


def _read_part(part: str) -> tuple[str, float]:
    name, sign, number = part.partition("*")
    try:
        weight = float(number) if sign else 1.0
    except ValueError:
        weight = math.nan
    if not 0 < weight < math.inf:
        raise DataError(f"{part.strip()!r}: expected a split and a number above 0, such as generated*0.5")
    return name.strip(), weight


def weigh(parts: Sequence[Weighted], config: Config) -> list[Weighted]:
    """The examples of an epoch; weights have the mean 1, so that the learning rate means the same."""
    pairs = distinct(parts, config.data.weight_power) if config.data.distinct else parts
    weights = [weight for _, weight in pairs]
    mean = sum(weights) / len(weights)
    return [Weighted(example, weight / mean) for (example, _), weight in zip(pairs, weights)]


def spread(examples: list[Example], count: int) -> list[Example]:
    """`count` of the examples, spread evenly; all of them for 0."""
    if not count or count >= len(examples):
        return examples
    return [examples[place * len(examples) // count] for place in range(count)]
