"""Pages that are only read, over plain HTTP: one GET a connection, which is closed after the answer.

Probes and scrapers ask for a page every few seconds. A server with more to it takes an eighth of a second to import,
which would pass before the first pod is bound.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from fairlead.live.runtime.listening import binding, host_and_port

MOST_HEAD = 2**14
"""Bytes of a request; far above what a probe sends."""
SECONDS = 10.0
"""For a whole request to come in."""


class Reply(NamedTuple):
    """What a page answers."""

    status: int
    body: bytes
    kind: str = "text/plain; charset=utf-8"


Handler = Callable[[Mapping[str, str]], Awaitable[Reply]]
"""Given the query."""


@asynccontextmanager
async def get_server(listen: str, pages: Mapping[str, Handler], host: str) -> AsyncIterator[int]:
    """Serve the pages by path while the block runs; gives the port. `host` is for an address that names none.

    Raises ListenError where the address cannot be had.
    """
    address, port = host_and_port(listen, host)
    with binding(listen):
        server = await asyncio.start_server(partial(_serve, pages), address, port, limit=MOST_HEAD)
    try:
        yield int(server.sockets[0].getsockname()[1])
    finally:
        server.close()


async def _serve(pages: Mapping[str, Handler], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        async with asyncio.timeout(SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        reply = await _reply(pages, head)
    except asyncio.LimitOverrunError:
        reply = Reply(431, b"the request is too long\n")
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
        writer.close()
        return
    first = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\nContent-Type: {reply.kind}\r\n"
    writer.write(f"{first}Content-Length: {len(reply.body)}\r\nConnection: close\r\n\r\n".encode() + reply.body)
    with suppress(ConnectionError):
        await writer.drain()
    writer.close()


async def _reply(pages: Mapping[str, Handler], head: bytes) -> Reply:
    words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        return Reply(400, b"expected a request of HTTP/1.1\n")
    method, target, _ = words
    try:
        asked = urlsplit(target)
    except ValueError:
        return Reply(400, b"the address cannot be read\n")
    page = pages.get(asked.path)
    if page is None:
        return Reply(404, f"there is no such page; there are: {', '.join(sorted(pages))}\n".encode())
    if method != "GET":
        return Reply(405, b"pages are only read: GET\n")
    try:
        return await page(dict(parse_qsl(asked.query)))
    except Exception as error:
        return Reply(500, f"{type(error).__name__}\n".encode())
