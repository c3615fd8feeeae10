"""What is read counts; what does not count is said: quotas, limits, gates, misspelt fields, kinds, clusters."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine.admission import admitted
from fairlead.engine.tier_parts import parts
from fairlead.model.columns import ints
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.quotas import NamespaceQuota
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site
from fairlead.model.tiers import NO_TIERS
from fairlead.model.workload import Workload
from tests.cli.clusters import Folder, keeper, node, pod


def core(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}


def findings(folder: Folder) -> list[str]:
    return [each["reason"] for site in folder.plan()["sites"] for row in site["workloads"] for each in row["findings"]]


def test_quota_of_one_pod_places_one_of_two(tmp_path: Path) -> None:
    """The other waits, and the quota is named."""
    quota = core("ResourceQuota", "one", hard={"pods": "1"})
    here = Folder(tmp_path, node("n1"), quota, keeper("Deployment", "web", replicas=2))
    assert (here.placed()["shop/web"], here.waits(), findings(here)) == ({"n1": 1}, 1, ["QuotaExceeded"])
    assert "the ResourceQuota one leaves room for fewer than the 2 asked for" in here.run("plan", "-o", "table").stdout


def test_quota_counts_what_runs_and_gives_it_back(tmp_path: Path) -> None:
    """3 cpu: one runs, two more start; drained, the one that ran starts elsewhere and no more than three do."""
    quota = core("ResourceQuota", "cpu", hard={"requests.cpu": "3"})
    web = keeper("Deployment", "web", replicas=4)
    here = Folder(tmp_path, node("n1"), node("n2"), quota, web, pod("web-1", "n1", "Deployment/web"))
    assert sum(here.placed()["shop/web"].values()) == 2
    assert here.placed("--drain", "n1")["shop/web"] == {"n2": 3}
    assert here.waits("--drain", "n1") == 1


def test_quota_of_another_namespace_and_its_scopes(tmp_path: Path) -> None:
    """The first bounds nobody here; scopes are not counted, and that is said."""
    other = core("ResourceQuota", "other", hard={"pods": "0"})
    other["metadata"]["namespace"] = "elsewhere"
    scoped = core("ResourceQuota", "scoped", hard={"pods": "0"}, scopes=["BestEffort"])
    critical = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}
    selected = core("ResourceQuota", "selected", hard={"pods": "0"}, scopeSelector=critical)
    objects = core("ResourceQuota", "objects", hard={"count/services": "1", "pods": "5"})
    here = Folder(tmp_path, node("n1"), other, scoped, selected, objects, keeper("Deployment", "web", replicas=2))
    assert here.placed()["shop/web"] == {"n1": 2}
    assert here.plan()["notCounted"] == {
        "ResourceQuota with resources that a plan does not count": 1,
        "ResourceQuota with scopes": 2,
    }


def limit_range(**item: Any) -> dict[str, Any]:
    return core("LimitRange", "limits", limits=[{"type": "Container", **item}])


def test_limit_range_fills_in_defaults(tmp_path: Path) -> None:
    """2 cpu by default: two of three fit a node of 4; a request of one's own stays, a limit is a request."""
    defaults = limit_range(defaultRequest={"cpu": "2"}, default={"cpu": "3"})
    web = keeper("Deployment", "web", replicas=3)
    container = web["spec"]["template"]["spec"]["containers"][0]
    for resources, fit in (({}, 2), ({"requests": {"cpu": "1"}}, 3), ({"limits": {"cpu": "4"}}, 1)):
        container["resources"] = resources
        assert Folder(tmp_path, node("n1"), defaults, web).placed()["shop/web"] == {"n1": fit}


@pytest.mark.parametrize(
    ("bounds", "told"),
    [
        ({"max": {"cpu": "500m"}}, "cpu 1 of container c is above 500m"),
        ({"min": {"cpu": "2"}}, "cpu 1 of container c is below 2"),
        ({"min": {"cpu": "1"}, "max": {"cpu": "1"}}, ""),
    ],
)
def test_limit_range_holds_its_bounds(bounds: dict[str, Any], told: str, tmp_path: Path) -> None:
    """A container beyond them is refused by admission, so nothing of it is placed."""
    here = Folder(tmp_path, node("n1"), limit_range(**bounds), keeper("Deployment", "web", replicas=1))
    assert here.waits() == (1 if told else 0)
    assert told in here.run("plan", "-o", "table").stdout


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"schedulingGates": [{"name": "a.io/wait"}]}, "it waits behind the scheduling gate a.io/wait"),
        ({"resourceClaims": [{"name": "gpu"}]}, "it asks for dynamic resource claims"),
    ],
)
def test_held_back_pods_wait_with_their_reason(spec: dict[str, Any], told: str, tmp_path: Path) -> None:
    """Whatever room there is."""
    here = Folder(tmp_path, node("n1"), keeper("Deployment", "web", replicas=2, pods=spec))
    assert (here.placed()["shop/web"], here.waits(), findings(here)) == ({}, 2, ["HeldBack"])
    assert told in here.run("explain", "shop/web").stdout


def test_misspelt_template_is_named(tmp_path: Path) -> None:
    """`templat` gave three replicas that asked for nothing."""
    web = keeper("Deployment", "web", replicas=3)
    web["spec"]["templat"] = web["spec"].pop("template")
    result = Folder(tmp_path, node("n1"), web).run("plan", "-o", "json")
    assert "has no template (did you mean template by templat?)" in result.stderr
    assert json.loads(result.stdout)["sites"][0]["workloads"] == []
    assert result.return_value == 2


@pytest.mark.parametrize("replicas", [-1, 2**31, 10**30])
def test_impossible_replicas_are_named(replicas: int, tmp_path: Path) -> None:
    """The API server would refuse them too; absent ones mean 1."""
    here = Folder(tmp_path, node("n1"), keeper("Deployment", "web", replicas=replicas), keeper("Deployment", "api"))
    result = here.run("plan", "-o", "json")
    assert f"spec.replicas: is {replicas}" in result.stderr
    assert here.placed() == {"shop/api": {"n1": 1}}


def test_kinds_that_are_not_counted_are_said_and_strict(tmp_path: Path) -> None:
    """By kind and count, in JSON and as the last line of the table; `--strict` makes it exit 2."""
    databases = [{**core("Database", name), "apiVersion": "example.org/v1"} for name in ("a", "b")]
    here = Folder(tmp_path, node("n1"), *databases, keeper("Deployment", "web", replicas=1))
    result = here.run("plan", "-o", "table")
    assert result.stdout.splitlines()[-1] == "Not counted in this plan: 2 Database.example.org."
    assert result.return_value == 0
    assert here.plan()["notCounted"] == {"Database.example.org": 2}
    assert here.run("plan", "--strict", "-o", "json").return_value == 2
    assert Folder(tmp_path, node("n1")).run("plan", "--strict", "-o", "json").return_value == 0


def test_kinds_that_have_no_say_are_passed_over(tmp_path: Path) -> None:
    """Services, rights and monitors cannot change a plan; what makes, changes or refuses pods could."""
    silent = {
        "v1": ("Service", "ConfigMap", "Secret", "ServiceAccount", "Endpoints"),
        "rbac.authorization.k8s.io/v1": ("Role", "ClusterRoleBinding"),
        "apiextensions.k8s.io/v1": ("CustomResourceDefinition",),
        "networking.k8s.io/v1": ("Ingress", "NetworkPolicy"),
        "gateway.networking.k8s.io/v1": ("HTTPRoute",),
        "monitoring.coreos.com/v1": ("ServiceMonitor", "PrometheusRule"),
    }
    told = {
        "monitoring.coreos.com/v1": ("Prometheus",),
        "admissionregistration.k8s.io/v1": ("MutatingWebhookConfiguration",),
        "node.k8s.io/v1": ("RuntimeClass",),
        "karpenter.sh/v1": ("NodePool",),
        "v1": ("PodTemplate",),
    }
    objects = [
        {**core(kind, "one"), "apiVersion": version}
        for each in (silent, told)
        for version, kinds in each.items()
        for kind in kinds
    ]
    here = Folder(tmp_path, node("n1"), *objects, keeper("Deployment", "web", replicas=1))
    assert here.plan()["notCounted"] == {
        "MutatingWebhookConfiguration.admissionregistration.k8s.io": 1,
        "NodePool.karpenter.sh": 1,
        "PodTemplate": 1,
        "Prometheus.monitoring.coreos.com": 1,
        "RuntimeClass.node.k8s.io": 1,
    }
    quiet = Folder(tmp_path, node("n1"), *objects[:13], keeper("Deployment", "web", replicas=1))
    assert quiet.run("plan", "--strict", "-o", "json").return_value == 0


def policy() -> dict[str, Any]:
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}]
    meta = {"name": "web", "namespace": "shop"}
    spec = {"resourceSelectors": selectors, "placement": {}}
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": meta, "spec": spec}


def test_policy_without_clusters_is_said(tmp_path: Path) -> None:
    """In the plan itself, with exit code 1."""
    result = Folder(tmp_path, policy(), node("n1"), keeper("Deployment", "web", replicas=1)).run("plan", "-o", "table")
    assert "shop/web: the policy shop/web propagates it, and no Cluster is among the manifests" in result.stdout
    assert result.return_value == 1


def test_clusters_without_nodes_are_said(tmp_path: Path) -> None:
    """What goes to a cluster whose nodes are not known is no success."""
    ready = [{"type": "Ready", "status": "True"}]
    apis = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]
    status = {"conditions": ready, "apiEnablements": apis}
    member = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "m1"},
        "status": status,
    }
    here = Folder(tmp_path, policy(), member, keeper("Deployment", "web", replicas=2))
    result = here.run("plan", "-o", "json")
    assert json.loads(result.stdout)["unreached"] == [
        "shop/web: 2 replicas go to cluster m1, whose nodes are not part of the snapshot"
    ]
    assert result.return_value == 1


amount = st.integers(0, 12)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 4)), max_size=4), amount, amount)
def test_quota_is_never_passed_and_never_wasted(wants: list[tuple[int, int, int]], cpu: int, pods: int) -> None:
    """Taken one replica at a time in the same order, the same number is admitted."""
    workloads = [
        Workload(
            kind="Job",
            namespace="shop",
            name=f"w{row}",
            replicas=replicas + running,
            shape=Shape(request=(("cpu", each), ("pods", 1))),
        )
        for row, (replicas, each, running) in enumerate(wants)
    ]
    nodes = node_state([NodeRecord(name="n", allocatable={"cpu": 100, "pods": 100})])
    site = Site(
        name="",
        nodes=nodes,
        population=Population(),
        workloads=tuple(workloads),
        present={each.key: ints([wants[row][2]]) for row, each in enumerate(workloads)},
        quotas=(NamespaceQuota(name="q", namespace="shop", hard={"cpu": cpu, "pods": pods}),),
    )
    splits = [parts(each, each.replicas, wants[row][2], 0, NO_TIERS) for row, each in enumerate(workloads)]
    limits, cut = admitted(site, splits, range(len(splits)))
    left_cpu = cpu - sum(each * running for _, each, running in wants)
    left_pods = pods - sum(running for *_, running in wants)
    for row, (replicas, each, _) in enumerate(wants):
        granted = 0
        while granted < replicas and left_pods >= 1 and (each == 0 or left_cpu >= each):
            granted, left_cpu, left_pods = granted + 1, left_cpu - each, left_pods - 1
        assert limits[row] == [granted]
        assert (row in cut) == (granted < replicas)


def test_topology_of_gangs_keeps_them_waiting_or_is_told(tmp_path: Path) -> None:
    """A hard one is not placed against, as by the live scheduler; a soft one, Kueue's and a queue's are told."""
    group = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    hard = {**group, "metadata": {"name": "near", "namespace": "shop"}, "spec": {"networkTopology": {"mode": "hard"}}}
    soft = {**group, "metadata": {"name": "far", "namespace": "shop"}, "spec": {"networkTopology": {"mode": "soft"}}}
    near, far = keeper("Deployment", "near", replicas=1), keeper("Deployment", "far", replicas=1)
    for each in (near, far):
        marks = {"scheduling.k8s.io/group-name": each["metadata"]["name"]}
        each["spec"]["template"]["metadata"]["annotations"] = marks
    marks |= {"kueue.x-k8s.io/podset-required-topology": "rack", "volcano.sh/revocable-zone": "*"}
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "batch"},
        "spec": {"dequeueStrategy": "fifo"},
    }  # fmt: skip
    here = Folder(tmp_path, node("n1"), hard, soft, near, far, queue)
    assert here.placed() == {"shop/near": {}, "shop/far": {"n1": 1}}
    assert "it asks for spec.networkTopology (hard), which is not implemented" in here.run("plan", "-o", "table").stdout
    assert here.plan()["notCounted"] == {
        "Deployment with kueue.x-k8s.io/podset-required-topology": 1,
        "Deployment with volcano.sh/revocable-zone": 1,
        "PodGroup: spec.networkTopology": 2,
        "Queue: spec.dequeueStrategy fifo": 1,
    }
