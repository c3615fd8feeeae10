"""Short requests over kept HTTP/1.1 connections, at less than half the processor time of a general client.

It sends one request at a time on a connection and reads what an API server answers: a head, and a body by its length,
in chunks, or to the end of the connection. Anything else is an error, and that connection is not used again.
"""

import asyncio
import re
import socket
import ssl
import zlib
from collections import deque
from typing import cast
from urllib.parse import urlsplit

from fairlead.kube.transport import Headers, Response

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 75.0
MOST_HEAD = 2**16
TWICE = frozenset({"GET", "PUT", "DELETE"})
"""What may be done twice: it is sent again where a kept connection turns out to be closed."""

_STATUS = re.compile(r"HTTP/1\.[01] (\d{3})(?: |$)").match
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;|$)").match
_LENGTH = re.compile(r"\d{1,18}").fullmatch
_PLAIN = re.compile(r"[!-~]+").fullmatch
_FIELD = re.compile(r"[ -~]*").fullmatch
_GZIP = 31


def probe(sock: socket.socket) -> None:
    """Have the system notice within about half a minute that the other side is no more."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class NotConnectedError(OSError):
    """No connection came about, so nothing was sent."""


class Answer:
    """One answer, from its bytes as they come. Bytes that are no answer raise ValueError."""

    def __init__(self) -> None:
        self.kept = True
        """Whether the connection may be used again after it."""
        self._status = 0
        self._headers: dict[str, str] = {}
        self._rest = bytearray()
        self._body = bytearray()
        self._length: int | None = None
        self._chunked = False

    @property
    def begun(self) -> bool:
        """Whether anything of it came."""
        return bool(self._status or self._rest)

    def feed(self, data: bytes) -> Response | None:
        """Take more bytes; the answer once it is whole."""
        self._rest += data
        while not self._status:
            if not self._head():
                return None
        if self._chunked:
            if not self._chunks():
                return None
        elif self._length is None or len(self._rest) < self._length:
            return None
        else:
            self._body = self._rest[: self._length]
            del self._rest[: self._length]
        if self._rest:
            raise ValueError("the server sent more than it was asked for")
        return self._whole()

    def end(self) -> Response | None:
        """The connection has ended: the answer if that is how its body ends, None if it was cut."""
        if not self._status or self._chunked or self._length is not None:
            return None
        self._body = self._rest
        return self._whole()

    def _whole(self) -> Response:
        body, coding = bytes(self._body), self._headers.get("content-encoding", "identity")
        if coding == "gzip":
            try:
                body = zlib.decompress(body, wbits=_GZIP)
            except zlib.error as error:
                raise ValueError(f"the answer is not gzip: {error}") from error
        elif coding != "identity":
            raise ValueError(f"the answer is encoded as {coding!r}")
        return Response(status=self._status, body=body, headers=self._headers)

    def _head(self) -> bool:
        """Read the head if all of it is there; one that only says that another follows is left out."""
        end = self._rest.find(b"\r\n\r\n")
        if end > MOST_HEAD or (end < 0 and len(self._rest) > MOST_HEAD):
            raise ValueError(f"the head of the answer has more than {MOST_HEAD} bytes")
        if end < 0:
            return False
        first, *lines = self._rest[:end].decode("latin-1").split("\r\n")
        del self._rest[: end + 4]
        found = _STATUS(first)
        if found is None:
            raise ValueError(f"no answer of HTTP/1.1 begins with {first[:40]!r}")
        status = int(found[1])
        if 100 <= status < 200:
            return True
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        self._status, self._headers = status, headers
        self.kept = first.startswith("HTTP/1.1") and headers.get("connection", "").lower() != "close"
        self._frame()
        return True

    def _frame(self) -> None:
        """How the end of the body is known."""
        coding, length = self._headers.get("transfer-encoding", ""), self._headers.get("content-length")
        if self._status in (204, 304):
            self._length = 0
        elif coding:
            if coding.lower() != "chunked":
                raise ValueError(f"the answer is transferred as {coding!r}")
            self._chunked = True
        elif length is not None:
            if not _LENGTH(length):
                raise ValueError(f"the answer's length is {length!r}")
            self._length = int(length)
        else:
            self.kept = False

    def _chunks(self) -> bool:
        """Take the chunks that are whole; True after the last one and its trailer."""
        rest, at = self._rest, 0
        while (end := rest.find(b"\r\n", at, at + MOST_HEAD)) >= 0:
            found = _SIZE(bytes(rest[at:end]))
            if found is None:
                raise ValueError(f"no chunk begins with {bytes(rest[at : at + 20])!r}")
            size = int(found[1], 16)
            if size == 0:
                # Trailers, if any, are lines like those of the head; an empty line ends them.
                last = rest.find(b"\r\n\r\n", end)
                if last < 0:
                    break
                del rest[: last + 4]
                return True
            begin = end + 2
            if len(rest) < begin + size + 2:
                break
            self._body += rest[begin : begin + size]
            at = begin + size + 2
        if len(rest) - at > MOST_HEAD and rest.find(b"\r\n", at, at + MOST_HEAD) < 0:
            raise ValueError("a chunk without its size")
        del rest[:at]
        return False


class Line(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self.answer = Answer()
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits: asyncio.Future[Response] | None = None
        self._transport: asyncio.Transport | None = None

    @property
    def usable(self) -> bool:
        """Whether the next request may go here."""
        return not self.lost.done() and self.answer.kept

    async def ask(self, request: bytes, until: float) -> Response:
        """Send, and wait for the whole answer until that time of the loop.

        Raises TimeoutError; OSError where the connection was lost; ValueError where that was no answer.
        """
        if self._transport is None or self.lost.done():
            raise ConnectionResetError("the connection was closed")
        loop = asyncio.get_running_loop()
        self.answer = Answer()
        self._waits = loop.create_future()
        # Much cheaper than a context of asyncio.timeout, and this is where the time is spent.
        late = loop.call_at(until, self._late)
        self._transport.write(request)
        try:
            return await self._waits
        except BaseException:
            # The rest of this answer must not be taken for that of the next request.
            self.abort()
            raise
        finally:
            late.cancel()
            self._waits = None

    def abort(self) -> None:
        """Close at once, without the long goodbye of TLS."""
        if self._transport is not None:
            self._transport.abort()

    def _late(self) -> None:
        if self._waits is not None and not self._waits.done():
            self._waits.set_exception(TimeoutError("no answer in time"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an instance of it on every loop.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._waits is None or self._waits.done():
            self.abort()
            return
        try:
            found = self.answer.feed(data)
        except ValueError as error:
            self._waits.set_exception(error)
            return
        if found is not None:
            self._waits.set_result(found)

    def connection_lost(self, error: Exception | None) -> None:
        if self._waits is not None and not self._waits.done():
            try:
                found = self.answer.end() if error is None else None
            except ValueError:
                found = None
            if found is not None:
                self._waits.set_result(found)
            else:
                why = str(error or "the server closed the connection before its answer was whole")
                self._waits.set_exception(ConnectionResetError(why))
        if not self.lost.done():
            self.lost.set_result(None)


class Wire:
    """Requests to one server, at most `limit` at a time. Make it inside a running loop; close it there."""

    def __init__(
        self,
        server: str,
        *,
        tls: ssl.SSLContext | None,
        server_name: str,
        limit: int,
    ) -> None:
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or (443 if tls else 80)
        self._prefix = parts.path
        self._netloc = parts.netloc.rpartition("@")[2]
        self._tls, self._name = tls, (server_name or self._host) if tls else None
        self._places = asyncio.Semaphore(limit)
        self._idle: deque[Line] = deque()
        self._open: set[Line] = set()
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
                    line, fresh = await self._connect(until), True
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

    async def close(self) -> None:
        """Give up all connections, also those that wait for an answer."""
        self.closed = True
        self._idle.clear()
        lost = [line.lost for line in self._open]
        for line in self._open:
            line.abort()
        await asyncio.gather(*lost)

    def _request(self, method: str, target: str, headers: Headers, body: bytes | None) -> bytes:
        """The bytes of the request. Nothing from outside can end a line of its head."""
        if not _PLAIN(target):
            raise ValueError(f"{target!r} is not a path")
        lines = [f"{method} {self._prefix}{target} HTTP/1.1", f"Host: {self._netloc}"]
        for name, value in headers.items():
            if not _FIELD(value):
                raise ValueError(f"the header {name} has a character that it cannot have")
            lines.append(f"{name}: {value}")
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines) + "\r\n\r\n"
        return head.encode("ascii") + (body or b"")

    def _take(self) -> Line | None:
        """A kept connection, the latest used first; those that nobody has used for long are parted with."""
        while self._idle and asyncio.get_running_loop().time() - self._idle[0].idle_since > KEEPALIVE_SECONDS:
            self._idle.popleft().abort()
        while self._idle:
            line = self._idle.pop()
            if line.usable:
                return line
        return None

    def _keep(self, line: Line) -> None:
        """Keep the connection for the next request, if it can have one."""
        if self.closed or not line.usable:
            line.abort()
            return
        line.idle_since = asyncio.get_running_loop().time()
        self._idle.append(line)

    async def _connect(self, until: float) -> Line:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(min(until, loop.time() + CONNECT_SECONDS)):
                transport, line = await loop.create_connection(
                    Line, self._host, self._port, ssl=self._tls, server_hostname=self._name
                )
        except TimeoutError as error:
            raise NotConnectedError("no connection in time") from error
        except (OSError, ValueError) as error:
            raise NotConnectedError(str(error)) from error
        probe(transport.get_extra_info("socket"))
        self._open.add(line)
        line.lost.add_done_callback(lambda _: self._open.discard(line))
        return line
