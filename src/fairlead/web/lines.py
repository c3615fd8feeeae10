"""A response that goes on, line by line; each line leaves at once, compressed where the reader can read that."""

import zlib

from aiohttp import web

GZIP = 16 + zlib.MAX_WBITS
LEVEL = 3
"""Of compression: quick, and still a tenth of the size."""


class LineWriter:
    """Writes lines to a prepared response."""

    def __init__(self, response: web.StreamResponse, *, compressed: bool) -> None:
        self.response = response
        self._compressor = zlib.compressobj(LEVEL, wbits=GZIP) if compressed else None

    async def write(self, line: bytes) -> None:
        """Send the line now: a compressor that waits for more would keep the last change to itself."""
        if self._compressor is not None:
            line = self._compressor.compress(line) + self._compressor.flush(zlib.Z_SYNC_FLUSH)
        await self.response.write(line)


async def opened(request: web.Request) -> LineWriter:
    """The answer to the request, begun."""
    compressed = "gzip" in request.headers.get("Accept-Encoding", "")
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson", "X-Accel-Buffering": "no"})
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    await response.prepare(request)
    return LineWriter(response, compressed=compressed)
