"""Several processes behind one address: each has the models of its own, and takes whichever client comes next.

The parent listens and serves nothing. A process that dies is started again; one that cannot even begin ends them all,
because the next one could not either.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

from tpn2f.errors import DataError, N2FError

ENDING = 10.0
"""Seconds that processes have for what they have begun, once all is to end."""


@dataclass(frozen=True, slots=True)
class Serving:
    """What every process serves: plain values, from which it loads its own models."""

    models: tuple[str, ...]
    data: Path | None = None
    domain: str | None = None
    trust: bool = False
    hosts: Collection[str] | None = None

    def run(self, listener: socket.socket, threads: int, ready: Callable[[], None]) -> None:
        """Serves until a signal comes."""
        import torch

        from tpn2f.web.app import make_app
        from tpn2f.web.limits import ServerLimits
        from tpn2f.web.server import make_server
        from tpn2f.web.shelf import load_models

        torch.set_num_threads(threads)
        limits = ServerLimits()
        app = make_app(load_models(self.models, self.data, self.domain, self.trust), limits, self.hosts)
        with suppress(KeyboardInterrupt):
            make_server(app, limits, ready).run([listener])


def run_workers(count: int, listener: socket.socket, serving: Serving, ready: Callable[[], None]) -> None:
    """Keeps `count` processes serving until Ctrl-C or SIGTERM. `ready` is called when the first answers.

    Raises DataError if one ends before it could begin.
    """
    context = multiprocessing.get_context("spawn")
    begun = [context.Event() for _ in range(count)]
    threads = max(1, (os.cpu_count() or 1) // count)

    def start(place: int) -> Any:
        begun[place].clear()
        process = context.Process(target=_serve, args=(serving, listener, threads, begun[place]))
        process.start()
        return process

    # SIGTERM ends the parent as Ctrl-C does, so that no process is left behind.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    processes = [start(place) for place in range(count)]
    told = False
    try:
        with suppress(KeyboardInterrupt):
            while True:
                wait([process.sentinel for process in processes], timeout=0.2)
                if not told and any(event.is_set() for event in begun):
                    told = True
                    ready()
                for place, process in enumerate(processes):
                    if process.is_alive():
                        continue
                    if not begun[place].is_set():
                        raise DataError(f"a process that was to serve ended with the code {process.exitcode}")
                    processes[place] = start(place)
    finally:
        _end(processes)
        signal.signal(signal.SIGTERM, before)


def _serve(serving: Serving, listener: socket.socket, threads: int, begun: Any) -> None:
    """What a process does. Its errors are for people, as those of the parent are."""
    Thread(target=_follow_parent, daemon=True).start()
    try:
        serving.run(listener, threads, begun.set)
    except N2FError as error:
        sys.stderr.write(f"tpn2f: {error}\n")
        sys.exit(2)


def _follow_parent() -> None:
    """A parent that was killed cannot end its processes: they see it themselves."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _end(processes: list[Any]) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + ENDING
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
