"""A Karmada placement in the words of the fleet level: policy, cluster table, weights.

What Karmada's fields cannot say is said by the annotation `fairlead.io/divide`, a JSON object on the policy or the
binding.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Literal

import msgspec

from fairlead.kube.codec.groups import ALONE, Neighbours
from fairlead.kube.objects.affinity import TolerationSpec as TolerationShape
from fairlead.kube.objects.karmada import (
    ClusterAffinity,
    ClusterStatus,
    KarmadaCluster,
    KarmadaPlacement,
    ReplicaScheduling,
    SpreadConstraint,
)
from fairlead.kube.objects.meta import Condition, LabelSelectorSpec, ObjectMeta, RequirementSpec
from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.match import OPERATORS, suits
from fairlead.levels.fleet.room import NO_ROOM, PODS, Grade, room_of
from fairlead.model.amounts import exact
from fairlead.model.clusters import NO_LIMIT, UNKNOWN, ClusterTable, Traits, cluster_table
from fairlead.model.division import (
    DividePolicy,
    Expression,
    FleetAffinity,
    FleetSpread,
    Mode,
    Reschedule,
    SpreadBy,
    Sticky,
    Ties,
)
from fairlead.model.errors import InputError
from fairlead.model.reasons import Reason
from fairlead.model.selectors import Taint, Toleration
from fairlead.text.mistakes import mistake

ANNOTATION = "fairlead.io/divide"
UNREAD = "fairlead.io/Unread"
"""Marks the stand-in of a cluster that cannot be read."""
COMPLETE = "CompleteAPIEnablements"
"""The condition by which a cluster tells whether its list of kinds is complete."""
MOST = 2**48
"""Room beyond this is as good as none at all missing; it keeps sums exact."""
_MOST_WEIGHT = 2**62
_FIELDS = ("region", "zone", "provider")
_SPREAD_FIELDS = ("cluster", *_FIELDS)

_Sums = tuple[dict[str, int], dict[str, int], dict[str, int]]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class Bound(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The least and the most replicas in a cluster."""

    min: Count = 0
    max: Count | None = None


class Knobs(msgspec.Struct, forbid_unknown_fields=True, rename="camel", frozen=True):
    """The annotation's content: what is beyond Karmada's own fields. `mode` chooses how static weights are rounded."""

    mode: Literal["static", "webster"] = "static"
    sticky: Sticky = Sticky.MOST
    rescheduling: Literal["steady", "fresh"] = "steady"
    ties: Ties = Ties.UID
    capacity_coefficient: float | None = None
    respect_room: bool = False
    partial: bool = False
    packed: bool = False
    balance_residuals: bool = False
    clusters: dict[str, Bound] = msgspec.field(default_factory=dict)


def knobs_of(annotations: Mapping[str, str], who: str) -> Knobs:
    """The annotation's content, the defaults where there is none; `InputError` where it cannot be read."""
    text = annotations.get(ANNOTATION)
    if text is None:
        return Knobs()
    try:
        knobs = msgspec.json.decode(text, type=Knobs)
    except msgspec.DecodeError as error:
        raise mistake(error, f"{who}: annotation {ANNOTATION}") from None
    if knobs.capacity_coefficient is not None and not 0 <= knobs.capacity_coefficient <= 1:
        value = knobs.capacity_coefficient
        raise InputError(f"{who}: annotation {ANNOTATION}", f"capacityCoefficient {value}; expected 0 to 1")
    return knobs


def mode_of(scheduling: ReplicaScheduling | None, static: Mode = Mode.STATIC) -> Mode:
    """The mode a placement asks for: no block means Duplicated, inside it Divided and Weighted are the defaults."""
    if scheduling is None or scheduling.replica_scheduling_type == "Duplicated":
        return Mode.DUPLICATED
    if scheduling.replica_division_preference == "Aggregated":
        return Mode.AGGREGATED
    preference = scheduling.weight_preference
    return Mode.DYNAMIC if preference is not None and preference.dynamic_weight else static


def policy_of(
    placement: KarmadaPlacement, knobs: Knobs, who: str, *, fresh: bool = False, observed: str = ""
) -> DividePolicy:
    """The policy of a placement; `who` names its object in errors.

    `observed` is the affinity group that holds the workload now: it is tried first, then those after it, then those
    before. A fresh start begins with the first (docs/decisions/0218).
    """
    one = () if placement.cluster_affinity is None else (placement.cluster_affinity,)
    fresh = fresh or knobs.rescheduling == "fresh"
    groups = one or _from(placement.cluster_affinities, "" if fresh else observed)
    if placement.spread_constraints and any(each.overflow_affinities for each in groups):
        raise InputError(f"{who}: overflowAffinities", "cannot be obeyed together with spreadConstraints")
    coefficient = knobs.capacity_coefficient
    return DividePolicy(
        mode=mode_of(placement.replica_scheduling, Mode(knobs.mode)),
        sticky=knobs.sticky,
        coefficient=None if coefficient is None else Fraction(str(coefficient)),
        reschedule=Reschedule.FRESH if fresh else Reschedule.STEADY,
        ties=knobs.ties,
        respect_room=knobs.respect_room,
        partial=knobs.partial,
        packed=knobs.packed,
        balance_residuals=knobs.balance_residuals,
        affinities=tuple(affinity_of(each, who) for each in groups),
        tolerations=tuple(_toleration(each) for each in placement.cluster_tolerations),
        spread=tuple(_spread(each, who) for each in placement.spread_constraints),
    )


def _from(groups: tuple[ClusterAffinity, ...], observed: str) -> tuple[ClusterAffinity, ...]:
    """The groups from the observed one on, those before it last."""
    names = [each.affinity_name for each in groups]
    start = names.index(observed) if observed in names else 0
    return groups[start:] + groups[:start]


def affinity_of(given: ClusterAffinity, who: str) -> FleetAffinity:
    """Karmada's cluster affinity; an absent selector asks for nothing."""
    labels = given.label_selector or LabelSelectorSpec()
    fields = given.field_selector.match_expressions if given.field_selector else ()
    for each in fields:
        if each.key not in _FIELDS:
            raise InputError(f"{who}: fieldSelector", f"key {each.key!r}; expected one of {', '.join(_FIELDS)}")
    return FleetAffinity(
        name=given.affinity_name,
        labels=labels.match_labels,
        expressions=_expressions(labels.match_expressions, f"{who}: labelSelector"),
        fields=_expressions(fields, f"{who}: fieldSelector"),
        names=given.cluster_names,
        exclude=given.exclude,
        overflow=tuple(affinity_of(each, who) for each in given.overflow_affinities),
    )


def _expressions(given: Iterable[RequirementSpec], who: str) -> tuple[Expression, ...]:
    result = []
    for each in given:
        if each.operator not in OPERATORS:
            raise InputError(who, f"operator {each.operator!r}; expected one of {', '.join(OPERATORS)}")
        result.append(Expression(key=each.key, operator=each.operator, values=each.values))
    return tuple(result)


def _toleration(given: TolerationShape) -> Toleration:
    return Toleration(key=given.key, operator=given.operator or "Equal", value=given.value, effect=given.effect)


def _spread(given: SpreadConstraint, who: str) -> FleetSpread:
    if given.spread_by_label:
        by = SpreadBy.LABEL
    elif not given.spread_by_field:
        by = SpreadBy.CLUSTER
    elif given.spread_by_field in _SPREAD_FIELDS:
        by = SpreadBy(given.spread_by_field)
    else:
        expected = "cluster, region, zone or provider, or spreadByLabel"
        raise InputError(f"{who}: spreadConstraints", f"spreadByField {given.spread_by_field!r}; expected {expected}")
    least, most = max(given.min_groups, 0), given.max_groups
    if most < 0 or (most and most < least):
        raise InputError(f"{who}: spreadConstraints", f"maxGroups {most}; expected at least minGroups ({least})")
    return FleetSpread(by=by, label=given.spread_by_label, least=least, most=most)


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


def traits_of(cluster: KarmadaCluster, *, evicting: bool = False, barred: Reason | None = None) -> Traits:
    """What a policy may ask of a Karmada cluster."""
    spec = cluster.spec
    return Traits(
        labels=cluster.metadata.labels,
        region=spec.region,
        zones=spec.zones or ((spec.zone,) if spec.zone else ()),
        provider=spec.provider,
        taints=tuple(Taint(key=each.key, value=each.value, effect=each.effect or "NoSchedule") for each in spec.taints),
        deleting=cluster.metadata.deletion_timestamp is not None,
        evicting=evicting,
        barred=barred,
        unknown=any(each.type == UNREAD for each in cluster.status.conditions),
    )


def unread_cluster(name: str) -> KarmadaCluster:
    """Stands for a cluster that is there but could never be read (docs/decisions/0215)."""
    return KarmadaCluster(metadata=ObjectMeta(name=name), status=ClusterStatus(conditions=(Condition(type=UNREAD),)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementClaims:
    """What a workload asks of a cluster besides its placement.

    `request` is of one replica, `whole` of all its components together; `evicting` names the clusters it is leaving.
    """

    request: Mapping[str, int] = field(default_factory=dict)
    whole: Mapping[str, int] = field(default_factory=dict)
    evicting: frozenset[str] = frozenset()
    api: tuple[str, str] = ("", "")
    neighbours: Neighbours = ALONE


def barred_by(cluster: KarmadaCluster, claims: PlacementClaims) -> Reason | None:
    """Why nothing new of the workload may come to the cluster."""
    name, near = cluster.metadata.name, claims.neighbours.near
    if not serves(cluster, *claims.api):
        return reasons.KIND_NOT_SERVED
    if near is not None and name not in near:
        return reasons.FAR_FROM_GROUP
    if name in claims.neighbours.apart:
        return reasons.NEAR_GROUP
    if not _holds(cluster, claims.whole):
        return reasons.SET_WITHOUT_ROOM
    return None


def weights_of(scheduling: ReplicaScheduling | None, traits: Mapping[str, Traits], who: str) -> dict[str, int]:
    """The weight of each cluster by the rules that match it.

    Several rules on one cluster: the largest weight. A cluster no rule matches has weight 0; where no rule matches
    any, or there are no rules, every cluster has weight 1. All as in Karmada.
    """
    preference = scheduling.weight_preference if scheduling else None
    rules = preference.static_weight_list if preference else ()
    for place, rule in enumerate(rules):
        if not 0 <= rule.weight < _MOST_WEIGHT:
            raise InputError(f"{who}: staticWeightList[{place}].weight", f"{rule.weight}; expected 0 to 2^62 − 1")
    affinities = [(affinity_of(rule.target_cluster, who), rule.weight) for rule in rules]
    weights = {}
    for name, own in traits.items():
        matched = [weight for affinity, weight in affinities if suits(affinity, name, own)]
        if matched:
            weights[name] = max(matched)
    return {name: weights.get(name, 0) for name in traits} if weights else dict.fromkeys(traits, 1)


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
    traits = {
        each.metadata.name: traits_of(
            each, evicting=each.metadata.name in claims.evicting, barred=barred_by(each, claims)
        )
        for each in clusters
    }
    weights = weights_of(placement.replica_scheduling, traits, who)
    by_room = mode_of(placement.replica_scheduling) in (Mode.DYNAMIC, Mode.AGGREGATED)
    silent = NO_ROOM if by_room else UNKNOWN
    bounds = [knobs.clusters.get(name, Bound()) for name in traits]
    for name, bound in zip(traits, bounds, strict=True):
        if bound.max is not None and bound.max < bound.min:
            raise InputError(f"{who}: annotation {ANNOTATION}", f"max of {name} is {bound.max}; expected at least min")
    return cluster_table(
        list(traits),
        weights=[weights[name] for name in traits],
        capacity=[_room(each, claims.request, silent) for each in clusters],
        minimum=[bound.min for bound in bounds],
        maximum=[NO_LIMIT if bound.max is None else bound.max for bound in bounds],
        traits=list(traits.values()),
    )


def _room(cluster: KarmadaCluster, request: Mapping[str, int], silent: int) -> int:
    """Whole replicas that still fit; `silent` where the cluster says nothing of its room.

    Amounts that cannot be read say nothing; `unreadable` tells of them.
    """
    try:
        sums = _sums(cluster, (PODS, *request))
        return silent if sums is None else min(room_of(*sums, request, _grades(cluster)), MOST)
    except InputError:
        return silent


def _holds(cluster: KarmadaCluster, whole: Mapping[str, int]) -> bool:
    """Whether the sums of a cluster hold a whole set; one that says nothing of its room may."""
    try:
        sums = _sums(cluster, tuple(whole))
    except InputError:
        return True
    if sums is None:
        return True
    allocatable, allocated, allocating = sums
    return all(
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
