"""A pod explained from lists alone: where it is, where it would go, or why nowhere."""

from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.resources import NODES, PODS, VOLUME_ATTACHMENTS
from fairlead.live.scheduler.explain_pod import look, sentences
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.test_scheduler_dump import node, pod


def asked(name: str, *pods: dict[str, Any]) -> tuple[str, ...]:
    """What is said of a pod of the shop, beside others, on two nodes; one kind is not served."""
    api = FakeApi()
    api.stop_serving(VOLUME_ATTACHMENTS)
    for number in range(2):
        api.put(NODES, node(number))
    for each in pods:
        api.put(PODS, each)
    return sentences(run(look(Client(api), "shop", name)))


def condition(body: dict[str, Any], message: str) -> dict[str, Any]:
    """The pod with what the scheduler told it."""
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {**body, "status": {"conditions": [told]}}


CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, ...]]] = {
    "nobody": ([], ("Pod shop/web-0: there is no such pod.",)),
    "bound": (
        [pod("web", 0, "n1")],
        ("Pod shop/web-0: bound to n1.", "  It is a replica of ReplicaSet/shop/web, for fairlead."),
    ),
    "next": (
        [pod("web", 0), pod("web", 1, "n0")],
        (
            "Pod shop/web-0: it waits, and would go to n1 if it came first.",
            "  It is a replica of ReplicaSet/shop/web, for fairlead.",
        ),
    ),
    "refused": (
        [condition(pod("web", 0, nodeSelector={"disk": "ssd"}), "QueueCapability: full")],
        (
            "Pod shop/web-0: it waits.",
            "  It is a replica of ReplicaSet/shop/web, for fairlead.",
            "  0/2 nodes can take this pod: 2 NodeNotSelected (n0, n1); "
            "a change of the pod or of the nodes would help.",
            "  NodeNotSelected: the node does not match the replica's node selector or required node affinity; "
            "2 nodes (n0, n1).",
            "  Its condition says: QueueCapability: full.",
        ),
    ),
    "gated": (
        [pod("web", 0, schedulingGates=[{"name": "g"}])],
        ("Pod shop/web-0: it is held back.", "  It is a replica of ReplicaSet/shop/web, for fairlead."),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_look_says_where_or_why_not(case: str) -> None:
    """The same words as the scheduler's."""
    pods, want = CASES[case]
    assert asked("web-0", *pods) == want
