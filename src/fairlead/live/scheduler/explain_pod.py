"""One pod of a live cluster explained without a scheduler at hand: the same cache and the same decision, on lists."""

from collections.abc import Callable
from typing import Any

from fairlead.kube.changes import Change, deliver
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import NAMESPACES, NODES, PODS, Resource
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped, pod_set_key
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.decide import decide
from fairlead.live.scheduler.messages import explanation
from fairlead.model.workload import AUTO


async def look(client: Client, namespace: str, name: str, strategy: str = AUTO) -> dict[str, Any]:
    """What `/explain` of the scheduler tells, and where the pod would go if it were its turn.

    `told` is what its condition says. Kinds that the server does not have are passed over.
    """
    cache, records = Cache(), Records()
    kinds: list[tuple[Resource[Any], Callable[[Change[Any]], None]]] = [
        (NAMESPACES, cache.on_namespace),
        (NODES, cache.on_node),
        *cache.storage.watched(),
        *cache.rules.watched(),
    ]
    for resource, sink in kinds:
        try:
            found = await client.list(resource)
        except ApiError as error:
            if not error.not_found:
                raise
        else:
            for each in found.items:
                deliver(sink, Change("added", each))
    condition = ""
    for pod in (await client.list(PODS)).items:
        record = records.record(pod)
        deliver(cache.on_pod, Change("added", record))
        if record.key == (namespace, name):
            condition = _condition(pod)
    return _explained(cache, PodKey((namespace, name)), condition, strategy)


def _explained(cache: Cache, key: PodKey, condition: str, strategy: str) -> dict[str, Any]:
    pod = cache.pods.get(key)
    if pod is None:
        return {"pod": "/".join(key), "state": "unknown"}
    outcome = _next(cache, pod, strategy) if pod.waits and not pod.broken else None
    place = {each.key: node for each, node in outcome.placed}.get(key) if outcome else None
    record = explanation(pod, "", outcome if place is None else None)
    if place is not None:
        record["next"] = place
    if condition:
        record["told"] = condition
    return record


def _next(cache: Cache, pod: PodRecord, strategy: str) -> PodSetOutcome:
    """What would become of its group if it came first."""
    alike = [each for each in cache.waiting.values() if pod_set_key(each) == pod_set_key(pod)]
    (outcome,) = decide(cache.view(), grouped(alike), cache.per_node, cache.storage.demand, strategy)
    return outcome


def _condition(pod: Pod) -> str:
    return next((each.message for each in pod.status.conditions if each.type == "PodScheduled"), "")


def sentences(record: dict[str, Any]) -> tuple[str, ...]:
    """The record for people."""
    pod, state = record["pod"], record["state"]
    if state == "unknown":
        return (f"Pod {pod}: there is no such pod.",)
    lines = [f"Pod {pod}: {_where(record)}", f"  It is a replica of {record['controller']}, for {record['scheduler']}."]
    if record.get("message"):
        lines.append(f"  {record['message']}.")
    for each in record.get("rejected", ()):
        more = ", …" if each["count"] > len(each["names"]) else ""
        lines.append(f"  {each['code']}: {each['sentence']}; {each['count']} nodes ({', '.join(each['names'])}{more}).")
    if record.get("told"):
        lines.append(f"  Its condition says: {record['told']}.")
    return tuple(lines)


def _where(record: dict[str, Any]) -> str:
    if record["node"]:
        return f"{record['state']} to {record['node']}." if record["state"] == "bound" else f"{record['state']}."
    if record["state"] != "waiting":
        return f"it is {record['state']}."
    return f"it waits, and would go to {record['next']} if it came first." if record.get("next") else "it waits."
