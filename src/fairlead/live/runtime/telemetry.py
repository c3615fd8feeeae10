"""Spans for an OpenTelemetry collector (docs/decisions/0350): off unless an endpoint is set, and then nothing is
imported of it.

The settings are the environment variables of OpenTelemetry itself; the SDK reads all but those named here.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from fairlead import __version__
from fairlead.kube.lease import own_identity
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
PROTOCOL = "http/protobuf"
FLUSH_SECONDS = 3.0
"""How long the end waits for the last spans to leave; a collector that does not answer holds nothing up."""

log = structlog.get_logger("telemetry")


def wanted(environment: Mapping[str, str]) -> bool:
    """Whether spans are asked for; `InputError` where they are asked for in a way that is not there."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporter = environment.get("OTEL_TRACES_EXPORTER") or "otlp"
    if exporter == "none" or not any(environment.get(name) for name in ENDPOINTS):
        return False
    if exporter != "otlp":
        raise InputError("OTEL_TRACES_EXPORTER", f"{exporter!r} is not there; expected otlp or none")
    for name in PROTOCOLS:
        if environment.get(name, PROTOCOL) not in ("", PROTOCOL):
            raise InputError(name, f"{environment[name]!r} is not there; expected {PROTOCOL}")
    return True


@asynccontextmanager
async def telemetry(component: str) -> AsyncIterator["Tracer | None"]:
    """A tracer while the block runs; None where spans are off. At the end what is left is sent, in bounded time."""
    if not wanted(os.environ):
        yield None
        return
    provider = _provider(component)
    log.info("spans are exported", to=next(filter(None, map(os.environ.get, ENDPOINTS))))
    try:
        yield provider.get_tracer("fairlead", __version__)
    finally:
        # The SDK waits for the collector in a thread of its own, and for longer than a pod has to end.
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, provider.force_flush, int(FLUSH_SECONDS * 1000))


def _provider(component: str) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    ours = {
        "service.name": os.environ.get("OTEL_SERVICE_NAME") or f"fairlead-{component}",
        "service.version": __version__,
        "service.instance.id": own_identity(),
    }
    provider = TracerProvider(resource=Resource.create(ours), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
