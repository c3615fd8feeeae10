"""Run the server: an address, a source that feeds the stage, until a signal ends it."""

import asyncio
import ipaddress
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from aiohttp import web

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError
from fairlead.web.replay import Replay
from fairlead.web.server import Shown, application
from fairlead.web.stage import ViewStage

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Source(Protocol):
    """Where looks come from. `run` shows them on the stage until it is cancelled; `live` says that more may come."""

    @property
    def title(self) -> str: ...
    @property
    def live(self) -> bool: ...
    async def run(self, stage: ViewStage) -> None: ...


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and the token that is asked for (none on the loopback, unless one is given)."""

    host: str
    port: int
    token: str = ""

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def address(listen: str, token: str) -> Address:
    """HOST:PORT. Off the loopback a token is needed."""
    host, sign, port = listen.rpartition(":")
    if not (sign and port.isascii() and port.isdigit() and int(port) < 2**16):
        raise InputError("--listen", f"{listen!r}; expected HOST:PORT")
    found = Address(host.strip("[]") or "0.0.0.0", int(port), token)
    if not found.loopback and not token:
        raise InputError("--listen", f"{found.host} is not the loopback; a token is needed (--token-file)")
    return found


async def serve(source: Source, where: Address, ready: Callable[[str], None], *, replay: Replay | None = None) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the address of the page."""
    stage = ViewStage(source.title)
    hosts = LOOPBACK | {where.host} if where.loopback else None
    app = application(Shown(stage, replay, live=source.live), token=where.token, hosts=hosts)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await _bound(runner, where)
        host, port = runner.addresses[0][:2]
        ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
        await _until_ended(asyncio.create_task(source.run(stage)))
    finally:
        await runner.cleanup()


async def _bound(runner: web.AppRunner, where: Address) -> None:
    try:
        await web.TCPSite(runner, where.host, where.port).start()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError("--listen", f"{where.host}:{where.port}: {why}") from None
    except ValueError:
        # A label is empty, or longer than 63 characters.
        raise InputError("--listen", f"{where.host}:{where.port}: no host can be called so") from None


async def _until_ended(feeding: asyncio.Task[None]) -> None:
    """A source that fails ends the server; one that has nothing more to say does not."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait({feeding, waiting}, return_when=asyncio.FIRST_COMPLETED)
    if not waiting.done() and feeding.exception() is None:
        await waiting
    waiting.cancel()
    feeding.cancel()
    with suppress(asyncio.CancelledError):
        await feeding
