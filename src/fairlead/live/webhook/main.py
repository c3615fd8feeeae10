"""The process: a loop, a connection, signals, logs."""

import asyncio
import logging
import signal
import sys

import structlog
import uvloop

from fairlead.kube.config import load
from fairlead.kube.wire.http import connect
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
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask() -> None:
        if stop.is_set():
            raise SystemExit(1)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ask)
    try:
        await Webhook(client, configuration).run(stop, _say)
    finally:
        await client.close()


def _say(port: int, health: int) -> None:
    """One line that scripts can wait for, with the ports in use."""
    print(f"fairlead webhook: reviews on port {port}, health on port {health}", flush=True)
