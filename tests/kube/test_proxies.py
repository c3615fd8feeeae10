"""Proxies: which one leads to a server, and requests and watches through it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from aiohttp import web

from fairlead.kube.config import Connection
from fairlead.kube.errors import UnreachableError
from fairlead.kube.proxies import Proxy, environment_proxy, proxy_of
from fairlead.kube.wire.http import HttpTransport
from tests.kube.authority import Authority
from tests.kube.server import server_tls, serving
from tests.kube.test_config import config, load, write

HTTPS = {"HTTPS_PROXY": "http://proxy:3128"}
API = "https://api.example.com:6443"

DIRECT: dict[str, tuple[str, dict[str, str]]] = {
    "no variable": (API, {}),
    "only the other scheme's": (API, {"HTTP_PROXY": "http://proxy:3128"}),
    "localhost": ("https://localhost:6443", HTTPS),
    "a loopback address": ("https://127.8.0.1:6443", HTTPS),
    "the loopback of IPv6": ("https://[::1]:6443", HTTPS),
    "everything exempted": (API, HTTPS | {"NO_PROXY": "*"}),
    "the name": (API, HTTPS | {"NO_PROXY": "x, API.example.com"}),
    "the name in lower case": (API, HTTPS | {"no_proxy": "api.example.com"}),
    "its domain": (API, HTTPS | {"NO_PROXY": "example.com"}),
    "what is below its domain": (API, HTTPS | {"NO_PROXY": ".example.com"}),
    "a star before its domain": (API, HTTPS | {"NO_PROXY": "*.example.com"}),
    "the name and its port": (API, HTTPS | {"NO_PROXY": "api.example.com:6443"}),
    "the port that https has": ("https://a.b", HTTPS | {"NO_PROXY": "a.b:443"}),
    "an address": ("https://10.0.0.1:6443", HTTPS | {"NO_PROXY": "10.0.0.1"}),
    "an address and its port": ("https://10.0.0.1:6443", HTTPS | {"NO_PROXY": "10.0.0.1:6443"}),
    "a network": ("https://10.9.0.1:6443", HTTPS | {"NO_PROXY": "10.0.0.0/8"}),
    "a network of IPv6": ("https://[fd00::7]:6443", HTTPS | {"NO_PROXY": "fd00::/8"}),
    "an address of IPv6 and its port": ("https://[fd00::7]:6443", HTTPS | {"NO_PROXY": "[fd00::7]:6443"}),
}
PROXIED: dict[str, tuple[str, dict[str, str]]] = {
    "a variable": (API, HTTPS),
    "in lower case": (API, {"https_proxy": "http://proxy:3128"}),
    "upper case first": (API, HTTPS | {"https_proxy": "http://other:1"}),
    "without its scheme": (API, {"HTTPS_PROXY": "proxy:3128"}),
    "plain http": ("http://api.example.com", {"HTTP_PROXY": "http://proxy:3128"}),
    "another name": (API, HTTPS | {"NO_PROXY": "other.example.com, , :80,10.0.0.0/8"}),
    "the end of another name": (API, HTTPS | {"NO_PROXY": "ample.com"}),
    "the domain itself is not below itself": ("https://example.com", HTTPS | {"NO_PROXY": ".example.com"}),
    "another port": (API, HTTPS | {"NO_PROXY": "api.example.com:443"}),
    "an address of another network": ("https://11.0.0.1", HTTPS | {"NO_PROXY": "10.0.0.0/8,11.0.0.2"}),
    "a name is in no network": (API, HTTPS | {"NO_PROXY": "0.0.0.0/0"}),
}


@pytest.mark.parametrize("name", DIRECT)
def test_server_is_reached_straight(name: str) -> None:
    """No variable names a proxy, or NO_PROXY exempts the server, as in golang.org/x/net/http/httpproxy."""
    assert environment_proxy(*DIRECT[name]) is None


@pytest.mark.parametrize("name", PROXIED)
def test_server_is_reached_through_the_proxy_of_the_environment(name: str) -> None:
    """The variable of the server's scheme names the proxy."""
    assert Proxy(host="proxy", port=3128) == environment_proxy(*PROXIED[name])


def test_proxy_of_the_kubeconfig_comes_first(tmp_path: Path) -> None:
    """`proxy-url` wins over the environment and over NO_PROXY; a password becomes a header and is never shown."""
    file = write(tmp_path / "config", config(cluster={"proxy-url": "http://me:s%40e@p"}))
    got = load(kubeconfig_path=str(file), environ=HTTPS | {"NO_PROXY": "*"}, home=tmp_path)
    assert Proxy(host="p", port=80, authorization="Basic bWU6c0Bl") == got.proxy
    assert "bWU6" not in repr(got)
    plain = write(tmp_path / "plain", config())
    assert Proxy(host="proxy", port=3128) == load(kubeconfig_path=str(plain), environ=HTTPS, home=tmp_path).proxy


@asynccontextmanager
async def tunnel(
    said: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n",
) -> AsyncIterator[tuple[Proxy, list[bytes]]]:
    """A proxy that answers so to CONNECT and passes on what follows; and the heads that it was sent."""
    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(said)
            host, _, port = heads[-1].split(b" ")[1].decode().rpartition(":")
            if b" 200 " not in said:
                return
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield proxy_of(f"http://me:secret@127.0.0.1:{server.sockets[0].getsockname()[1]}", "here"), heads
    finally:
        server.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
    except ConnectionError:
        pass
    finally:
        writer.close()


async def _through_a_tunnel() -> None:
    authority = Authority()

    async def handler(request: web.Request) -> web.Response:
        return web.Response(text="{}\n")

    async with (
        serving(handler, server_tls(authority.issue("server", "127.0.0.1"))) as address,
        tunnel() as (proxy, heads),
    ):
        wire = HttpTransport(Connection(server=address, ca=authority.pem, proxy=proxy))
        try:
            assert (await wire.request("GET", "/version")).body == b"{}\n"
            assert [line async for line in wire.stream("/api/v1/pods", {})] == [b"", b"{}"]
        finally:
            await wire.close()
        place = address.removeprefix("https://").encode()
    want = b"CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n" % (place, place)
    assert heads == [want, want]


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_requests_and_watches_go_through_a_tunnel(loop: object) -> None:
    """CONNECT to the proxy, then TLS with the server itself, on both loops."""
    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(_through_a_tunnel())


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "refused CONNECT .*407 Proxy Authentication Required"),
        (b"", "did not answer CONNECT"),
        (b"hello\r\n\r\n", "no answer of HTTP/1.1 begins with 'hello'"),
        (b"HTTP/1.1 200 OK\r\n\r\nmore", "sent more than its answer"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "refused CONNECT"),
    ],
)
async def test_proxy_that_refuses_is_named(said: bytes, why: str) -> None:
    """Nothing was sent to the server, and the message says what the proxy did."""
    async with tunnel(said) as (proxy, _):
        wire = HttpTransport(Connection(server="https://127.0.0.1:1", proxy=proxy))
        with pytest.raises(UnreachableError, match=why) as caught:
            await wire.request("GET", "/version")
        await wire.close()
    assert not caught.value.sent


async def test_plain_requests_tell_the_proxy_the_whole_address() -> None:
    """Without TLS the proxy reads the request: absolute form, with its own authorization."""
    seen: list[tuple[str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((str(request.raw_path), request.headers["Proxy-Authorization"]))
        return web.json_response({"host": request.headers["Host"]})

    async with serving(handler, None) as address:
        proxy = proxy_of(address.replace("://", "://me:secret@"), "here")
        wire = HttpTransport(Connection(server="http://api.example.com/behind", proxy=proxy))
        try:
            assert (await wire.request("GET", "/version")).body == b'{"host": "api.example.com"}'
        finally:
            await wire.close()
    assert seen == [("http://api.example.com/behind/version", "Basic bWU6c2VjcmV0")]
