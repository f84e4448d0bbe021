"""Where the parts of a job are done: in this process, or by a pool of actors on Ray. The files are the same.

On Ray every actor loads the model once. Ray Data hands out parts, no more at a time than actors can take, and starts
actors again that died. Between processes go numbers of parts and tallies only; questions and answers are in files.
"""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tpn2f.bulk.folder import Tally, begin
from tpn2f.bulk.tables import Part
from tpn2f.errors import ConfigError, DataError

STORE = 128 << 20
"""Bytes of Ray's object store on this machine: only tallies go through it."""
MISSING = "Ray is not installed: pip install 'tpn2f[ray]'"


@runtime_checkable
class Job(Protocol):
    """Work in parts. What it holds can be sent to another machine."""

    @property
    def folder(self) -> Path:
        """Where the parts go."""
        ...

    def start(self) -> Callable[[Part], Tally]:
        """A worker, with all that it needs loaded."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """Where work is done."""

    name: str = "here"
    """here or ray."""
    workers: int = 0
    """How many actors; 0 for one on every core."""
    address: str | None = None
    """The address of a Ray cluster; None for one of our own on this machine."""

    def __post_init__(self) -> None:
        if self.name not in ("here", "ray"):
            raise ConfigError(f"--on {self.name}: expected here or ray")
        if self.name == "here" and (self.workers > 1 or self.address):
            raise ConfigError("several workers and an address are for --on ray")

    def run(self, job: Job, parts: Sequence[Part]) -> Iterator[Tally]:
        """Does all parts, in any order; a tally as soon as one is done."""
        if not parts:
            return
        if self.name == "here":
            work = job.start()
            for part in parts:
                yield work(part)
        else:
            yield from _run_on_ray(job, parts, self.workers, self.address)


def has_ray() -> bool:
    return importlib.util.find_spec("ray") is not None


class PartActor:
    """What an actor is: a worker that stays."""

    def __init__(self, job: Job) -> None:
        self._folder, self._work = job.folder, job.start()

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        rows = zip(*(batch[name] for name in Part.__dataclass_fields__))
        told = [asdict(self._do(Part(*map(int, row)))) for row in rows]
        return {name: [one[name] for one in told] for name in Tally.__dataclass_fields__}

    def _do(self, part: Part) -> Tally:
        begin(self._folder, part.number)
        return self._work(part)


def _run_on_ray(job: Job, parts: Sequence[Part], workers: int, address: str | None) -> Iterator[Tally]:
    with connected(address, workers) as count:
        from ray.data import from_items

        # A block a part: an actor that dies costs one part.
        waiting = from_items([asdict(part) for part in parts], override_num_blocks=len(parts))
        done = map_with_actors(waiting, PartActor, (job,), min(count, len(parts)), 1)
        with failing_plainly():
            for row in done.iter_rows():
                yield Tally(**row)


def map_with_actors(dataset: Any, actor: type, given: tuple[Any, ...], workers: int, batch_size: int) -> Any:
    """A dataset through a pool of actors, each on one core. Ray starts one that died again, as often as it takes."""
    from ray.data import ActorPoolStrategy

    return dataset.map_batches(
        actor,
        fn_constructor_args=given,
        compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        batch_size=batch_size,
        num_cpus=1,
    )


@contextmanager
def failing_plainly() -> Iterator[None]:
    """What an actor raises is an error of one line."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        cause = getattr(error, "cause", None) or error
        raise DataError(f"on Ray: {' '.join(str(cause).split())[:500]}") from error


@contextmanager
def connected(address: str | None, workers: int = 0) -> Iterator[int]:
    """A Ray cluster, and how many actors it can hold: the one that is there, the one at the address, or our own."""
    # No word to the makers of Ray, and none of theirs about devices that are not used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
        from ray.data import DataContext
    except ImportError as error:
        raise ConfigError(MISSING) from error
    ours = not ray.is_initialized()
    if ours:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
        own = {"include_dashboard": False, "object_store_memory": STORE, "num_cpus": workers or None}
        try:
            ray.init(address=address or "local", **quiet, **({} if address else own))
        except Exception as error:  # Ray has no class of its own for a node that does not start
            raise DataError(f"Ray at {address or 'this machine'} cannot be reached: {error}") from error
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    DataContext.get_current().enable_progress_bars = False
    try:
        yield workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
    finally:
        if ours:
            ray.shutdown()
