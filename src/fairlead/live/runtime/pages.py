"""Pages for people, on a listener of their own: the whole state of a component is not for every pod of the cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

import structlog

from fairlead.live.runtime.get_server import Handler, Reply, get_server
from fairlead.live.runtime.listening import ListenError

log = structlog.get_logger("runtime")

Page = Callable[[Mapping[str, str]], Callable[[], bytes]]
"""Given the query, takes what it needs of the state at once; what it returns makes the JSON of that, in a thread."""


@asynccontextmanager
async def pages_server(listen: str, pages: Mapping[str, Page]) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port, 0 where the address is taken: then the work goes on without pages."""
    async with AsyncExitStack() as stack:
        port, handlers = 0, {path: _answer(page) for path, page in pages.items()}
        try:
            port = await stack.enter_async_context(get_server(listen, handlers, "127.0.0.1"))
            log.info("pages", listen=listen)
        except ListenError as error:
            log.error("no pages are served", listen=listen, why=error)
        yield port


def _answer(page: Page) -> Handler:
    async def answer(query: Mapping[str, str]) -> Reply:
        # Rendering a large cluster takes a second, which the loop does not have (decisions/0230).
        return Reply(200, await asyncio.to_thread(page(query)), "application/json")

    return answer
