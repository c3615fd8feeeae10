"""The real transport, over TLS: many requests in flight, and one connection for each watch."""

import asyncio
from collections.abc import AsyncGenerator
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import urlencode

from fairlead import __version__
from fairlead.kube import errors
from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.errors import UnreachableError
from fairlead.kube.tls import Trust
from fairlead.kube.transport import Headers, Query, Response, split_lines
from fairlead.kube.wire.pool import NotConnectedError, Wire
from fairlead.model.errors import InputError

IN_FLIGHT = 64
STREAM_SLACK_SECONDS = 30.0
A_DAY = 86400.0
MOST_LINE = 2**26
"""Bytes of one event of a watch: far above what an API server stores."""
_AGENT = f"fairlead/{__version__}"


class HttpTransport:
    """Requests to one API server. Make it inside a running loop; close it there.

    A server that answers 401 is asked once more with a fresh credential, so that a rotated token is not noticed; both
    times count together.
    A credential that cannot be had is bad input at first; once it has worked, it is a failure like any other.
    """

    def __init__(self, connection: Connection, *, in_flight: int = IN_FLIGHT) -> None:
        self._connection = connection
        self._base = connection.server
        self._worked = False
        self._trust = Trust(connection) if self._base.startswith("https") else None
        self._wire = Wire(
            self._base,
            tls=None if self._trust is None else self._trust.context,
            server_name=connection.server_name,
            limit=in_flight,
            proxy=connection.proxy,
            fields=connection.fields,
        )

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
        what = f"{method} {self._base}{path}"
        if self._wire.closed:
            raise UnreachableError(what, "the transport is closed", sent=False)
        target, bound = _target(path, query), A_DAY if within is None else within
        clock = asyncio.get_running_loop().time
        until = clock() + bound
        try:
            answer = await self._wire.send(method, target, await self._headers(what, headers, body), body, bound)
            if answer.status == 401:
                self._connection.credentials.refused()
                fresh = await self._headers(what, headers, body)
                left = until - clock()
                if left <= 0.0:
                    # What is sent now might be done, and its answer would not be waited for.
                    raise UnreachableError(what, "a fresh credential came too late", sent=False)
                answer = await self._wire.send(method, target, fresh, body, left)
            return answer
        except InputError:
            raise
        except (TimeoutError, OSError, ValueError) as error:
            raise _unreachable(what, error) from error

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        what = f"WATCH {self._base}{path}"
        if self._wire.closed:
            raise UnreachableError(what, "the transport is closed", sent=False)
        asked = query.get("timeoutSeconds", "")
        bound = float(asked) + STREAM_SLACK_SECONDS if asked.isdigit() else A_DAY
        sent = await self._headers(what, None, None)
        try:
            answer, flow = await self._wire.follow(_target(path, query), sent, bound)
            try:
                if answer.status != 200:
                    if answer.status == 401:
                        self._connection.credentials.refused()
                    raise errors.from_answer(answer.status, answer.body, retry_after=answer.headers.get("retry-after"))
                yield b""
                rest = b""
                while piece := await flow.piece():
                    lines, rest = split_lines(rest, piece)
                    if len(rest) > MOST_LINE:
                        raise ValueError(f"a line of the stream has more than {MOST_LINE} bytes")
                    for line in lines:
                        yield line
            finally:
                flow.abort()
        except (TimeoutError, OSError, ValueError) as error:
            raise _unreachable(what, error) from error
        if rest:
            raise UnreachableError(what, "the stream ended inside a line")

    async def close(self) -> None:
        await self._wire.close()

    async def _headers(self, what: str, given: Headers | None, body: bytes | None) -> Headers:
        try:
            credential = await self._connection.credentials.current()
            if self._trust is not None and self._trust.renewed(credential):
                self._wire.renew(self._trust.context)
        except InputError as error:
            if not self._worked:
                raise
            raise UnreachableError(what, str(error), sent=False) from error
        self._worked = True
        usual = _usual(credential.token, written=body is not None)
        return {**usual, **given} if given else usual


def connect(connection: Connection) -> Client:
    """A client on a real API server. Call it inside a running loop, and close the client there."""
    return Client(HttpTransport(connection))


@lru_cache(maxsize=8)
def _usual(token: str, *, written: bool) -> Headers:
    """The headers of nearly all requests; `written` are those with a body."""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": _AGENT}
    if written:
        headers["Content-Type"] = "application/json"
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return MappingProxyType(headers)


def _target(path: str, query: Query | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _unreachable(what: str, error: Exception) -> UnreachableError:
    sent = not isinstance(error, NotConnectedError)
    why = " ".join(str(error).split()) or (
        "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    )
    return UnreachableError(what, why, sent=sent)
