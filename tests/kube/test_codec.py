"""Pods and nodes to shapes and records: every field that decides where a pod may run."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.nodes import node_records
from fairlead.kube.codec.requests import request
from fairlead.kube.codec.shapes import shape
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.model.errors import InputError
from fairlead.model.selectors import LabelSelector, Operator, Preference, Requirement, Taint, Term, Toleration
from fairlead.model.shape import Neighbour, Port, Spread


def spec(**fields: Any) -> PodSpec:
    """A pod spec from the fields of its JSON."""
    return msgspec.convert(fields, PodSpec)


def container(cpu: str, memory: str = "0", **more: Any) -> dict[str, Any]:
    """A container that asks for cpu and memory."""
    return {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}, **more}


REQUESTS: dict[str, tuple[PodSpec, dict[str, int]]] = {
    "containers add up": (
        spec(containers=[container("1", "1Ki"), container("500m", "1Ki")]),
        {"pods": 1, "cpu": 1500, "memory": 2048},
    ),
    "an init container counts where it asks for more": (
        spec(containers=[container("1")], initContainers=[container("3"), container("2")]),
        {"pods": 1, "cpu": 3000},
    ),
    "a sidecar adds to the containers and to the init containers after it": (
        spec(
            containers=[container("1")],
            initContainers=[container("2"), container("1", restartPolicy="Always"), container("2")],
        ),
        {"pods": 1, "cpu": 3000},
    ),
    "overhead comes on top": (spec(containers=[container("1")], overhead={"cpu": "250m"}), {"pods": 1, "cpu": 1250}),
    "a limit without a request is the request": (
        spec(containers=[{"name": "c", "resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}}]),
        {"pods": 1, "cpu": 2000, "nvidia.com/gpu": 1},
    ),
    "pod-level resources replace the sum": (
        spec(containers=[container("1", "5")], resources={"requests": {"cpu": "4"}}),
        {"pods": 1, "cpu": 4000, "memory": 5},
    ),
    "nothing asked for still takes a pod slot": (spec(containers=[{"name": "c"}]), {"pods": 1}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_request(name: str) -> None:
    """The request of a pod is what the API server's own rules make of its containers."""
    given, want = REQUESTS[name]
    assert request(given) == want


def test_shape_carries_every_constraint() -> None:
    """Selectors, affinity, tolerations, spread, neighbours and ports all arrive."""
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    got = shape(
        "shop",
        {"app": "web", "rev": "7"},
        spec(
            containers=[container("1", ports=[{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1"}])],
            nodeSelector={"b": "2", "a": "1"},
            tolerations=[{"key": "spot", "operator": "Exists"}, {"key": "x", "value": "y", "effect": "NoSchedule"}],
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [{"matchExpressions": [expression]}, {}]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 5,
                            "preference": {
                                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
                            },
                        }
                    ],
                },
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "topologyKey": "zone",
                            "labelSelector": {"matchLabels": {"app": "db"}},
                            "namespaces": ["z", "a"],
                        }
                    ]
                },
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 9,
                            "podAffinityTerm": {
                                "topologyKey": "host",
                                "labelSelector": {"matchLabels": {"app": "web"}},
                                "namespaceSelector": {},
                                "mismatchLabelKeys": ["rev"],
                            },
                        }
                    ]
                },
            },
            topologySpreadConstraints=[
                {
                    "maxSkew": 2,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                    "matchLabelKeys": ["rev", "absent"],
                    "minDomains": 3,
                    "nodeAffinityPolicy": "Ignore",
                    "nodeTaintsPolicy": "Honor",
                }
            ],
        ),
    )
    web, rev = Requirement("app", Operator.IN, ("web",)), ("7",)
    assert got.namespace == "shop"
    assert got.labels == (("app", "web"), ("rev", "7"))
    assert got.node_selector == (("a", "1"), ("b", "2"))
    assert got.required == (Term((Requirement("disk", Operator.IN, ("ssd",)),)), Term())
    assert got.preferred == (Preference(5, Term((), (Requirement("metadata.name", Operator.IN, ("n",)),))),)
    assert got.tolerations == (Toleration("spot", "Exists"), Toleration("x", "Equal", "y", "NoSchedule"))
    assert got.near == (
        Neighbour(
            key="zone", selector=LabelSelector((Requirement("app", Operator.IN, ("db",)),)), namespaces=("a", "z")
        ),
    )
    assert got.far == (
        Neighbour(
            key="host",
            selector=LabelSelector((web, Requirement("rev", Operator.NOT_IN, rev))),
            namespace_selector=LabelSelector(),
            weight=9,
        ),
    )
    assert got.spread == (
        Spread(
            key="zone",
            most_skew=2,
            hard=False,
            selector=LabelSelector((Requirement("app", Operator.EXISTS), Requirement("rev", Operator.IN, rev))),
            least_domains=3,
            respects_affinity=False,
            respects_taints=True,
        ),
    )
    assert got.ports == (Port(number=8080, address="10.0.0.1"),)


def test_shape_without_a_selector_selects_nobody() -> None:
    """An absent label selector is not an empty one."""
    got = shape("a", {}, spec(topologySpreadConstraints=[{"topologyKey": "zone", "maxSkew": 1}]))
    assert got.spread[0].selector is None


def test_shape_with_the_host_network_takes_container_ports() -> None:
    """With hostNetwork every container port is a port of the node."""
    got = shape(
        "a", {}, spec(hostNetwork=True, containers=[container("1", ports=[{"containerPort": 53, "protocol": "UDP"}])])
    )
    assert got.ports == (Port(number=53, protocol="UDP"),)


def test_shape_with_an_unknown_operator_is_refused() -> None:
    """The message names the operator and those that exist."""
    term = {"matchExpressions": [{"key": "a", "operator": "Near"}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    with pytest.raises(InputError, match="operator 'Near'; expected one of In, NotIn"):
        shape("a", {}, spec(affinity=affinity))


def test_node_records_count_what_runs() -> None:
    """Unfinished pods of a node are its use; finished and unbound ones are not."""
    nodes = [
        msgspec.convert(
            {
                "metadata": {"name": name, "labels": {"zone": "a"}},
                "spec": {"taints": [{"key": "spot", "effect": "NoSchedule"}]},
                "status": {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": ready}]},
            },
            Node,
        )
        for name, ready in (("n1", "True"), ("n2", "False"))
    ]
    pods = [
        msgspec.convert({"spec": {"nodeName": node, "containers": [container("1")]}, "status": {"phase": phase}}, Pod)
        for node, phase in (("n1", "Running"), ("n1", "Pending"), ("n1", "Succeeded"), ("", "Pending"))
    ]
    first, second = node_records(nodes, pods)
    assert (first.name, first.allocatable, first.used) == ("n1", {"cpu": 4000}, {"pods": 2, "cpu": 2000})
    assert (first.labels, first.taints) == ({"zone": "a"}, (Taint("spot", "NoSchedule"),))
    assert (first.unschedulable, second.unschedulable, second.used) == (False, True, {})
