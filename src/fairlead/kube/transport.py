"""The one seam to an API server: everything above it is tested with a fake (`tests/fake`) behind it."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import field
from typing import Protocol

from fairlead.dataclass import dataclass

Query = Mapping[str, str]
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer read to its end. `body` is already decompressed; header names are lower case."""

    status: int
    body: bytes
    headers: Headers = field(default_factory=dict)


class Transport(Protocol):
    """Sends requests and hands back answers; knows nothing about resources, retries or decoding.

    Both calls raise `UnreachableError` where no answer came (or it stopped midway).
    """

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | None = None,
        headers: Headers | None = None,
        within: float | None = None,
    ) -> Response:
        """One request and its whole answer, whatever its code. `within` bounds all of it, in seconds."""
        ...

    def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        """An empty line as soon as the server accepts, then the lines of its answer as they come, without line ends.

        Other empty lines are left out. A code other than 200 is raised as `ApiError` before the first line. Close the
        generator (`contextlib.aclosing`) to give its connection back.
        """
        ...

    async def close(self) -> None:
        """Give up all connections. Calling it twice is harmless."""
        ...


def split_lines(rest: bytes, chunk: bytes) -> tuple[list[bytes], bytes]:
    """Whole lines in `rest + chunk`, and what is left after the last line end.

    Lines may be of any length: a pod alone may pass the limits of stream readers (128 KiB).
    """
    if b"\n" not in chunk:
        return [], rest + chunk
    *lines, left = (rest + chunk).split(b"\n")
    return [line for line in lines if line], left
