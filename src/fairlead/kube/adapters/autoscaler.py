"""HorizontalPodAutoscaler: the bounds between which it moves its target, for a what-if."""

from collections.abc import Container
from typing import Protocol, TypeVar

from fairlead.kube.objects.workloads import HorizontalPodAutoscaler

T = TypeVar("T")


class _Objects(Protocol):
    def of(self, kind: type[T]) -> list[T]: ...


def autoscaled(found: _Objects, bound: str, workloads: Container[str]) -> tuple[list[str], list[str]]:
    """Every target as `--scale` takes it, at its lowest (`min`) or highest (`max`) number of replicas.

    An autoscaler whose target is none of the workloads (their keys) scales nothing: what to say of it comes second.
    """
    asked, astray = [], []
    for each in found.of(HorizontalPodAutoscaler):
        spec, target = each.spec, each.spec.scale_target_ref
        lowest = 1 if spec.min_replicas is None else spec.min_replicas
        wanted = spec.max_replicas if bound == "max" else lowest
        namespace = each.metadata.namespace or "default"
        key = f"{target.kind}/{namespace}/{target.name}"
        if key in workloads:
            asked.append(f"{key}={wanted}")
        else:
            title = f"HorizontalPodAutoscaler {namespace}/{each.metadata.name}"
            astray.append(f"{title}: there is no {target.kind} {namespace}/{target.name} to scale; it is left out")
    return asked, astray
