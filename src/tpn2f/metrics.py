"""Scores of predicted programs, with intervals, by length and by whether the template was seen.

`strict` and `commutative` operation accuracy are the same for every domain; the other metrics are the domain's own
credits. Seen and unseen templates are always scored separately, because memorising the training set already solves most
of a public test set here. A report also keeps what every single example earned, so that two reports can be compared.
Nothing in this module knows how the predictions were made.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from tpn2f.domain import Domain, Example, Signature
from tpn2f.errors import DataError
from tpn2f.program import Program, RelationalTuple

LENGTHS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 8), (9, 12), (13, 20), (21, 40), (41, None))
"""The buckets of gold program length, in tuples."""
RESAMPLES = 2_000
MOST_LEVELS = 16
"""A metric with more different credits than this is not kept example by example."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean credit with its bootstrap 95 % interval, all from 0 to 1."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.value:.2f} ({100 * self.low:.1f}-{100 * self.high:.1f})"


@dataclass(frozen=True, slots=True)
class Group:
    """The metrics of one part of the examples."""

    name: str
    count: int
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What every example earned and which groups it is in, as strings of bits that are short enough for a file.

    A string is the base64 of the zlib of one bit per example. Which examples these are is not said here: the digest
    among a report's facts says it.
    """

    count: int
    credits: Mapping[str, Mapping[str, str]]
    """Metric -> credit above 0 -> the examples that earned it: {"strict": {"1.0": "eJ..."}}."""
    groups: Mapping[str, str]

    @classmethod
    def of(cls, credits: Sequence[Mapping[str, float]], groups: Mapping[str, Sequence[int]]) -> Outcomes:
        kept: dict[str, dict[str, str]] = {}
        for metric in credits[0]:
            earned = np.asarray([credit[metric] for credit in credits], dtype=float)
            levels = [level for level in np.unique(earned).tolist() if level]
            if len(levels) <= MOST_LEVELS:
                kept[metric] = {repr(level): _pack(earned == level) for level in levels}
        members = {}
        for name, places in groups.items():
            inside = np.zeros(len(credits), dtype=bool)
            inside[list(places)] = True
            members[name] = _pack(inside)
        return cls(len(credits), kept, members)

    def earned(self, metric: str) -> np.ndarray:
        """The credit of every example. Raises DataError for a metric that is not kept, or a damaged string."""
        if metric not in self.credits:
            raise DataError(f"there is no metric {metric!r}; there are {', '.join(self.credits)}")
        total = np.zeros(self.count)
        for level, bits in self.credits[metric].items():
            total += float(level) * _unpack(bits, self.count)
        return total

    def members(self, group: str) -> np.ndarray:
        """The places of the examples of a group."""
        return _unpack(self.groups[group], self.count).nonzero()[0]


@dataclass(frozen=True, slots=True)
class Report:
    """What a set of predictions is worth: the whole first, then its parts."""

    title: str
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    """Whatever should be kept beside the numbers: split, system, seed, time."""
    outcomes: Outcomes | None = None
    """The same, example by example."""

    @property
    def whole(self) -> Group:
        return self.groups[0]

    def __str__(self) -> str:
        """A table in plain text, percent with 95 % intervals."""
        names = list(self.whole.metrics)
        rows = [["", "n", *names]]
        rows += [[g.name, str(g.count), *(str(g.metrics[name]) for name in names)] for g in self.groups]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [self.title, ""]
        for row in rows:
            cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, "", "percent, with bootstrap 95 % intervals", *self.notes])

    def to_json(self) -> str:
        """The same numbers for `results/`."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)


def score(
    domain: Domain,
    examples: Sequence[Example],
    predictions: Sequence[Program | None],
    known: Mapping[str, Collection[tuple[str, ...]]] | None = None,
    title: str = "",
    facts: Mapping[str, object] | None = None,
    judges: Sequence[Example] | None = None,
) -> Report:
    """Scores one prediction per example; None is a prediction that is not a program and earns what an empty one earns.

    `judges` are the examples that the domain gives its credits for, where a prediction was chosen by a part of the
    example's own tests: the same examples with the other tests. Groups are made of the examples themselves.
    `known` gives, for each set that a model may have learned from, the words of its problems; groups are then made of
    the templates seen in the first set, unseen in it, unseen in the first two, and so on.
    """
    if not examples:
        raise DataError("there are no examples to score")
    if len(examples) != len(predictions):
        raise DataError(f"there are {len(examples)} examples but {len(predictions)} predictions")
    credits = [_credits(domain, judge, prediction) for judge, prediction in zip(judges or examples, predictions)]
    parts = {name: members for name, members in _parts(domain, examples, known or {}) if members}
    groups = [_group("all", credits)]
    groups += [_group(name, [credits[place] for place in members]) for name, members in parts.items()]
    return Report(title or domain.name, tuple(groups), (), dict(facts or {}), Outcomes.of(credits, parts))


def is_same(predicted: Program | None, gold: Program) -> bool:
    """Strict operation accuracy: the same tuples in the same order, to the letter."""
    return predicted == gold


def is_same_up_to_order(predicted: Program | None, gold: Program, relations: Mapping[str, Signature]) -> bool:
    """The same tuples in the same order, where arguments of commutative relations may have changed places."""
    if predicted is None or len(predicted) != len(gold):
        return False
    return all(_sorted(one, relations) == _sorted(other, relations) for one, other in zip(predicted, gold))


def estimate(credits: Sequence[float]) -> Estimate:
    """The mean of some credits and its percentile bootstrap interval; deterministic."""
    if not len(credits):
        raise DataError("there are no credits to average")
    values, counts = np.unique(np.asarray(credits, dtype=float), return_counts=True)
    total = counts.sum()
    # Resampling n credits with replacement only changes how often each distinct value occurs.
    draws = np.random.default_rng(0).multinomial(total, counts / total, size=RESAMPLES)
    low, high = np.quantile(draws @ values / total, (0.025, 0.975))
    return Estimate(float(values @ counts / total), float(low), float(high))


def _credits(domain: Domain, example: Example, predicted: Program | None) -> dict[str, float]:
    return {
        "strict": float(is_same(predicted, example.program)),
        "commutative": float(is_same_up_to_order(predicted, example.program, domain.relations)),
        **domain.credits(predicted if predicted is not None else Program(), example),
    }


def _group(name: str, credits: Sequence[Mapping[str, float]]) -> Group:
    metrics = {metric: estimate([credit[metric] for credit in credits]) for metric in credits[0]}
    return Group(name, len(credits), metrics)


def _parts(
    domain: Domain, examples: Sequence[Example], known: Mapping[str, Collection[tuple[str, ...]]]
) -> Iterable[tuple[str, list[int]]]:
    places = range(len(examples))
    unseen: set[int] = set(places)
    so_far: list[str] = []
    for name, texts in known.items():
        if not so_far:
            yield f"template seen in {name}", [p for p in places if examples[p].problem.words in texts]
        so_far.append(name)
        unseen = {p for p in unseen if examples[p].problem.words not in texts}
        yield f"template unseen in {' and '.join(so_far)}", sorted(unseen)
    subsets: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        for name in domain.subsets(example):
            subsets.setdefault(name, []).append(place)
    yield from subsets.items()
    for low, high in LENGTHS:
        name = f"{low} tuple{'s' * (low > 1)}" if low == high else f"{low}-{high} tuples" if high else f"{low}+ tuples"
        yield name, [p for p in places if low <= len(examples[p].program) <= (high or len(examples[p].program))]


def _sorted(step: RelationalTuple, relations: Mapping[str, Signature]) -> tuple[str, tuple[str, ...]]:
    signature = relations.get(step.relation)
    commutes = signature is not None and signature.commutative
    return step.relation, tuple(sorted(step.arguments)) if commutes else step.arguments


def _pack(flags: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(np.packbits(flags).tobytes(), 9)).decode()


def _unpack(text: str, count: int) -> np.ndarray:
    """One flag per example. Never unpacks more than there can be."""
    length = (count + 7) // 8
    try:
        found = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), length + 1)
    except (ValueError, TypeError, zlib.error) as error:
        raise DataError(f"the outcomes of single examples are damaged: {error}") from error
    if len(found) != length:
        raise DataError(f"the outcomes of single examples are damaged: expected {length} bytes, got {len(found)}")
    return np.unpackbits(np.frombuffer(found, dtype=np.uint8), count=count).astype(bool)
