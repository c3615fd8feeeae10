"""A small server that speaks the protocol of Karmada's scheduler estimators, for tests: HTTP/2 and protobuf by hand."""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from fairlead.kube.wire import unary
from fairlead.kube.wire.unary import frame, read_frame

STATUS_OK = b"\x00\x0bgrpc-status\x010"
STATUS_UNAVAILABLE = b"\x00\x0bgrpc-status\x0214"


@dataclass(slots=True)
class EstimatorServer:
    """Answers each request with what `answer` makes of it: a message, or None for a failure. `port` is where it is."""

    answer: Callable[[bytes], bytes | None]
    port: int = 0
    asked: list[bytes] = field(default_factory=list)
    connections: int = 0
    paths: list[bytes] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    window: int = 65_535
    """Bytes of a call that it takes before it says that there is room for more; for all calls together 65,535."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        try:
            assert await reader.readexactly(len(unary.PREFACE)) == unary.PREFACE
            settings = struct.pack(">HIHI", 3, 100, unary.INITIAL_WINDOW, self.window)
            writer.write(frame(unary.SETTINGS, 0, 0, settings) + frame(unary.PING, 0, 0, b"12345678"))
            body, room, unsaid = b"", {0: 65_535}, {0: 0}
            while True:
                kind, flags, stream, payload = await read_frame(reader)
                if len(payload) > 1 << 14:
                    raise ConnectionError("a frame that is larger than was agreed")
                if kind == unary.HEADERS:
                    self.paths.append(payload)
                    # The windows of a call that began before it knew the settings are those of the protocol.
                    room[stream], unsaid[stream] = self.window if stream > 1 else 65_535, 0
                if kind == unary.DATA:
                    body += payload
                    for which in (0, stream):
                        room[which] -= len(payload)
                        if room[which] < 0:
                            raise ConnectionError("more than there is room for")
                        unsaid[which] += len(payload)
                        # As grpc-go: what was read is said when it is a quarter of the window.
                        if unsaid[which] >= (65_535 if which == 0 else self.window) // 4:
                            writer.write(frame(unary.WINDOW, 0, which, struct.pack(">I", unsaid[which])))
                            room[which] += unsaid.pop(which)
                            unsaid[which] = 0
                if kind == unary.DATA and flags & unary.END_STREAM:
                    self.asked.append(body[5:])
                    writer.write(self._reply(stream, body[5:]))
                    body = b""
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _reply(self, stream: int, message: bytes) -> bytes:
        answer = self.answer(message)
        if answer is None:
            flags = unary.END_HEADERS | unary.END_STREAM
            return frame(unary.HEADERS, flags, stream, b"\x88" + STATUS_UNAVAILABLE)
        body = b"\0" + struct.pack(">I", len(answer)) + answer
        half = len(body) // 2
        padded = b"\x03" + body[half:] + b"\0\0\0"
        return b"".join(
            (
                frame(unary.HEADERS, unary.END_HEADERS, stream, b"\x88"),
                frame(unary.DATA, 0, stream, body[:half]),
                frame(unary.DATA, unary.PADDED, stream, padded),
                frame(unary.HEADERS, unary.END_HEADERS | unary.END_STREAM, stream, STATUS_OK),
            )
        )


@asynccontextmanager
async def serving(
    answer: Callable[[bytes], bytes | None], tls: ssl.SSLContext | None = None, window: int = 65_535
) -> AsyncIterator[EstimatorServer]:
    """The server while the block runs."""
    found = EstimatorServer(answer, window=window)
    server = await asyncio.start_server(found._serve, "127.0.0.1", 0, ssl=tls)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()
        for writer in found.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
