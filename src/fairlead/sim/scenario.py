"""A scenario as it is written, decoded strictly."""

from typing import Annotated, Any

import msgspec

from fairlead.model.amounts import Quantity
from fairlead.sim.durations import Span
from fairlead.text.documents import strict

Count = Annotated[int, msgspec.Meta(ge=0, le=10**7)]
Many = Annotated[int, msgspec.Meta(ge=1, le=10**6)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
# A list, not a tuple of two: a fixed tuple within a union crashes the decoder (msgspec 0.22) when garbage is collected.
Range = Annotated[list[Count], msgspec.Meta(min_length=2, max_length=2)]
Weight = Annotated[int, msgspec.Meta(ge=1, le=10**6)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A part of a scenario."""


class NodesIn(_Strict, kw_only=True, frozen=True):
    """`count` nodes alike, named `name-1`, `name-2` …; zones are dealt out in turn."""

    name: Name
    count: Many = 1
    cpu: Quantity
    memory: Quantity
    pods: Many = 110
    resources: dict[str, Quantity] = {}
    tier: str = ""
    zones: list[str] = []
    labels: dict[str, str] = {}


class ScenarioQueue(_Strict, kw_only=True, frozen=True):
    """A queue."""

    name: Name
    weight: Weight = 1
    capability: dict[str, Quantity] = {}


class ScenarioWorkload(_Strict, kw_only=True, frozen=True):
    """A workload that arrives `at` a time, and `times` in all, `every` so often. Without `duration` it stays.

    `tier`: `on-demand` (required), `spot` (preferred), or the least number or percentage on demand.
    """

    name: Name
    namespace: Name = "default"
    replicas: Count = 1
    cpu: Quantity = 0
    memory: Quantity = 0
    resources: dict[str, Quantity] = {}
    at: Span = 0
    every: Span | None = None
    times: Many = 1
    duration: Span | None = None
    queue: str = ""
    priority: int = 0
    gang: Count = 1
    tier: str | int = ""
    spread: str = ""
    labels: dict[str, str] = {}


class GenerateIn(_Strict, kw_only=True, frozen=True):
    """`arrivals` workloads at random times between `at` and `at + over`.

    `replicas` is a number or a range [low, high]; `cpu` and `memory` are drawn together from lists of the same length;
    `duration` is the mean of an exponential distribution; `namespaces` and `queues` are drawn by these odds;
    none: the default ones.
    """

    name: Name
    arrivals: Annotated[int, msgspec.Meta(ge=1, le=5 * 10**6)]
    at: Span = 0
    over: Span | None = None
    replicas: Count | Range = 1
    cpu: Quantity | list[Quantity] = "1"
    memory: Quantity | list[Quantity] = "1Gi"
    duration: Span = "30m"
    namespaces: dict[str, Weight] = {}
    queues: dict[str, Weight] = {}
    tier: str | int = ""
    priority: int = 0
    gang: bool = False


class SelectIn(_Strict, kw_only=True, frozen=True):
    """Nodes by name, tier and labels; of those that match, a `share` such as `50%` drawn by the seed."""

    nodes: list[str] = []
    tier: str = ""
    labels: dict[str, str] = {}
    share: str = "100%"


class EventIn(_Strict, kw_only=True, frozen=True):
    """One of: `interrupt` (spot nodes unless said otherwise), `fail`, `scale` with `replicas`, `finish`."""

    at: Span
    interrupt: SelectIn | None = None
    fail: SelectIn | None = None
    back: Span | None = None
    scale: str | None = None
    replicas: Count | None = None
    finish: str | None = None


class LifeIn(_Strict, kw_only=True, frozen=True):
    """Nodes of a tier (all, where none is named) go at random after `meanLife`, and are back after `back`."""

    tier: str = ""
    mean_life: Span
    back: Span | None = None


class Scenario(_Strict, kw_only=True, frozen=True):
    """Everything that is written. `manifests` and `trace` are paths seen from the scenario's own place."""

    name: str = ""
    seed: int = 1
    until: Span = "1d"
    cycle: Span = "1m"
    manifests: list[str] = []
    nodes: list[NodesIn] = []
    queues: list[ScenarioQueue] = []
    namespaces: dict[str, Weight] = {}
    workloads: list[ScenarioWorkload] = []
    generate: list[GenerateIn] = []
    trace: str = ""
    events: list[EventIn] = []
    lives: list[LifeIn] = []


def scenario_of(value: Any) -> Scenario:
    """A document as a scenario; bad input is told with its JSON path."""
    return strict(value, Scenario)
