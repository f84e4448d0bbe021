"""The map of a model's relations as the page draws it. The numbers come from `explain`, and so from the domain's data.

A bundled model contains its map, because users who install it may not have the data.
"""

from __future__ import annotations

from tpn2f.domain import split_roles
from tpn2f.errors import DataError
from tpn2f.explain.relations import relation_vectors
from tpn2f.solver import Solver
from tpn2f.web.messages import Point, RelationMapMessage

MAP = "map.json"
"""The text of a bundled model that holds its map."""
EXAMPLES = 800
"""How many examples the vectors are averaged over: enough for a picture, few enough not to keep the user waiting."""


def find_map(solver: Solver, name: str) -> RelationMapMessage:
    """The map that came with the model, or else one that is drawn. Raises DataError where there is nothing to draw."""
    if MAP in solver.texts:
        try:
            return RelationMapMessage.model_validate_json(solver.texts[MAP]).model_copy(update={"model": name})
        except ValueError as error:
            raise DataError(f"its {MAP} is damaged: {' '.join(str(error).split())[:200]}") from error
    return draw_map(solver, name)


def draw_map(solver: Solver, name: str) -> RelationMapMessage:
    """Raises DataError where there is nothing to draw: no tuples in the decoder, or no data to average over."""
    # Test examples are for one final scoring and never looked at.
    roles = split_roles(solver.domain)
    split = next((split for split in (roles.select, roles.learn) if split in solver.domain.splits), None)
    if split is None:
        raise DataError(f"{solver.domain.name} has neither a split {roles.select} nor {roles.learn}")
    seen = relation_vectors(solver, split, EXAMPLES)
    clusters = [
        {str(clustering.k): clustering.labels[place] for clustering in seen.clusterings}
        for place in range(len(seen.relations))
    ]
    return RelationMapMessage(
        model=name,
        source=f"{solver.domain.name} {split}, the first {EXAMPLES} examples",
        explained=[round(part, 4) for part in seen.explained],
        points=[
            Point(relation=relation, count=count, x=round(x, 5), y=round(y, 5), clusters=labels)
            for relation, count, (x, y), labels in zip(seen.relations, seen.counts, seen.points, clusters)
        ],
    )
