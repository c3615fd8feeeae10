"""Bindings and clusters for tests of the fleet scheduler, and a binding as it is after a verdict was written."""

from typing import Any

import msgspec

from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.live.fleet import report
from fairlead.live.fleet.decide import BindingVerdict


def cluster(name: str, *effects: str, **status: Any) -> KarmadaCluster:
    """A cluster with a taint of each effect."""
    taints = [{"key": "cluster.karmada.io/not-ready", "effect": effect} for effect in effects]
    return msgspec.convert({"metadata": {"name": name}, "spec": {"taints": taints}, "status": status}, KarmadaCluster)


def binding(name: str, placement: dict[str, Any], replicas: int = 0, **spec: Any) -> ResourceBinding:
    """A binding of a workload, or without replicas of an object that has none."""
    kind = "Deployment" if replicas else "ConfigMap"
    body = {"resource": {"kind": kind, "name": name, "uid": f"uid-{name}"}, "placement": placement}
    counted = {"replicas": replicas, "replicaRequirements": {}} if replicas else {}
    return msgspec.convert(
        {
            "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}-{kind}", "generation": 1},
            "spec": {**body, **counted, "schedulerName": "fairlead", **spec},
        },
        ResourceBinding,
    )


def with_spec(found: ResourceBinding, **fields: Any) -> ResourceBinding:
    """The binding with other fields of its spec, as another writer leaves it."""
    body = msgspec.to_builtins(found)
    body["spec"].update(fields)
    body["metadata"]["generation"] = found.metadata.generation + 1
    return msgspec.convert(body, ResourceBinding)


def written(verdict: BindingVerdict, now: float = 1.8e9) -> ResourceBinding:
    """The binding after both writes."""
    body = msgspec.to_builtins(verdict.binding)
    generation = verdict.binding.metadata.generation
    patch = report.spec_patch(verdict, field=False) or {}
    if "spec" in patch:
        generation += 1
    found = report.as_found(verdict.binding)
    body = merged(body, patch)
    body = merged(body, report.status_patch(verdict, found, generation, now, field=False))
    body["metadata"]["generation"] = generation
    return msgspec.convert(body, ResourceBinding)


def merged(body: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A merge patch (RFC 7396)."""
    result = dict(body)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict):
            result[name] = merged(result.get(name) or {}, value)
        else:
            result[name] = value
    return result


def with_annotations(found: ResourceBinding, said: dict[str, str]) -> ResourceBinding:
    """The binding with these annotations beside its own."""
    meta = msgspec.structs.replace(found.metadata, annotations={**found.metadata.annotations, **said})
    return msgspec.structs.replace(found, metadata=meta)
