"""A live cluster to manifests: every object that a plan reads, as the server has it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairlead.kube.adapters.registry import ADAPTERS
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.manifests.catalogue import CLUSTER, CLUSTER_WIDE, KINDS, VERSIONS
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.resources import ALL, Resource

FOREIGN = {kind: versions for kind, (_, versions) in ADAPTERS.items()} | {
    (group, kind): VERSIONS[group]
    for group, kind in (("kueue.x-k8s.io", "LocalQueue"), ("autoscaling", "HorizontalPodAutoscaler"))
}
"""Kinds beside those of `resources`, each with the versions whose fields are known."""
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
            items = await _listed(client, resource, member)
        except ApiError as error:
            if error.not_found:
                continue
            raise
        found.extend(items)
        progress(resource.kind, len(items))
    return found


async def collect_foreign(
    client: Client,
    progress: Callable[[str, int], None] = lambda kind, count: None,
    warn: Callable[[str], None] = lambda words: None,
    member: str = "",
) -> list[Manifest]:
    """The objects that adapters read (docs/decisions/0267), Kueue's LocalQueues and the autoscalers.

    Few clusters have all of these kinds, and few people may read them all: what is not served is passed over, and what
    may not be read is told to `warn`.
    """
    served = {"v1"} | await client.versions()
    found: list[Manifest] = []
    for (group, kind), versions in FOREIGN.items():
        resource = next((each for each in _resources(group, kind, versions) if each.api_version in served), None)
        if resource is None:
            continue
        try:
            items = await _listed(client, resource, member)
        except ApiError as error:
            if error.forbidden:
                warn(f"{resource.label} may not be read, and are planned without: {error}")
            elif not error.not_found:
                raise
            continue
        found.extend(items)
        progress(kind, len(items))
    return found


def _resources(group: str, kind: str, versions: Iterable[str]) -> Iterator[Resource[Any]]:
    """The kind in each version whose fields are known. All of these kinds have regular plurals."""
    for version in versions:
        yield Resource(group, version, f"{kind.lower()}s", kind, dict, namespaced=(group, kind) not in CLUSTER_WIDE)


async def _listed(client: Client, resource: Resource[Any], member: str) -> list[Manifest]:
    found = []
    for item in (await client.list(resource.raw)).items:
        value = {"apiVersion": resource.api_version, "kind": resource.kind, **_plain(item)}
        if member:
            value["metadata"]["annotations"] = {**(value["metadata"].get("annotations") or {}), CLUSTER: member}
        found.append(Manifest(f"{resource.kind} {value['metadata'].get('name', '')}", value))
    return found


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """The object without what only the server's own bookkeeping needs."""
    meta = {key: value for key, value in item.get("metadata", {}).items() if key != "managedFields"}
    if SYSTEM in (meta.get("annotations") or {}):
        meta["annotations"] = {key: value for key, value in meta["annotations"].items() if key != SYSTEM}
    return {**item, "metadata": meta}
