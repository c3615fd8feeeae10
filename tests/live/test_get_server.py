"""The small server of pages that are only read: right answers to good requests, clear ones to others."""

import asyncio
from collections.abc import Mapping

import pytest

from fairlead.live.runtime.get_server import MOST_HEAD, Reply, get_server
from fairlead.live.runtime.listening import ListenError
from fairlead.model.errors import InputError


async def echo(query: Mapping[str, str]) -> Reply:
    """A page that says what it was asked for."""
    return Reply(200, repr(sorted(query.items())).encode(), "application/json")


async def broken(query: Mapping[str, str]) -> Reply:
    """A page with a defect."""
    raise KeyError("secret")


async def asked(text: str) -> str:
    """The whole answer to a request, as it comes over the wire."""
    async with get_server("127.0.0.1:0", {"/echo": echo, "/broken": broken}, "127.0.0.1") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text.encode("latin-1"))
        found = await reader.read()
        writer.close()
    return found.decode()


REQUESTS = {
    "a page": ("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 200 OK", "[]"),
    "a query": ("GET /echo?pod=a%2Fb&x=1 HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK", "[('pod', 'a/b'), ('x', '1')]"),
    "no such page": ("GET /nothing HTTP/1.1\r\n\r\n", "HTTP/1.1 404 Not Found", "there are: /broken, /echo"),
    "a write": ("POST /echo HTTP/1.1\r\n\r\n", "HTTP/1.1 405 Method Not Allowed", "only read"),
    "no HTTP": ("hello\r\n\r\n", "HTTP/1.1 400 Bad Request", "expected a request"),
    "no address": ("GET http://[ HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request", "cannot be read"),
    "a defect": ("GET /broken HTTP/1.1\r\n\r\n", "HTTP/1.1 500 Internal Server Error", "KeyError"),
    "too long": (f"GET /echo HTTP/1.1\r\nX: {'x' * 2 * MOST_HEAD}\r\n\r\n", "HTTP/1.1 431 ", "too long"),
}


@pytest.mark.parametrize(("text", "first", "says"), REQUESTS.values(), ids=REQUESTS)
async def test_every_request_gets_an_answer(text: str, first: str, says: str) -> None:
    """With its length, and then the connection is closed."""
    head, _, body = (await asked(text)).partition("\r\n\r\n")
    assert head.startswith(first)
    assert says in body
    assert f"Content-Length: {len(body)}" in head
    assert "Connection: close" in head
    assert "secret" not in body


async def test_a_caller_who_hangs_up_disturbs_nobody() -> None:
    """Half a request, and then another caller."""
    async with get_server("127.0.0.1:0", {"/echo": echo}, "127.0.0.1") as port:
        _, gone = await asyncio.open_connection("127.0.0.1", port)
        gone.write(b"GET /echo")
        gone.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /echo HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
        writer.close()


async def test_an_address_without_a_host_is_the_default_one() -> None:
    """And brackets around an IPv6 address are no part of it."""
    async with get_server(":0", {"/echo": echo}, "127.0.0.1") as port:
        assert port > 0
    async with get_server("[::1]:0", {"/echo": echo}, "127.0.0.1") as port:
        assert port > 0


@pytest.mark.parametrize(
    "listen",
    [
        "nonsense",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        ":²",
        "0.0.0..0:0",
        f"{'a' * 64}:0",
    ],
)
async def test_what_is_no_address_is_named(listen: str) -> None:
    """One sentence for whoever wrote it, in place of a traceback."""
    with pytest.raises(InputError, match="is no address to listen at; expected HOST:PORT") as refused:
        async with get_server(listen, {"/echo": echo}, "127.0.0.1"):
            pass
    assert str(refused.value).startswith(listen)


async def test_an_address_that_cannot_be_had_is_named_with_the_cause() -> None:
    """Another process has it, or no such host is known."""
    async with get_server("127.0.0.1:0", {"/echo": echo}, "127.0.0.1") as port:
        with pytest.raises(ListenError, match=f"^cannot listen at 127.0.0.1:{port}: address already in use$"):
            async with get_server(f"127.0.0.1:{port}", {"/echo": echo}, "127.0.0.1"):
                pass
    with pytest.raises(ListenError, match=r"^cannot listen at no\.such\.host\.invalid:0: "):
        async with get_server("no.such.host.invalid:0", {"/echo": echo}, "127.0.0.1"):
            pass
