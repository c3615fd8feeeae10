"""A span of each admission, below that of the API server where it sends one (its own tracing is on then)."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fairlead.kube.admission.review import ReviewRequest

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

Answer = Callable[[ReviewRequest], Awaitable[dict[str, Any]]]


@web.middleware
async def continued(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Spans of this request go on the trace that its headers name."""
    from opentelemetry import context, propagate

    token = context.attach(propagate.extract(request.headers))
    try:
        return await handler(request)
    finally:
        context.detach(token)


def spanned(tracer: "Tracer", name: str, answer: Answer) -> Answer:
    """The same answers, each within a span that tells what was asked and what was decided."""

    async def traced(request: ReviewRequest) -> dict[str, Any]:
        from opentelemetry.trace import SpanKind

        with tracer.start_as_current_span(name, kind=SpanKind.SERVER) as span:
            span.set_attributes(
                {
                    "k8s.namespace.name": request.namespace or "",
                    "fairlead.kind": request.kind.kind,
                    "fairlead.name": request.name or "",
                    "fairlead.review": request.uid,
                    "fairlead.dry_run": bool(request.dry_run),
                }
            )
            found = await answer(request)
            response = found["response"]
            span.set_attribute("fairlead.allowed", response["allowed"])
            span.set_attributes({f"fairlead.{key}": text for key, text in response.get("auditAnnotations", {}).items()})
            return found

    return traced
