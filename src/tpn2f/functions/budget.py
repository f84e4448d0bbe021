"""What running a program may cost: seconds, elements and memory, held around functions that are trusted but not total.

* Time, of the processor, so that a busy machine changes no score; a function that only waits has ten times as much. In
  the main thread the signals of interval timers end whatever Python does; in any other thread a watchdog raises the
  same exception. Both cost microseconds and need no second process. What neither can end is one call into C that never
  looks up, such as `sum(range(10**12))`; `tpn2f domain check` looks for those in a process of its own.
* Memory: the soft limit of the address space is lowered around the call, where the system has one, so that building
  10^9 elements is a MemoryError and not the end of the process.
* Elements: the results of a program together, counted all the way down.
"""

from __future__ import annotations

import contextlib
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FrameType
from typing import Any

try:
    import resource
except ImportError:  # not on Windows
    resource = None

MAX_BITS = 14_000
"""The longest whole number that is a result, in bits; Python writes no number of more than 4,300 digits."""
WAITING = 10.0
"""The limit of wall time, as a multiple of the limit of processor time."""
REPEAT_SECONDS = 0.1
"""The alarm is repeated, in case a bare `except` swallowed it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one program may use."""

    seconds: float = 2.0
    """Of processor time."""
    elements: int = 1_000_000
    """Of all results together: characters, items, keys, values and attributes."""
    memory: int = 1 << 29
    """In bytes, beyond what the process has when the program starts."""


class OutOfTime(BaseException):
    """Raised inside a function that takes too long; not an Exception, so that `except Exception` lets it pass."""


@contextlib.contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Raises OutOfTime when the body takes too long, and MemoryError when it takes too much."""
    clock = _alarm if _can_ring() else _watchdog
    with _MEMORY.lowered(limits.memory), clock(limits.seconds):
        yield


def size_of(value: object, most: int) -> int:
    """How many elements a value has, all the way down; counting ends soon after `most`.

    What is shared counts each time, because printing the value writes it each time. Raises ValueError for values
    that have no size, such as iterators.
    """
    count = 0
    pending: list[Any] = [value]
    objects: set[int] = set()
    while pending and count <= most:
        item = pending.pop()
        count += 1
        if item is None or isinstance(item, float | type | Enum):
            continue
        if isinstance(item, int):
            if item.bit_length() > MAX_BITS:
                raise ValueError(f"a whole number of {item.bit_length():,} bits; at most {MAX_BITS:,} are kept")
        elif isinstance(item, Iterator):
            raise ValueError("an iterator, which has no size; expected a list")
        elif isinstance(item, list | tuple | set | frozenset | Mapping):
            # A huge one is not walked.
            if count + len(item) > most:
                return count + len(item)
            pending += [*item.keys(), *item.values()] if isinstance(item, Mapping) else item
        elif isinstance(attributes := getattr(item, "__dict__", None), dict):
            if id(item) not in objects:
                objects.add(id(item))
                pending += attributes.values()
        elif hasattr(item, "__len__"):
            count += _length(item)
    return count


def _length(value: Any) -> int:
    try:
        return len(value)
    except OverflowError:  # a range may be longer than any list
        return sys.maxsize


def _can_ring() -> bool:
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _ring(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    timers = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, WAITING * seconds),
    )
    before = [(number, signal.signal(number, _ring)) for number, _, _ in timers]
    try:
        for _, timer, after in timers:
            signal.setitimer(timer, after, REPEAT_SECONDS)
        try:
            yield
        finally:
            for _, timer, _ in timers:
                signal.setitimer(timer, 0)
    finally:
        for number, handler in before:
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextlib.contextmanager
def _watchdog(seconds: float) -> Iterator[None]:
    thread = threading.get_ident()
    spent = _processor_clock(thread)
    used, started = spent(), time.monotonic()
    lock = threading.Lock()
    done = threading.Event()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            with lock:
                late = spent() - used >= seconds or time.monotonic() - started >= WAITING * seconds
                if late and not done.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))
            wait = min(REPEAT_SECONDS, seconds)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            done.set()
            # One that was sent but has not arrived is taken back.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)


def _processor_clock(thread: int) -> Callable[[], float]:
    """How many seconds of a processor a thread has used; by the clock on the wall where the system does not say."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


class _Memory:
    """The soft limit of the address space, shared by all threads that run programs: the last one restores it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._before = (-1, -1)

    @contextlib.contextmanager
    def lowered(self, more: int) -> Iterator[None]:
        used = _address_space()
        if resource is None or used is None:
            yield
            return
        with self._lock:
            self._running += 1
            if self._running == 1:
                self._before = resource.getrlimit(resource.RLIMIT_AS)
                soft, hard = self._before
                bounds = [used + more, *(bound for bound in (soft, hard) if bound != resource.RLIM_INFINITY)]
                resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if self._running == 0:
                    resource.setrlimit(resource.RLIMIT_AS, self._before)


_MEMORY = _Memory()
_STATM = Path("/proc/self/statm")


def _address_space() -> int | None:
    """How many bytes of address space this process has; None where the system does not say."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return int(_STATM.read_bytes().split(maxsplit=1)[0]) * resource.getpagesize() if resource else None
    except (OSError, ValueError):
        return None
