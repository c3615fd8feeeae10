"""Requests to one server over connections that are kept."""

import asyncio
import re
import ssl
from collections import deque
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar
from urllib.parse import urlsplit

from fairlead.kube.proxies import Proxy
from fairlead.kube.transport import Headers, Response
from fairlead.kube.wire.connection import Flow, RequestLine, WireConnection, probe
from fairlead.kube.wire.dial import dial

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 75.0
READ = 2**18
"""Bytes read at once."""
TWICE = frozenset({"GET", "PUT", "DELETE"})
"""What may be done twice: it is sent again where a kept connection turns out to be closed."""

C = TypeVar("C", bound=WireConnection)

_PLAIN = re.compile(r"[!-~]+").fullmatch
_FIELD = re.compile(r"[ -~]*").fullmatch


class NotConnectedError(OSError):
    """No connection came about, so nothing was sent."""


class Wire:
    """Requests to one server, at most `limit` at a time. Make it inside a running loop; close it there."""

    def __init__(
        self,
        server: str,
        *,
        tls: ssl.SSLContext | None,
        server_name: str,
        limit: int,
        proxy: Proxy | None = None,
        fields: Sequence[tuple[str, str]] = (),
    ) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or (443 if tls else 80)
        self._netloc = parts.netloc.rpartition("@")[2]
        self._proxy, fields = proxy, tuple(fields)
        self._prefix = parts.path
        if proxy is not None and tls is None:
            # Without TLS a proxy reads the requests itself: it is told the whole address, and our credentials.
            self._prefix = f"http://{self._netloc}{parts.path}"
            fields += (("Proxy-Authorization", proxy.authorization),) if proxy.authorization else ()
        self._fields = _written(fields)
        self._tls, self._name = tls, (server_name or self._host) if tls else None
        self._buffer = memoryview(bytearray(READ))
        self._places = asyncio.Semaphore(limit)
        self._idle: deque[RequestLine] = deque()
        self._open: set[WireConnection] = set()
        self.closed = False

    async def send(self, method: str, target: str, headers: Headers, body: bytes | None, within: float) -> Response:
        """One request and its answer, all of it within so many seconds (TimeoutError)."""
        request = self._request(method, target, headers, body)
        until = asyncio.get_running_loop().time() + within
        if self._places.locked():
            async with asyncio.timeout_at(until):
                await self._places.acquire()
        else:
            await self._places.acquire()
        try:
            while True:
                line, fresh = self._take(), False
                if line is None:
                    line, fresh = await self._connect(RequestLine, until), True
                try:
                    answer = await line.ask(request, until)
                except ConnectionError:
                    if fresh or line.answer.begun or method not in TWICE:
                        raise
                    continue
                self._keep(line)
                return answer
        finally:
            self._places.release()

    async def follow(self, target: str, headers: Headers, within: float) -> tuple[Response, Flow]:
        """The answer to a GET on a connection of its own, which does not count among the `limit`: abort it at the end.

        The body of an answer with code 200 is still to come, piece by piece.
        """
        request = self._request("GET", target, headers, None)
        until = asyncio.get_running_loop().time() + within
        flow = await self._connect(Flow, until)
        try:
            return await flow.begin(request, until), flow
        except BaseException:
            flow.abort()
            raise

    def renew(self, tls: ssl.SSLContext) -> None:
        """Use this context from now on: requests under way end as they began, kept connections are given up."""
        self._tls = tls
        while self._idle:
            self._idle.pop().abort()

    async def close(self) -> None:
        """Give up all connections, also those that wait for an answer."""
        self.closed = True
        self._idle.clear()
        lost = [each.lost for each in self._open]
        for each in self._open:
            each.abort()
        await asyncio.gather(*lost)

    def _request(self, method: str, target: str, headers: Headers, body: bytes | None) -> bytes:
        """The bytes of the request. Nothing from outside can end a line of its head."""
        if not _PLAIN(target):
            raise ValueError(f"{target!r} is not a path")
        length = "" if body is None else f"\r\nContent-Length: {len(body)}"
        lines = _written(tuple(headers.items()))
        head = f"{method} {self._prefix}{target} HTTP/1.1\r\nHost: {self._netloc}{self._fields}{lines}{length}\r\n\r\n"
        return head.encode("ascii") + (body or b"")

    def _take(self) -> RequestLine | None:
        """A kept connection, the latest used first; those that have not been used for long are closed."""
        while self._idle and asyncio.get_running_loop().time() - self._idle[0].idle_since > KEEPALIVE_SECONDS:
            self._idle.popleft().abort()
        while self._idle:
            line = self._idle.pop()
            if line.usable:
                return line
        return None

    def _keep(self, line: RequestLine) -> None:
        """Keep the connection for the next request, if it can have one."""
        if self.closed or not line.usable:
            line.abort()
            return
        line.idle_since = asyncio.get_running_loop().time()
        self._idle.append(line)

    async def _connect(self, kind: type[C], until: float) -> C:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(until, loop.time() + CONNECT_SECONDS)):
                sock = await dial(self._host, self._port, self._proxy, tunnel=self._tls is not None)
                transport, made = await loop.create_connection(
                    lambda: kind(self._buffer), sock=sock, ssl=self._tls, server_hostname=self._name
                )
        except TimeoutError as error:
            raise NotConnectedError("no connection in time") from error
        except (OSError, ValueError) as error:
            raise NotConnectedError(str(error)) from error
        probe(transport.get_extra_info("socket"))
        self._open.add(made)
        made.lost.add_done_callback(lambda _: self._open.discard(made))
        return made


@lru_cache(maxsize=32)
def _written(fields: tuple[tuple[str, str], ...]) -> str:
    """Headers as lines, each after a line end. Nearly all requests have the same ones."""
    for name, value in fields:
        if not _FIELD(value):
            raise ValueError(f"the header {name} has a character that it cannot have")
    return "".join(f"\r\n{name}: {value}" for name, value in fields)
