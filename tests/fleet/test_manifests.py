"""Karmada's objects read as divisions, and the last result written and read back."""

import json
from typing import Any

import msgspec
import pytest

from fairlead.kube.codec import last_result
from fairlead.kube.codec.decided import APPLIED
from fairlead.kube.codec.fleet import binding_ask
from fairlead.kube.codec.members import unreadable
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.fleet import ask_of_binding, division_ask, policy_for
from fairlead.kube.manifests.load import parse_manifests
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.division import DivisionAsk, Mode, PriorDivision, Reschedule, Sticky, Ties
from fairlead.model.errors import InputError
from fairlead.model.shape import Shape
from fairlead.model.workload import Workload


def cluster(name: str, **spec: Any) -> KarmadaCluster:
    """A cluster with labels, room and taints as given."""
    labels = spec.pop("labels", {})
    summary = spec.pop("summary", None)
    deleted = spec.pop("deleted", None)
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": labels, **({"deletionTimestamp": deleted} if deleted else {})},
            "spec": spec,
            "status": {"resourceSummary": summary} if summary else {},
        },
        KarmadaCluster,
    )


FLEET = [
    cluster("west", region="eu", zones=["a", "b"], provider="acme", labels={"stage": "live"}),
    cluster("north", region="no", zone="c", provider="acme", labels={"stage": "live"}),
    cluster("lab", region="eu", labels={"stage": "test"}, taints=[{"key": "noisy", "effect": "NoSchedule"}]),
]
NAMES = ["west", "north", "lab"]


def binding(placement: dict[str, Any] | None, replicas: int = 6, **more: Any) -> ResourceBinding:
    """A binding of shop/web."""
    spec = {
        "resource": {"kind": "Deployment", "namespace": "shop", "name": "web", "uid": "uid-1"},
        "replicas": replicas,
        **({"placement": placement} if placement is not None else {}),
        **more.pop("spec", {}),
    }
    return msgspec.convert(
        {
            "metadata": {"name": "web-deployment", "namespace": "shop", "annotations": more.pop("annotations", {})},
            "spec": spec,
            "status": more.pop("status", {}),
        },
        ResourceBinding,
    )


def divided(*rules: tuple[list[str], int], **block: Any) -> dict[str, Any]:
    """A placement that divides by these static weights."""
    weights = [{"targetCluster": {"clusterNames": names}, "weight": weight} for names, weight in rules]
    preference = {"weightPreference": {"staticWeightList": weights}} if rules else {}
    return {"replicaScheduling": {"replicaSchedulingType": "Divided", **preference, **block}}


def solved(ask: DivisionAsk) -> Division:
    """The division of an ask."""
    return divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)


MODES = {
    "no block": ({}, Mode.DUPLICATED),
    "duplicated": ({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, Mode.DUPLICATED),
    "an empty block divides by static weight": ({"replicaScheduling": {}}, Mode.STATIC),
    "aggregated": (divided(replicaDivisionPreference="Aggregated"), Mode.AGGREGATED),
    "dynamic": (divided(weightPreference={"dynamicWeight": "AvailableReplicas"}), Mode.DYNAMIC),
}


@pytest.mark.parametrize(("placement", "mode"), MODES.values(), ids=MODES)
def test_placement_says_the_mode(placement: dict[str, Any], mode: Mode) -> None:
    """Karmada's defaults: no block duplicates; inside it, divided and weighted."""
    assert binding_ask(binding(placement), FLEET).policy.mode is mode


WEIGHTS = {
    "none": ((), [1, 1, 1]),
    "a cluster no rule matches is left out": (((["west"], 3), (["north"], 2)), [3, 2, 0]),
    "several rules: the largest": (((["west"], 3), (["west", "north"], 5)), [5, 5, 0]),
    "no rule matches any": (((["elsewhere"], 3),), [1, 1, 1]),
}


@pytest.mark.parametrize(("rules", "want"), WEIGHTS.values(), ids=WEIGHTS)
def test_static_weights_follow_karmada_s_rules(rules: tuple[tuple[list[str], int], ...], want: list[int]) -> None:
    """By name; the table has a row for every cluster."""
    clusters = binding_ask(binding(divided(*rules)), FLEET).clusters
    assert (list(clusters.names), clusters.weights.tolist()) == (NAMES, want)


def test_static_weights_match_labels_and_fields() -> None:
    """A rule may choose clusters by anything an affinity can."""
    placement = divided()
    placement["replicaScheduling"]["weightPreference"] = {
        "staticWeightList": [
            {"targetCluster": {"labelSelector": {"matchLabels": {"stage": "live"}}}, "weight": 2},
            {
                "targetCluster": {
                    "fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["no"]}]}
                },
                "weight": 4,
            },
        ]
    }
    assert binding_ask(binding(placement), FLEET).clusters.weights.tolist() == [2, 4, 0]


def test_placement_filters_reach_the_division() -> None:
    """Affinity, tolerations, spread and evictions of a real placement."""
    placement = {
        **divided(),
        "clusterAffinity": {
            "exclude": ["none"],
            "labelSelector": {"matchExpressions": [{"key": "stage", "operator": "Exists"}]},
        },
        "clusterTolerations": [{"key": "noisy", "operator": "Exists"}],
        "spreadConstraints": [
            {"spreadByField": "region", "minGroups": 1, "maxGroups": 1},
            {"spreadByLabel": "stage", "minGroups": 2},
        ],
    }
    division = solved(binding_ask(binding(placement), FLEET))
    assert dict(division.placements) == {"west": 3, "north": 0, "lab": 3}
    evicting = {"gracefulEvictionTasks": [{"fromCluster": "west"}]}
    division = solved(binding_ask(binding(divided(), spec=evicting), FLEET))
    assert {name: reason.code for name, reason in division.removed.items()} == {
        "west": "ClusterEvicting",
        "lab": "TaintNotTolerated",
    }


def test_affinity_groups_keep_their_order_and_names() -> None:
    """Ordered affinities become groups."""
    placement = {
        **divided(),
        "clusterAffinities": [
            {"affinityName": "gone", "clusterNames": ["old"]},
            {"affinityName": "near", "clusterNames": ["north"]},
        ],
    }
    assert solved(binding_ask(binding(placement), FLEET)).group == "near"


def test_room_is_what_the_summary_leaves_for_the_request() -> None:
    """3 cpu free, 500m each: 6, less by pods; a cluster without a summary reports none; a deleted one is out."""
    summary = {"allocatable": {"pods": "10", "cpu": "4", "hugepages-2Mi": "odd"}, "allocated": {"cpu": "1"}}
    tight = {"allocatable": {"pods": "5", "cpu": "40"}, "allocated": {"pods": "1"}, "allocating": {"pods": "1"}}
    fleet = [
        cluster("a", summary=summary),
        cluster("b", summary=tight),
        cluster("c"),
        cluster("d", summary=tight, deleted="2026-01-01T00:00:00Z"),
    ]
    spec = {"replicaRequirements": {"resourceRequest": {"cpu": "500m"}}}
    ask = binding_ask(binding(divided(), spec=spec), fleet)
    assert ask.clusters.capacity.tolist() == [6, 3, -1, 3]
    assert [each.deleting for each in ask.clusters.traits] == [False, False, False, True]


def test_annotation_says_what_karmada_cannot() -> None:
    """Rounding, stickiness, odds, bounds."""
    knobs = {
        "mode": "webster",
        "sticky": "most",
        "capacityCoefficient": 0.25,
        "respectRoom": True,
        "partial": True,
        "clusters": {"west": {"min": 1, "max": 2}},
    }
    ask = binding_ask(binding(divided(), annotations={"fairlead.io/divide": json.dumps(knobs)}), FLEET)
    assert (ask.policy.mode, ask.policy.sticky, str(ask.policy.coefficient)) == (Mode.WEBSTER, Sticky.MOST, "1/4")
    assert ask.policy.respect_room
    assert ask.policy.partial
    assert (ask.clusters.minimum.tolist()[0], ask.clusters.maximum.tolist()[0]) == (1, 2)


BAD: dict[str, tuple[ResourceBinding, str]] = {
    "no placement": (binding(None), "spec.placement: is missing"),
    "negative replicas": (binding({}, -1), "spec.replicas: -1"),
    "negative weight": (binding(divided((["west"], -1))), "staticWeightList[0].weight: -1"),
    "weight beyond 62 bits": (binding(divided((["west"], 2**62))), "staticWeightList[0].weight"),
    "unknown operator": (
        binding({"clusterAffinity": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}}),
        "operator 'Like'",
    ),
    "unknown field": (
        binding({"clusterAffinity": {"fieldSelector": {"matchExpressions": [{"key": "colour", "operator": "In"}]}}}),
        "key 'colour'",
    ),
    "unknown spread": (binding({"spreadConstraints": [{"spreadByField": "planet"}]}), "spreadByField 'planet'"),
    "spread turned round": (
        binding({"spreadConstraints": [{"spreadByField": "zone", "minGroups": 3, "maxGroups": 2}]}),
        "maxGroups 2",
    ),
    "annotation that is no JSON": (binding({}, annotations={"fairlead.io/divide": "{"}), "fairlead.io/divide"),
    "annotation with a typo": (binding({}, annotations={"fairlead.io/divide": '{"stiky":"most"}'}), "stiky"),
    "annotation out of range": (
        binding({}, annotations={"fairlead.io/divide": '{"capacityCoefficient":2}'}),
        "expected 0 to 1",
    ),
    "bounds turned round": (
        binding({}, annotations={"fairlead.io/divide": '{"clusters":{"west":{"min":3,"max":1}}}'}),
        "max of west is 1",
    ),
    "last result that is no record": (
        binding({}, annotations={"fairlead.io/last-schedule-result": "[]"}),
        "last schedule result",
    ),
    "last result of wrong types": (binding({}, status={"lastScheduleResult": {"clusters": 3}}), "last schedule result"),
    "time that is none": (
        binding({}, spec={"rescheduleTriggeredAt": "soon"}, status={"lastScheduledTime": "2026-01-01T00:00:00Z"}),
        "expected a time",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_binding_that_cannot_be_used_says_what_is_wrong(given: ResourceBinding, message: str) -> None:
    """An error with the place and what was expected."""
    with pytest.raises(InputError) as raised:
        binding_ask(given, FLEET)
    assert message in str(raised.value)


def test_summary_that_cannot_be_read_names_the_cluster() -> None:
    """The place is the amount; the room of that cluster is not known, and other bindings go on."""
    fleet = [cluster("a", summary={"allocatable": {"pods": "many"}})]
    assert binding_ask(binding(divided()), fleet).clusters.capacity.tolist() == [-1]
    assert "Cluster a: status.resourceSummary.allocatable.pods" in str(unreadable(fleet[0]))


FRESH = {
    "never scheduled": (None, False),
    "triggered later": ("2024-01-01T00:00:00Z", True),
    "triggered before": ("2024-01-01T00:02:00Z", False),
}


@pytest.mark.parametrize(("last", "fresh"), FRESH.values(), ids=FRESH)
def test_trigger_after_the_last_division_starts_fresh(last: str | None, fresh: bool) -> None:
    """As Karmada compares the two times."""
    status = {"lastScheduledTime": last} if last else {}
    given = binding(divided(), spec={"rescheduleTriggeredAt": "2024-01-01T00:01:00Z"}, status=status)
    assert (binding_ask(given, FLEET).policy.reschedule is Reschedule.FRESH) == fresh


def stored(given: ResourceBinding, fleet: list[KarmadaCluster] = FLEET) -> dict[str, Any]:
    """What would be stored after dividing the binding."""
    ask = binding_ask(given, fleet)
    return last_result.record(solved(ask), ask.workload.replicas, ask.clusters)


def placed(record: dict[str, Any]) -> dict[str, Any]:
    """`spec.clusters` of a record: Karmada lists no zeros."""
    return {"clusters": [each for each in record["clusters"] if each["replicas"]]}


@pytest.mark.parametrize("where", ["status", "annotation"])
def test_last_result_written_is_the_prior_read(where: str) -> None:
    """Mode, replicas, weights and counts survive, zeros too."""
    first = stored(binding(divided((["west"], 9), (["north"], 1)), 2))
    kept: dict[str, Any] = (
        {"status": {"lastScheduleResult": first}}
        if where == "status"
        else {"annotations": {last_result.ANNOTATION: last_result.text(first)}}
    )
    prior = last_result.prior_of(binding({}, spec=placed(first), **kept))
    assert prior is not None
    assert (prior.mode, prior.replicas) == (Mode.STATIC, 2)
    assert dict(prior.weights) == {"west": 9, "north": 1}
    assert set(prior.counts) == {"west", "north"}
    assert sum(prior.counts.values()) == 2


@pytest.mark.parametrize("placement", [each for each, _ in MODES.values()], ids=MODES)
def test_last_result_tells_every_mode(placement: dict[str, Any]) -> None:
    """Whatever divided it last is known at the next time."""
    record = stored(binding(placement))
    want = binding_ask(binding(placement), FLEET).policy.mode
    for form in (record, {key: value for key, value in record.items() if key != "mode"}):
        prior = last_result.prior_of(binding({}, status={"lastScheduleResult": form}))
        assert prior is not None
        assert prior.mode is want


def test_same_binding_again_moves_nothing() -> None:
    """Stickiness survives a restart: the record is enough."""
    placement = divided((["west"], 1), (["north"], 1))
    first = stored(binding(placement, 7))
    again = binding(placement, 7, spec=placed(first), annotations={last_result.ANNOTATION: last_result.text(first)})
    division = solved(binding_ask(again, FLEET))
    assert division.kept
    assert stored(again) == first


def test_binding_scheduled_by_somebody_else_is_known_but_drawn_anew() -> None:
    """Counts without weights: what runs is known, rule 2 is not asked."""
    clusters = {"clusters": [{"name": "west", "replicas": 6}]}
    ask = binding_ask(binding(divided(), spec=clusters), FLEET)
    runs = frozenset({"west"})
    assert ask.prior == PriorDivision(mode=Mode.WEBSTER, replicas=6, counts={"west": 6}, targets=runs)
    assert binding_ask(binding(divided()), FLEET).prior is None


def test_result_that_stands_is_kept_in_manifests_as_it_is_live() -> None:
    """Another scheduler's result, out of range since a cluster joined: nothing asks for a new division."""
    placement = divided()
    clusters = {"clusters": [{"name": "west", "replicas": 5}, {"name": "north", "replicas": 1}]}
    found = binding(placement, spec=clusters, annotations={APPLIED: json.dumps(placement)})
    ask = binding_ask(found, FLEET)
    assert ask.policy.reschedule is Reschedule.KEEP
    division = solved(ask)
    assert (dict(division.placements), division.rule) == ({"west": 5, "north": 1, "lab": 0}, "kept")
    scaled = solved(
        binding_ask(binding(placement, 8, spec=clusters, annotations={APPLIED: json.dumps(placement)}), FLEET)
    )
    assert dict(scaled.placements) == {"west": 4, "north": 4, "lab": 0}


YAML = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: west}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: north}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {replicas: 6, template: {spec: {containers: [{name: c}]}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: POLICY, namespace: shop}
spec:
  resourceSelectors: [SELECTOR]
  placement: {replicaScheduling: {replicaSchedulingType: Divided}}
"""
WEB = Workload(kind="Deployment", namespace="shop", name="web", replicas=6, shape=Shape(namespace="shop"))


def found(selector: str, *more: str) -> Catalogue:
    """A catalogue of two clusters, a Deployment and policies."""
    text = YAML.replace("SELECTOR", selector).replace("POLICY", "first") + "".join(f"---\n{each}\n" for each in more)
    manifests = [each for each in parse_manifests(text.encode(), "test") if not isinstance(each, InputError)]
    return catalogue(manifests)


SELECTORS = {
    "by name": ("{apiVersion: apps/v1, kind: Deployment, name: web}", True),
    "another name": ("{apiVersion: apps/v1, kind: Deployment, name: api}", False),
    "by labels": ("{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: web}}}", True),
    "other labels": ("{apiVersion: apps/v1, kind: Deployment, labelSelector: {matchLabels: {app: api}}}", False),
    "all of the kind": ("{apiVersion: apps/v1, kind: Deployment}", True),
    "another kind": ("{apiVersion: apps/v1, kind: StatefulSet}", False),
    "another namespace": ("{apiVersion: apps/v1, kind: Deployment, namespace: other}", False),
}


@pytest.mark.parametrize(("selector", "selected"), SELECTORS.values(), ids=SELECTORS)
def test_policy_selects_a_workload(selector: str, selected: bool) -> None:
    """By name, by labels or all of a kind."""
    ask = division_ask(found(selector), WEB)
    assert (ask is not None) == selected
    if ask is not None:
        assert dict(solved(ask).placements) == {"west": 3, "north": 3}


def policy(name: str, selector: str, *, namespace: str = "shop", priority: int = 0) -> str:
    """Another policy; without a namespace one of the whole fleet."""
    kind = "PropagationPolicy" if namespace else "ClusterPropagationPolicy"
    where = f", namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: policy.karmada.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}{where}}}\n"
        f"spec: {{resourceSelectors: [{selector}], priority: {priority}}}"
    )


ALL = "{apiVersion: apps/v1, kind: Deployment}"
NAMED = "{apiVersion: apps/v1, kind: Deployment, name: web}"
CHOICES = {
    "a name before all": (ALL, policy("second", NAMED), "second"),
    "the higher priority before a name": (NAMED, policy("second", ALL, priority=5), "second"),
    "the namespace before the whole fleet": (ALL, policy("second", NAMED, namespace="", priority=9), "first"),
    "another namespace never": (ALL, policy("second", NAMED, namespace="other"), "first"),
    "then the name": (ALL, policy("a-second", ALL), "a-second"),
}


@pytest.mark.parametrize(("first", "second", "want"), CHOICES.values(), ids=CHOICES)
def test_policy_of_several_is_chosen_as_karmada_does(first: str, second: str, want: str) -> None:
    """Namespace, priority, closeness, name."""
    chosen = policy_for(found(first, second), WEB)
    assert chosen is not None
    assert chosen.metadata.name == want


def test_policy_that_cannot_be_used_is_an_error_and_no_division() -> None:
    """It is told, and the workload counts as not divided."""
    bad = policy("a", NAMED, priority=9).replace(
        "spec: {", "spec: {placement: {spreadConstraints: [{spreadByField: x}]}, "
    )
    given = found(ALL, bad)
    assert division_ask(given, WEB) is None
    assert "spreadByField 'x'" in str(given.errors[0])


def test_workload_with_a_binding_keeps_its_prior() -> None:
    """The binding brings what runs and by which rule."""
    text = msgspec.json.encode(
        {
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": {"name": "web-deployment", "namespace": "shop"},
            "spec": {
                "resource": {"kind": "Deployment", "namespace": "shop", "name": "web"},
                "clusters": [{"name": "west", "replicas": 6}],
            },
        }
    ).decode()
    ask = division_ask(found(ALL, text), WEB)
    assert ask is not None
    assert ask.prior is not None
    assert dict(ask.prior.counts) == {"west": 6}


def karmada(kind: str, name: str, spec: dict[str, Any], annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """An object of Karmada in the namespace shop."""
    groups = {"ResourceBinding": "work.karmada.io/v1alpha2", "PropagationPolicy": "policy.karmada.io/v1alpha1"}
    meta = {"name": name, "namespace": "shop", "annotations": annotations or {}}
    return {"apiVersion": groups[kind], "kind": kind, "metadata": meta, "spec": spec}


def fleet_of(*objects: dict[str, Any]) -> Catalogue:
    """These objects and the clusters north and south."""
    clusters = [
        {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
        for name in ("north", "south")
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, *clusters]})
    return catalogue([each for each in parse_manifests(text.encode(), "test") if not isinstance(each, InputError)])


def bound(name: str, *targets: str, **more: Any) -> dict[str, Any]:
    """The spec of a binding of a Deployment of two."""
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": name}
    clusters = [{"name": each, "replicas": 2} for each in targets]
    return {"resource": resource, "replicas": 2, "placement": {}, "clusters": clusters, **more}


def test_groups_of_workloads_count_in_manifests_too() -> None:
    """b follows a to south; d keeps away from c."""
    found = fleet_of(
        karmada("ResourceBinding", "a", bound("a", "south", workloadAffinityGroups={"affinityGroup": "x"})),
        karmada("ResourceBinding", "b", bound("b", workloadAffinityGroups={"affinityGroup": "x"})),
        karmada("ResourceBinding", "c", bound("c", "north", workloadAffinityGroups={"antiAffinityGroup": "y"})),
        karmada("ResourceBinding", "d", bound("d", workloadAffinityGroups={"antiAffinityGroup": "y"})),
    )
    _, follows, _, keeps_away = (solved(ask_of_binding(found, each)) for each in found.of(ResourceBinding))
    assert dict(follows.placements) == dict(keeps_away.placements) == {"north": 0, "south": 2}
    assert follows.removed["north"].code == "FarFromGroup"
    assert keeps_away.removed["north"].code == "NearGroup"


def test_knobs_come_from_the_binding_first_then_from_its_policy() -> None:
    """As live: the annotation of the binding, else that of the policy that the binding names."""
    named = {"propagationpolicy.karmada.io/name": "all"}
    own = {"fairlead.io/divide": '{"ties": "ascending"}'}
    policy = karmada("PropagationPolicy", "all", {}, {"fairlead.io/divide": '{"ties": "descending"}'})
    found = fleet_of(
        policy,
        karmada("ResourceBinding", "a", bound("a"), named),
        karmada("ResourceBinding", "b", bound("b"), named | own),
        karmada("ResourceBinding", "c", bound("c")),
    )
    ties = [ask_of_binding(found, each).policy.ties for each in found.of(ResourceBinding)]
    assert ties == [Ties.DESCENDING, Ties.ASCENDING, Ties.UID]
