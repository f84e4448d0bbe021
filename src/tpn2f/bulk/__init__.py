"""Many questions at once: files of any length, a folder of answers that can be continued, Ray where there is one.

from tpn2f import bulk

bulk.solve(["15% of 240", {"question": "What is 3 plus 4?"}])       # rows, one a question, here
bulk.solve(ray.data.read_parquet("questions.parquet"))              # a Ray dataset with the answers added
bulk.solve_file("questions.jsonl", "answers")                       # what `tpn2f solve --output` does
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tpn2f.bulk.answers import HowAsked
    from tpn2f.bulk.jobs import solve_file as solve_file

__all__ = ["solve", "solve_file"]


def solve(
    dataset: Any,
    model: str | None = None,
    *,
    domain: str | None = None,
    data: str | None = None,
    trust: bool = False,
    width: int = 0,
    workers: int = 0,
) -> Any:
    """The answers to many questions, as rows.

    Texts or objects with `question`, `options`, `inputs` give an iterator of rows in their order. A Ray dataset gives a
    Ray dataset: every row keeps its columns and gets those of its answer; a pool of `workers` actors does the work when
    it is asked for.
    """
    from tpn2f.bulk.answers import HowAsked

    asking = HowAsked(model, domain, data, trust, width)
    if hasattr(dataset, "map_batches"):
        from tpn2f.bulk.datasets import add_answers

        return add_answers(dataset, asking, workers)
    return _solve_here(dataset, asking)


def _solve_here(questions: Iterable[str | Mapping[str, object]], asking: HowAsked) -> Iterator[dict[str, object]]:
    from tpn2f.bulk.answers import BATCH, answer
    from tpn2f.bulk.records import name_of

    solver = asking.load()
    waiting = iter(questions)
    while part := list(islice(waiting, BATCH)):
        records = [{"question": one} if isinstance(one, str) else one for one in part]
        for record, row in zip(records, answer(solver, asking, records)):
            yield {"id": name_of(record), **row}


def __getattr__(name: str) -> object:
    if name == "solve_file":
        from tpn2f.bulk.jobs import solve_file

        return solve_file
    raise AttributeError(f"module 'tpn2f.bulk' has no attribute {name!r}")
