"""The webhook's process: a loop, a connection, logs."""

import logging
import sys

import structlog
import uvloop

from fairlead.kube.config import load
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.telemetry import telemetry
from fairlead.live.webhook.component import Webhook
from fairlead.settings import Configuration


def start(configuration: Configuration, kubeconfig: str, context: str) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends at once."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    uvloop.run(_serve(configuration, kubeconfig, context))


async def _serve(configuration: Configuration, kubeconfig: str, context: str) -> None:
    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        async with telemetry("webhook") as tracer:
            await Webhook(client, configuration, tracer).run(_say)
    finally:
        await client.close()


def _say(port: int, health: int) -> None:
    """One line that scripts can wait for, with the ports in use."""
    print(f"fairlead webhook: reviews on port {port}, health on port {health}", flush=True)
