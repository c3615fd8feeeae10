"""A live cluster to manifests: every object that a plan reads, as the server has it."""

from collections.abc import Callable, Iterable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.manifests.catalogue import CLUSTER, KINDS
from fairlead.kube.manifests.load import Manifest
from fairlead.kube.resources import ALL, Resource

SYSTEM = "kubectl.kubernetes.io/last-applied-configuration"


async def collect(
    client: Client,
    progress: Callable[[str, int], None] = lambda kind, count: None,
    resources: Iterable[Resource[Any]] = ALL,
    member: str = "",
) -> list[Manifest]:
    """The objects of every kind that the server has and may be read; kinds it does not serve are passed over.

    `progress` is told each kind with its number of objects. The objects of a `member` of a fleet carry its name.
    """
    found: list[Manifest] = []
    for resource in resources:
        if (resource.group, resource.kind) not in KINDS:
            continue
        try:
            page = await client.list(resource.raw)
        except ApiError as error:
            if error.not_found:
                continue
            raise
        for item in page.items:
            value = {"apiVersion": resource.api_version, "kind": resource.kind, **_plain(item)}
            if member:
                value["metadata"]["annotations"] = {**(value["metadata"].get("annotations") or {}), CLUSTER: member}
            found.append(Manifest(f"{resource.kind} {value['metadata'].get('name', '')}", value))
        progress(resource.kind, len(page.items))
    return found


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """The object without what only the server's own bookkeeping needs."""
    meta = {key: value for key, value in item.get("metadata", {}).items() if key != "managedFields"}
    if SYSTEM in (meta.get("annotations") or {}):
        meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != SYSTEM}
    return {**item, "metadata": meta}
