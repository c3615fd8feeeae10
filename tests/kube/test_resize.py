"""Pods resized in place: what they take, case by case, as `PodRequests` of Kubernetes 1.36.3 counts it."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.manifests.site_pods import site_pods
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster.records import Records

Fields = dict[str, Any]

INFEASIBLE = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
DEFERRED = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}


def asks(cpu: str, name: str = "c", **more: Any) -> Fields:
    """A container that asks for cpu."""
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def holds(allocated: str | None, actual: str | None, name: str = "c") -> Fields:
    """Its status: what is allocated to it and what is in force."""
    status: Fields = {"name": name}
    if allocated is not None:
        status["allocatedResources"] = {"cpu": allocated}
    if actual is not None:
        status["resources"] = {"requests": {"cpu": actual}}
    return status


def pod(containers: list[Fields], statuses: list[Fields], *conditions: Fields, **more: Any) -> Pod:
    """A pod on a node; `initial` and `initialStatuses`: init containers, `whole` and `held`: the pod itself."""
    spec = {"containers": containers, "initContainers": more.get("initial", [])}
    status = {
        "containerStatuses": statuses,
        "initContainerStatuses": more.get("initialStatuses", []),
        "conditions": conditions,
        **more.get("held", {}),
    }
    if "whole" in more:
        spec["resources"] = {"requests": more["whole"]}
    return msgspec.convert({"metadata": {"name": "p", "namespace": "n"}, "spec": spec, "status": status}, Pod)


SIDECAR = asks("1", "s", restartPolicy="Always")
CASES: dict[str, tuple[Pod, int]] = {
    "at rest all three are equal": (pod([asks("2")], [holds("2", "2")]), 2000),
    "no status yet: what is asked for": (pod([asks("2")], []), 2000),
    "a status of another container says nothing": (pod([asks("2")], [holds("9", "9", "other")]), 2000),
    "nothing in force yet: what is allocated says nothing": (pod([asks("1")], [holds("3", None)]), 1000),
    "growing: what is asked for": (pod([asks("4")], [holds("1", "1")]), 4000),
    "growing, allocated but not in force": (pod([asks("4")], [holds("4", "1")]), 4000),
    "shrinking: what is allocated": (pod([asks("1")], [holds("3", "1")]), 3000),
    "shrinking: what is in force": (pod([asks("1")], [holds("1", "3")]), 3000),
    "a deferred growth counts, for it may come": (pod([asks("9")], [holds("1", "1")], DEFERRED), 9000),
    "an infeasible growth does not count": (pod([asks("1000")], [holds("1", "1")], INFEASIBLE), 1000),
    "infeasible: the larger of allocated and in force": (pod([asks("1000")], [holds("2", "3")], INFEASIBLE), 3000),
    "infeasible without anything in force: what is asked for": (pod([asks("5")], [holds("1", None)], INFEASIBLE), 5000),
    "infeasible: one container resized, the other at rest": (
        pod([asks("1000"), asks("2", "d")], [holds("1", "1"), holds("2", "2", "d")], INFEASIBLE),
        3000,
    ),
    "the first condition of that type tells": (pod([asks("9")], [holds("1", "1")], DEFERRED, INFEASIBLE), 9000),
    "a sidecar that shrinks": (
        pod([asks("1")], [], initial=[SIDECAR], initialStatuses=[holds("4", "4", "s")]),
        5000,
    ),
    "a sidecar whose growth is infeasible": (
        pod(
            [asks("1")],
            [],
            INFEASIBLE,
            initial=[asks("50", "s", restartPolicy="Always")],
            initialStatuses=[holds("2", "2", "s")],
        ),
        3000,
    ),
    "an init container that ends is not resized": (
        pod([asks("1")], [], initial=[asks("2", "i")], initialStatuses=[holds("6", "6", "i")]),
        2000,
    ),
    "the pod as a whole shrinks: what is allocated": (
        pod([{"name": "c"}], [], whole={"cpu": "1"}, held={"allocatedResources": {"cpu": "4"}, "resources": {}}),
        4000,
    ),
    "the pod as a whole shrinks: what is in force": (
        pod([{"name": "c"}], [], whole={"cpu": "1"}, held={"resources": {"requests": {"cpu": "4"}}}),
        4000,
    ),
    "the pod as a whole, nothing in force yet": (
        pod([{"name": "c"}], [], whole={"cpu": "1"}, held={"allocatedResources": {"cpu": "4"}}),
        1000,
    ),
    "the pod as a whole, infeasible": (
        pod(
            [{"name": "c"}],
            [],
            INFEASIBLE,
            whole={"cpu": "64"},
            held={"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}}},
        ),
        2000,
    ),
    "the pod as a whole replaces what its containers hold": (
        pod([asks("1")], [holds("8", "8")], whole={"cpu": "2"}, held={"resources": {"requests": {"cpu": "2"}}}),
        2000,
    ),
    "in force for the pod as a whole, not asked for any more: the containers tell": (
        pod([asks("1")], [], held={"resources": {"requests": {"cpu": "8"}}}),
        1000,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_resized_pod_takes_what_kube_scheduler_counts(name: str) -> None:
    """The request, and what the scheduler and the manifests make of it, are the amount of the table."""
    given, want = CASES[name]
    assert want == request_of_pod(given)["cpu"]
    assert want == dict(Records().record(given).request)["cpu"]
    (asked,) = site_pods([given]).requests[-1:]
    assert want == dict(asked)["cpu"]
