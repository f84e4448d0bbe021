"""Several processes behind one address: one that dies is replaced, one that cannot begin ends all, none is left."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra `web`")

from tpn2f.errors import DataError
from tpn2f.web.server import open_socket
from tpn2f.web.workers import Serving, run_workers


@dataclass(frozen=True)
class Tells(Serving):
    """Says its process number to whoever connects, and needs no model for that."""

    def run(self, listener: socket.socket, threads: int, ready: Callable[[], None]) -> None:
        if self.models == ("none",):
            raise DataError("there is no model")
        ready()
        while True:
            client, _ = listener.accept()
            with client:
                client.sendall(str(os.getpid()).encode())


def keep(listener: socket.socket, count: int, models: tuple[str, ...]) -> None:
    # Whoever runs the tests in the background of a shell lets them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_workers(count, listener, Tells(models), lambda: None)
    except DataError:
        sys.exit(7)


def ask(port: int) -> int:
    """The process that answers; 0 for one that died over it."""
    try:
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            return int(client.recv(100) or 0)
    except ConnectionError:
        return 0


def is_there(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]
    except OSError:
        return False


def until(happens: Callable[[], bool]) -> None:
    """Without a limit of its own: a test that hangs is stopped by who runs it."""
    while not happens():
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to see processes")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_who_dies_is_replaced_and_nobody_is_left(ending: signal.Signals) -> None:
    context = multiprocessing.get_context("spawn")
    with open_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        parent = context.Process(target=keep, args=(listener, 2, ()))
        parent.start()
    assert parent.pid is not None
    try:
        first = ask(port)
        os.kill(first, signal.SIGKILL)
        seen: set[int] = set()

        def both() -> bool:
            seen.add(ask(port))
            return len(seen - {0, first}) == 2

        until(both)
        assert parent.is_alive()
    finally:
        os.kill(parent.pid, ending)
    parent.join()
    seen.discard(0)
    until(lambda: not any(map(is_there, seen)))


def test_one_that_cannot_begin_ends_all(capfd: pytest.CaptureFixture[str]) -> None:
    context = multiprocessing.get_context("spawn")
    with open_socket("127.0.0.1", 0) as listener:
        parent = context.Process(target=keep, args=(listener, 2, ("none",)))
        parent.start()
        parent.join()
    assert parent.exitcode == 7
    assert "tpn2f: there is no model" in capfd.readouterr().err


@pytest.mark.slow
def test_the_command_serves_with_several_processes(tmp_path: Path) -> None:
    from tiny_model import make_run

    run = make_run(tmp_path / "tiny")
    command = [
        sys.executable,
        "-m",
        "tpn2f",
        "serve",
        "--model",
        str(run),
        "--workers",
        "2",
        "--port",
        "0",
        "--no-open",
    ]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None and server.stderr is not None
    address = server.stdout.readline().strip()
    assert "serving with 2 processes" in server.stderr.readline()
    body = json.dumps({"question": "what is the sum of 3 and 4 ?"}).encode()
    asked = urllib.request.Request(f"{address}api/solve", body, {"Content-Type": "application/json"})
    try:
        for _ in range(6):
            with urllib.request.urlopen(asked, timeout=120) as answer:
                assert json.load(answer)["program"]
    finally:
        server.terminate()
    _, told = server.communicate()
    assert server.returncode == 0 and told.endswith("stopped\n")
