"""Connections to the server: `Line` for requests one after the other, `Flow` for a streaming response."""

import asyncio
import socket
from abc import ABC, abstractmethod
from typing import cast

from fairlead.kube.transport import Response
from fairlead.kube.wire.response import HttpResponse

AHEAD = 2**18
"""Bytes of a body that are read before they are taken."""


def probe(sock: socket.socket) -> None:
    """Have the system notice within about half a minute that the other side is gone, and send requests at once."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


class WireConnection(asyncio.BufferedProtocol, ABC):
    """What every connection can do: read, and end.

    All of them read into one buffer, for what came is taken out of it before another connection reads. Were they handed
    bytes instead, uvloop would ask the system for 256 KiB of memory and give it back at every read.
    """

    def __init__(self, buffer: memoryview) -> None:
        self.answer = HttpResponse()
        self._buffer = buffer
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._transport: asyncio.Transport | None = None

    def abort(self) -> None:
        """Close at once, without the long goodbye of TLS."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not an instance of it on every loop.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._received(self._buffer[:nbytes])

    def connection_lost(self, error: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    @abstractmethod
    def _received(self, data: memoryview) -> None:
        """Take what came; the data are there only now."""

    def _open(self) -> asyncio.Transport:
        if self._transport is None or self.lost.done():
            raise ConnectionResetError("the connection was closed")
        return self._transport

    def _rest(self, error: Exception | None) -> Response | ConnectionResetError:
        """The connection has ended: the answer if that is how its body ends, else what was wrong with it."""
        try:
            found = self.answer.end() if error is None else None
        except ValueError:
            found = None
        return found or ConnectionResetError(
            str(error or "the server closed the connection before its answer was whole")
        )


class RequestLine(WireConnection):
    """A request, its answer, the next request."""

    def __init__(self, buffer: memoryview) -> None:
        super().__init__(buffer)
        self.idle_since = 0.0
        self._waits: asyncio.Future[Response] | None = None
        self._until = 0.0
        self._alarm: asyncio.TimerHandle | None = None

    @property
    def usable(self) -> bool:
        """Whether the next request may go here."""
        return not self.lost.done() and self.answer.kept

    async def ask(self, request: bytes, until: float) -> Response:
        """Send, and wait for the whole answer until that time of the loop.

        Raises TimeoutError; OSError where the connection was lost; ValueError where that was no answer.
        """
        transport = self._open()
        loop = asyncio.get_running_loop()
        self.answer = HttpResponse()
        waits: asyncio.Future[Response] = loop.create_future()
        self._waits = waits
        self._until = until
        if self._alarm is None or self._alarm.when() > until:
            self._arm(loop, until)
        transport.write(request)
        try:
            return await waits
        except BaseException:
            # The rest of this answer must not be taken for that of the next request.
            self.abort()
            raise
        finally:
            self._waits = None

    def _arm(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        """Be called at that time. One timer lasts for many answers: it is looked at anew when it goes off."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = loop.call_at(until, self._late)

    def _late(self) -> None:
        self._alarm = None
        if self._waits is None or self._waits.done():
            return
        loop = asyncio.get_running_loop()
        if loop.time() < self._until:
            self._arm(loop, self._until)
        else:
            self._waits.set_exception(TimeoutError("no answer in time"))

    def _received(self, data: memoryview) -> None:
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
        if self._alarm is not None:
            self._alarm.cancel()
        if self._waits is not None and not self._waits.done():
            found = self._rest(error)
            if isinstance(found, Response):
                self._waits.set_result(found)
            else:
                self._waits.set_exception(found)
        super().connection_lost(error)


class Flow(WireConnection):
    """One answer whose body is taken piece by piece, as it comes."""

    def __init__(self, buffer: memoryview) -> None:
        super().__init__(buffer)
        self._news = asyncio.Event()
        self._end: Response | Exception | None = None
        self._late: asyncio.TimerHandle | None = None
        self._paused = False

    async def begin(self, request: bytes, until: float) -> Response:
        """Send, and wait for the head of an answer with code 200, or for the whole of any other.

        All of it must be there by that time of the loop. What is raised here and by `piece` is as in `Line.ask`.
        """
        transport = self._open()
        self._late = asyncio.get_running_loop().call_at(until, self._stop, TimeoutError("no end in time"))
        transport.write(request)
        while self._end is None and self.answer.status != 200:
            await self._more()
        if self.answer.status != 200 and self._end is not None:
            if isinstance(self._end, Exception):
                raise self._end
            return self._end
        if (coding := self.answer.headers.get("content-encoding", "identity")) != "identity":
            raise ValueError(f"the answer is encoded as {coding!r}")
        return Response(status=200, body=b"", headers=self.answer.headers)

    async def piece(self) -> bytes:
        """What came of the body since the last piece, empty at its end."""
        while not self.answer.ready:
            if isinstance(self._end, Exception):
                raise self._end
            if self._end is not None:
                return b""
            await self._more()
        if self._paused and self._end is None:
            self._paused = False
            self._open().resume_reading()
        return self.answer.take()

    async def _more(self) -> None:
        self._news.clear()
        await self._news.wait()

    def _stop(self, end: Response | Exception) -> None:
        if self._late is not None:
            self._late.cancel()
        self._end = self._end or end
        self._news.set()

    def _received(self, data: memoryview) -> None:
        try:
            found = self.answer.feed(data)
        except ValueError as error:
            self._stop(error)
            self.abort()
            return
        if found is not None:
            self._stop(found)
        elif self.answer.ready > AHEAD and not self._paused:
            self._paused = True
            self._open().pause_reading()
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        if self._end is None:
            self._stop(self._rest(error))
        super().connection_lost(error)
