"""What the scheduler knows, as one list of objects that `fairlead plan` reads."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import msgspec

from fairlead.kube.codec.queues import GROUPS, PREEMPTABLE, QUEUES, TASK
from fairlead.kube.codec.specs import spec_of
from fairlead.kube.resources import PODS, Resource
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.records import BIND_CPU, CORES, STRATEGY, PodRecord

Known = Iterable[tuple[Resource[Any], Iterable[msgspec.Struct]]]


def dump(known: Known, pods: Iterable[PodRecord], assumed: Mapping[PodKey, str]) -> Callable[[], bytes]:
    """Every object that is kept whole, and the pods as far as they are remembered; JSON.

    A pod that has been placed and not yet bound stands on its node. All of it is taken at once; what is returned
    renders it and may be called in another thread while the cluster moves on.
    """
    kept = [(resource, tuple(objects)) for resource, objects in known]
    placed = [(each, assumed.get(each.key, "")) for each in pods]

    def render() -> bytes:
        whole = (
            {"apiVersion": resource.api_version, "kind": resource.kind, **msgspec.to_builtins(each)}
            for resource, objects in kept
            for each in objects
        )
        # One object at a time: to encode all of them in one call would stop every other thread for as long.
        items = b",".join(map(msgspec.json.encode, chain(whole, (_pod(*each) for each in placed))))
        return b'{"apiVersion":"v1","kind":"List","items":[' + items + b"]}"

    return render


def _pod(pod: PodRecord, assumed: str) -> dict[str, Any]:
    node = pod.node or assumed
    claims = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, (name, _) in enumerate(pod.claims)
    ]
    spec = spec_of(pod.shape, pod.request)
    phase = ("Succeeded" if pod.succeeded else "Failed") if pod.finished else "Running" if pod.node else "Pending"
    return {
        "apiVersion": PODS.api_version,
        "kind": PODS.kind,
        "metadata": _metadata(pod),
        "spec": {
            **spec,
            "nodeName": node,
            "schedulerName": pod.scheduler,
            "priority": pod.priority,
            "priorityClassName": pod.priority_class,
            "preemptionPolicy": "" if pod.preempts else "Never",
            "volumes": [*spec.pop("volumes", ()), *claims],
            "schedulingGates": [{"name": "held-back"}] if pod.gated else [],
            **({"schedulingGroup": {"podGroupName": pod.queue_fields.native}} if pod.queue_fields.native else {}),
        },
        "status": {"phase": phase},
    }


def _metadata(pod: PodRecord) -> dict[str, Any]:
    annotations = {
        STRATEGY: pod.strategy,
        BIND_CPU: "true" if pod.pieces else "",
        CORES: ",".join(f"{core}={pieces}" for core, pieces in pod.cores),
        GROUPS[0]: pod.queue_fields.group,
        QUEUES[0]: pod.queue_fields.queue,
        TASK: pod.queue_fields.task,
        PREEMPTABLE: "" if pod.queue_fields.preemptable else "false",
    }
    found: dict[str, Any] = {
        "name": pod.metadata.name,
        "namespace": pod.metadata.namespace,
        "uid": pod.metadata.uid,
        "resourceVersion": pod.metadata.resource_version,
        "labels": dict(pod.shape.labels),
        "annotations": {key: value for key, value in annotations.items() if value},
        "creationTimestamp": pod.created or None,
        "ownerReferences": [msgspec.to_builtins(pod.owner)] if pod.owner else [],
    }
    if pod.leaving:
        found["deletionTimestamp"] = pod.created
    return found
