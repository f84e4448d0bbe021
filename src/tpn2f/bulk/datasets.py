"""A Ray dataset of questions, and the same dataset with answers: for pipelines that people have already."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tpn2f.bulk.answers import HowAsked, answer
from tpn2f.bulk.engines import map_with_actors
from tpn2f.bulk.records import ANSWER, READ
from tpn2f.bulk.tables import flat

BATCH = 1024


class RowsActor:
    """A worker for rows that Ray carries itself."""

    def __init__(self, asking: HowAsked) -> None:
        self._asking, self._solver = asking, asking.load()

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        names = [name for name in batch if name in READ]
        records = [dict(zip(names, map(plain, cells))) for cells in zip(*(batch[name] for name in names))]
        rows = answer(self._solver, self._asking, records)
        return {**batch, **{name: column(rows, name, kind) for name, kind in ANSWER.items()}}


def add_answers(dataset: Any, asking: HowAsked, workers: int = 0) -> Any:
    """The dataset with the columns of the answers. Computed when the result is used."""
    import ray

    count = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    return map_with_actors(dataset, RowsActor, (replace(asking.fixed(), threads=1),), count, BATCH)


def plain(cell: Any) -> Any:
    """A cell as Python has it: arrays are lists, and what is missing is None."""
    value = cell.tolist() if hasattr(cell, "tolist") else cell
    return None if isinstance(value, float) and math.isnan(value) else value


def column(rows: Sequence[Mapping[str, object]], name: str, kind: str) -> Any:
    """A column of one type: what is text in a table is text in every row."""
    import pyarrow

    if kind == "text":
        return pyarrow.array([flat(row[name]) for row in rows], pyarrow.string())
    if kind == "texts":
        return pyarrow.array([row[name] for row in rows], pyarrow.list_(pyarrow.string()))
    return pyarrow.array([row[name] for row in rows], pyarrow.float64() if kind == "number" else pyarrow.bool_())
