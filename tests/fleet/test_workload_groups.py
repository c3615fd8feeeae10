"""Groups of workloads that stay together or apart: where the others are, and who is in a group by its labels."""

import json
from typing import Any

import pytest

from fairlead.kube.codec.groups import GroupMembers, Neighbours, groups_by_labels
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.fleet import division_ask
from fairlead.kube.manifests.load import parse_manifests
from fairlead.kube.objects.karmada import AffinityGroups, GroupTerm, WorkloadAffinity
from fairlead.levels.fleet.divide import divide
from fairlead.model.errors import InputError
from fairlead.model.shape import Shape
from fairlead.model.workload import Workload
from tests.live.bindings import binding

BY_APP = WorkloadAffinity(affinity=GroupTerm(group_by_label_key="app"))
APART_BY_TIER = WorkloadAffinity(anti_affinity=GroupTerm(group_by_label_key="tier"))


def members(*held: tuple[str, ...]) -> GroupMembers:
    """Bindings of one affinity and one anti-affinity group with these clusters."""
    found = GroupMembers()
    for number, names in enumerate(held):
        found.put(grouped(f"b{number}", *names))
    return found


def grouped(name: str, *names: str) -> Any:
    clusters = [{"name": each} for each in names]
    groups = {"affinityGroup": "app=x", "antiAffinityGroup": "tier=y"}
    return binding(name, {}, 2, clusters=clusters, workloadAffinityGroups=groups)


@pytest.mark.parametrize(
    ("held", "near", "apart"),
    [
        ((), None, set()),
        (((), ()), None, set()),
        ((("m1", "m2"),), {"m1", "m2"}, {"m1", "m2"}),
        ((("m1", "m2"), ("m2", "m3"), ()), {"m2"}, {"m1", "m2", "m3"}),
        ((("m1",), ("m2",)), set(), {"m1", "m2"}),
    ],
)
def test_new_targets_are_where_all_of_the_one_group_and_none_of_the_other_are(
    held: tuple[tuple[str, ...], ...], near: set[str] | None, apart: set[str]
) -> None:
    """Others without targets have no say; the binding itself never has."""
    found = members(*held)
    found.put(grouped("own", "m9"))
    want = Neighbours(near=None if near is None else frozenset(near), apart=frozenset(apart))
    assert found.of(grouped("own")) == want


@pytest.mark.parametrize(
    ("wanted", "labels", "want"),
    [
        (BY_APP, {"app": "x"}, AffinityGroups(affinity_group="app=x")),
        (BY_APP, {"tier": "x"}, None),
        (APART_BY_TIER, {"app": "x", "tier": ""}, AffinityGroups(anti_affinity_group="tier=")),
        (WorkloadAffinity(), {"": "x"}, None),
        (None, {"app": "x"}, None),
    ],
)
def test_groups_are_named_by_labels_as_karmada_names_them(
    wanted: WorkloadAffinity | None, labels: dict[str, str], want: AffinityGroups | None
) -> None:
    """Key and value; a workload without the label is in no group."""
    assert groups_by_labels(wanted, labels) == want


def fleet(*targets: str) -> Any:
    """Two clusters, a policy that keeps the workloads of an app together, a new one, and one on `targets`."""
    labels = {"app": "x"}
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "first"}
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "new"}]
    placed = {
        "resource": resource,
        "replicas": 2,
        "placement": {},
        "clusters": [{"name": each, "replicas": 2} for each in targets],
        "workloadAffinityGroups": {"affinityGroup": "app=x"},
    }
    objects = [
        *(made("cluster.karmada.io/v1alpha1", "Cluster", name) for name in ("north", "south")),
        made("apps/v1", "Deployment", "new", {"replicas": 2, "template": {"spec": {"containers": []}}}, labels),
        made("work.karmada.io/v1alpha2", "ResourceBinding", "first-deployment", placed),
        made(
            "policy.karmada.io/v1alpha1",
            "PropagationPolicy",
            "all",
            {
                "resourceSelectors": selectors,
                "placement": {"workloadAffinity": {"affinity": {"groupByLabelKey": "app"}}},
            },
        ),
    ]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    return catalogue([each for each in parse_manifests(text.encode(), "test") if not isinstance(each, InputError)])


def made(version: str, kind: str, name: str, spec: Any = None, labels: dict[str, str] | None = None) -> Any:
    meta = {"name": name, "labels": labels or {}, **({} if kind == "Cluster" else {"namespace": "shop"})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec or {}}


@pytest.mark.parametrize(
    ("targets", "placed", "left_out"), [(("south",), {"north": 0, "south": 2}, 0), ((), {"north": 2, "south": 2}, 1)]
)
def test_new_workload_of_a_plan_joins_its_group(
    targets: tuple[str, ...], placed: dict[str, int], left_out: int
) -> None:
    """By the policy and its own labels, before any binding of it exists; a group without targets is told of."""
    found = fleet(*targets)
    new = Workload(kind="Deployment", namespace="shop", name="new", replicas=2, shape=Shape(namespace="shop"))
    ask = division_ask(found, new)
    assert ask is not None
    assert dict(divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior).placements) == placed
    assert sum(found.not_counted.values()) == left_out
