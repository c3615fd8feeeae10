"""Volcano's objects on a real API server: queues, gangs of bare or owned pods, quotas with weights."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.karmada import define

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
KINDS = ("queues", "podgroups")
GROUP = "scheduling.k8s.io/group-name"
INTENT = "fairlead.io/intent"


def install(api: Api) -> None:
    """Volcano's definitions, served."""
    define(api, "volcano.yaml")


def uninstall(api: Api) -> None:
    """No such kinds on the server."""
    for kind in KINDS:
        name = f"{kind}.scheduling.volcano.sh"
        with suppress(ApiError):
            api.delete(f"{CRD}/{name}")
        api.wait(f"{name} gone", lambda name=name: name not in {each["metadata"]["name"] for each in api.items(CRD)})


@contextmanager
def queues(api: Api, **wanted: Mapping[str, Any]) -> Iterator[None]:
    """Queues by name for the time of the block; names are used as they are."""
    for name, spec in wanted.items():
        api.create(QUEUES, {**_kind("Queue"), "metadata": {"name": name}, "spec": dict(spec)})
    try:
        yield
    finally:
        for name in wanted:
            with suppress(ApiError):
                api.delete(f"{QUEUES}/{name}")


@contextmanager
def namespaces(api: Api, *names: str) -> Iterator[None]:
    """More namespaces; they and their pods go after the block."""
    for name in names:
        api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    try:
        yield
    finally:
        for name in names:
            api.delete(f"/api/v1/namespaces/{name}")
        for name in names:
            empty(api, name)


def empty(api: Api, namespace: str) -> None:
    """Delete every pod at once and wait until they are gone."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    api.delete(pods, gracePeriodSeconds=0)
    api.wait(f"no pods left in {namespace}", lambda: not api.items(pods), seconds=180)


def weigh(api: Api, namespace: str, weight: int) -> None:
    """The weight of a namespace, by its quota; a new one, or another value for the one there is."""
    body = {"metadata": {"name": "weight"}, "spec": {"hard": {"volcano.sh/namespace.weight": str(weight)}}}
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    if api.items(path):
        api.patch(f"{path}/weight", body)
    else:
        api.create(path, {"apiVersion": "v1", "kind": "ResourceQuota", **body})


def groups_path(namespace: str) -> str:
    """Where the PodGroups of a namespace are."""
    return f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{namespace}/podgroups"


def make_group(api: Api, namespace: str, name: str, least: int, queue: str = "default", **spec: Any) -> None:
    """A PodGroup."""
    body = {**_kind("PodGroup"), "metadata": {"name": name}, "spec": {"minMember": least, "queue": queue, **spec}}
    api.create(groups_path(namespace), body)


def member(group: str, name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A bare pod of a PodGroup."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"group": group}, "annotations": {GROUP: group}},
        "spec": {
            "schedulerName": "fairlead",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }


def make_gang(api: Api, namespace: str, name: str, pods: int, least: int | None = None, **group: Any) -> None:
    """A PodGroup and its pods, one cpu each; all of them start together unless `least` is given."""
    make_group(api, namespace, name, pods if least is None else least, **group)
    api.create_many(
        f"/api/v1/namespaces/{namespace}/pods", [member(name, f"{name}-{number}") for number in range(pods)]
    )


def bound(api: Api, namespace: str) -> Counter[str]:
    """Bound pods that have not ended, by group."""
    return Counter(
        pod["metadata"].get("annotations", {}).get(GROUP, "")
        for pod in api.items(f"/api/v1/namespaces/{namespace}/pods")
        if pod["spec"].get("nodeName") and pod["status"].get("phase") not in ("Succeeded", "Failed")
    )


def running(api: Api, names: Iterable[str]) -> dict[str, int]:
    """Bound pods by namespace."""
    return {name: bound(api, name).total() for name in names}


def told(api: Api, namespace: str, group: str) -> list[str]:
    """For each pod of a group that has no node what its PodScheduled condition says; empty where it has none."""
    found = []
    for pod in api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"group={group}"):
        if not pod["spec"].get("nodeName"):
            conditions = [
                each
                for each in pod["status"].get("conditions", [])
                if each["type"] == "PodScheduled" and each.get("reason") == "Unschedulable"
            ]
            found.append(conditions[0]["message"] if conditions else "")
    return found


def intents(api: Api, namespace: str) -> list[str]:
    """The groups that are being started."""
    return [
        group["metadata"]["name"]
        for group in api.items(groups_path(namespace))
        if INTENT in group["metadata"].get("annotations", {})
    ]


def _kind(kind: str) -> dict[str, str]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": kind}
