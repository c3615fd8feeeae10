"""Pages for people, on a listener of their own: the whole state of a component is not for every pod of the cluster."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import structlog
from aiohttp import web

log = structlog.get_logger("runtime")

Page = Callable[[Mapping[str, str]], Callable[[], bytes]]
"""Given the query, takes what it needs of the state at once; what it returns makes the JSON of that, in a thread."""


@asynccontextmanager
async def pages_server(listen: str, pages: Mapping[str, Page]) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port, 0 where the address is taken: then the work goes on without pages."""
    app = web.Application()
    for path, page in pages.items():
        app.router.add_get(path, _answer(page))
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    host, _, port = listen.rpartition(":")
    try:
        await web.TCPSite(runner, host or "127.0.0.1", int(port)).start()
        log.info("pages", listen=listen)
    except OSError as error:
        log.error("no pages are served", listen=listen, why=str(error))
    try:
        yield int(runner.addresses[0][1]) if runner.addresses else 0
    finally:
        await runner.cleanup()


def _answer(page: Page) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        # Rendering a large cluster takes a second, which the loop does not have (decisions/0230).
        body = await asyncio.to_thread(page(request.query))
        return web.Response(body=body, content_type="application/json")

    return answer
