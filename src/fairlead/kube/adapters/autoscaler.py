"""HorizontalPodAutoscaler: the bounds between which it moves its target, for a what-if."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

from fairlead.kube.objects.workloads import HorizontalPodAutoscaler

T = TypeVar("T")


class _Objects(Protocol):
    def of(self, kind: type[T]) -> list[T]: ...


def autoscaled(found: _Objects, bound: str) -> Iterator[str]:
    """Every target as `--scale` takes it, at its lowest (`min`) or highest (`max`) number of replicas."""
    for each in found.of(HorizontalPodAutoscaler):
        spec, target = each.spec, each.spec.scale_target_ref
        lowest = 1 if spec.min_replicas is None else spec.min_replicas
        wanted = spec.max_replicas if bound == "max" else lowest
        yield f"{target.kind.lower()}/{each.metadata.namespace or 'default'}/{target.name}={wanted}"
