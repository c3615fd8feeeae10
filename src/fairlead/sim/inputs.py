"""Workloads for a story from what a user writes: amounts, a wish for a tier, a gang, a spread."""

from collections.abc import Mapping

from fairlead.levels.tier.minimum import parse_minimum
from fairlead.model.amounts import Quantity, amount, amounts
from fairlead.model.errors import InputError
from fairlead.model.selectors import LabelSelector, Operator, Requirement
from fairlead.model.shape import Shape, Spread
from fairlead.model.workload import Workload
from fairlead.sim.events import Arrival

ZONE = "topology.kubernetes.io/zone"
APP = "app"
_TIERS = ("", "on-demand", "spot")


def shape_of(
    namespace: str, request: Mapping[str, int], labels: Mapping[str, str] | None = None, spread: str = ""
) -> Shape:
    """The shape; every replica takes one of the node's `pods`. `spread` is a node label over which it is kept even."""
    pairs = tuple(sorted((labels or {}).items()))
    key = ZONE if spread == "zone" else spread
    alike = LabelSelector(tuple(Requirement(name, Operator.IN, (value,)) for name, value in pairs))
    return Shape(
        namespace=namespace,
        labels=pairs,
        request=tuple(sorted({**request, "pods": 1}.items())),
        spread=(Spread(key=key, most_skew=1, hard=False, selector=alike),) if key else (),
    )


def request_of(cpu: Quantity, memory: Quantity, more: Mapping[str, Quantity], path: str) -> dict[str, int]:
    """The amounts one replica asks for; zeros are left out."""
    wanted = {"cpu": amount("cpu", cpu, f"{path}.cpu"), "memory": amount("memory", memory, f"{path}.memory")}
    wanted |= amounts(more, f"{path}.resources")
    return {name: value for name, value in wanted.items() if value}


def tier_of(text: str | int, path: str) -> tuple[str, str | None]:
    """The wish in words and the least number on demand: one of them, or neither."""
    text = str(text)
    if text in _TIERS:
        return text, None
    if parse_minimum(text) is None:
        raise InputError(path, f'{text!r}; expected "on-demand", "spot", a whole number or a percentage')
    return "", text


def arrival(
    at_ms: int,
    name: str,
    shape: Shape,
    replicas: int,
    duration_ms: int | None,
    *,
    queue: str = "",
    priority: int = 0,
    gang: int = 1,
    tier: tuple[str, str | None] = ("", None),
) -> Arrival:
    """A workload that arrives. One with a minimum on demand is a Deployment, everything else is a Job to the levels."""
    wish, least = tier
    workload = Workload(
        kind="Deployment" if least is not None else "Job",
        namespace=shape.namespace,
        name=name,
        replicas=replicas,
        shape=shape,
        tiered=least is not None,
        min_available=least,
        queue=queue,
        priority=priority,
        least_together=gang,
    )
    return Arrival(at_ms=at_ms, workload=workload, duration_ms=duration_ms, tier=wish)
