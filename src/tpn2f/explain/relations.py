"""The decoder's algebra over a split: the unbinding vectors of relations, and how much of H is a tuple (section 4.4).

PCA and k-means need scikit-learn, of the extra `analysis`; the averages, the neighbours and the measurement do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tpn2f.codec import Codec
from tpn2f.errors import DataError, N2FError
from tpn2f.explain.observe import Tuples, observe_tuples, take
from tpn2f.solver import Solver

CLUSTERS = (3, 4, 5, 6)
"""The numbers of clusters of the paper's figures."""
NEAREST = 3
NO_TUPLES = "the decoder is a plain LSTM: it has no tuples to unbind"


@dataclass(frozen=True, slots=True)
class Clustering:
    """k-means of the relations' average vectors."""

    k: int
    labels: tuple[int, ...]
    """One per relation; the cluster of the most frequent relation is 0, and so on in order of first occurrence."""
    inertia: float


@dataclass(frozen=True, slots=True)
class RelationMap:
    """The average unbinding vector of every relation of a split, the most frequent relation first."""

    relations: tuple[str, ...]
    counts: tuple[int, ...]
    """How many tuples the average is of."""
    vectors: tuple[tuple[float, ...], ...]
    points: tuple[tuple[float, float], ...]
    """The vectors in the plane of their two principal components."""
    explained: tuple[float, float]
    """The part of the vectors' variance along the two components."""
    clusterings: tuple[Clustering, ...]
    nearest: tuple[tuple[tuple[str, float], ...], ...]
    """For every relation the nearest others and their cosines, the nearest first."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> RelationMap:
        """What `to_dict` gave."""
        first, second = told["explained"]
        return cls(
            tuple(told["relations"]),
            tuple(told["counts"]),
            tuple(map(tuple, told["vectors"])),
            tuple((x, y) for x, y in told["points"]),
            (first, second),
            tuple(Clustering(one["k"], tuple(one["labels"]), one["inertia"]) for one in told["clusterings"]),
            tuple(tuple((name, cosine) for name, cosine in row) for row in told["nearest"]),
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """A share over many tuples."""

    mean: float
    low: float
    """Below this lie 5 % of the tuples."""
    median: float
    high: float
    """Above this lie 5 % of the tuples."""


@dataclass(frozen=True, slots=True)
class TPRMeasure:
    """How much of H is the TPR that its own outputs define. All are shares of the square of |H|, so they add up."""

    tuples: int
    right: float
    """The part of the tuples that the model itself gets right, given the ones before."""
    own: Spread
    """|H_TPR|^2 / |H|^2; what is missing to one is Z."""
    own_when_right: float | None
    """Over the tuples that the model gets right; None when there are none."""
    own_when_wrong: float | None
    positions: Spread
    """What the first step of unbinding sees, before the relation is unbound."""
    best: Spread
    """The most that any relation vector could give."""
    other_relation: Spread
    """Shuffled control: with the relation vector of another tuple, of another relation."""
    same_relation: Spread | None
    """The same with another tuple of the same relation; None when there is no such pair."""
    other_tuple: Spread
    """Shuffled control: along the whole H_TPR of another tuple, of another relation."""
    chance: float
    """What a random relation vector gives of a random H."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> TPRMeasure:
        """What `to_dict` gave."""
        made: dict[str, Any] = {
            key: Spread(**value) if isinstance(value, dict) else value for key, value in told.items()
        }
        return cls(**made)


def relation_vectors(solver: Solver, split: str, limit: int = 0) -> RelationMap:
    """The relations of a split's gold programs as the decoder unbinds them. Raises DataError for a flat decoder."""
    return map_relations(solver.codec, _observe(solver, split, limit))


def measure_tpr(solver: Solver, split: str, limit: int = 0) -> TPRMeasure:
    """The measurement of section 4.4 over a split's gold programs. Raises DataError for a flat decoder."""
    return measure_tuples(_observe(solver, split, limit))


def _observe(solver: Solver, split: str, limit: int) -> Tuples:
    seen = observe_tuples(solver, take(solver, split, limit))
    if seen is None:
        raise DataError(NO_TUPLES)
    return seen


def map_relations(codec: Codec, seen: Tuples) -> RelationMap:
    """Averages, plane, clusters and neighbours of tuples that were already looked at."""
    numbers, counts = np.unique(seen.relation, return_counts=True)
    order = np.lexsort((numbers, -counts))
    numbers, counts = numbers[order], counts[order]
    # Double precision, so that clusters do not depend on the order of a sum.
    vectors = np.stack([seen.unbinding[seen.relation == number].astype(float).mean(0) for number in numbers])
    names = tuple(codec.relations[int(number)] for number in numbers)
    points, explained = _principal(vectors)
    return RelationMap(
        names,
        tuple(counts.tolist()),
        _rows(vectors),
        tuple((float(x), float(y)) for x, y in points),
        (float(explained[0]), float(explained[1])),
        tuple(_cluster(vectors, k) for k in CLUSTERS if k < len(names)),
        _nearest(names, vectors),
    )


def measure_tuples(seen: Tuples) -> TPRMeasure:
    """The measurement on tuples that were already looked at."""
    different = seen.partner != seen.relation
    if not different.any():
        raise DataError("all tuples are of one relation: there is no other to compare with")
    return TPRMeasure(
        len(seen.own),
        float(seen.right.mean()),
        _spread(seen.own),
        float(seen.own[seen.right].mean()) if seen.right.any() else None,
        float(seen.own[~seen.right].mean()) if not seen.right.all() else None,
        _spread(seen.positions),
        _spread(seen.best),
        _spread(seen.other_relation[different]),
        None if different.all() else _spread(seen.other_relation[~different]),
        _spread(seen.other_tuple[different]),
        seen.chance,
    )


def _spread(values: np.ndarray) -> Spread:
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95]).tolist()
    return Spread(float(values.mean()), low, median, high)


def _principal(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points in the plane of the two principal components, and the parts of the variance along them."""
    points, explained = np.zeros((len(vectors), 2)), np.zeros(2)
    n = min(2, *vectors.shape)
    if len(vectors) > 1:
        pca = _sklearn("decomposition").PCA(n_components=n, svd_solver="full")
        points[:, :n] = pca.fit_transform(vectors)
        explained[:n] = pca.explained_variance_ratio_
    return points, explained


def _cluster(vectors: np.ndarray, k: int) -> Clustering:
    means = _sklearn("cluster").KMeans(n_clusters=k, n_init=50, random_state=0).fit(vectors)
    first = {label: place for place, label in enumerate(dict.fromkeys(means.labels_.tolist()))}
    return Clustering(k, tuple(first[label] for label in means.labels_.tolist()), float(means.inertia_))


def _nearest(names: tuple[str, ...], vectors: np.ndarray) -> tuple[tuple[tuple[str, float], ...], ...]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1)
    cosines = unit @ unit.T
    found = []
    for place, row in enumerate(cosines):
        ranked = [other for other in np.argsort(-row, kind="stable").tolist() if other != place]
        found.append(tuple((names[other], float(row[other])) for other in ranked[:NEAREST]))
    return tuple(found)


def _rows(values: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in values.tolist())


def _sklearn(part: str) -> Any:
    try:
        import sklearn.cluster
        import sklearn.decomposition
    except ImportError as error:
        raise N2FError("the analysis of relations needs scikit-learn: pip install 'tpn2f[analysis]'") from error
    return {"cluster": sklearn.cluster, "decomposition": sklearn.decomposition}[part]
