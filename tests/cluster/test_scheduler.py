"""The scheduler on a real API server: whole workloads, constraints, words for those that wait, a crash."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api


def workload(namespace: str, name: str, replicas: int, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A ReplicaSet whose pods name the scheduler under test."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "schedulerName": "fairlead",
                    "nodeSelector": {"pool": namespace},
                    "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}],
                    **spec,
                },
            },
        },
    }


@contextmanager
def scheduler(kubeconfig: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """The scheduler as a process of its own, stopped with SIGTERM."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fairlead",
            "scheduler",
            "--kubeconfig",
            str(kubeconfig),
            "--listen",
            "127.0.0.1:0",
            *options,
        ]
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def bound(api: Api, namespace: str) -> dict[str, str]:
    """Pod to node, of those that have one."""
    found = api.items(f"/api/v1/namespaces/{namespace}/pods")
    return {each["metadata"]["name"]: each["spec"]["nodeName"] for each in found if each["spec"].get("nodeName")}


def workloads_bound(api: Api, namespace: str) -> Counter[str]:
    """Bound pods per workload."""
    return Counter(name.rpartition("-")[0] for name in bound(api, namespace))


def create(api: Api, namespace: str, *wanted: dict[str, Any]) -> None:
    """Create workloads."""
    api.create_many(f"/apis/apps/v1/namespaces/{namespace}/replicasets", list(wanted))


def condition(api: Api, namespace: str, name: str) -> dict[str, Any]:
    """The PodScheduled condition of the first pod of a workload."""
    found = api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=f"app={name}")
    conditions = found[0]["status"].get("conditions", []) if found else []
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


def test_scheduler_levels_a_workload_over_the_nodes(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Twelve pods on four nodes: three each; the process stops cleanly on SIGTERM."""
    names = kwok_nodes(4, labels={"pool": namespace})
    create(api, namespace, workload(namespace, "web", 12))
    with scheduler(kubeconfig, "--no-leader-election") as process:
        api.wait("all pods bound", lambda: len(bound(api, namespace)) == 12, seconds=60)
    assert Counter(bound(api, namespace).values()) == dict.fromkeys(names, 3)
    assert process.returncode == 0


def test_scheduler_tells_a_waiting_pod_why_and_places_it_when_room_comes(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """The condition is what autoscalers look for; a new node wakes the pod."""
    kwok_nodes(1, cpu="1", labels={"pool": namespace})
    create(api, namespace, workload(namespace, "big", 1, cpu="4"))
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("the condition", lambda: condition(api, namespace, "big").get("status") == "False", seconds=60)
        told = condition(api, namespace, "big")
        assert told["reason"] == "Unschedulable"
        assert "InsufficientRoom" in told["message"]
        assert "more room would help" in told["message"]
        kwok_nodes(1, cpu="8", labels={"pool": namespace})
        api.wait("the pod bound", lambda: bound(api, namespace), seconds=60)


def test_scheduler_leaves_alone_what_it_must(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Gated pods, pods of other schedulers and pods whose claim is missing are not bound; the last are told why."""
    kwok_nodes(1, labels={"pool": namespace})
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "none"}}
    create(
        api,
        namespace,
        workload(namespace, "gated", 1, schedulingGates=[{"name": "example.com/wait"}]),
        workload(namespace, "claims", 1, volumes=[claim]),
        workload(namespace, "other", 1, schedulerName="somebody-else"),
        workload(namespace, "plain", 1),
    )
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("the plain pod bound", lambda: workloads_bound(api, namespace)["plain"], seconds=60)
        api.wait(
            "the reason",
            lambda: "ClaimMissing" in condition(api, namespace, "claims").get("message", ""),
            seconds=60,
        )
    assert set(workloads_bound(api, namespace)) == {"plain"}


def test_scheduler_killed_and_restarted_binds_every_pod_once(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """SIGKILL again and again while 300 pods wait: all bound in the end, no node over-committed."""
    names = kwok_nodes(10, cpu="32", labels={"pool": namespace})
    create(api, namespace, *(workload(namespace, f"w{number}", 30) for number in range(10)))
    for least in (1, 60, 120, 180):
        with scheduler(kubeconfig, "--no-leader-election") as process:
            api.wait("some progress", lambda least=least: len(bound(api, namespace)) >= least, seconds=60)
            process.kill()
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("all pods bound", lambda: len(bound(api, namespace)) == 300, seconds=120)
    assert Counter(bound(api, namespace).values()) == dict.fromkeys(names, 30)


def test_scheduler_second_instance_takes_over(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Two instances, one lease: when the leader stops, the other goes on."""
    kwok_nodes(2, labels={"pool": namespace})
    options = ("--lease-namespace", namespace)
    with scheduler(kubeconfig, *options) as first:
        create(api, namespace, workload(namespace, "a", 2))
        api.wait("the first pods bound", lambda: workloads_bound(api, namespace)["a"] == 2, seconds=60)
        with scheduler(kubeconfig, *options):
            first.send_signal(signal.SIGTERM)
            first.wait(30)
            create(api, namespace, workload(namespace, "b", 2))
            api.wait("the other pods bound", lambda: workloads_bound(api, namespace)["b"] == 2, seconds=90)


def test_scheduler_pins_cores_and_tells_what_it_knows(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], tmp_path: Path
) -> None:
    """Bound cores are on the pods, a second instance promises others; SIGUSR2 writes a file that plan reads."""
    kwok_nodes(1, cpu="4", labels={"pool": namespace})
    file, settings = tmp_path / "known.json", tmp_path / "fairlead.yaml"
    settings.write_text(f"apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nscheduler:\n  snapshotFile: {file}\n")
    bound_cores: dict[str, str] = {}

    def pinned(count: int) -> bool:
        for pod in api.items(f"/api/v1/namespaces/{namespace}/pods"):
            cores = (pod["metadata"].get("annotations") or {}).get("fairlead.io/cores")
            if cores:
                bound_cores[pod["metadata"]["name"]] = cores
        return len(bound_cores) == count

    first, second = (workload(namespace, name, 1, cpu="1500m") for name in ("a", "b"))
    for each in (first, second):
        each["spec"]["template"]["metadata"]["annotations"] = {"fairlead.io/bind-cpu": "true"}
    create(api, namespace, first)
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("one pinned", lambda: pinned(1))
    create(api, namespace, second, workload(namespace, "big", 1, cpu="500"))
    with scheduler(kubeconfig, "--no-leader-election", "--config", str(settings)) as process:
        api.wait("both pinned", lambda: pinned(2))
        api.wait("the reason", lambda: condition(api, namespace, "big").get("status") == "False")
        process.send_signal(signal.SIGUSR2)
        api.wait("the file", lambda: file.exists() and file.read_text().endswith("}"))
    assert sorted(bound_cores.values()) == ["0=50,1=100", "0=50,2=100"]
    plan = fairlead("plan", "-f", str(file), "-o", "json")
    (row,) = [
        row
        for site in json.loads(plan.stdout)["sites"]
        for row in site["workloads"]
        if row["workload"] == f"{namespace}/big"
    ]
    assert row["unplaced"] == 1
    big = api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector="app=big")[0]["metadata"]["name"]
    told = fairlead("explain", "--cluster", "--kubeconfig", str(kubeconfig), f"pod/{namespace}/{big}").stdout
    assert "it waits" in told
    assert "InsufficientRoom" in told


def fairlead(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line."""
    return subprocess.run([sys.executable, "-m", "fairlead", *arguments], capture_output=True, text=True, check=False)
