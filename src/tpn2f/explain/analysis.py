"""The whole analysis of a trained model over a split, as one object: groups, relations, measurement, checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tpn2f.explain.classes import relation_classes
from tpn2f.explain.groups import NO_ROLES, WordGroups, group_tokens
from tpn2f.explain.observe import observe_tuples, observe_words, take
from tpn2f.explain.purity import SHUFFLES, Agreement, purity_of_relations, purity_of_words
from tpn2f.explain.relations import NO_TUPLES, RelationMap, TPRMeasure, map_relations, measure_tuples
from tpn2f.solver import Solver


@dataclass(frozen=True, slots=True)
class Analysis:
    """What can be seen of a model. For a side that is a plain LSTM its parts are None, and a note says so."""

    domain: str
    split: str
    examples: int
    groups: WordGroups | None
    relations: RelationMap | None
    tpr: TPRMeasure | None
    purity: tuple[Agreement, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and texts, for JSON."""
        return {
            "domain": self.domain,
            "split": self.split,
            "examples": self.examples,
            "groups": self.groups and self.groups.to_dict(),
            "relations": self.relations and self.relations.to_dict(),
            "tpr": self.tpr and self.tpr.to_dict(),
            "purity": [row.to_dict() for row in self.purity],
            "notes": list(self.notes),
        }


def analyse(
    solver: Solver,
    split: str,
    limit: int = 0,
    shuffles: int = SHUFFLES,
    progress: Callable[[str], None] = lambda message: None,
) -> Analysis:
    """Looks at a model over the first `limit` examples of a split, 0 for all. `progress` gets what is being done."""
    progress(f"reading {split}")
    examples = take(solver, split, limit)
    notes = []
    tokens = observe_words(solver, examples, lambda done, total: progress(f"words: {done:,} of {total:,} examples"))
    if tokens is None:
        notes.append(NO_ROLES)
    seen = observe_tuples(
        solver, examples, progress=lambda done, total: progress(f"tuples: {done:,} of {total:,} examples")
    )
    if seen is None:
        notes.append(NO_TUPLES)
    relations = None if seen is None else map_relations(solver.codec, seen)
    checks: tuple[Agreement, ...] = ()
    progress(f"shuffling {shuffles} times")
    if tokens is not None:
        checks += purity_of_words(tokens, lambda word: word in solver.codec.words, shuffles)
    if relations is not None:
        checks += purity_of_relations(relations, solver.domain, shuffles)
        notes.append(f"operation classes: {relation_classes(solver.domain)[1]}")
    return Analysis(
        solver.domain.name,
        split,
        len(examples),
        None if tokens is None else group_tokens(tokens),
        relations,
        None if seen is None else measure_tuples(seen),
        checks,
        tuple(notes),
    )
