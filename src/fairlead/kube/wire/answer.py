"""One answer of HTTP/1.1 from its bytes: a head, and a body by its length, in chunks, or up to the connection's end."""

import re
import zlib

from fairlead.kube.transport import Response

MOST_HEAD = 2**16

_STATUS = re.compile(r"HTTP/1\.[01] (\d{3})(?: |$)").match
_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;|$)").match
_LENGTH = re.compile(r"\d{1,18}").fullmatch
_GZIP = 31


class Answer:
    """One answer, from its bytes as they come. Bytes that are no answer raise ValueError."""

    def __init__(self) -> None:
        self.kept = True
        """Whether the connection may be used again after it."""
        self.status = 0
        """0 as long as the head is not whole."""
        self.headers: dict[str, str] = {}
        self._rest = bytearray()
        self._body = bytearray()
        self._length: int | None = None
        self._chunked = False

    @property
    def begun(self) -> bool:
        """Whether anything of it came."""
        return bool(self.status or self._rest)

    def feed(self, data: bytes | memoryview) -> Response | None:
        """Take more bytes; the answer once it is whole."""
        self._rest += data
        while not self.status:
            if not self._head():
                return None
        if self._chunked:
            if not self._chunks():
                return None
        elif self._length is None:
            self._body += self._rest
            self._rest.clear()
            return None
        elif len(self._rest) < self._length:
            return None
        else:
            self._body = self._rest[: self._length]
            del self._rest[: self._length]
        if self._rest:
            raise ValueError("the server sent more than it was asked for")
        return self._whole()

    def end(self) -> Response | None:
        """The connection has ended: the answer if that is how its body ends, None if it was cut."""
        if not self.status or self._chunked or self._length is not None:
            return None
        return self._whole()

    @property
    def ready(self) -> int:
        """Bytes of the body that are there and were not taken."""
        return len(self._body)

    def take(self) -> bytes:
        """The body as far as it is there, as it was sent; it is not part of the answer any more."""
        taken = bytes(self._body)
        self._body.clear()
        return taken

    def _whole(self) -> Response:
        body, coding = bytes(self._body), self.headers.get("content-encoding", "identity")
        if coding == "gzip":
            try:
                body = zlib.decompress(body, wbits=_GZIP)
            except zlib.error as error:
                raise ValueError(f"the answer is not gzip: {error}") from error
        elif coding != "identity":
            raise ValueError(f"the answer is encoded as {coding!r}")
        return Response(status=self.status, body=body, headers=self.headers)

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
        self.status, self.headers = status, headers
        self.kept = first.startswith("HTTP/1.1") and headers.get("connection", "").lower() != "close"
        self._frame()
        return True

    def _frame(self) -> None:
        """How the end of the body is known."""
        coding, length = self.headers.get("transfer-encoding", ""), self.headers.get("content-length")
        if self.status in (204, 304):
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
