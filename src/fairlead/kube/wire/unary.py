"""Unary gRPC calls over HTTP/2: as much of both as a small request with a small answer needs (docs/decisions/0276).

Header blocks that the server sends are not decoded. They need not be: a call that succeeds has one message in its
answer, and one that fails has none.
"""

import asyncio
import ssl
import struct
from contextlib import suppress

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 3, 4, 6, 7, 8
ACK = END_STREAM = 0x1
END_HEADERS, PADDED = 0x4, 0x8
MOST_BYTES = 1 << 20
"""A longer answer is refused."""
MOST_FRAME = 1 << 14
"""Bytes of a frame that every server takes."""
INITIAL_WINDOW = 4
"""Number of the setting that tells how much of a call a server takes before it says that there is room for more."""
WINDOW_BYTES = 65_535
"""That much, and as much of all calls together, until the server says otherwise."""


class CallError(Exception):
    """The call has no answer; the text says why."""


class Channel:
    """One connection to `host:port`, opened when it is needed and again after a failure.

    A server that was started anew has closed the one that was kept, which says nothing of the call: that is made again.
    One call at a time: the caller sees to that, so that what it waits for its turn is not taken for a slow answer.
    """

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._next = 1
        self._window = self._room = self._room_of_call = WINDOW_BYTES
        """What the server takes of every call at first, and may be sent now on the connection and of this call."""

    async def call(self, path: str, message: bytes, seconds: float) -> bytes:
        """The message that answers; `CallError` where there is none in time."""
        try:
            async with asyncio.timeout(seconds):
                try:
                    if self._streams is not None:
                        with suppress(OSError, asyncio.IncompleteReadError):
                            return await self._call(path, message)
                        self.close()
                    return await self._call(path, message)
                except BaseException:
                    self.close()
                    raise
        except (OSError, TimeoutError, asyncio.IncompleteReadError, UnicodeError) as error:
            # UnicodeError: a label of the host name is longer than 63 characters.
            raise CallError(f"{self._host}:{self._port}: {type(error).__name__} {error}".rstrip()) from None

    def close(self) -> None:
        """End the connection; the next call opens another."""
        if self._streams is not None:
            with suppress(RuntimeError):
                self._streams[1].close()
        self._streams, self._next = None, 1

    async def _call(self, path: str, message: bytes) -> bytes:
        if self._streams is None:
            name = self._host if self._tls else None
            self._streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls, server_hostname=name)
            self._streams[1].write(PREFACE + frame(SETTINGS, 0, 0, b""))
            self._window = self._room = WINDOW_BYTES
        reader, writer = self._streams
        stream, self._next = self._next, self._next + 2
        head = headers(f"{self._host}:{self._port}", path, secure=self._tls is not None)
        body = b"\0" + struct.pack(">I", len(message)) + message
        self._room_of_call = self._window
        writer.write(frame(HEADERS, END_HEADERS, stream, head))
        return await self._answer(reader, writer, stream, body)

    def _fitting(self, stream: int, rest: bytes) -> tuple[bytes, bytes]:
        """As many frames of what is left to send as the server has room for, and what is left then."""
        frames = b""
        while rest and (size := min(len(rest), self._room, self._room_of_call, MOST_FRAME)) > 0:
            part, rest = rest[:size], rest[size:]
            self._room -= size
            self._room_of_call -= size
            frames += frame(DATA, 0 if rest else END_STREAM, stream, part)
        return frames, rest

    def _more_room(self, where: int, stream: int, size: int) -> None:
        """The server has read so much of this call, or of all calls together."""
        if where == 0:
            self._room += size
        elif where == stream:
            self._room_of_call += size

    def _settled(self, payload: bytes) -> None:
        """The settings of the server; a new window counts for the call under way too."""
        for name, value in struct.iter_unpack(">HI", payload[: len(payload) // 6 * 6]):
            if name == INITIAL_WINDOW:
                self._room_of_call += value - self._window
                self._window = value

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, stream: int, rest: bytes
    ) -> bytes:
        """Send the rest of the request as the server has room for it, and read what it says meanwhile and then."""
        body, ended = b"", False
        while not ended:
            frames, rest = self._fitting(stream, rest)
            writer.write(frames)
            await writer.drain()
            kind, flags, where, payload = await read_frame(reader)
            if kind == SETTINGS and not flags & ACK:
                self._settled(payload)
                writer.write(frame(SETTINGS, ACK, 0, b""))
            elif kind == WINDOW:
                self._more_room(where, stream, int.from_bytes(payload) & 0x7FFFFFFF)
            elif kind == PING and not flags & ACK:
                writer.write(frame(PING, ACK, 0, payload))
            elif kind == GOAWAY:
                raise ConnectionResetError("the server ended the connection")
            elif kind == RESET and where == stream:
                raise CallError(f"{self._host}:{self._port}: the server ended the call")
            elif kind == DATA:
                if payload:
                    # What was read may be sent again, or the server would stop after 64 KiB in all.
                    writer.write(frame(WINDOW, 0, 0, struct.pack(">I", len(payload))))
                body += _unpadded(payload, flags) if where == stream else b""
            ended = where == stream and kind in (DATA, HEADERS) and bool(flags & END_STREAM)
        return _message(body, f"{self._host}:{self._port}")


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One frame of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, int, int, bytes]:
    """Kind, flags, stream and payload of the next frame."""
    head = await reader.readexactly(9)
    size = int.from_bytes(head[:3])
    if size > MOST_BYTES:
        raise CallError(f"a frame of {size} bytes")
    kind, flags, stream = struct.unpack(">BBI", head[3:])
    return kind, flags, stream & 0x7FFFFFFF, await reader.readexactly(size)


def headers(authority: str, path: str, *, secure: bool) -> bytes:
    """The header block of a call: names of the static table by their number, all values as they are."""
    return b"".join(
        (
            b"\x83",  # :method POST
            b"\x87" if secure else b"\x86",  # :scheme
            b"\x04" + _text(path),
            b"\x01" + _text(authority),
            b"\x0f\x10" + _text("application/grpc"),  # content-type
            b"\x00\x02\x74\x65" + _text("trailers"),  # trailers are understood
        )
    )


def _text(value: str) -> bytes:
    """A string with its length before it, in seven bits and then as many more as it takes."""
    raw = value.encode()
    size = len(raw)
    if size < 127:
        return bytes((size,)) + raw
    size, digits = size - 127, bytearray((127,))
    while size >= 128:
        digits.append(size % 128 + 128)
        size //= 128
    return bytes((*digits, size)) + raw


def _unpadded(payload: bytes, flags: int) -> bytes:
    return payload[1 : len(payload) - payload[0]] if flags & PADDED and payload else payload


def _message(body: bytes, who: str) -> bytes:
    """The one message of an answer."""
    size = struct.unpack(">I", body[1:5])[0] if len(body) >= 5 else -1
    if size != len(body) - 5 or body[0]:
        raise CallError(f"{who}: no message in the answer")
    return body[5:]
