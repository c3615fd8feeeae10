"""HorizontalPodAutoscaler: the bounds between which it keeps its target."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from fairlead.kube.objects.workloads import HorizontalPodAutoscaler
from fairlead.model.order import natural_key

T = TypeVar("T")
Bounds = dict[str, tuple[int, int]]
"""The least and the most replicas of each workload that is scaled, by its key KIND/NAMESPACE/NAME."""


class _Objects(Protocol):
    def of(self, kind: type[T]) -> list[T]: ...


def autoscaled(found: _Objects, bound: str, replicas: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Every target as `--scale` takes it, at its lowest (`min`) or highest (`max`) number of replicas.

    `replicas` are those of each workload by key. Of several autoscalers of one target the first by name counts, as in a
    plan. One scales nothing where its target is no workload, or has no replicas (unless these are its own minimum):
    what to say of it comes second.
    """
    asked, astray = dict[str, int](), []
    for each, key, bounds in _targets(found.of(HorizontalPodAutoscaler)):
        kind, _, target = key.partition("/")
        title = f"HorizontalPodAutoscaler {each.metadata.namespace or 'default'}/{each.metadata.name}"
        if key not in replicas:
            astray.append(f"{title}: there is no {kind} {target} to scale; it is left out")
        elif not replicas[key] and bounds[0]:
            astray.append(f"{title}: {kind} {target} has 0 replicas, which no autoscaler changes; it is left out")
        else:
            asked.setdefault(key, bounds[bound == "max"])
    return [f"{key}={count}" for key, count in asked.items()], astray


def bounds_of(scalers: Iterable[HorizontalPodAutoscaler]) -> Bounds:
    """By target; of several autoscalers of one target, which would fight over it, the first by name."""
    bounds: Bounds = {}
    for _, key, own in _targets(scalers):
        bounds.setdefault(key, own)
    return bounds


def within(bounds: Bounds, key: str, replicas: int | None) -> int | None:
    """The number that the autoscaler keeps at least or at most, whatever it measures; one of 0 replicas stays so."""
    least, most = bounds.get(key, (None, None))
    if least is None or most is None or replicas == 0:
        return replicas
    return max(least, min(most, 1 if replicas is None else replicas))


def _targets(
    scalers: Iterable[HorizontalPodAutoscaler],
) -> Iterator[tuple[HorizontalPodAutoscaler, str, tuple[int, int]]]:
    for each in sorted(scalers, key=lambda scaler: natural_key(scaler.metadata.name)):
        spec, target = each.spec, each.spec.scale_target_ref
        least = 1 if spec.min_replicas is None else spec.min_replicas
        yield each, f"{target.kind}/{each.metadata.namespace or 'default'}/{target.name}", (least, spec.max_replicas)
