"""The last schedule result of a binding: the proposal's `{replicaScheduling, clusters}` plus `replicas`, read and made.

It stands in `status.lastScheduleResult` where the CRD has that field, else in an annotation with the same content.
"""

import json
from collections.abc import Mapping
from typing import Any

from fairlead.kube.codec.placement import MOST, mode_of, weights_of
from fairlead.kube.objects.karmada import ReplicaScheduling, ResourceBinding, TargetCluster
from fairlead.kube.objects.meta import ApiShape
from fairlead.levels.fleet.divide import Division
from fairlead.model.clusters import ClusterTable, Traits
from fairlead.model.division import Mode, PriorDivision
from fairlead.model.errors import InputError
from fairlead.text.mistakes import converted, parsed

ANNOTATION = "fairlead.io/last-schedule-result"
"""Annotation of a binding: the last division, where its definition has no field for that."""

_SCHEDULING: Mapping[Mode, Mapping[str, Any]] = {
    Mode.DUPLICATED: {"replicaSchedulingType": "Duplicated"},
    Mode.AGGREGATED: {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    Mode.DYNAMIC: {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
_MODES = {mode.value: mode for mode in Mode}
_STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}


class LastResult(ApiShape, frozen=True):
    """What is stored. `mode` tells rounding by Webster from static, which Karmada's fields do not."""

    replicas: int = 0
    mode: str = ""
    replica_scheduling: ReplicaScheduling | None = None
    clusters: tuple[TargetCluster, ...] = ()


def record(division: Division, replicas: int, clusters: ClusterTable) -> dict[str, Any]:
    """What to store of a division: every cluster that took part, those with 0 too, each with its weight."""
    chosen = [name for name in clusters.names if name not in division.removed]
    if division.mode in _SCHEDULING:
        scheduling = dict(_SCHEDULING[division.mode])
    else:
        rules = [
            {"targetCluster": {"clusterNames": [name]}, "weight": int(clusters.weights[clusters.row[name]])}
            for name in chosen
        ]
        scheduling = {**_STATIC, "weightPreference": {"staticWeightList": rules}}
    return {
        "replicas": replicas,
        "mode": division.mode.value,
        "replicaScheduling": scheduling,
        "clusters": [{"name": name, "replicas": division.placements[name]} for name in chosen],
    }


def text(stored: Mapping[str, Any]) -> str:
    """The annotation's text: the same content always gives the same bytes."""
    return json.dumps(stored, sort_keys=True, separators=(",", ":"))


def prior_of(binding: ResourceBinding) -> PriorDivision | None:
    """The prior of a binding; None where it was never scheduled. `InputError` where the record cannot be read.

    Counts and targets are what `spec.clusters` says today; the record adds mode, replicas, weights and the clusters
    that got nothing. Without a record another scheduler made it: the counts are known, but not by which weights, so
    the mode is one after which a static division draws.
    """
    running = {each.name: each.replicas for each in binding.spec.clusters}
    stored = _stored(binding)
    for count in (*running.values(), stored.replicas if stored else 0):
        if not 0 <= count <= MOST:
            who = f"{binding.metadata.namespace}/{binding.metadata.name}".lstrip("/")
            raise InputError(f"{who}: the last result", f"{count} replicas; expected 0 to 2^48")
    if stored is None or not stored.clusters:
        if not running:
            return None
        replicas = sum(running.values())
        return PriorDivision(mode=Mode.WEBSTER, replicas=replicas, counts=running, targets=frozenset(running))
    names = [each.name for each in stored.clusters]
    mode = _MODES.get(stored.mode) or mode_of(stored.replica_scheduling)
    who = f"{binding.metadata.namespace}/{binding.metadata.name}: last schedule result"
    return PriorDivision(
        mode=mode,
        replicas=stored.replicas,
        weights=weights_of(stored.replica_scheduling, dict.fromkeys(names, Traits()), who),
        counts={**dict.fromkeys(names, 0), **running},
        targets=frozenset(running),
    )


def _stored(binding: ResourceBinding) -> LastResult | None:
    place = f"{binding.metadata.namespace}/{binding.metadata.name}: last schedule result"
    if binding.status.last_schedule_result is not None:
        return converted(binding.status.last_schedule_result, LastResult, place)
    written = binding.metadata.annotations.get(ANNOTATION)
    return None if written is None else parsed(written, LastResult, place)
