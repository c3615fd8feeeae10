"""The real transport: aiohttp over TLS, many requests in flight, one connection for each watch."""

import os
import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator
from typing import Any
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from fairlead import __version__
from fairlead.kube import errors
from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.credentials import Credential
from fairlead.kube.errors import UnreachableError
from fairlead.kube.transport import Headers, Query, Response, split_lines
from fairlead.model.errors import InputError

IN_FLIGHT = 64
CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 75.0
STREAM_SLACK_SECONDS = 30.0
READ_BUFFER = 2**18


class HttpTransport:
    """Requests to one API server. Make it inside a running loop; close it there.

    A server that answers 401 is asked once more with a fresh credential, so that a rotated token is not noticed.
    A credential that cannot be had is bad input at first; once it has worked, it is a failure like any other.
    """

    def __init__(self, connection: Connection, *, in_flight: int = IN_FLIGHT) -> None:
        self._connection = connection
        self._base = connection.server
        self._shown: tuple[str, str] = ("", "")
        self._worked = False
        self._ssl = tls_context(connection) if self._base.startswith("https") else None
        self._requests = self._session(in_flight)
        # Watches hold their connections: they must not use up the places of requests.
        self._streams = self._session(0)

    def _session(self, limit: int) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limit,
            ssl=self._ssl if self._ssl is not None else True,
            keepalive_timeout=KEEPALIVE_SECONDS,
            socket_factory=_socket,
        )
        headers = {"Accept": "application/json", "User-Agent": f"fairlead/{__version__}"}
        return aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=READ_BUFFER,
            max_line_size=2**16,
            max_field_size=2**16,
            cookie_jar=aiohttp.DummyCookieJar(),
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
        if self._requests.closed:
            raise UnreachableError(what, "the transport is closed", sent=False)
        timeout = aiohttp.ClientTimeout(total=within, sock_connect=CONNECT_SECONDS)
        try:
            answer = await self._send(method, path, query, body, headers, timeout)
            if answer.status == 401:
                self._connection.credentials.refused()
                answer = await self._send(method, path, query, body, headers, timeout)
            return answer
        except InputError:
            raise
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise _unreachable(what, error) from error

    async def _send(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: bytes | None,
        headers: Headers | None,
        bound: aiohttp.ClientTimeout,
    ) -> Response:
        sent = await self._headers(f"{method} {self._base}{path}", headers, body)
        async with self._requests.request(
            method, self._url(path, query), data=body, headers=sent, timeout=bound, **self._target()
        ) as answer:
            found = {name.lower(): value for name, value in answer.headers.items()}
            return Response(status=answer.status, body=await answer.read(), headers=found)

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        what = f"WATCH {self._base}{path}"
        if self._streams.closed:
            raise UnreachableError(what, "the transport is closed", sent=False)
        asked = query.get("timeoutSeconds", "")
        total = float(asked) + STREAM_SLACK_SECONDS if asked.isdigit() else None
        timeout = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT_SECONDS)
        sent = await self._headers(what, None, None)
        try:
            async with self._streams.get(
                self._url(path, query), headers=sent, timeout=timeout, **self._target()
            ) as answer:
                if answer.status != 200:
                    if answer.status == 401:
                        self._connection.credentials.refused()
                    retry_after = answer.headers.get("Retry-After")
                    raise errors.from_answer(answer.status, await answer.read(), retry_after=retry_after)
                rest = b""
                try:
                    async for chunk in answer.content.iter_any():
                        lines, rest = split_lines(rest, chunk)
                        for line in lines:
                            yield line
                finally:
                    _abort(answer)
                if rest:
                    raise UnreachableError(what, "the stream ended inside a line")
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise _unreachable(what, error) from error

    async def close(self) -> None:
        await self._requests.close()
        await self._streams.close()

    def _url(self, path: str, query: Query | None) -> URL:
        text = f"{self._base}{path}?{urlencode(query)}" if query else f"{self._base}{path}"
        return URL(text, encoded=True)

    def _target(self) -> dict[str, Any]:
        name = self._connection.server_name
        return {"server_hostname": name} if name and self._ssl is not None else {}

    async def _headers(self, what: str, given: Headers | None, body: bytes | None) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if given:
            headers.update(given)
        try:
            credential = await self._connection.credentials.current()
            self._show(credential)
        except InputError as error:
            if not self._worked:
                raise
            raise UnreachableError(what, str(error), sent=False) from error
        self._worked = True
        if credential.token:
            headers["Authorization"] = f"Bearer {credential.token}"
        return headers

    def _show(self, credential: Credential) -> None:
        """New connections show this client certificate; those that are open keep the one they began with."""
        pair = (credential.certificate, credential.key)
        if self._ssl is not None and pair[0] and pair != self._shown:
            load_pair(self._ssl, *pair, place=self._connection.source)
            self._shown = pair


def connect(connection: Connection) -> Client:
    """A client on a real API server. Call it inside a running loop, and close the client there."""
    return Client(HttpTransport(connection))


def tls_context(connection: Connection) -> ssl.SSLContext:
    """What we trust. Raises `InputError` where the certificate authority cannot be read."""
    if not connection.verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    try:
        context = ssl.create_default_context(cadata=connection.ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise InputError(connection.source, f"the certificate authority is not a PEM certificate: {error}") from error
    # Certificate authorities made for clusters often lack the extensions that the strict mode asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def load_pair(context: ssl.SSLContext, certificate: str, key: str, *, place: str) -> None:
    """Load a client certificate from text. OpenSSL reads files only, so one exists for the moment of reading."""
    handle, name = tempfile.mkstemp(prefix="fairlead-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{certificate}\n{key}\n")
        context.load_cert_chain(name)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise InputError(place, f"the client certificate and key cannot be used: {error}") from error
    finally:
        os.unlink(name)


def _abort(answer: aiohttp.ClientResponse) -> None:
    """Drop the connection of a stream that is left before its end, without the long goodbye of TLS."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _socket(address: Any) -> socket.socket:
    """A socket that notices within about half a minute that the other side is no more."""
    family, kind, proto = address[:3]
    sock = socket.socket(family, kind, proto)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return sock


def _unreachable(what: str, error: Exception) -> UnreachableError:
    sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    why = " ".join(str(error).split()) or (
        "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
    )
    return UnreachableError(what, why, sent=sent)
