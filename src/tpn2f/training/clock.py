"""What a run has cost so far: wall time and processor time, counted on from what it had cost before it was stopped."""

from __future__ import annotations

import time
from typing import Protocol, runtime_checkable


@runtime_checkable
class Costs(Protocol):
    """Where the counts are kept."""

    seconds: float
    cpu_seconds: float | None


class Clock:
    """Starts when it is made."""

    def __init__(self, before: Costs, processes: int = 1) -> None:
        """`processes` work on the run, each as much as this one."""
        self.started, self._seconds = time.perf_counter(), before.seconds
        self._worked, self._cpu_seconds = time.process_time(), before.cpu_seconds
        self._processes = processes

    def tell(self, costs: Costs) -> float:
        """Writes down what the run has cost by now; the processor time stays unknown if it was. Returns the moment."""
        now = time.perf_counter()
        costs.seconds = self._seconds + now - self.started
        if self._cpu_seconds is not None:
            costs.cpu_seconds = self._cpu_seconds + (time.process_time() - self._worked) * self._processes
        return now
