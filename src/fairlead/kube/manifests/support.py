"""What a report of a fault needs, read from a live cluster: versions, configuration, metrics, Events, a snapshot.

Whatever cannot be read is named and the rest goes on. Secrets are never asked for.
"""

from collections.abc import Awaitable
from dataclasses import field
from typing import Any

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.manifests.collect import collect
from fairlead.kube.manifests.pared import pared
from fairlead.kube.resources import CONFIG_MAPS, DEPLOYMENTS, EVENTS, LEASES, PODS, Resource
from fairlead.model.errors import FairleadError

PART = "app.kubernetes.io/part-of=fairlead"
PORT = 8080
COMPONENTS = ("fairlead-scheduler", "fairlead-webhook", "fairlead-fleet", "fairlead-storage")
UNTOLD = ("managedFields", "annotations")
SECONDS = 15.0
"""For the metrics of one pod."""


@dataclass(slots=True)
class SupportBundle:
    """Files by name, and what could not be read."""

    files: dict[str, bytes] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def add(self, name: str, record: Any) -> None:
        """A record as JSON."""
        self.files[name] = msgspec.json.format(msgspec.json.encode(record), indent=2)

    async def read(self, name: str, asked: Awaitable[Any]) -> Any:
        """What was asked for, and a file of it; None, and a line, where it cannot be read."""
        try:
            found = await asked
        except (FairleadError, KubeError) as error:
            self.missing.append(f"{name}: {error}")
            return None
        if isinstance(found, bytes):
            self.files[name] = found
        else:
            self.add(name, found)
        return found


async def support_bundle(client: Client, namespace: str) -> SupportBundle:
    """Everything of one installation. `namespace` is where Fairlead runs."""
    bundle = SupportBundle()
    await bundle.read("versions/server.json", _server(client))
    pods = await bundle.read("components/pods.json", _listed(client, PODS, namespace, PART)) or []
    await bundle.read("components/deployments.json", _listed(client, DEPLOYMENTS, namespace, PART))
    await bundle.read("components/leases.json", _listed(client, LEASES, namespace))
    await bundle.read("configuration.json", _listed(client, CONFIG_MAPS, namespace, PART))
    await bundle.read("events.json", _events(client, namespace))
    for pod in pods:
        name, labels = pod["metadata"]["name"], pod["metadata"].get("labels", {})
        if labels.get("app.kubernetes.io/name") in COMPONENTS:
            await bundle.read(f"metrics/{name}.txt", _metrics(client, namespace, name))
    await bundle.read("snapshot.json", _snapshot(client, bundle.missing))
    return bundle


async def _server(client: Client) -> Any:
    return msgspec.to_builtins(await client.version())


async def _listed(client: Client, resource: Resource[Any], namespace: str, labels: str = "") -> list[Any]:
    found = await client.list(resource.raw, namespace=namespace, labels=labels)
    return [_lean(each) for each in found.items]


def _lean(found: dict[str, Any]) -> dict[str, Any]:
    """Without the server's bookkeeping, without annotations (kubectl keeps a copy of what was sent there), and without
    the values of environment variables, at any depth.
    """
    meta = {key: value for key, value in found.get("metadata", {}).items() if key not in UNTOLD}
    return {**{key: _without_values(value) for key, value in found.items()}, "metadata": meta}


def _without_values(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_values(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _without_values(each) for key, each in value.items() if key not in UNTOLD}
    if "env" in kept:
        kept["env"] = [{"name": each.get("name", "")} for each in value["env"] or ()]
    return kept


async def _events(client: Client, namespace: str) -> list[Any]:
    """Those in our namespace, and those that we wrote elsewhere."""
    found = await client.list(EVENTS.raw)
    return [
        _lean(each)
        for each in found.items
        if each.get("metadata", {}).get("namespace") == namespace
        or str(each.get("reportingController", "")).startswith("fairlead")
    ]


async def _metrics(client: Client, namespace: str, pod: str) -> bytes:
    """Of one pod, by way of the API server. What a component shows to people is on its loopback, and stays there."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}:{PORT}/proxy/metrics"
    answer = await client.transport.request("GET", path, within=SECONDS)
    if answer.status != 200:
        raise ApiError(answer.status, "NotServed", answer.body.decode(errors="replace")[:200])
    return answer.body


async def _snapshot(client: Client, missing: list[str]) -> dict[str, Any]:
    """What a plan reads, as a list that `fairlead plan` takes."""
    items = []
    for manifest in await collect(client):
        try:
            items.append(pared(manifest))
        except FairleadError as error:
            missing.append(f"snapshot.json: {error}")
    return {"apiVersion": "v1", "kind": "List", "items": items}
