"""Queues, namespaces and gangs on a real API server: shares follow weights, gangs start whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.controlplane.api import Api
from tools.controlplane.build import obstacle
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from tests.cluster import volcano
from tests.cluster.test_scheduler import scheduler
from tests.cluster.test_scheduler_faults import applied
from tests.cluster.versions import native_gangs

Nodes = Callable[..., list[str]]

TABLES = (
    # queue weights, namespace weights, (queue, namespace, requested, assigned)
    ((1, 1), {}, (("q1", "ns1", 5, 4), ("q1", "ns2", 10, 4), ("q2", "ns3", 10, 6), ("q2", "ns4", 2, 2))),
    (
        (1, 3),
        {"ns1": 3, "ns2": 1, "ns3": 2, "ns4": 6},
        (("q1", "ns1", 5, 3), ("q1", "ns2", 10, 1), ("q2", "ns3", 10, 10), ("q2", "ns4", 2, 2)),
    ),
    ((1, 3), {"ns1": 2, "ns2": 6}, (("q1", "ns1", 4, 4), ("q2", "ns1", 5, 3), ("q2", "ns2", 20, 9))),
)
"""The namespace fair share proposal's own; in the third q1 has as much demand as it gets."""


def cordon(api: Api, nodes: list[str], closed: bool) -> None:
    """Nodes that take pods or do not."""
    for node in nodes:
        api.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": closed}})


def test_three_tables_of_the_proposal_hold_as_pods_come_and_go(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes
) -> None:
    """16 cpu, weights edited live from table to table; then single pods end and others come, and the shares stay."""
    volcano.install(api)
    nodes = kwok_nodes(4, cpu="4")
    names = {short: f"{namespace[:40]}-{short}".strip("-") for short in ("ns1", "ns2", "ns3", "ns4")}
    with (
        volcano.queues(api, q1={"weight": 1}, q2={"weight": 1}),
        volcano.namespaces(api, *names.values()),
        scheduler(kubeconfig, "--no-leader-election", "--no-events"),
    ):
        for weights, by_namespace, rows in TABLES:
            cordon(api, nodes, True)
            for name in names.values():
                volcano.empty(api, name)
            for queue, weight in zip(("q1", "q2"), weights, strict=True):
                api.patch(f"{volcano.QUEUES}/{queue}", {"spec": {"weight": weight}})
            for short, weight in by_namespace.items():
                volcano.weigh(api, names[short], weight)
            for queue, short, requested, _ in rows:
                volcano.make_gang(api, names[short], f"job-{queue}-{len(by_namespace)}", requested, 1, queue=queue)
            cordon(api, nodes, False)
            want = {(queue, names[short]): assigned for queue, short, _, assigned in rows}

            def shares(want: dict[tuple[str, str], int] = want) -> dict[tuple[str, str], int]:
                held: dict[tuple[str, str], int] = {}
                for queue, name in want:
                    held[queue, name] = sum(n for job, n in volcano.bound(api, name).items() if f"-{queue}-" in job)
                return held

            api.wait("all of the cluster used", lambda shares=shares: sum(shares().values()) == 16, seconds=180)
            assert shares() == want
            for round_, (queue, short, _, _) in enumerate(rows):
                # One pod ends, its job asks for another: whoever is then below the share gets the room.
                pods, job = f"/api/v1/namespaces/{names[short]}/pods", f"job-{queue}-{len(by_namespace)}"
                there = [p for p in api.items(pods, labelSelector=f"group={job}") if p["spec"].get("nodeName")]
                api.delete(f"{pods}/{there[0]['metadata']['name']}", gracePeriodSeconds=0)
                api.create(pods, volcano.member(job, f"{job}-more-{round_}"))
                api.wait("the room used again", lambda shares=shares: sum(shares().values()) == 16, seconds=180)
                held = shares()
                assert all(abs(held[key] - number) <= 1 for key, number in want.items()), (held, want)


def test_a_gang_starts_whole_or_not_at_all(api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes) -> None:
    """Room for three of four: none starts, all four say why; a smaller gang does start; a node wakes the large one."""
    volcano.install(api)
    kwok_nodes(1, cpu="3")
    with scheduler(kubeconfig, "--no-leader-election"):
        volcano.make_gang(api, namespace, "large", 4)
        api.wait(
            "every member is told",
            lambda: len(volcano.told(api, namespace, "large")) == 4 and all(volcano.told(api, namespace, "large")),
            seconds=180,
        )
        assert all("4 replicas" in message for message in volcano.told(api, namespace, "large"))
        volcano.make_gang(api, namespace, "small", 3, 2)
        api.wait("the small gang", lambda: volcano.bound(api, namespace)["small"] == 3, seconds=180)
        assert volcano.bound(api, namespace)["large"] == 0
        kwok_nodes(1, cpu="4")
        api.wait("the large gang", lambda: volcano.bound(api, namespace)["large"] == 4, seconds=180)
        api.wait("nothing is left to do", lambda: not volcano.intents(api, namespace), seconds=180)


def kill_in_the_middle(api: Api, kubeconfig: Path, namespace: str, gang: str, size: int) -> bool:
    """SIGKILL after the first bind; whether that was before the last one. Then another instance completes the gang."""
    with scheduler(kubeconfig, "--no-leader-election", "--no-events") as process:
        api.wait("the first bind", lambda: volcano.bound(api, namespace)[gang], seconds=180)
        process.kill()
        process.wait(30)
    midway = 0 < volcano.bound(api, namespace)[gang] < size
    if midway:
        assert volcano.intents(api, namespace) == [gang]
    with scheduler(kubeconfig, "--no-leader-election", "--no-events"):
        api.wait("the whole gang", lambda: volcano.bound(api, namespace)[gang] == size, seconds=180)
        api.wait("its intent gone", lambda: not volcano.intents(api, namespace), seconds=180)
    return midway


def test_a_gang_that_was_begun_is_completed_after_a_kill(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes
) -> None:
    """Killed between the first and the last bind: the next leader rolls it forward before others take the room."""
    volcano.install(api)
    size, kills = 100, int(os.environ.get("FAIRLEAD_GANG_KILLS", "2"))
    kwok_nodes(10, cpu="11")
    midway = 0
    for number in range(10 * kills):
        if midway == kills:
            break  # a kill that comes after the last bind shows nothing: the next one may be in time
        volcano.make_gang(api, namespace, f"gang{number}", size)
        # A rival that would take the room of what is missing, were it not promised.
        volcano.make_gang(api, namespace, f"rival{number}", 11, 11)
        midway += kill_in_the_middle(api, kubeconfig, namespace, f"gang{number}", size)
        assert volcano.bound(api, namespace)[f"rival{number}"] in (0, 11)
        volcano.empty(api, namespace)
    assert midway == kills


def test_queues_and_groups_that_change_under_running_jobs(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes
) -> None:
    """A queue deleted: what runs goes on, what waits says so. A group edited below what runs: the rest is elastic."""
    volcano.install(api)
    kwok_nodes(1, cpu="6")
    with (
        volcano.queues(api, doomed={"weight": 1, "capability": {"cpu": "4"}}),
        scheduler(kubeconfig, "--no-leader-election", "--no-events"),
    ):
        volcano.make_gang(api, namespace, "job", 6, 4, queue="doomed")
        api.wait("what the queue may hold", lambda: volcano.bound(api, namespace)["job"] == 4, seconds=180)
        api.wait(
            "the others told",
            lambda: all("QueueCapability" in each for each in volcano.told(api, namespace, "job")),
            seconds=180,
        )
        api.patch(f"{volcano.groups_path(namespace)}/job", {"spec": {"minMember": 2}})
        api.delete(f"{volcano.QUEUES}/doomed")
        api.wait(
            "the others told again",
            lambda: all("UnknownQueue" in each for each in volcano.told(api, namespace, "job")),
            seconds=180,
        )
        assert volcano.bound(api, namespace)["job"] == 4
        api.patch(f"{volcano.groups_path(namespace)}/job", {"spec": {"queue": "default"}})
        api.wait("all run in another queue", lambda: volcano.bound(api, namespace)["job"] == 6, seconds=180)


def test_kinds_that_are_installed_later_are_picked_up(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes
) -> None:
    """Without Volcano's kinds the names on pods mean nothing; once they are served, a pod waits for its group."""
    volcano.uninstall(api)
    kwok_nodes(1, cpu="40")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    with scheduler(kubeconfig, "--no-leader-election", "--no-events"):
        api.create(pods, volcano.member("before", "before-0"))
        api.wait("a pod without its group", lambda: volcano.bound(api, namespace)["before"] == 1, seconds=180)
        volcano.install(api)
        probes = iter(range(10_000))

        def noticed() -> bool:
            probe = f"probe{next(probes)}"
            api.create(pods, volcano.member(probe, probe, cpu="1m"))
            api.wait(
                "the probe bound or told",
                lambda: volcano.bound(api, namespace)[probe] or any(volcano.told(api, namespace, probe)),
                seconds=60,
            )
            return "UnknownGroup" in "".join(volcano.told(api, namespace, probe))

        api.wait("the scheduler knows PodGroups", noticed, seconds=180)
        volcano.make_gang(api, namespace, "gang", 3)
        api.wait("the gang", lambda: volcano.bound(api, namespace)["gang"] == 3, seconds=180)


@native_gangs
def test_kubernetes_own_gangs_start_whole_where_they_are_served() -> None:
    """PodGroups of scheduling.k8s.io, where they are served: none of three starts in room for two, then all do.

    The group is told of in kube-scheduler's words, and the rights of the deployment are enough for that.
    """
    reason = obstacle()
    if reason:
        pytest.skip(f"no control plane here: {reason}")
    gates = {"GenericWorkload": True, "GangScheduling": True}
    options = Options(
        feature_gates=gates, runtime_config={"scheduling.k8s.io/v1alpha2": True}, controller_manager=False, kwok=False
    )
    with ControlPlane(options) as plane:
        api, pods = plane.api, "/api/v1/namespaces/default/pods"
        plane.create_kwok_nodes(1, cpu="2")
        groups = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
        api.create(
            groups,
            {
                "apiVersion": "scheduling.k8s.io/v1alpha2",
                "kind": "PodGroup",
                "metadata": {"name": "own"},
                "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
            },
        )

        def standing() -> tuple[str, str]:
            """Status and reason of the condition that kube-scheduler writes on its PodGroups."""
            told = {each["type"]: each for each in api.get(f"{groups}/own").get("status", {}).get("conditions", ())}
            return (told["PodGroupScheduled"]["status"], told["PodGroupScheduled"]["reason"]) if told else ("", "")

        for number in range(3):
            body = volcano.member("own", f"own-{number}", schedulingGroup={"podGroupName": "own"})
            del body["metadata"]["annotations"]
            api.create(pods, body)
        with scheduler(applied(plane), "--no-leader-election", "--no-events"):
            api.wait("all told", lambda: all(volcano.told(api, "default", "own")), seconds=180)
            assert len(volcano.told(api, "default", "own")) == 3
            api.wait("the group told", lambda: standing() == ("False", "Unschedulable"), seconds=180)
            plane.create_kwok_nodes(1, cpu="2", prefix="more-")
            api.wait("all bound", lambda: not volcano.told(api, "default", "own"), seconds=180)
            api.wait("the group told again", lambda: standing() == ("True", "Scheduled"), seconds=180)
