"""Fairlead's own answer: the live scheduler's records, cache and filters on the same objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from fairlead.kube.changes import Change
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints
from fairlead.live.cluster.cache import Cache, ClusterView
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.pod_sets import grouped
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.decide import decide
from tools.oracle.draw import Draw
from tools.oracle.history import history, in_order
from tools.oracle.process import Admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """What Fairlead says of one pod: the nodes it may use, and the reason of each other node.

    `missing` is the constraint that Fairlead does not implement: it leaves such a pod pending and looks at no node.
    """

    feasible: frozenset[str]
    reasons: dict[str, str]
    missing: str = ""


def opinions(objects: Admitted, draw: Draw | None = None) -> Iterator[tuple[str, Opinion]]:
    """Every pod that waits, by namespace and name, with what Fairlead says of it.

    The objects come in order; with a draw they come as a history at random that ends with them.
    """
    cache = _known(history(objects, draw) if draw else in_order(objects))
    view = cache.view()
    for each in cache.pods.values():
        if not (each.node or each.finished or each.leaving):
            yield "/".join(each.key), _opinion(cache, view, each)


def after_one(objects: Admitted, pod: str, node: str) -> Opinion:
    """What Fairlead says of the next pod of the same shape once this one is placed on the node, in the same turn."""
    cache = _known(in_order(objects))
    view = cache.view()
    namespace, _, name = pod.partition("/")
    constraints = Constraints(view.nodes, cache.pods[PodKey((namespace, name))].shape, view.population)
    constraints.place(view.nodes.rows[node])
    return _said(view, constraints)


def _known(events: Iterable[tuple[str, Change[Any]]]) -> Cache:
    """The live scheduler's cache, fed as by watches."""
    cache, records = Cache(), Records()
    sinks: dict[str, Callable[[Change[Any]], object]] = {
        "namespaces": cache.on_namespace,
        "nodes": cache.on_node,
        "pods": lambda change: cache.on_pod(Change(change.kind, records.record(change.object))),
        **{resource.plural: sink for resource, sink in cache.storage.watched()},
    }
    for kind, change in events:
        sinks[kind](change)
    return cache


def _opinion(cache: Cache, view: ClusterView, pod: PodRecord) -> Opinion:
    if pod.broken:
        return Opinion(feasible=frozenset(), reasons={}, missing=pod.broken.split(": ")[-1])
    if pod.gated:
        return Opinion(feasible=frozenset(), reasons=dict.fromkeys(view.nodes.names, "gated"))
    also = reach(view.nodes, cache.storage.demand(pod)).passing if pod.volumes else NOTHING_MORE
    said = _said(view, Constraints(view.nodes, pod.shape, view.population, also))
    (outcome,) = decide(view, grouped([pod]), cache.per_node, cache.storage.demand)
    placed = {node for _, node in outcome.placed}
    if not placed <= said.feasible or bool(placed) != bool(said.feasible):
        raise AssertionError(f"{pod.key} was placed on {placed}, feasible are {sorted(said.feasible)}")
    return said


def _said(view: ClusterView, constraints: Constraints) -> Opinion:
    codes = dict(zip(view.nodes.names, constraints.codes().tolist(), strict=True))
    return Opinion(
        feasible=frozenset(name for name, code in codes.items() if not code),
        reasons={name: reasons.FILTERS[code - 1].code for name, code in codes.items() if code},
    )
