"""Fields of Volcano's objects on a real API server with its definitions: each is obeyed, or somebody is told of it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api

from fairlead.kube.timestamps import seconds
from tests.cluster import volcano
from tests.cluster.played.volcano_groups import MIN_MEMBER
from tests.cluster.test_fairness import running

Nodes = Callable[..., list[str]]
Spec = Mapping[str, Any]
COOLDOWN = 8
"""Seconds for which a pod of these tests is not evicted."""

NAMED: dict[str, tuple[Spec, Spec, Spec, str]] = {
    "soft topology": ({"networkTopology": {"mode": "soft", "highestTierAllowed": 1}}, {}, {}, "spec.networkTopology"),
    "sub-groups": ({"subGroupPolicy": [{"name": "s", "subGroupSize": 1}]}, {}, {}, "spec.subGroupPolicy"),
    "revocable zone": ({}, {"volcano.sh/revocable-zone": "*"}, {}, "annotation volcano.sh/revocable-zone"),
    "waiting time": ({}, {"sla-waiting-time": "soon"}, {}, "annotation sla-waiting-time, which is no duration"),
    "dequeue": ({}, {}, {"dequeueStrategy": "fifo"}, "spec.dequeueStrategy fifo"),
}
"""Of the group its spec and annotations, of the queue its spec; what is said."""


def settings(namespace: str, **queue: Any) -> dict[str, Spec]:
    """Evictions are allowed; status is written at once."""
    evictions = {"allowed": True, "perMinute": 60, "namespace": namespace, "switch": "switch"}
    return {"queue": {"statusSeconds": 0.2, **queue}, "evictions": evictions}


def queue_name(namespace: str, name: str = "q") -> str:
    """Queues are of the whole cluster: a name of this test alone."""
    return f"{name}-{namespace[:20]}".rstrip("-")


def said(api: Api, namespace: str, group: str) -> dict[str, str]:
    """The messages of a group's conditions that hold, by type."""
    status = api.get(f"{volcano.groups_path(namespace)}/{group}").get("status", {})
    return {each["type"]: each.get("message", "") for each in status.get("conditions", []) if each["status"] == "True"}


def pod(api: Api, namespace: str, name: str, annotations: Spec, **spec: Any) -> None:
    """A bare pod of one cpu."""
    made = volcano.member("", name, **spec)
    made["metadata"]["annotations"] = dict(annotations)
    api.create(f"/api/v1/namespaces/{namespace}/pods", made)


def message(api: Api, namespace: str, name: str) -> str:
    """What a pod without a node is told."""
    found = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"].get("conditions", [])
    return next((each.get("message", "") for each in found if each["type"] == "PodScheduled"), "")


@pytest.fixture
def one_node(api: Api, kwok_nodes: Nodes) -> str:
    """A node of four cpu, and Volcano's definitions."""
    volcano.install(api)
    return kwok_nodes(1, cpu="4")[0]


@pytest.mark.usefixtures("one_node")
def test_fields_that_nobody_reads_are_named_and_gangs_start(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """Each on a group of its own: it runs, and its condition names the field."""
    queues = {queue_name(namespace, f"q{number}"): spec for number, (*_, spec, _) in enumerate(NAMED.values())}
    with volcano.queues(api, **queues), running(kubeconfig, tmp_path, **settings(namespace)):
        for number, (name, (spec, annotations, _, words)) in enumerate(NAMED.items()):
            group = f"g{number}"
            volcano.make_group(api, namespace, group, 1, queue=list(queues)[number], **spec)
            api.patch(f"{volcano.groups_path(namespace)}/{group}", {"metadata": {"annotations": annotations}})
            api.create(f"/api/v1/namespaces/{namespace}/pods", volcano.member(group, group, cpu="500m"))
            api.wait(f"{name} named", lambda group=group, words=words: words in _not_obeyed(api, namespace, group))
            api.wait(f"{name} runs", lambda group=group: volcano.bound(api, namespace)[group] == 1)


def _not_obeyed(api: Api, namespace: str, group: str) -> str:
    return said(api, namespace, group).get("FieldsNotObeyed", "")


@pytest.mark.usefixtures("one_node")
@pytest.mark.parametrize(
    "spec",
    [{"networkTopology": {}}, {"subGroupPolicy": [{"name": "s", "networkTopology": {"mode": "hard"}}]}],
    ids=["of the group", "of a sub-group"],
)
def test_hard_topology_keeps_pods_waiting_and_is_said(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path, spec: dict[str, Any]
) -> None:
    """Hard is the default of the definition. The pods' own message names the field."""
    with running(kubeconfig, tmp_path, **settings(namespace)):
        volcano.make_gang(api, namespace, "g", 2, **spec)
        api.wait(
            "both are told",
            lambda: (
                [
                    "FieldNotObeyed" in told and "networkTopology (hard)" in told
                    for told in volcano.told(api, namespace, "g")
                ]
                == [True, True]
            ),
        )
        assert volcano.bound(api, namespace).total() == 0


@pytest.mark.usefixtures("one_node")
def test_gang_that_may_not_wait_longer_has_room_kept_for_it(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """`sla-waiting-time: 1s`, and no `reserveAfterSeconds`: what would fit beside it waits, and is told for whom."""
    with running(kubeconfig, tmp_path, queue={"statusSeconds": 0.2}):
        for number in range(3):
            pod(api, namespace, f"runs{number}", {})
        api.wait("three run", lambda: volcano.bound(api, namespace).total() == 3)
        volcano.make_group(api, namespace, "g", 4)
        marks = {"metadata": {"annotations": {"sla-waiting-time": "1s"}}}
        api.patch(f"{volcano.groups_path(namespace)}/g", marks)
        pods = [volcano.member("g", f"g{number}") for number in range(4)]
        api.create_many(f"/api/v1/namespaces/{namespace}/pods", pods)
        api.wait("the gang is told", lambda: "" not in volcano.told(api, namespace, "g"))
        # Before its time is over another pod may still take the room; it goes, and the next one waits.
        late = iter(range(100))

        def kept() -> bool:
            name = f"late{next(late)}"
            pod(api, namespace, name, {})
            api.wait(f"{name} decided", lambda: message(api, namespace, name) or _node(api, namespace, name))
            told = "RoomReserved" in message(api, namespace, name)
            api.delete(f"/api/v1/namespaces/{namespace}/pods/{name}", gracePeriodSeconds=0)
            return told

        api.wait("room is kept", kept)
        for number in range(3):
            api.delete(f"/api/v1/namespaces/{namespace}/pods/runs{number}", gracePeriodSeconds=0)
        api.wait("the gang runs", lambda: volcano.bound(api, namespace)["g"] == 4)


def _node(api: Api, namespace: str, name: str) -> str:
    found: str = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["spec"].get("nodeName", "")
    return found


@pytest.mark.usefixtures("one_node")
@pytest.mark.parametrize(
    "mark",
    [{"volcano.sh/preemptable": "false"}, {"volcano.sh/cooldown-time": f"{COOLDOWN}s"}],
    ids=["mark", "cooldown"],
)
def test_marked_pods_stay_and_who_waits_is_told_of_that(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path, mark: dict[str, str]
) -> None:
    """One queue holds everything and the other is told why; pods that cool down go when their time is over."""
    first, second = queue_name(namespace, "a"), queue_name(namespace, "b")
    with (
        volcano.queues(api, **{first: {"weight": 1}, second: {"weight": 1}}),
        running(kubeconfig, tmp_path, **settings(namespace)),
    ):
        for number in range(4):
            pod(api, namespace, f"holds{number}", {"volcano.sh/queue-name": first, **mark})
        api.wait("four run", lambda: volcano.bound(api, namespace).total() == 4)
        since = min(_scheduled(api, namespace, f"holds{number}") for number in range(4))
        pod(api, namespace, "waits", {"volcano.sh/queue-name": second})
        words = "they are marked as not preemptable, or have not run for their cooldown time"
        api.wait("it is told", lambda: words in message(api, namespace, "waits"))
        if "volcano.sh/preemptable" in mark:
            assert len(api.items(f"/api/v1/namespaces/{namespace}/pods")) == 5
            return
        api.wait("it runs", lambda: _node(api, namespace, "waits"))
        # Kubernetes' times are whole seconds.
        assert _scheduled(api, namespace, "waits") - since >= COOLDOWN - 1


def _scheduled(api: Api, namespace: str, name: str) -> float:
    found = api.get(f"/api/v1/namespaces/{namespace}/pods/{name}")["status"]["conditions"]
    (moment,) = (each["lastTransitionTime"] for each in found if each["type"] == "PodScheduled")
    return float(seconds(moment))


@pytest.mark.usefixtures("one_node")
def test_unreadable_queue_is_said_to_its_pods(api: Api, kubeconfig: Path, namespace: str, tmp_path: Path) -> None:
    """It is there, and one amount of it cannot be read: the message has the amount, not that the queue is missing."""
    name = queue_name(namespace)
    queue = {name: {"weight": 1, "capability": {"memory": "-1Gi"}}}
    with volcano.queues(api, **queue), running(kubeconfig, tmp_path, **settings(namespace)):
        pod(api, namespace, "p", {"volcano.sh/queue-name": name})
        api.wait("it is told", lambda: "QueueUnreadable" in message(api, namespace, "p"))
        assert "negative" in message(api, namespace, "p")
        assert "does not exist" not in message(api, namespace, "p")


@pytest.mark.usefixtures("one_node")
def test_group_that_is_announced_and_does_not_come_is_said(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """No podgroup controller is there: the pods are not bound one by one, and are told what they wait for."""
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"labels": {"group": "e"}},
        "spec": {"schedulerName": "fairlead", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "e", "annotations": {MIN_MEMBER: "2"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"group": "e"}}, "template": template},
    }
    with running(kubeconfig, tmp_path, **settings(namespace)):
        api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment)
        api.wait(
            "both are told",
            lambda: ["GroupAwaited" in told for told in volcano.told(api, namespace, "e")] == [True, True],
        )
        assert not any(each["spec"].get("nodeName") for each in api.items(f"/api/v1/namespaces/{namespace}/pods"))


@pytest.mark.usefixtures("one_node")
def test_queues_are_not_created_where_that_is_switched_off(
    api: Api, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    """`queue.createQueues: false`: pods without a queue run all the same, for there is always one."""
    for name in ("default", "root"):
        if name in {each["metadata"]["name"] for each in api.items(volcano.QUEUES)}:
            api.delete(f"{volcano.QUEUES}/{name}")
    with running(kubeconfig, tmp_path, **settings(namespace, createQueues=False)):
        volcano.make_gang(api, namespace, "g", 2)
        api.wait("it runs", lambda: said(api, namespace, "g").get("Scheduled") is not None)
        assert not {"default", "root"} & {each["metadata"]["name"] for each in api.items(volcano.QUEUES)}
