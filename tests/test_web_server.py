"""The listening server and the command that starts it: clients that dawdle, talk nonsense, or come twice."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from conftest import Run
from test_web import QUESTION, make_solver
from tpn2f.cli.serve import has_desktop
from tpn2f.domain import load_domain
from tpn2f.errors import ConfigError
from tpn2f.web.app import make_app
from tpn2f.web.limits import SECURITY, ServerLimits
from tpn2f.web.server import address_of, make_server, open_socket
from tpn2f.web.shelf import load_models

PATIENCE = 0.4


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """A server with little patience."""
    examples = list(load_domain("arithmetic").examples("train"))[:50]
    limits = ServerLimits(patience=PATIENCE)
    started = threading.Event()
    server = make_server(make_app({"tiny": make_solver("arithmetic", examples)}, limits), limits, started.set)
    with open_socket("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        assert started.wait(60)
        yield listener.getsockname()[:2]
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


def exchange(address: tuple[str, int], *parts: bytes, pause: float = 0.0) -> bytes:
    """Sends parts with pauses between them, and everything that comes back until the server hangs up."""
    with socket.create_connection(address, timeout=30) as connection:
        for part in parts:
            try:
                connection.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                break
            time.sleep(pause)
        answer = b""
        try:
            while chunk := connection.recv(65536):
                answer += chunk
        except ConnectionResetError:
            pass
        return answer


def assert_alive(address: tuple[str, int]) -> None:
    url = "http://{}:{}".format(*address)
    assert httpx2.get(f"{url}/healthz").json()["status"] == "ok"
    assert httpx2.post(f"{url}/api/solve", json={"question": QUESTION}).status_code == 200


HEAD = b"POST /api/solve HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), b""),
        ((b"GET / HT",), b""),
        ((b"GET / HTTP/1.1\r\nhost: x\r\n", b"a: b\r\n", b"c: d\r\n", b"e: f\r\n"), b""),
        ((HEAD + b"content-length: 50\r\n\r\n", b'{"question":'), b"408"),
        ((HEAD + b"transfer-encoding: chunked\r\n\r\n", b"2\r\n{}\r\n"), b"408"),
    ],
    ids=["silent", "half a line", "header by header", "half a body", "endless chunks"],
)
def test_a_client_that_dawdles_is_left(address, parts, expected):
    """Not a timing: without the bound this would hang until the socket's own limit, and fail."""
    answer = exchange(address, *parts, pause=PATIENCE / 3)
    assert answer.split(b" ")[1:2] == ([expected] if expected else [])
    assert_alive(address)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
        (b"GET / HTTP/1.1\r\nhost: x\r\nlong: " + b"x" * 100_000, b"400"),
        (b"GET /../app.py HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"404"),
        (b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"404"),
        (b"GET /\xff HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n", b"400"),
        (HEAD + b"connection: close\r\ncontent-length: -5\r\n\r\n", b"400"),
        (HEAD + b"content-length: 10000000\r\n\r\n" + b"x" * 10_000_000, b"413"),
        (b"GET / HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade, close\r\n\r\n", b"200"),
    ],
    ids=lambda value: value[:24].decode("latin-1") if isinstance(value, bytes) and len(value) > 3 else None,
)
def test_nonsense_gets_the_right_status_and_the_server_lives(address, request_, status):
    answer = exchange(address, request_)
    assert answer.split(b" ")[1:2] == [status]
    assert b"def " not in answer and b"root:" not in answer
    assert_alive(address)


def test_a_client_that_never_reads_is_left(address):
    """It asks for far more than the buffers hold, and takes nothing until its time is over."""
    page = b"GET /app.js HTTP/1.1\r\nhost: x\r\n\r\n"
    wanted = 400
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(30)
        connection.connect(address)
        connection.sendall(page * wanted)
        time.sleep(5 * PATIENCE)
        taken = 0
        try:
            while chunk := connection.recv(1 << 16):
                taken += len(chunk)
        except ConnectionResetError:
            pass
    whole = len(httpx2.get("http://{}:{}/app.js".format(*address)).content)
    assert 0 < taken < wanted * whole
    assert_alive(address)


def test_a_connection_is_kept_for_the_next_request_and_headers_are_there(address):
    with httpx2.Client(base_url="http://{}:{}".format(*address)) as client:
        for _ in range(3):
            response = client.get("/")
            assert response.headers["content-security-policy"] == SECURITY["content-security-policy"]
            assert "server" not in response.headers


# The socket


@pytest.mark.parametrize(
    ("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("localhost", "localhost"), ("0.0.0.0", "127.0.0.1")]
)
def test_an_address_can_be_opened(host, shown):
    with open_socket(host, 0) as listener:
        assert address_of(listener, host) == f"http://{shown}:{listener.getsockname()[1]}/"


def test_what_cannot_be_listened_on_is_one_sentence():
    with open_socket("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"port {port}: Address already in use; choose another with --port"):
            open_socket("127.0.0.1", port)
    with pytest.raises(ConfigError, match=r"--host no\.such\.host\.invalid"):
        open_socket("no.such.host.invalid", 0)


# The command


@pytest.fixture(scope="module")
def run_directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that learned nothing, as training would leave it."""
    from test_web import MODEL
    from tpn2f.checkpoint import Checkpoint, write_checkpoint
    from tpn2f.config import Config, DataConfig
    from tpn2f.solver import setting

    solver = make_solver("arithmetic", list(load_domain("arithmetic").examples("train"))[:50])
    state, texts = setting(Config("tiny", DataConfig("arithmetic"), MODEL), solver.codec)
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    write_checkpoint(folder / "checkpoints" / "best", Checkpoint({"model": solver.model.state_dict()}, state, texts))
    return folder


def test_models_get_short_names(run_directory):
    places = [str(run_directory), str(run_directory / "checkpoints" / "best"), str(run_directory)]
    assert list(load_models(places, None)) == ["tiny", "tiny-2", "tiny-3"]


def test_what_a_user_can_get_wrong_is_one_line(tpn2f: Run, run_directory):
    with open_socket("127.0.0.1", 0) as listener:
        taken = tpn2f("serve", "--model", run_directory, "--port", listener.getsockname()[1])
    absent = tpn2f("serve", "--model", run_directory / "absent")
    for outcome, expected in ((taken, "Address already in use"), (absent, "there is no such directory")):
        assert (outcome.code, outcome.out) == (2, "")
        assert outcome.err.startswith("tpn2f: ") and outcome.err.count("\n") == 1 and expected in outcome.err
    wrong = tpn2f("serve", "--model", "nobody", "--port", "0")
    assert wrong.code == 2 and "there is no model nobody" in wrong.err
    assert tpn2f("serve", "--port", "70000").code == 2


def test_a_browser_is_opened_only_where_there_is_a_desktop(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not has_desktop()


def test_the_command_prints_its_address_at_once_answers_and_stops(run_directory, tmp_path):
    command = [sys.executable, "-m", "tpn2f", "serve", "--model", str(run_directory), "--port", "0", "--no-open"]
    with subprocess.Popen(
        [*command, "--host", "0.0.0.0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as server:
        assert server.stdout and server.stderr
        try:
            url = server.stdout.readline().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
            # Nobody has to wait for a sign: the request waits for the server.
            answer = httpx2.post(f"{url}api/solve", json={"question": QUESTION}, timeout=120)
            assert answer.status_code == 200 and answer.json()["model"] == "tiny"
        finally:
            server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=60)
    assert server.returncode == 0 and out == ""
    lines = err.splitlines()
    assert "warning: 0.0.0.0 lets other machines reach this server" in lines[0]
    assert lines[1:] == ["serving tiny; Ctrl-C stops", "stopped"]
