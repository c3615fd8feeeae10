"""A Karmada placement in the words of the fleet level: policy, cluster table, weights.

What Karmada's fields cannot say is said by the annotation `fairlead.io/divide`, a JSON object on the policy or the
binding.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Annotated, Literal

import msgspec

from fairlead.kube.objects.affinity import TolerationSpec as TolerationShape
from fairlead.kube.objects.karmada import (
    ClusterAffinity,
    KarmadaPlacement,
    ReplicaScheduling,
    SpreadConstraint,
)
from fairlead.kube.objects.meta import LabelSelectorSpec, RequirementSpec
from fairlead.levels.fleet.match import OPERATORS, suits
from fairlead.model.clusters import Traits
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
from fairlead.model.selectors import Toleration
from fairlead.text.mistakes import parsed

ANNOTATION = "fairlead.io/divide"
"""Annotation of a policy: settings of `fairlead divide` that Karmada has no field for."""
MOST = 2**48
"""Room beyond this is as good as none at all missing; it keeps sums exact."""
_MOST_WEIGHT = 2**62
_FIELDS = ("region", "zone", "provider")
_SPREAD_FIELDS = ("cluster", *_FIELDS)

Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


class Bound(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The least and the most replicas in a cluster."""

    min: Count = 0
    max: Count | None = None


class Knobs(msgspec.Struct, forbid_unknown_fields=True, rename="camel", frozen=True):
    """The annotation's content: what is beyond Karmada's own fields. `mode` chooses how static weights are rounded;
    without `sticky` that of the configuration holds.
    """

    mode: Literal["static", "webster"] = "static"
    sticky: Sticky | None = None
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
    knobs = parsed(text, Knobs, f"{who}: annotation {ANNOTATION}")
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
    placement: KarmadaPlacement,
    knobs: Knobs,
    who: str,
    *,
    fresh: bool = False,
    observed: str = "",
    sticky: Sticky = Sticky.MOST,
) -> DividePolicy:
    """The policy of a placement; `who` names its object in errors, `sticky` is for knobs that say nothing of it.

    `observed` is the affinity group that holds the workload now: it is tried first, then those after it, then those
    before. A fresh start begins with the first (docs/decisions/0218).
    """
    one = () if placement.cluster_affinity is None else (placement.cluster_affinity,)
    fresh = fresh or knobs.rescheduling == "fresh"
    groups = one or _from(placement.cluster_affinities, "" if fresh else observed)
    _check(placement.replica_scheduling, who)
    coefficient = knobs.capacity_coefficient
    return DividePolicy(
        mode=mode_of(placement.replica_scheduling, Mode(knobs.mode)),
        sticky=knobs.sticky or sticky,
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


_CHOICES = {
    "replicaSchedulingType": ("Divided", "Duplicated"),
    "replicaDivisionPreference": ("Weighted", "Aggregated"),
    "dynamicWeight": ("", "AvailableReplicas"),
}


def _check(scheduling: ReplicaScheduling | None, who: str) -> None:
    """`InputError` where a word of the block is not one of Karmada's."""
    if scheduling is None:
        return
    preference = scheduling.weight_preference
    said = {
        "replicaSchedulingType": scheduling.replica_scheduling_type,
        "replicaDivisionPreference": scheduling.replica_division_preference,
        "dynamicWeight": preference.dynamic_weight if preference else "",
    }
    for field_name, value in said.items():
        if value not in _CHOICES[field_name]:
            expected = " or ".join(filter(None, _CHOICES[field_name]))
            raise InputError(f"{who}: replicaScheduling.{field_name}", f"{value!r}; expected {expected}")


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
