"""Result files and prediction files, read so that they can be compared.

A result file says what it scored and what every example earned. A prediction file has programs only, so it is scored
here, on the split that the other file or the caller names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tpn2f.compare.pairs import Comparison, compare
from tpn2f.domain import Example, Splits, load_domain, names_code
from tpn2f.errors import ConfigError, DataError
from tpn2f.metrics import Outcomes
from tpn2f.program import Program

AGAIN = "score it again with `tpn2f evaluate --output`, or compare prediction files (`tpn2f evaluate --save`)"

MOST_EXAMPLES = 10_000_000
"""A file that claims more is damaged."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What a file says of a system."""

    title: str
    domain: str
    split: str
    digest: str
    """The sha256 of the examples."""
    outcomes: Outcomes
    predictions: tuple[Program | None, ...] = ()
    """The programs, where the file has them."""


def compare_files(
    first: Path,
    second: Path,
    metric: str = "strict",
    domain: str | None = None,
    split: str | None = None,
    data: Path | None = None,
) -> tuple[Comparison, Scored, Scored]:
    """Compares two files, each with results or with predictions.

    `domain` and `split` are needed for two prediction files, which do not say what they answer. Raises DataError for
    files about different examples, and for a result file that has no outcomes of single examples.
    """
    reports = [_read_result(path) for path in (first, second)]
    facts: Mapping[str, Any] = next((report["facts"] for report in reports if report is not None), {})
    domain, split = domain or _named(facts, "domain"), split or _named(facts, "split")
    one, other = (
        read_scored(path, domain, split, data) if report is None else _scored(path, report)
        for path, report in zip((first, second), reports)
    )
    if one.digest != other.digest:
        told = (
            f"{path} has {found.outcomes.count:,} of {found.domain} {found.split} (sha256 {found.digest[:8]})"
            for path, found in ((first, one), (second, other))
        )
        raise DataError(f"only the same examples can be compared: {', '.join(told)}")
    return compare(one.outcomes, other.outcomes, metric, (one.title, other.title)), one, other


def read_scored(path: Path, domain: str | None = None, split: str | None = None, data: Path | None = None) -> Scored:
    """A file of either kind. A prediction file is scored on the first examples of the split, as many as it has."""
    report = _read_result(path)
    if report is not None:
        return _scored(path, report)
    # Only here: scoring brings torch with it.
    from tpn2f.evaluation import evaluate_file, read_predictions

    predictions, _ = read_predictions(path)
    if domain is None or split is None:
        raise ConfigError(f"{path} has predictions and does not say for what: name it with --domain and --split")
    found = evaluate_file(load_domain(domain, data), split, path, limit=len(predictions))
    assert found.outcomes is not None
    return Scored(found.title, domain, split, str(found.facts["examples_sha256"]), found.outcomes, tuple(predictions))


def examples_of(scored: Scored, data: Path | None = None) -> Sequence[Example]:
    """The examples that a file is about. Raises DataError where the data is missing or is not the same."""
    from tpn2f.evaluation import digest

    examples = Splits(load_domain(scored.domain, data)).take(scored.split, scored.outcomes.count)
    if digest(examples) != scored.digest:
        raise DataError(f"{scored.domain} {scored.split} has other examples here than those that were scored")
    return examples


def _read_result(path: Path) -> dict[str, Any] | None:
    """A report of `tpn2f evaluate`; None for what is no such report."""
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    whole = isinstance(found, dict) and isinstance(found.get("facts"), dict) and isinstance(found.get("groups"), list)
    return found if whole else None


def _named(facts: Mapping[str, Any], key: str) -> str | None:
    """What a result file names. A file may come from anybody, so what would be code is not loaded for it."""
    found = facts.get(key)
    if found is not None and (not isinstance(found, str) or names_code(found)):
        raise DataError(
            f"a result file names {str(found)[:60]!r} as its {key}, which is not used unasked: compare predictions "
            f"(`tpn2f evaluate --save`), and name it with --{key}"
        )
    return found


def _scored(path: Path, report: Mapping[str, Any]) -> Scored:
    facts, kept = report["facts"], report.get("outcomes")
    if not kept:
        raise DataError(f"{path} does not say which examples were right: {AGAIN}")
    try:
        count = int(kept["count"])
        if not 0 < count <= MOST_EXAMPLES:
            raise ValueError(f"{count:,} examples")
        credits = {
            str(metric): {repr(float(level)): bits for level, bits in levels.items()}
            for metric, levels in kept["credits"].items()
        }
        outcomes = Outcomes(count, credits, dict(kept["groups"]))
        title, domain, split = str(report["title"]), _named(facts, "domain"), _named(facts, "split")
        if domain is None or split is None:
            raise KeyError("domain or split")
        digest = str(facts["examples_sha256"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: the outcomes of single examples are damaged: {error!r}") from error
    return Scored(title, domain, split, digest, outcomes)
