"""A recorded story of Karmada played on a fake API server: persons and controllers write, a scheduler answers."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairlead.kube.codec.decided import APPLIED
from fairlead.kube.resources import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, Resource
from fairlead.kube.transport import Response
from tests.fake import FakeApi

STORIES = Path(__file__).parent / "stories"
KINDS = {"apps/v1": ["Deployment"], "v1": ["ConfigMap"], "apiextensions.k8s.io/v1": ["CustomResourceDefinition"]}
MODELS = [{"grade": 1, "ranges": [{"name": "cpu", "min": "1"}, {"name": "memory", "min": "4Gi"}]}]

TRIGGER = "spec.rescheduleTriggeredAt"

Raw = dict[str, Any]


class Karmada(FakeApi):
    """The API server with the webhook that refuses clusters of bindings beyond a quota of cpu."""

    quota: int | None = None

    async def request(self, method: str, path: str, *given: Any, **more: Any) -> Response:
        body = next((each for each in (*given, *more.values()) if isinstance(each, bytes)), b"{}")
        if method == "PATCH" and self.quota is not None and not path.endswith("/status"):
            asked = sum(each.get("replicas", 0) for each in json.loads(body).get("spec", {}).get("clusters") or [])
            if asked > self.quota:
                return _denied(asked, self.quota)
        return await super().request(method, path, *given, **more)


def _denied(asked: int, quota: int) -> Response:
    why = f"FederatedResourceQuota(st-g/q) exceeded for resource cpu: requested sum {asked}, limit {quota}."
    message = f'admission webhook "resourcebinding.karmada.io" denied the request: {why}'
    status = {"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": message}
    return Response(status=403, body=json.dumps(status).encode(), headers={})


def steps_of(story: str) -> Iterator[Raw]:
    """The lines of a story."""
    for line in (STORIES / f"{story}.jsonl").read_text().splitlines():
        yield json.loads(line)


def begin(api: FakeApi, start: Raw) -> None:
    """The state in which a story begins."""
    for each in start["clusters"]:
        api.put(CLUSTERS, cluster({"cluster": each["name"], **each}))
    for each in start["bindings"]:
        create(api, each)


def act(api: Karmada, done: Raw, now: str) -> None:
    """One thing that a person or a controller did; what it triggers is triggered now."""
    if TRIGGER in done.get("set", {}):
        done["set"][TRIGGER] = now
    if "cluster" in done:
        if done.get("gone"):
            api.remove(CLUSTERS, done["cluster"])
        else:
            api.put(CLUSTERS, cluster(done))
    elif "quota" in done:
        api.quota = int(done["cpu"])
    elif done.get("gone"):
        resource, namespace, name = address(done["binding"])
        if api.find(resource, name, namespace=namespace) is not None:
            api.remove(resource, name, namespace=namespace)
    elif "set" in done:
        change(api, done)
    else:
        create(api, done)


def address(name: str) -> tuple[Resource[Any], str, str]:
    """Resource, namespace and name of a binding as a story calls it."""
    namespace, _, short = name.rpartition("/")
    return (RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS), namespace, short


def find(api: FakeApi, name: str) -> Raw | None:
    """A copy of a binding as it is."""
    resource, namespace, short = address(name)
    return copy.deepcopy(api.find(resource, short, namespace=namespace))


def create(api: FakeApi, given: Raw) -> None:
    """A binding as the controllers make it, or as a story finds it."""
    resource, namespace, name = address(given["binding"])
    meta: Raw = {"name": name, **({"namespace": namespace} if namespace else {})}
    if "applied" in given:
        meta["annotations"] = {APPLIED: given["applied"]}
    status = {**given["status"], "schedulerObservedGeneration": 1} if given.get("status") else {}
    api.put(resource, {"metadata": meta, "spec": given["spec"], "status": status})


def change(api: FakeApi, given: Raw) -> None:
    """Another state of a binding, by paths."""
    resource, _, _ = address(given["binding"])
    found = find(api, given["binding"])
    assert found is not None
    for path, value in given["set"].items():
        *way, last = re.findall(r"[^.]+", path)
        place = found
        for key in way:
            place = place.setdefault(key, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    api.put(resource, found)


def cluster(given: Raw) -> Raw:
    """A cluster of a story as the API has it."""
    meta: Raw = {"name": given["cluster"]}
    if given.get("deleting"):
        meta |= {"deletionTimestamp": "2026-11-16T14:34:48Z", "finalizers": ["karmada.io/cluster-controller"]}
    status: Raw = {}
    if "ex.io" in given:
        listed = {**KINDS, "ex.io/v1": given["ex.io"]}
        status["apiEnablements"] = [
            {"groupVersion": group, "resources": [{"name": kind.lower(), "kind": kind} for kind in kinds]}
            for group, kinds in listed.items()
        ]
        status["conditions"] = [{"type": "CompleteAPIEnablements", "status": "True"}]
    if "room" in given:
        status["resourceSummary"] = {**given["room"], "allocatableModelings": [{"grade": 1, "count": 2}]}
    spec = {"taints": given.get("taints", []), "resourceModels": MODELS}
    return {"metadata": meta, "spec": spec, "status": status}
