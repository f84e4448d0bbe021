"""From an app to a listening server: the socket, and clients that are too slow. Uvicorn does the work."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tpn2f.errors import ConfigError
from tpn2f.web.limits import ServerLimits

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def open_socket(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. From here on clients can connect, and wait for the server."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(f"--host {host}: cannot listen on this address: {error}") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {reason}; choose another with --port (0 chooses a free one)"
        ) from error
    return listener


def address_of(listener: socket.socket, host: str) -> str:
    """The address for a browser."""
    port = listener.getsockname()[1]
    name = "127.0.0.1" if host in ("0.0.0.0", "") else "[::1]" if host == "::" else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"


class BoundedProtocol(H11Protocol):
    """Closes a connection whose client takes too long to send a request or to take its response.

    Uvicorn itself waits without limit for the end of a header.
    """

    patience = ServerLimits.patience

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._full_since: float | None = None
        self._timer = self.loop.call_later(self.patience, self._check)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        # The client takes nothing, and what waits for it fills the buffers.
        self._full_since = self._full_since or self.loop.time()
        super().pause_writing()

    def on_response_complete(self) -> None:
        self._since = self.loop.time()
        super().on_response_complete()

    def _check(self) -> None:
        """The client's turn lasts from the end of the last response to the end of the next request."""
        if self._full_since is not None and not self.transport.get_write_buffer_size():
            self._full_since = None  # it has taken everything
        at_work = self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body
        left = self.patience if at_work else self._since + self.patience - self.loop.time()
        if self._full_since is not None:
            left = min(left, self._full_since + self.patience - self.loop.time())
        if left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(left, self._check)


def make_server(app: Any, limits: ServerLimits, ready: Callable[[], None] = lambda: None) -> uvicorn.Server:
    """A server for `run(sockets=[listener])`, which ends with Ctrl-C or once `should_exit` is set.

    `ready` is called as soon as requests are answered.
    """

    class Patient(BoundedProtocol):
        # A little more than the guard's, which answers 408 where it can.
        patience = 1.2 * limits.patience

    class Announced(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    config = uvicorn.Config(
        app,
        http=Patient,
        # The same loop wherever it runs: Ray brings uvloop along, which uvicorn would take.
        loop="asyncio",
        ws="none",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=16_384,
    )
    return Announced(config)
