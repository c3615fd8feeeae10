"""The webhook's process: a loop, a connection."""

import uvloop

from fairlead.kube.config import load
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.telemetry import telemetry
from fairlead.live.webhook.component import Webhook
from fairlead.settings import Configuration


def start(configuration: Configuration, kubeconfig: str, context: str) -> None:
    """Serve until SIGTERM or SIGINT; a second one ends at once."""
    uvloop.run(_serve(configuration, kubeconfig, context))


async def _serve(configuration: Configuration, kubeconfig: str, context: str) -> None:
    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        async with telemetry("webhook") as tracer:
            await Webhook(client, configuration, tracer).run()
    finally:
        await client.close()
