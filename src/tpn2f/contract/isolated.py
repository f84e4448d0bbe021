"""Checks the contract in a separate process, with a hard memory limit and a watchdog.

A domain's functions may hang in C, eat all memory or kill the process; here that is a finding, with what was run last.
The process reports what it does as lines of JSON; whatever the domain itself prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue

from tpn2f.contract.checks import Finding, OnCheck, check_domain
from tpn2f.domain import load_domain
from tpn2f.errors import DomainError, N2FError

PATIENCE = 60.0
"""After this many seconds of silence the process is stopped: no single program takes that long."""
MEMORY = 4 << 30
"""The most address space of the process, in bytes."""


def inspect_domain(
    spec: str, data: Path | str | None = None, progress: OnCheck = lambda what: None, patience: float = PATIENCE
) -> Iterator[Finding]:
    """`check_domain` on the domain that `spec` names, in another process. Raises DomainError if it cannot be loaded."""
    command = [sys.executable, "-m", "tpn2f.contract.isolated", spec, *([str(data)] if data is not None else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        lines: Queue[str | None] = Queue()
        threading.Thread(target=_forward, args=(process, lines), daemon=True).start()
        last, ended = "loading the domain", False
        try:
            while (line := lines.get(timeout=patience)) is not None:
                kind, text = json.loads(line)
                if kind == "doing":
                    last = text
                    progress(text)
                elif kind == "failed":
                    raise DomainError(text)
                elif kind == "end":
                    ended = True
                else:
                    yield Finding(kind, text)
        except Empty:
            yield Finding("error", f"nothing happened for {patience:g} s and nothing could interrupt it: {last}")
            return
        finally:
            process.kill()
        code = process.wait()
        if not ended:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            yield Finding("error", f"the process was stopped ({how}): {last}")


def _forward(process: subprocess.Popen[str], lines: Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _inside(spec: str, data: str | None = None) -> None:
    """The work of the other process."""
    told = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(2, 1)
    _bound_memory()

    def tell(kind: str, text: str) -> None:
        told.write(json.dumps([kind, text]) + "\n")
        told.flush()

    try:
        for finding in check_domain(load_domain(spec, data), lambda what: tell("doing", what[:500])):
            tell(finding.level, finding.text)
        tell("end", "")
    except N2FError as error:
        tell("failed", str(error))


def _bound_memory() -> None:
    try:
        import resource
    except ImportError:  # not on Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MEMORY if hard == resource.RLIM_INFINITY else min(MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    _inside(*sys.argv[1:])
