"""The TLS endpoint: `/mutate` for pods, `/validate` for workloads. Every request ends in a review or a clear error.

HTTP 1.1 with kept connections. API servers keep theirs across a SIGTERM, so a draining server goes on serving and asks
with `Connection: close` to be left.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import TYPE_CHECKING

import msgspec
import structlog
from aiohttp import web

from fairlead.kube.admission.review import Review, decode
from fairlead.live.runtime.listening import binding, host_and_port
from fairlead.live.webhook.metrics import WebhookMetrics
from fairlead.live.webhook.spans import Answer, continued, spanned
from fairlead.model.errors import FairleadError, InputError
from fairlead.model.faults import fault, way_to

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

MOST_BYTES = 8 * 2**20
"""Reviews carry an object twice at most, and the API server stores none above 1.5 MiB."""


log = structlog.get_logger("webhook")


class AdmissionServer:
    """Serves the endpoints. `budget` bounds the seconds of one request, its body included.

    With `clients` only those are answered whose certificate has one of these names. Without a `tracer` there are no
    spans.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Answer],
        measures: WebhookMetrics,
        *,
        budget: float,
        clients: Collection[str] = (),
        tracer: "Tracer | None" = None,
    ) -> None:
        self._endpoints = (
            endpoints if tracer is None else {path: spanned(tracer, path, answer) for path, answer in endpoints.items()}
        )
        self._middlewares = () if tracer is None else (continued,)
        self._measures = measures
        self._budget = budget
        self._clients = frozenset(clients)
        self.draining = False

    def app(self) -> web.Application:
        """The application, for a server of one's own."""
        app = web.Application(client_max_size=MOST_BYTES, middlewares=self._middlewares)
        for path in self._endpoints:
            app.router.add_post(path, self._serve)
        return app

    @asynccontextmanager
    async def listening(self, listen: str, context: SSLContext | None) -> AsyncIterator[int]:
        """Serve while the block runs; gives the port. Requests under way are finished at its end."""
        host, port = host_and_port(listen, "0.0.0.0")
        runner = web.AppRunner(self.app(), access_log=None, handle_signals=False, shutdown_timeout=self._budget)
        await runner.setup()
        with binding(listen):
            await web.TCPSite(runner, host, port, ssl_context=context, backlog=1024).start()
        try:
            yield int(runner.addresses[0][1])
        finally:
            await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.Response:
        begin = time.perf_counter()
        status, body = await self._outcome(request)
        self._measures.seconds.labels(request.path).observe(time.perf_counter() - begin)
        if status != 200:
            self._measures.failures.labels(str(status)).inc()
        kind = "application/json" if status == 200 else "text/plain"
        response = web.Response(status=status, body=body, content_type=kind)
        if self.draining:
            response.force_close()
        return response

    async def _outcome(self, request: web.Request) -> tuple[int, bytes]:
        """Status and body. Only what the API server or we do wrong is a 500; what the caller sends is a 4xx."""
        if self._clients and not self._clients & _names(request):
            return 403, b"the client's certificate has none of the names in webhook.clientNames\n"
        if request.content_type != "application/json":
            return 415, b"expected Content-Type: application/json\n"
        review: Review | None = None
        try:
            async with asyncio.timeout(self._budget):
                review = decode(await request.read())
                answer = await self._endpoints[request.path](review.request)
        except web.HTTPRequestEntityTooLarge:
            return 413, f"expected at most {MOST_BYTES} bytes\n".encode()
        except InputError as error:
            return 400, f"{error}\n".encode()
        except TimeoutError:
            return 504, b"no decision in time\n"
        except FairleadError as error:
            log.warning("request failed", path=request.path, error=error)
            return 500, f"{error}\n".encode()
        except Exception as error:
            # A defect ends with the object that was sent (docs/decisions/0201).
            log.error("a defect", path=request.path, object=_named(review), what=fault(error), way=way_to(error))
            return 500, f"{fault(error)}\n".encode()
        return 200, msgspec.json.encode(answer)


def _names(request: web.Request) -> set[str]:
    """The names in the certificate that the client shows: its common name and its DNS names."""
    certificate = (request.transport.get_extra_info("peercert") if request.transport else None) or {}
    subject = {value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"}
    return subject | {value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"}


def _named(review: Review | None) -> str:
    """The object that a review is about, as far as it is known."""
    if review is None:
        return "unknown"
    return f"{review.request.namespace or ''}/{review.request.name or ''}".strip("/") or review.request.uid
