"""One answer of HTTP/1.1 from its bytes: a head, and a body by its length, in chunks, or up to the connection's end."""

import zlib

from fairlead.kube.transport import Response
from fairlead.kube.wire.chunks import Chunks
from fairlead.kube.wire.head import MOST_HEAD, Head, read_head

MOST_BODY = 2**29
"""Bytes of a body that are held, as sent and decompressed: a server cannot fill the memory of its clients."""

_GZIP = 31


class HttpResponse:
    """One answer, from its bytes as they come. Bytes that are no answer raise ValueError."""

    def __init__(self, most: int = MOST_BODY) -> None:
        self._most = most
        self._head: Head | None = None
        self._rest = bytearray()
        self._body = bytearray()
        self._chunks: Chunks | None = None

    @property
    def begun(self) -> bool:
        """Whether anything of it came."""
        return self._head is not None or bool(self._rest)

    @property
    def kept(self) -> bool:
        """Whether the connection may be used again after it."""
        return self._head is None or self._head.kept

    @property
    def status(self) -> int:
        """0 as long as the head is not whole."""
        return 0 if self._head is None else self._head.status

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name; none as long as the head is not whole."""
        return {} if self._head is None else self._head.headers

    def feed(self, data: bytes | memoryview) -> Response | None:
        """Take more bytes; the answer once it is whole."""
        self._rest += data
        head = self._head or self._read_head()
        if head is None:
            return None
        if self._chunks is not None:
            whole = self._chunks.take(self._rest, self._body)
            self._bounded(len(self._body))
        elif head.length is None:
            self._body += self._rest
            self._rest.clear()
            self._bounded(len(self._body))
            return None
        else:
            whole = len(self._rest) >= head.length
            if whole:
                self._body = self._rest[: head.length]
                del self._rest[: head.length]
        if not whole:
            return None
        if self._rest:
            raise ValueError("the server sent more than it was asked for")
        return self._whole(head)

    def end(self) -> Response | None:
        """The connection has ended: the answer if that is how its body ends, None if it was cut."""
        if self._head is None or self._head.chunked or self._head.length is not None:
            return None
        return self._whole(self._head)

    @property
    def ready(self) -> int:
        """Bytes of the body that are there and were not taken."""
        return len(self._body)

    def take(self) -> bytes:
        """The body as far as it is there, as it was sent; it is not part of the answer any more."""
        taken = bytes(self._body)
        self._body.clear()
        return taken

    def _read_head(self) -> Head | None:
        """The head once all of it is there; heads that only say that another follows are left out."""
        while self._head is None:
            end = self._rest.find(b"\r\n\r\n")
            if end > MOST_HEAD or (end < 0 and len(self._rest) > MOST_HEAD):
                raise ValueError(f"the head of the answer has more than {MOST_HEAD} bytes")
            if end < 0:
                return None
            text = self._rest[:end].decode("latin-1")
            del self._rest[: end + 4]
            self._head = read_head(text)
        self._bounded(self._head.length or 0)
        self._chunks = Chunks() if self._head.chunked else None
        return self._head

    def _whole(self, head: Head) -> Response:
        body, coding = bytes(self._body), head.headers.get("content-encoding", "identity")
        if coding == "gzip":
            body = self._unpacked(body)
        elif coding != "identity":
            raise ValueError(f"the answer is encoded as {coding!r}")
        return Response(status=head.status, body=body, headers=head.headers)

    def _unpacked(self, body: bytes) -> bytes:
        reader = zlib.decompressobj(wbits=_GZIP)
        try:
            found = reader.decompress(body, self._most + 1)
        except zlib.error as error:
            raise ValueError(f"the answer is not gzip: {error}") from error
        self._bounded(len(found))
        if not reader.eof:
            raise ValueError("the answer is not gzip: it is cut")
        return found

    def _bounded(self, size: int) -> None:
        if size > self._most:
            raise ValueError(f"the body of the answer has more than {self._most} bytes")
