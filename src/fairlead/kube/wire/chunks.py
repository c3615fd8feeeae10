"""A body in chunks: each with its size before it and a line end after it, then trailers and an empty line."""

import re

from fairlead.kube.wire.head import MOST_HEAD

LINE_END = b"\r\n"

_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;|$)").match


class Chunks:
    """Reads one such body from its bytes as they come. Bytes that are no chunk raise ValueError."""

    def __init__(self) -> None:
        self._left = 0
        """Bytes of the current chunk that are still to come."""
        self._ends = False
        """The line end of a chunk comes next."""
        self._trailing: int | None = None
        """Bytes of trailers so far, once the last chunk came."""

    def take(self, rest: bytearray, body: bytearray) -> bool:
        """Move what is there of the chunks from `rest` to `body`; True after the empty line that ends them."""
        at = 0
        while self._trailing is None:
            begun = self._step(rest, at, body)
            if begun < 0:
                del rest[:at]
                return False
            at = begun
        del rest[:at]
        return self._trailers(rest)

    def _step(self, rest: bytearray, at: int, body: bytearray) -> int:
        """One part of a chunk; where the next part begins, -1 where more bytes are needed."""
        if self._left:
            part = rest[at : at + self._left]
            body += part
            self._left -= len(part)
            self._ends = not self._left
            return at + len(part) if part else -1
        if self._ends:
            return self._end(rest, at)
        return self._size(rest, at)

    def _end(self, rest: bytearray, at: int) -> int:
        end = bytes(rest[at : at + 2])
        if not LINE_END.startswith(end):
            raise ValueError(f"a chunk ends with {end!r} instead of a line end")
        if len(end) < len(LINE_END):
            return -1
        self._ends = False
        return at + len(end)

    def _size(self, rest: bytearray, at: int) -> int:
        end = rest.find(LINE_END, at, at + MOST_HEAD)
        if end < 0:
            if len(rest) - at > MOST_HEAD:
                raise ValueError("a chunk without its size")
            return -1
        found = _SIZE(bytes(rest[at:end]))
        if found is None:
            raise ValueError(f"no chunk begins with {bytes(rest[at : at + 20])!r}")
        self._left = int(found[1], 16)
        if not self._left:
            self._trailing = 0
        return end + len(LINE_END)

    def _trailers(self, rest: bytearray) -> bool:
        """Pass over the trailers; True after the empty line. They are lines like those of the head, and not needed."""
        while self._trailing is not None:
            end = rest.find(LINE_END)
            if self._trailing + max(end, len(rest) if end < 0 else 0) > MOST_HEAD:
                raise ValueError(f"the trailers of the answer have more than {MOST_HEAD} bytes")
            if end < 0:
                return False
            self._trailing += end + len(LINE_END)
            del rest[: end + len(LINE_END)]
            if not end:
                return True
        return False
