"""`/healthz`, `/readyz` and `/metrics` over plain HTTP, for kubelets and scrapers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

from fairlead.live.runtime.pulse import Pulse


@asynccontextmanager
async def health_server(
    listen: str,
    registry: CollectorRegistry,
    ready: Callable[[], bool],
    pulse: Pulse,
) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port (useful with port 0).

    What is stuck by the `pulse` is named by `/healthz` with code 500, and `/readyz` is not ready then.
    """
    app = web.Application()

    async def healthz(request: web.Request) -> web.Response:
        return _stuck(pulse, 500) or web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        if not ready():
            return web.Response(text="not synced\n", status=503)
        return _stuck(pulse, 503) or web.Response(text="ok\n")

    async def metrics(request: web.Request) -> web.Response:
        # Rendering thousands of series takes milliseconds, which the loop does not have.
        text = await asyncio.to_thread(generate_latest, registry)
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    app.add_routes([web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    host, _, port = listen.rpartition(":")
    site = web.TCPSite(runner, host or "0.0.0.0", int(port))
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _stuck(pulse: Pulse, status: int) -> web.Response | None:
    found = pulse.stuck()
    return web.Response(text=f"stuck: {', '.join(found)}\n", status=status) if found else None
