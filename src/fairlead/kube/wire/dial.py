"""A connected socket to a server: its addresses tried side by side, through a proxy where there is one."""

import asyncio
import socket

from aiohappyeyeballs import start_connection

from fairlead.kube.proxies import Proxy
from fairlead.kube.wire.head import MOST_HEAD, read_head

AHEAD_SECONDS = 0.25
"""How long one address is tried alone before the next joins in (RFC 8305)."""


async def dial(host: str, port: int, proxy: Proxy | None, *, tunnel: bool) -> socket.socket:
    """A socket that leads to the server: straight, or through the proxy, with a `tunnel` (CONNECT) or without.

    Raises OSError, and ValueError where the proxy does not speak HTTP.
    """
    if proxy is None:
        return await _connected(host, port)
    sock = await _connected(proxy.host, proxy.port)
    if not tunnel:
        return sock
    try:
        await _open_tunnel(sock, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", proxy)
    except BaseException:
        sock.close()
        raise
    return sock


async def _connected(host: str, port: int) -> socket.socket:
    """The first address that answers; one that does not answer holds up the others for a moment only."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return await start_connection(found, happy_eyeballs_delay=AHEAD_SECONDS, interleave=1)


async def _open_tunnel(sock: socket.socket, server: str, proxy: Proxy) -> None:
    loop = asyncio.get_running_loop()
    lines = [f"CONNECT {server} HTTP/1.1", f"Host: {server}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    await loop.sock_sendall(sock, ("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    said = bytearray()
    while (end := said.find(b"\r\n\r\n")) < 0:
        more = await loop.sock_recv(sock, 4096)
        if not more or len(said) > MOST_HEAD:
            raise ConnectionError(f"the proxy {proxy} did not answer CONNECT {server}")
        said += more
    head = read_head(said[:end].decode("latin-1"))
    if head is None or not 200 <= head.status < 300:
        status = said.partition(b"\r\n")[0].decode("latin-1")
        raise ConnectionError(f"the proxy {proxy} refused CONNECT {server}: {status[:80]!r}")
    if len(said) > end + 4:
        raise ConnectionError(f"the proxy {proxy} sent more than its answer to CONNECT {server}")
