"""Evictions, held room, reservation and status of the fair scheduler on a real API server."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests import deploys
from tests.cluster import volcano
from tests.cluster.pages import free_port
from tests.cluster.test_plan_live import fairlead
from tests.cluster.test_scheduler_faults import SYSTEM

Nodes = Callable[..., list[str]]
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


class Running:
    """The scheduler as a process: its log, and its metrics."""

    def __init__(self, log: Path, port: int) -> None:
        self._log = log
        self._port = port

    @property
    def log(self) -> str:
        """What it has said so far."""
        return self._log.read_text()

    def metric(self, name: str) -> float:
        """The value of a series, labels included in the name; 0 where there is none."""
        with suppress(OSError), urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=5) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(f"{name} "):
                    return float(line.rpartition(" ")[2])
        return 0.0


@contextmanager
def running(kubeconfig: Path, folder: Path, *options: str, **sections: Mapping[str, Any]) -> Iterator[Running]:
    """The scheduler with a configuration of these sections, stopped with SIGTERM."""
    config, log = folder / "fairlead.json", folder / "log"
    config.write_text(json.dumps({"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", **sections}))
    port = free_port()
    words = ["scheduler", "--kubeconfig", str(kubeconfig), "--no-leader-election", "--config", str(config)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "fairlead", *words, "--listen", f"127.0.0.1:{port}", *options],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            yield Running(log, port)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture
def evicting(namespace: str) -> dict[str, Any]:
    """Evictions are allowed; budget and switch are in the test's own namespace. Status is written at once."""
    return {
        "evictions": {"allowed": True, "perMinute": 60, "namespace": namespace, "switch": "switch"},
        "queue": {"statusSeconds": 0.2},
    }


@pytest.fixture
def high(api: Api, namespace: str) -> Iterator[str]:
    """A priority class above all others; its name with `-least` is one below all others."""
    for name, value in ((namespace, 1000), (f"{namespace}-least", -1000)):
        api.create(CLASSES, {"metadata": {"name": name}, "value": value})
    yield namespace
    for name in (namespace, f"{namespace}-least"):
        api.delete(f"{CLASSES}/{name}")


@pytest.fixture
def deployed(api: Api, control_plane: ControlPlane) -> Iterator[Path]:
    """The kubeconfig of the ServiceAccount of the deployment files, which may evict."""
    for manifest in deploys.deployed("common", "scheduler-evictions"):
        if manifest["kind"] not in ("Deployment", "PodDisruptionBudget"):
            deploys.apply(api, manifest)
    yield control_plane.kubeconfig_for_service_account(SYSTEM, "fairlead-scheduler")
    for manifest in deploys.added("scheduler-evictions", "scheduler"):
        api.delete(deploys.place(manifest))


def pods(api: Api, namespace: str, group: str = "") -> dict[str, dict[str, Any]]:
    """The pods of a group by name."""
    found = api.items(f"/api/v1/namespaces/{namespace}/pods", **({"labelSelector": f"group={group}"} if group else {}))
    return {pod["metadata"]["name"]: pod for pod in found}


def add(api: Api, namespace: str, group: str, count: int, **spec: Any) -> None:
    """More pods of a group, of which there may be none yet."""
    made = [volcano.member(group, f"{group}-{number}", **spec) for number in range(count)]
    api.create_many(f"/api/v1/namespaces/{namespace}/pods", made)


def group(api: Api, namespace: str, name: str) -> dict[str, Any]:
    """The status of a PodGroup."""
    status: dict[str, Any] = api.get(f"{volcano.groups_path(namespace)}/{name}").get("status", {})
    return status


def condition(status: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """A condition by type; empty where there is none."""
    return next((each for each in status.get("conditions", []) if each["type"] == kind), {})


def queue(api: Api, name: str) -> dict[str, Any]:
    """The status of a Queue."""
    status: dict[str, Any] = api.get(f"{volcano.QUEUES}/{name}").get("status", {})
    return status


def test_a_queue_reclaims_its_right_when_weights_change(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, deployed: Path, tmp_path: Path
) -> None:
    """By 3 to 1 a gang of two is above its queue's right and waits; by 1 to 1 others make room. Everybody is told.

    The scheduler has the rights of its deployment, no more.
    """
    settings: dict[str, Any] = {"evictions": {"allowed": True, "perMinute": 60}, "queue": {"statusSeconds": 0.2}}
    volcano.install(api)
    kwok_nodes(2, cpu="2")
    with (
        volcano.queues(api, qa={"weight": 3}, qb={"weight": 1}),
        running(deployed, tmp_path, **settings) as scheduler,
    ):
        volcano.make_gang(api, namespace, "mine", 4, 1, queue="qa")
        api.wait("mine runs", lambda: group(api, namespace, "mine").get("running") == 4, seconds=180)
        volcano.make_gang(api, namespace, "theirs", 2, 2, queue="qb")
        api.wait("theirs says why", lambda: condition(group(api, namespace, "theirs"), "Unschedulable"), seconds=180)
        waits = group(api, namespace, "theirs")
        assert waits["phase"] == "Inqueue"
        assert condition(waits, "Unschedulable")["reason"] == "NotEnoughResources"
        assert volcano.bound(api, namespace) == {"mine": 4}
        api.wait("qa counts", lambda: queue(api, "qa").get("allocated", {}).get("cpu") == "4", seconds=180)
        api.wait("qb counts", lambda: queue(api, "qb").get("inqueue") == 1, seconds=180)
        shown = fairlead(kubeconfig, "queue", "-o", "json")
        assert shown.returncode == 1, shown.stderr.decode()
        record = json.loads(shown.stdout)
        assert {row["name"]: row["used"]["cpu"] for row in record["queues"]}["qa"] == "4"
        assert [row["job"] for row in record["waiting"]] == [f"{namespace}/theirs"]
        assert record["waiting"][0]["reason"]

        api.patch(f"{volcano.QUEUES}/qa", {"spec": {"weight": 1}})
        api.wait("theirs runs", lambda: volcano.bound(api, namespace) == {"mine": 2, "theirs": 2}, seconds=180)
        api.wait("its phase", lambda: group(api, namespace, "theirs").get("phase") == "Running", seconds=180)
        runs = group(api, namespace, "theirs")
        assert runs["running"] == 2
        assert condition(runs, "Scheduled")["reason"] == "tasks in gang are ready to be scheduled"
        assert condition(runs, "Unschedulable")["status"] == "False"
        api.wait("qb holds two", lambda: queue(api, "qb").get("allocated", {}).get("cpu") == "2", seconds=180)
        assert queue(api, "qb")["running"] == 1
        assert queue(api, "qb")["state"] == "Open"
        assert scheduler.metric('fairlead_evicted_pods_total{action="reclaim"}') == 2
        assert scheduler.metric("fairlead_skipped_preemptions_total") == 0
        api.wait("qb has its share", lambda: scheduler.metric('fairlead_queue_distance{queue="qb"}') == 0, seconds=180)
        assert scheduler.metric('fairlead_queue_deserved{queue="qb",resource="cpu"}') == 2
    assert "queues' shares" in scheduler.log
    assert "not written" not in scheduler.log
    spent = api.get(f"/api/v1/namespaces/{SYSTEM}/configmaps/fairlead-evictions")["data"]["recent"]
    assert sum(int(line.split()[1]) for line in spent.splitlines()) == 2


def test_room_that_is_made_is_kept_until_the_victims_are_gone(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, evicting: dict[str, Any], high: str, tmp_path: Path
) -> None:
    """Victims that take their time: the gang is nominated, smaller pods that come later get nothing, then it starts."""
    volcano.install(api)
    (node,) = kwok_nodes(1, cpu="4")
    everything = f"/api/v1/namespaces/{namespace}/pods"
    with running(kubeconfig, tmp_path, **evicting):
        volcano.make_group(api, namespace, "low", 1)
        slow = [volcano.member("low", f"low-{number}") for number in range(4)]
        for pod in slow:
            pod["metadata"]["finalizers"] = ["example.com/slow"]
        api.create_many(everything, slow)
        api.wait("low runs", lambda: volcano.bound(api, namespace)["low"] == 4, seconds=180)
        volcano.make_group(api, namespace, "high", 2)
        add(api, namespace, "high", 2, priorityClassName=high)

        def leaving() -> list[dict[str, Any]]:
            return [pod for pod in pods(api, namespace, "low").values() if pod["metadata"].get("deletionTimestamp")]

        api.wait("two leave", lambda: len(leaving()) == 2, seconds=180)
        assert {pod["status"].get("nominatedNodeName") for pod in pods(api, namespace, "high").values()} == {node}
        for pod in leaving():
            target = condition(pod["status"], "DisruptionTarget")
            assert (target["status"], target["reason"]) == ("True", "EvictionByEvictionAPI")
        volcano.make_group(api, namespace, "late", 1)
        add(api, namespace, "late", 2, priorityClassName=f"{high}-least")
        api.wait("late waits", lambda: all(volcano.told(api, namespace, "late")), seconds=180)
        for gone in (1, 2):
            name = leaving()[0]["metadata"]["name"]
            api.patch(f"{everything}/{name}", {"metadata": {"finalizers": None}})
            left = 2 - gone
            api.wait("it is gone", lambda left=left: len(leaving()) == left, seconds=180)
            assert volcano.bound(api, namespace)["late"] == 0
        api.wait("high runs", lambda: volcano.bound(api, namespace)["high"] == 2, seconds=180)
        assert volcano.bound(api, namespace) == {"low": 2, "high": 2}

        def nominated() -> set[str]:
            return {pod["status"].get("nominatedNodeName", "") for pod in pods(api, namespace).values()}

        api.wait("nominations are taken back", lambda: nominated() == {""}, seconds=180)
    for name in pods(api, namespace, "low"):
        api.patch(f"{everything}/{name}", {"metadata": {"finalizers": None}})


def test_nobody_goes_against_a_disruption_budget_the_switch_or_the_budget(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, evicting: dict[str, Any], high: str, tmp_path: Path
) -> None:
    """One after the other they say no, and each time everybody stays; what is allowed happens."""
    volcano.install(api)
    kwok_nodes(1, cpu="4")
    evicting["evictions"]["perMinute"] = 2
    budgets = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets"
    keep = {"selector": {"matchLabels": {"group": "low"}}, "maxUnavailable": 0}
    with running(kubeconfig, tmp_path, **evicting) as scheduler:
        volcano.make_gang(api, namespace, "low", 4, 1)
        api.wait("low runs", lambda: volcano.bound(api, namespace)["low"] == 4, seconds=180)
        api.create(budgets, {"metadata": {"name": "keep"}, "spec": keep})
        api.wait("the budget counts", lambda: "observedGeneration" in api.get(f"{budgets}/keep").get("status", {}))
        volcano.make_group(api, namespace, "high", 2)
        add(api, namespace, "high", 2, priorityClassName=high)
        api.wait("high says why", lambda: all(volcano.told(api, namespace, "high")), seconds=180)
        assert volcano.bound(api, namespace) == {"low": 4}
        assert scheduler.metric('fairlead_evicted_pods_total{action="preempt"}') == 0

        switch = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "switch"}, "data": {"stop": "true"}}
        api.create(f"/api/v1/namespaces/{namespace}/configmaps", switch)
        api.delete(f"{budgets}/keep")
        stopped = 'fairlead_refused_evictions_total{why="STOPPED"}'
        api.wait("it is stopped", lambda: scheduler.metric(stopped) >= 1, seconds=180)
        assert volcano.bound(api, namespace) == {"low": 4}

        api.patch(f"/api/v1/namespaces/{namespace}/configmaps/switch", {"data": {"stop": "false"}})
        api.wait("high runs", lambda: volcano.bound(api, namespace) == {"low": 2, "high": 2}, seconds=180)
        volcano.make_group(api, namespace, "higher", 1)
        add(api, namespace, "higher", 1, priorityClassName=high)
        spent = 'fairlead_refused_evictions_total{why="BUDGET"}'
        api.wait("the budget is spent", lambda: scheduler.metric(spent) >= 1, seconds=180)
        assert volcano.bound(api, namespace) == {"low": 2, "high": 2}
        events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        want = {"Preempted", "EvictionRefused"}
        api.wait("both are told", lambda: want <= {event["reason"] for event in api.items(events)}, seconds=180)


def test_shadow_tells_what_would_be_evicted(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, evicting: dict[str, Any], high: str, tmp_path: Path
) -> None:
    """Pods that another bound; a gang of higher priority waits: the log names two victims, nothing is written."""
    volcano.install(api)
    (node,) = kwok_nodes(1, cpu="4")
    volcano.make_group(api, namespace, "low", 1)
    add(api, namespace, "low", 4, nodeName=node)
    volcano.make_group(api, namespace, "high", 2)
    add(api, namespace, "high", 2, priorityClassName=high)
    with running(kubeconfig, tmp_path, "--shadow", **evicting) as scheduler:
        api.wait("it is told", lambda: scheduler.log.count("would evict") == 2, seconds=180)
    assert volcano.bound(api, namespace) == {"low": 4}
    assert group(api, namespace, "high") == {}
    with pytest.raises(ApiError):
        api.get(f"/api/v1/namespaces/{namespace}/configmaps/switch")


def test_a_gang_that_waits_too_long_gets_what_comes_free(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, high: str, tmp_path: Path
) -> None:
    """A core is free, small pods ask for it: it is kept for the gang of four, which starts when the others end.

    Evictions are off: what would be evicted is only told, without the reservation getting in the way.
    """
    volcano.install(api)
    kwok_nodes(1, cpu="4")
    everything = f"/api/v1/namespaces/{namespace}/pods"
    with running(kubeconfig, tmp_path, queue={"reserveAfterSeconds": 0, "statusSeconds": 0.2}) as scheduler:
        volcano.make_gang(api, namespace, "old", 3, 1)
        api.wait("old runs", lambda: volcano.bound(api, namespace)["old"] == 3, seconds=180)
        volcano.make_group(api, namespace, "big", 4)
        add(api, namespace, "big", 4, priorityClassName=high)
        api.wait("big waits", lambda: all(volcano.told(api, namespace, "big")), seconds=180)
        volcano.make_gang(api, namespace, "small", 2, 1)
        api.wait("small waits", lambda: all(volcano.told(api, namespace, "small")), seconds=180)
        assert "RoomReserved" in volcano.told(api, namespace, "small")[0]
        api.wait("it is told", lambda: "would evict" in scheduler.log, seconds=180)
        for number in range(3):
            api.delete(f"{everything}/old-{number}", gracePeriodSeconds=0)
        api.wait("big runs", lambda: volcano.bound(api, namespace) == {"big": 4}, seconds=180)
        assert scheduler.metric("fairlead_skipped_preemptions_total") == 0


def test_queue_command_on_a_cluster_without_queues(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes
) -> None:
    """Namespaces share one queue, and a kind word says why."""
    volcano.uninstall(api)
    (node,) = kwok_nodes(1, cpu="4")
    add(api, namespace, "lone", 2, nodeName=node)
    api.wait("they run", lambda: volcano.bound(api, namespace)["lone"] == 2, seconds=180)
    shown = fairlead(kubeconfig, "queue", "-o", "json")
    record = json.loads(shown.stdout)
    assert [row["name"] for row in record["queues"]] == ["default"]
    assert record["queues"][0]["used"]["cpu"] == "2"
    assert b"no Queues" in shown.stderr
    missing = fairlead(kubeconfig, "queue", "research")
    assert missing.returncode == 2
    assert b"there are default" in missing.stderr
