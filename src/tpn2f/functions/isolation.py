"""A domain of functions whose functions run in a process of their own, which can be killed: for servers.

In a server, one call into C that never looks up, such as `sum(range(10**12))`, would freeze everybody. Here it freezes
a child process, which is killed and replaced; the program that did it has an error. The process is forked, so it has
the functions as they are; where the system cannot fork, they run in this process as before. Results that cannot be
sent are replaced by their text. Evaluation and training do not need this.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import stat
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tpn2f.domain import Example, Problem, Step
from tpn2f.errors import ExecutionError, LimitError, N2FError
from tpn2f.functions.budget import WAITING
from tpn2f.functions.function_domain import FunctionDomain
from tpn2f.program import Program

GRACE = 0.5
"""Seconds of the processor beyond the domain's limit, after which what cannot be interrupted is killed."""
READING = 60.0
"""Seconds that making all examples of a split may take."""
CALLS: Mapping[str, Callable[..., object]] = {
    "read_with": FunctionDomain.read_with,
    "steps": FunctionDomain.steps,
    "examples": lambda domain, split: list(FunctionDomain.examples(domain, split)),
}


class Shown:
    """A value that stayed in its process: only its text is here."""

    def __init__(self, value: object) -> None:
        self.text = str(value)

    def __str__(self) -> str:
        return self.text


class IsolatedFunctions(FunctionDomain):
    """A domain of functions that run in a child process. Made by `isolate`."""

    _child: FunctionProcess

    def read_with(self, text: str, inputs: Mapping[str, object]) -> Problem:
        return self._child.call("read_with", self.limits.seconds, text, dict(inputs))

    def steps(self, program: Program, problem: Problem) -> tuple[Step, ...]:
        return self._child.call("steps", self.limits.seconds, program, problem)

    def examples(self, split: str) -> Iterable[Example]:
        return self._child.call("examples", READING, split)


def isolate(domain: FunctionDomain) -> FunctionDomain:
    """The same domain with its functions in a process of their own, where the system can fork."""
    if not sys.platform.startswith("linux"):
        return domain
    found = IsolatedFunctions.__new__(IsolatedFunctions)
    vars(found).update(vars(domain))
    found._child = FunctionProcess(domain)
    return found


class FunctionProcess:
    """The child process of one domain: one call at a time, a new process after one that was killed."""

    def __init__(self, domain: FunctionDomain) -> None:
        self._domain = domain
        self._lock = threading.Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._start()

    def call(self, name: str, seconds: float, *arguments: object) -> Any:
        """What a method of the domain gives, or raises, in the child. LimitError if the child had to be killed."""
        with self._lock:
            if self._process is None or not self._process.is_alive():
                self._start()
            assert self._process is not None and self._pipe is not None
            try:
                self._pipe.send((name, arguments))
                if not self._wait(seconds):
                    raise LimitError(f"it took longer than {seconds:g} s, and could not be interrupted")
                good, found = self._pipe.recv()
            except (EOFError, OSError) as error:
                self._end()
                raise ExecutionError("the process of the functions ended unexpectedly") from error
            except BaseException:
                self._end()
                raise
        if good:
            return found
        raise found

    def _wait(self, seconds: float) -> bool:
        """Waits for an answer, by the clock of the child's processor: a busy machine kills nobody."""
        assert self._process is not None and self._pipe is not None and self._process.pid is not None
        used, started = _processor_seconds(self._process.pid), time.monotonic()
        while not self._pipe.poll(0.05):
            if _processor_seconds(self._process.pid) - used > seconds + GRACE:
                return False
            if time.monotonic() - started > (WAITING + 1) * seconds:
                return False
        return True

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(self._domain, theirs, ours), daemon=True)
        with warnings.catch_warnings():
            # Newer Pythons warn of forks beside threads; the child touches nothing that those could hold.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        theirs.close()
        self._pipe = ours

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None

    def close(self) -> None:
        """Ends the child."""
        with self._lock:
            self._end()


def _processor_seconds(process: int) -> float:
    """How long a process has used processors; by the clock on the wall where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return time.monotonic()


def _work(domain: FunctionDomain, pipe: Connection, parents: Connection) -> None:
    """The child: answers calls until its parent is gone."""
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _close_sockets(pipe.fileno())
    while True:
        try:
            name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer: tuple[bool, Any] = True, CALLS[name](domain, *arguments)
        except N2FError as error:
            answer = False, error
        except Exception as error:
            answer = False, ExecutionError(f"{type(error).__name__}: {error}")
        try:
            pipe.send(answer)
        except (EOFError, OSError):
            return
        except Exception:
            # A closure, an open file: what no other process can have.
            pipe.send(_sendable(answer))


def _sendable(answer: tuple[bool, Any]) -> tuple[bool, Any]:
    good, found = answer
    if good and isinstance(found, tuple) and all(isinstance(step, Step) for step in found):
        shown = [replace(step, values=tuple(map(Shown, step.values)), result=Shown(step.result)) for step in found]
        return True, tuple(shown)
    return False, ExecutionError("the values of this question cannot leave the process of the functions")


def _close_sockets(kept: int) -> None:
    """Connections of a server stay open as long as anybody holds them; a child forked in mid-service must not."""
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        with contextlib.suppress(OSError):
            if number > 2 and number != kept and stat.S_ISSOCK(os.fstat(number).st_mode):
                os.close(number)
