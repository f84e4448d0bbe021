"""The limits of a request, and the guard that enforces them: hosts, media types, bodies, load, slow clients.

The guard is a plain ASGI layer around the whole app. It also gives every response its security headers. What the
fields of a request may hold is in `messages`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SECURITY = {
    # Nothing from elsewhere, nothing inline: a question that is markup could do nothing even if it were shown as such.
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What the server is willing to do."""

    body: int = 65_536
    """Bytes of a request's body."""
    words: int = 400
    """Words of a question, as the domain counts them."""
    pending: int = 128
    """Requests that are answered at the same time; further ones are asked to come back later."""
    seconds: float = 20.0
    """How long a client waits at most for an answer."""
    patience: float = 10.0
    """How long a client may take to send a request."""
    batch: int = 32
    """Questions that are decoded together."""
    many: int = 4
    """Requests of many questions that are answered at the same time."""
    gather: float = 0.004
    """Seconds that a single question waits for others, to be decoded with them."""
    connections: int = 512


class Guard:
    """Refuses what is too large, too slow, too much or of the wrong kind before the app sees it."""

    def __init__(
        self, app: App, limits: ServerLimits, paths: Collection[str], hosts: Collection[str] | None = None
    ) -> None:
        """`paths`: those that take a body. `hosts`: the names that the server answers to, without ports; None for any.

        A page from elsewhere can make its own name point to this machine, but it cannot change the name that the
        browser sends.
        """
        self.app, self.limits, self.paths, self.hosts = app, limits, paths, hosts
        self.pending = 0
        """Requests that are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_SECURITY]
            await send(message)

        headers = {name.lower(): value for name, value in scope["headers"]}
        if self.hosts is not None and _host(headers) not in self.hosts:
            names = ", ".join(sorted(self.hosts))
            await refuse(guarded, 400, f"this server does not answer to that host name; it answers to {names}")
        elif scope["method"] == "POST" and scope["path"] in self.paths:
            await self._post(scope, receive, guarded, headers)
        else:
            await self.app(scope, receive, guarded)

    async def _post(self, scope: Scope, receive: Receive, send: Send, headers: dict[bytes, bytes]) -> None:
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self.limits.body:
            await refuse(send, 413, f"the body has {int(length[:20]):,} bytes; at most {self.limits.body:,} are read")
        elif kind != b"application/json":
            await refuse(send, 415, "the body must be JSON: send it as application/json")
        elif self.pending >= self.limits.pending:
            await refuse(send, 503, "too many requests are waiting already; try again in a moment", retry=True)
        else:
            self.pending += 1
            try:
                await self._read_and_pass(scope, receive, send)
            finally:
                self.pending -= 1

    async def _read_and_pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await asyncio.wait_for(self._body(receive), self.limits.patience)
        except TimeoutError:
            await refuse(send, 408, f"the body did not arrive within {self.limits.patience:g} seconds", close=True)
            return
        if body is None:
            return
        if len(body) > self.limits.body:
            await refuse(send, 413, f"the body is too long; at most {self.limits.body:,} bytes are read", close=True)
            return
        unread = [{"type": "http.request", "body": body, "more_body": False}]
        leaving = asyncio.ensure_future(_leaving(receive))

        async def replay() -> MutableMapping[str, Any]:
            return unread.pop() if unread else await asyncio.shield(leaving)

        sent = False

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal sent
            sent = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        answering = asyncio.ensure_future(self.app(scope, replay, watched))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            # Nobody waits any more: what was not begun is not computed, and the place is free for others.
            if leaving.done() and not sent:
                answering.cancel()
            await asyncio.wait({answering})
            if not answering.cancelled():
                answering.result()
        finally:
            answering.cancel()
            leaving.cancel()

    async def _body(self, receive: Receive) -> bytes | None:
        """The body, or its beginning if it is too long; None if the client left."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.limits.body or not message.get("more_body", False):
                return b"".join(parts)


async def _leaving(receive: Receive) -> MutableMapping[str, Any]:
    """The message that the client is gone, or that its response is complete."""
    while (message := await receive())["type"] != "http.disconnect":
        pass
    return message


_SECURITY = [(name.encode(), value.encode()) for name, value in SECURITY.items()]


def _host(headers: dict[bytes, bytes]) -> str:
    """The host name that a client asked for, without port and brackets."""
    host = headers.get(b"host", b"").decode("latin-1").lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


async def refuse(send: Send, status: int, error: str, retry: bool = False, close: bool = False) -> None:
    """A response in the form of all errors."""
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"retry-after", b"1")] if retry else []
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
