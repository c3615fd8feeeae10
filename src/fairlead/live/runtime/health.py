"""`/healthz`, `/readyz` and `/metrics` over plain HTTP, for kubelets and scrapers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import CollectorRegistry, generate_latest

from fairlead.live.runtime.get_server import Reply, get_server
from fairlead.live.runtime.pulse import Pulse

METRICS = "text/plain; version=0.0.4; charset=utf-8"
OK = Reply(200, b"ok\n")


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

    async def healthz(query: Mapping[str, str]) -> Reply:
        return _stuck(pulse, 500) or OK

    async def readyz(query: Mapping[str, str]) -> Reply:
        return (_stuck(pulse, 503) or OK) if ready() else Reply(503, b"not synced\n")

    async def metrics(query: Mapping[str, str]) -> Reply:
        # Rendering thousands of series takes milliseconds, which the loop does not have.
        return Reply(200, await asyncio.to_thread(generate_latest, registry), METRICS)

    pages = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}
    async with get_server(listen, pages, "0.0.0.0") as port:
        yield port


def _stuck(pulse: Pulse, status: int) -> Reply | None:
    found = pulse.stuck()
    return Reply(status, f"stuck: {', '.join(found)}\n".encode()) if found else None
