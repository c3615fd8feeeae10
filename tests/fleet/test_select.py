"""Which clusters may take part: affinity, groups in order, taints, evicting and deleting ones."""

from collections.abc import Mapping

import pytest

from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.clusters import Traits, cluster_table
from fairlead.model.division import (
    DividePolicy,
    DivideWorkload,
    Expression,
    FleetAffinity,
    Mode,
    PriorDivision,
)
from fairlead.model.selectors import Taint, Toleration
from tests.fleet.build import prior_of

FLEET = {
    "de": Traits(labels={"tier": "gold", "cores": "64"}, region="eu", zones=("eu-1",), provider="own"),
    "fr": Traits(labels={"tier": "silver"}, region="eu", zones=("eu-2", "eu-3"), provider="rented"),
    "us": Traits(labels={"cores": "many"}, region="us", zones=("us-1",), provider="rented"),
    "bare": Traits(),
}


def chosen(policy: DividePolicy, fleet: Mapping[str, Traits] = FLEET, prior: PriorDivision | None = None) -> Division:
    """Four replicas over the fleet."""
    clusters = cluster_table(list(fleet), traits=list(fleet.values()))
    return divide(DivideWorkload(name="web", replicas=4), clusters, policy, prior=prior)


def label(key: str, operator: str, *values: str) -> FleetAffinity:
    """An affinity of one label expression."""
    return FleetAffinity(expressions=(Expression(key=key, operator=operator, values=values),))


def trait(key: str, operator: str, *values: str) -> FleetAffinity:
    """An affinity of one field expression."""
    return FleetAffinity(fields=(Expression(key=key, operator=operator, values=values),))


AFFINITIES = {
    "labels": (FleetAffinity(labels={"tier": "gold"}), {"de"}),
    "label in": (label("tier", "In", "gold", "silver"), {"de", "fr"}),
    "label not in passes the unlabelled": (label("tier", "NotIn", "gold"), {"fr", "us", "bare"}),
    "label exists": (label("tier", "Exists"), {"de", "fr"}),
    "label does not exist": (label("tier", "DoesNotExist"), {"us", "bare"}),
    "label greater": (label("cores", "Gt", "63"), {"de"}),
    "label less": (label("cores", "Lt", "65"), {"de"}),
    "label compared with nothing": (label("cores", "Gt"), set()),
    "region": (trait("region", "In", "eu"), {"de", "fr"}),
    "provider is not": (trait("provider", "NotIn", "own"), {"fr", "us", "bare"}),
    "every zone must be listed": (trait("zone", "In", "eu-1", "eu-2"), {"de"}),
    "no zone may be listed": (trait("zone", "NotIn", "eu-3"), {"de", "us", "bare"}),
    "names": (FleetAffinity(names=("us", "bare", "elsewhere")), {"us", "bare"}),
    "excluded names are out even if listed": (FleetAffinity(names=("us", "bare"), exclude=("bare",)), {"us"}),
    "all parts hold": (FleetAffinity(labels={"tier": "silver"}, names=("de", "fr")), {"fr"}),
    "anything": (FleetAffinity(), {"de", "fr", "us", "bare"}),
}


@pytest.mark.parametrize(("affinity", "want"), AFFINITIES.values(), ids=AFFINITIES)
def test_affinity_keeps_exactly_the_clusters_that_suit(affinity: FleetAffinity, want: set[str]) -> None:
    """Those that suit share the replicas; the others are listed with 0 and a reason."""
    division = chosen(DividePolicy(affinities=(affinity,)))
    assert set(division.chosen) == want
    assert set(division.placements) == set(FLEET)
    assert {reason.code for reason in division.removed.values()} <= {"AffinityMismatch"}
    assert sum(division.placements.values()) == (4 if want else 0)
    assert (division.finding is None) == bool(want)


def test_no_cluster_left_after_filters_says_which_filters_took_them() -> None:
    """The finding carries the histogram."""
    fleet = {
        "a": Traits(deleting=True),
        "b": Traits(evicting=True),
        "c": Traits(taints=(Taint(key="broken"),)),
        "d": Traits(),
        "e": Traits(barred=reasons.KIND_NOT_SERVED),
    }
    division = chosen(DividePolicy(affinities=(FleetAffinity(exclude=("d",)),)), fleet)
    assert division.finding is not None
    assert division.finding.code == "NoClusterFits"
    assert division.finding.sentence.endswith(
        "1 ClusterDeleting, 1 AffinityMismatch, 1 KindNotServed, 1 TaintNotTolerated, 1 ClusterEvicting"
    )
    assert division.unplaced == 4
    assert [(each.reason.code, each.count, each.names) for each in division.trace.rejected] == [
        ("ClusterDeleting", 1, ("a",)),
        ("AffinityMismatch", 1, ("d",)),
        ("KindNotServed", 1, ("e",)),
        ("TaintNotTolerated", 1, ("c",)),
        ("ClusterEvicting", 1, ("b",)),
    ]


def test_affinity_groups_first_that_can_is_taken() -> None:
    """The first group has no cluster, the second has: its name is told."""
    groups = (
        FleetAffinity(name="local", names=("nowhere",)),
        FleetAffinity(name="remote", names=("us",)),
        FleetAffinity(name="any"),
    )
    division = chosen(DividePolicy(affinities=groups))
    assert (division.group, division.chosen) == ("remote", ("us",))


def test_affinity_groups_without_room_fall_through_to_the_next() -> None:
    """A group whose clusters cannot hold it is passed over."""
    clusters = cluster_table(["near", "far"], capacity=[1, 9])
    groups = (FleetAffinity(name="near", names=("near",)), FleetAffinity(name="far", names=("far",)))
    policy = DividePolicy(mode=Mode.DYNAMIC, affinities=groups)
    assert divide(DivideWorkload(name="web", replicas=4), clusters, policy).group == "far"


def test_affinity_groups_none_can_tells_why_the_first_could_not() -> None:
    """The user's first wish is the one explained."""
    clusters = cluster_table(["near", "far"], capacity=[1, 2])
    groups = (FleetAffinity(name="near", names=("near",)), FleetAffinity(name="far", names=("far",)))
    division = divide(
        DivideWorkload(name="web", replicas=4), clusters, DividePolicy(mode=Mode.DYNAMIC, affinities=groups)
    )
    assert division.group == "near"
    assert division.finding is not None
    assert division.finding.sentence == "the clusters have room for 1 of 4 replicas, 3 are missing"


TOLERATIONS = {
    "none": ((), False),
    "same key and value": ((Toleration(key="gpu", value="yes"),), True),
    "other value": ((Toleration(key="gpu", value="no"),), False),
    "key exists": ((Toleration(key="gpu", operator="Exists"),), True),
    "everything": ((Toleration(operator="Exists"),), True),
    "same effect": ((Toleration(key="gpu", operator="Exists", effect="NoSchedule"),), True),
    "other effect": ((Toleration(key="gpu", operator="Exists", effect="NoExecute"),), False),
    "other key": ((Toleration(key="cpu", operator="Exists"),), False),
}


@pytest.mark.parametrize(("tolerations", "passes"), TOLERATIONS.values(), ids=TOLERATIONS)
def test_taint_keeps_away_what_does_not_tolerate_it(tolerations: tuple[Toleration, ...], passes: bool) -> None:
    """Tolerations match as in Kubernetes."""
    fleet = {"a": Traits(taints=(Taint(key="gpu", value="yes"),)), "b": Traits()}
    assert ("a" in chosen(DividePolicy(tolerations=tolerations), fleet).chosen) == passes


@pytest.mark.parametrize(
    ("effect", "running", "passes"),
    [
        ("NoSchedule", False, False),
        ("NoSchedule", True, True),
        ("NoExecute", False, False),
        ("NoExecute", True, True),
        ("PreferNoSchedule", False, True),
    ],
)
def test_taint_effect_decides_for_what_already_runs(effect: str, running: bool, passes: bool) -> None:
    """What runs stays: a NoExecute taint is left to Karmada's taint manager. PreferNoSchedule keeps nothing away."""
    fleet = {"a": Traits(taints=(Taint(key="x", effect=effect),)), "b": Traits()}
    prior = prior_of({"a": 2, "b": 2}) if running else None
    assert ("a" in chosen(DividePolicy(), fleet, prior).chosen) == passes
