"""Checks a data set: what is in it, what is wrong with it, and what leaks from one split to another.

Works on any domain, from its own executor and its own diagnosis. It changes nothing and never hides a record: whatever
is left out or doubtful is counted and listed with its reason.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from statistics import fmean

from tpn2f.domain import Domain, Example, HasDoubts, HasGrades, skipped_of
from tpn2f.errors import DataError


@dataclass(frozen=True, slots=True)
class SplitHealth:
    """What was found in one split."""

    split: str
    records: int
    skipped: tuple[str, ...]
    """Records that could not be read, with the reason."""
    duplicates: int
    """Records whose text, values included, occurred before."""
    texts: int
    """Distinct texts, values taken out."""
    pairs: int
    """Distinct (text, program) pairs."""
    programs: int
    ambiguous: int
    """Texts with more than one program."""
    mean_words: float
    longest_words: int
    mean_tuples: float
    longest_tuples: int
    unsolved: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> ids of the examples whose gold program does not give the gold answer."""
    doubts: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> ids of records that are marked as doubtful, where the domain knows of such marks."""
    grades: dict[str, int] = field(default_factory=dict)
    """Grade -> how many records of the source have it, those that were left out too; where the domain has grades."""

    @property
    def solved(self) -> float:
        return 1 - sum(map(len, self.unsolved.values())) / self.records


@dataclass(frozen=True, slots=True)
class SplitReport:
    """What was found in a data set."""

    domain: str
    splits: tuple[SplitHealth, ...]
    missing: tuple[str, ...]
    """Splits that are unavailable, with the reason."""
    leaks: dict[str, dict[str, int]]
    """`test in train` -> how many records of the first have a text, template or program of the second."""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, ensure_ascii=False)


def examine(
    domain: Domain,
    splits: Sequence[str] = (),
    progress: Callable[[str, int], None] = lambda split, done: None,
) -> SplitReport:
    """Reads and runs every example of the splits: by default all of them, or the sources where a domain has such. A
    split without data is named, not fatal, unless it was asked for."""
    found: dict[str, list[Example]] = {}
    health: list[SplitHealth] = []
    missing: list[str] = []
    for split in splits or (domain.sources if isinstance(domain, HasGrades) else domain.splits):
        try:
            examples = list(domain.examples(split))
            health.append(_examine_split(domain, split, examples, progress))
        except DataError as error:
            if splits:
                raise
            missing.append(f"{split}: {error}")
            continue
        found[split] = examples
    if not found:
        raise DataError(f"{domain.name} has no data: {'; '.join(missing)}")
    leaks = {f"{one} in {two}": _leak(found[one], found[two]) for one, two in _pairs(list(found))}
    return SplitReport(domain.name, tuple(health), tuple(missing), leaks)


def _examine_split(
    domain: Domain, split: str, examples: Sequence[Example], progress: Callable[[str, int], None]
) -> SplitHealth:
    skipped = tuple(skipped_of(domain).get(split, ()))
    if not examples:
        reason = f": {len(skipped)} records were left out, the first as {skipped[0]}" if skipped else ""
        raise DataError(f"the split {split} has no examples{reason}")
    programs = defaultdict(set)
    unsolved: dict[str, list[str]] = defaultdict(list)
    for done, example in enumerate(examples):
        programs[example.problem.words].add(example.program)
        reason = domain.diagnose(example)
        if reason is not None:
            unsolved[reason].append(example.id)
        progress(split, done + 1)
    words = [len(example.problem.words) for example in examples]
    tuples = [len(example.program) for example in examples]
    return SplitHealth(
        split,
        len(examples),
        skipped,
        len(examples) - len({example.text for example in examples}),
        len(programs),
        sum(map(len, programs.values())),
        len(set().union(*programs.values())),
        sum(len(different) > 1 for different in programs.values()),
        fmean(words),
        max(words),
        fmean(tuples),
        max(tuples),
        dict(sorted(unsolved.items(), key=lambda item: -len(item[1]))),
        domain.doubts(split) if isinstance(domain, HasDoubts) else {},
        domain.grades(split) if isinstance(domain, HasGrades) else {},
    )


def _leak(examples: Sequence[Example], others: Sequence[Example]) -> dict[str, int]:
    texts = {example.text for example in others}
    templates = {example.problem.words for example in others}
    programs = {example.program for example in others}
    return {
        "text": sum(example.text in texts for example in examples),
        "template": sum(example.problem.words in templates for example in examples),
        "program": sum(example.program in programs for example in examples),
        "records": len(examples),
    }


def _pairs(splits: list[str]) -> list[tuple[str, str]]:
    """Pairs (later, earlier), because the split for training usually comes first."""
    return [(two, one) for one, two in combinations(splits, 2)]
