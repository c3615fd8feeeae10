"""Member clusters as rows of the fleet level: what policies ask of them, and how much of a workload still fits."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.codec.groups import ALONE, Neighbours
from fairlead.kube.codec.placement import ANNOTATION, MOST, Bound, Knobs, mode_of, weights_of
from fairlead.kube.objects.karmada import ClusterStatus, KarmadaCluster, KarmadaPlacement, ReplicaScheduling
from fairlead.kube.objects.meta import Condition, ObjectMeta
from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.room import NO_ROOM, PODS, Grade, Part, holds_set, room_of, sum_of
from fairlead.model.amounts import exact
from fairlead.model.clusters import NO_LIMIT, UNKNOWN, ClusterTable, Traits, cluster_table
from fairlead.model.division import Mode
from fairlead.model.errors import InputError
from fairlead.model.reasons import Reason
from fairlead.model.selectors import Taint

UNREAD = "fairlead.io/Unread"
"""Marks the stand-in of a cluster that cannot be read."""
COMPLETE = "CompleteAPIEnablements"
"""The condition by which a cluster tells whether its list of kinds is complete."""

_Sums = tuple[dict[str, int], dict[str, int], dict[str, int]]


def serves(cluster: KarmadaCluster, api_version: str, kind: str) -> bool:
    """Whether the cluster lists the kind. One that never reported its kinds, as in a manifest, may serve it."""
    listed = cluster.status.api_enablements
    reported = listed or any(each.type == COMPLETE for each in cluster.status.conditions)
    if not kind or not reported:
        return True
    return any(
        each.group_version == api_version and any(resource.kind == kind for resource in each.resources)
        for each in listed
    )


def traits_of(cluster: KarmadaCluster) -> Traits:
    """What a policy may ask of a Karmada cluster."""
    spec = cluster.spec
    return Traits(
        labels=cluster.metadata.labels,
        region=spec.region,
        zones=spec.zones or ((spec.zone,) if spec.zone else ()),
        provider=spec.provider,
        taints=tuple(Taint(key=each.key, value=each.value, effect=each.effect or "NoSchedule") for each in spec.taints),
        deleting=cluster.metadata.deletion_timestamp is not None,
        unknown=any(each.type == UNREAD for each in cluster.status.conditions),
    )


def unread_cluster(name: str) -> KarmadaCluster:
    """Stands for a cluster that is there but could never be read (docs/decisions/0215)."""
    return KarmadaCluster(metadata=ObjectMeta(name=name), status=ClusterStatus(conditions=(Condition(type=UNREAD),)))


MOST_REQUESTS = 1024
"""Distinct requests whose room is remembered."""
MOST_POLICIES = 4096
"""Distinct rules of weights that are remembered."""


class MemberClusters(tuple[KarmadaCluster, ...]):
    """The clusters of a fleet between two changes of them: what no binding changes is worked out once."""

    @staticmethod
    def of(clusters: Iterable[KarmadaCluster]) -> "MemberClusters":
        """The clusters themselves where they are members already."""
        return clusters if isinstance(clusters, MemberClusters) else MemberClusters(clusters)

    @cached_property
    def traits(self) -> tuple[Traits, ...]:
        """What policies may ask of each."""
        return tuple(map(traits_of, self))

    @cached_property
    def by_name(self) -> Mapping[str, Traits]:
        """The traits by the name of the cluster."""
        return {each.metadata.name: traits for each, traits in zip(self, self.traits, strict=True)}

    def weights(self, scheduling: ReplicaScheduling | None, who: str) -> Mapping[str, int]:
        """The weight of each by a policy's rules: many bindings have one policy."""
        key = msgspec.json.encode(scheduling)
        if key not in self._weights:
            if len(self._weights) >= MOST_POLICIES:
                self._weights.clear()
            self._weights[key] = weights_of(scheduling, self.by_name, who)
        return self._weights[key]

    def all_serve(self, api: tuple[str, str]) -> bool:
        """Whether every one may serve the kind."""
        if api not in self._served:
            self._served[api] = all(serves(each, *api) for each in self)
        return self._served[api]

    @cached_property
    def _weights(self) -> dict[bytes, dict[str, int]]:
        return {}

    @cached_property
    def _served(self) -> dict[tuple[str, str], bool]:
        return {}

    def reported(self, request: Mapping[str, int]) -> tuple[int | None, ...]:
        """Room of each for replicas of this request; None where the cluster does not report its room."""
        key = tuple(sorted(request.items()))
        if key not in self._rooms:
            if len(self._rooms) >= MOST_REQUESTS:
                self._rooms.clear()
            self._rooms[key] = tuple(_reported(each, request) for each in self)
        return self._rooms[key]

    @cached_property
    def _rooms(self) -> dict[tuple[tuple[str, int], ...], tuple[int | None, ...]]:
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementClaims:
    """What a workload asks of a cluster besides its placement.

    `request` is of one replica; `parts` are those of a set, which goes whole; `evicting` names the clusters it is
    leaving. `estimates` is how many replicas or whole sets fit by the account of estimators, where there are some.
    """

    request: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    evicting: frozenset[str] = frozenset()
    api: tuple[str, str] = ("", "")
    neighbours: Neighbours = ALONE
    estimates: Mapping[str, int] = field(default_factory=dict)


def barred_by(cluster: KarmadaCluster, claims: PlacementClaims) -> Reason | None:
    """Why nothing new of the workload may come to the cluster."""
    name, near = cluster.metadata.name, claims.neighbours.near
    if not serves(cluster, *claims.api):
        return reasons.KIND_NOT_SERVED
    if near is not None and name not in near:
        return reasons.FAR_FROM_GROUP
    if name in claims.neighbours.apart:
        return reasons.NEAR_GROUP
    if claims.parts and not (_holds(cluster, claims.parts) and claims.estimates.get(name, 1)):
        return reasons.SET_WITHOUT_ROOM
    return None


def table_of(
    clusters: Sequence[KarmadaCluster],
    placement: KarmadaPlacement,
    knobs: Knobs,
    who: str,
    claims: PlacementClaims,
) -> ClusterTable:
    """Karmada's clusters as rows. Room is reckoned from the resource summary; without one it is not reported, and in
    modes that divide by room there is none, as in Karmada.
    """
    members = MemberClusters.of(clusters)
    traits = _traits(members, claims)
    weights = members.weights(placement.replica_scheduling, who)
    by_room = mode_of(placement.replica_scheduling) in (Mode.DYNAMIC, Mode.AGGREGATED)
    silent = NO_ROOM if by_room else UNKNOWN
    bounds = [knobs.clusters.get(name, Bound()) for name in traits]
    for name, bound in zip(traits, bounds, strict=True):
        if bound.max is not None and bound.max < bound.min:
            raise InputError(f"{who}: annotation {ANNOTATION}", f"max of {name} is {bound.max}; expected at least min")
    return cluster_table(
        list(traits),
        weights=[weights[name] for name in traits],
        capacity=[
            _room(silent if reported is None else reported, claims.estimates.get(name))
            for name, reported in zip(traits, members.reported(claims.request), strict=True)
        ],
        minimum=[bound.min for bound in bounds],
        maximum=[NO_LIMIT if bound.max is None else bound.max for bound in bounds],
        traits=list(traits.values()),
    )


def _traits(members: MemberClusters, claims: PlacementClaims) -> Mapping[str, Traits]:
    """By name, as a workload with these claims sees them; most workloads bar no cluster."""
    neighbours = claims.neighbours
    free = neighbours.near is None and not (neighbours.apart or claims.evicting or claims.parts)
    if free and members.all_serve(claims.api):
        return members.by_name
    return {
        each.metadata.name: _claimed(each, known, claims) for each, known in zip(members, members.traits, strict=True)
    }


def _claimed(cluster: KarmadaCluster, traits: Traits, claims: PlacementClaims) -> Traits:
    """The traits as a workload with these claims sees them."""
    evicting, barred = cluster.metadata.name in claims.evicting, barred_by(cluster, claims)
    return replace(traits, evicting=evicting, barred=barred) if evicting or barred else traits


def _room(reported: int, estimate: int | None) -> int:
    """Whole replicas that still fit: the lower of what the cluster reports and what its estimator says."""
    if estimate is None:
        return reported
    return min(estimate, MOST) if reported == UNKNOWN else min(reported, estimate)


def _reported(cluster: KarmadaCluster, request: Mapping[str, int]) -> int | None:
    """Room by the amounts that the cluster reports; None where it says nothing of its room.

    Amounts that cannot be read say nothing; `unreadable` tells of them.
    """
    try:
        sums = _sums(cluster, (PODS, *request))
        return None if sums is None else min(room_of(*sums, request, _grades(cluster)), MOST)
    except InputError:
        return None


def _holds(cluster: KarmadaCluster, parts: Sequence[Part]) -> bool:
    """Whether a cluster holds a whole set, by its sums and by the grades of its nodes; one that says nothing may."""
    whole = sum_of(parts)
    try:
        sums, grades = _sums(cluster, tuple(whole)), _grades(cluster)
    except InputError:
        return True
    if sums is None:
        return True
    allocatable, allocated, allocating = sums
    return holds_set(grades, parts) and all(
        allocatable.get(name, 0) - allocated.get(name, 0) - allocating.get(name, 0) >= amount
        for name, amount in whole.items()
        if amount
    )


def readable(cluster: KarmadaCluster) -> None:
    """Raises what reading the cluster as a row raises."""
    table_of([cluster], KarmadaPlacement(), Knobs(), cluster.metadata.name, PlacementClaims())


def unreadable(cluster: KarmadaCluster) -> InputError | None:
    """What of the amounts that a cluster reports cannot be read; its room is then not known (decisions/0202)."""
    try:
        _sums(cluster)
        _grades(cluster)
    except InputError as error:
        return error
    return None


def _sums(cluster: KarmadaCluster, names: Sequence[str] | None = None) -> _Sums | None:
    """Allocatable, allocated and allocating of these resources (None: of all); None where nothing is reported.

    Exactly, however large: they are only compared.
    """
    summary = cluster.status.resource_summary
    if summary is None:
        return None
    who = f"Cluster {cluster.metadata.name}: status.resourceSummary"

    def read(part: str) -> dict[str, int]:
        given: Mapping[str, str | int | float] = getattr(summary, part)
        read_of = given if names is None else [name for name in names if name in given]
        return {name: exact(name, given[name], f"{who}.{part}.{name}") for name in read_of}

    return read("allocatable"), read("allocated"), read("allocating")


def _grades(cluster: KarmadaCluster) -> list[Grade]:
    """The grades of the cluster's nodes, by its resource models; none where it counts no nodes by grade."""
    summary = cluster.status.resource_summary
    counts = {each.grade: each.count for each in summary.allocatable_modelings} if summary else {}
    if not counts:
        return []
    who = f"Cluster {cluster.metadata.name}: spec.resourceModels"
    return [
        Grade(
            nodes=counts.get(model.grade, 0),
            least={each.name: exact(each.name, each.min, f"{who}.{each.name}.min") for each in model.ranges},
        )
        for model in cluster.spec.resource_models
    ]
