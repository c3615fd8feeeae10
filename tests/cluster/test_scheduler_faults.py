"""The scheduler under fault: kills, a server that restarts, a rival, a lost leader; and under its own rights."""

import socket
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.cluster.test_scheduler import bound, condition, create, scheduler, workload, workloads_bound
from tests.cluster.test_scheduler_rules import record

DEPLOY = Path(__file__).parents[2] / "deploy" / "scheduler"
SYSTEM = "fairlead-system"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{SYSTEM}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/rolebindings",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "PriorityLevelConfiguration": "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "Deployment": f"/apis/apps/v1/namespaces/{SYSTEM}/deployments",
    "PodDisruptionBudget": f"/apis/policy/v1/namespaces/{SYSTEM}/poddisruptionbudgets",
}


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def page(port: int, path: str) -> str:
    """A page of the scheduler's own server; empty while it is not up."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def measured(port: int, name: str) -> float:
    """The value of a metric; −1 where there is none yet."""
    found = [line for line in page(port, "/metrics").splitlines() if line.startswith(f"{name} ")]
    return float(found[0].split()[1]) if found else -1.0


def cache_is_true(api: Api, port: int) -> bool:
    """After one more comparison the scheduler finds no difference from a fresh list."""
    before = measured(port, "fairlead_self_checks_total")
    api.wait("a comparison", lambda: measured(port, "fairlead_self_checks_total") > before >= 0, seconds=60)
    return measured(port, "fairlead_cache_differences") == 0


@contextmanager
def rival(api: Api, namespace: str, nodes: list[str], seed: int) -> Iterator[Counter[str]]:
    """Somebody who binds waiting pods of the namespace at random, whether they are his or not."""
    stop, tally, random = threading.Event(), Counter[str](), Random(seed)

    def work() -> None:
        while not stop.wait(0.02):
            try:
                found = api.items(f"/api/v1/namespaces/{namespace}/pods", fieldSelector="spec.nodeName=")
                for pod in random.sample(found, min(3, len(found))):
                    name = pod["metadata"]["name"]
                    target = {"apiVersion": "v1", "kind": "Node", "name": random.choice(nodes)}
                    api.create(
                        f"/api/v1/namespaces/{namespace}/pods/{name}/binding",
                        {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target},
                    )
                    tally["bound"] += 1
            except ApiError as error:
                tally[str(error.status)] += 1
            except OSError:
                tally["unreachable"] += 1

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield tally
    finally:
        stop.set()
        thread.join(30)


def kill_at_random(api: Api, kubeconfig: Path, namespace: str, pods: int, kills: int, seed: int) -> None:
    """Kill the scheduler again and again while pods wait, then let it finish."""
    random = Random(seed)
    for number in range(kills):
        least = pods * (number + 1) // (kills + 2)
        with scheduler(kubeconfig, "--no-leader-election", "--no-events") as process:
            api.wait("progress", lambda least=least: len(bound(api, namespace)) >= least, seconds=120)
            time.sleep(random.random() / 5)
            process.kill()


def test_scheduler_survives_kills_a_restarted_server_and_a_rival(
    api: Api,
    control_plane: ControlPlane,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """5 kills, one API server restart, a rival: every pod bound once, no room promised twice, the cache true."""
    names = kwok_nodes(10, cpu="32", labels={"pool": namespace})
    create(api, namespace, *(workload(namespace, f"w{number}", 40) for number in range(7)))
    kill_at_random(api, kubeconfig, namespace, 280, kills=5, seed=3)
    port = free_port()
    with scheduler(
        kubeconfig, "--no-leader-election", "--self-check", "1", "--no-events", "--listen", f"127.0.0.1:{port}"
    ):
        control_plane.restart_apiserver(kill=True)
        api.wait("all pods bound", lambda: len(bound(api, namespace)) == 280, seconds=180)
        # Nobody else was there so far: the sum on each node is what the scheduler granted.
        assert max(Counter(bound(api, namespace).values()).values()) <= 32
        with rival(api, namespace, names, seed=4) as tally:
            create(api, namespace, *(workload(namespace, f"r{number}", 10, cpu="10m") for number in range(4)))
            api.wait("all pods bound", lambda: len(bound(api, namespace)) == 320, seconds=180)
        assert tally["bound"] or tally["409"]
        assert cache_is_true(api, port)
        assert '"state":"bound"' in page(port, f"/explain?pod={namespace}/{next(iter(bound(api, namespace)))}")


@pytest.mark.proof
def test_scheduler_survives_fifty_kills(
    api: Api,
    control_plane: ControlPlane,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """50 kills during 5,000 pods, the API server restarted twice."""
    names = kwok_nodes(100, cpu="64", labels={"pool": namespace})
    create(api, namespace, *(workload(namespace, f"w{number}", 100) for number in range(50)))
    for half in (1, 2):
        kill_at_random(api, kubeconfig, namespace, 2500 * half, kills=25, seed=half)
        control_plane.restart_apiserver(kill=half == 2)
    port = free_port()
    with scheduler(kubeconfig, "--no-leader-election", "--self-check", "2", "--listen", f"127.0.0.1:{port}"):
        api.wait("all pods bound", lambda: len(bound(api, namespace)) == 5000, seconds=600)
        true = cache_is_true(api, port)
    most = max(Counter(bound(api, namespace).values()).values())
    record(f"50 kills during 5,000 pods on {len(names)} nodes: all bound, at most {most} of 64 cores a node granted.")
    assert most <= 64
    assert true


def idle_share(api: Api, kubeconfig: Path, namespace: str, pods: int, seconds: float) -> float:
    """CPU seconds a second of a scheduler with so many unschedulable pods."""
    create(api, namespace, *(workload(namespace, f"w{number}", pods // 10, cpu="500") for number in range(10)))
    port = free_port()

    def told() -> bool:
        found = api.items(f"/api/v1/namespaces/{namespace}/pods")
        return len(found) == pods and all(
            any(each["type"] == "PodScheduled" for each in pod["status"].get("conditions", ())) for pod in found
        )

    with scheduler(kubeconfig, "--no-leader-election", "--listen", f"127.0.0.1:{port}") as process:
        api.wait("all told", told, seconds=300)
        time.sleep(60)  # the events have their own pace
        before, start = _cpu(process.pid), time.monotonic()
        time.sleep(seconds)
        return (_cpu(process.pid) - before) / (time.monotonic() - start)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.proof
def test_scheduler_idles(api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]) -> None:
    """1,000 unschedulable pods cost less than 2 % of a core."""
    kwok_nodes(20, labels={"pool": namespace})
    share = idle_share(api, kubeconfig, namespace, 1000, 60)
    record(f"Idle with 1,000 unschedulable pods: {share:.2%} of a core over 60 s.")
    assert share < 0.02


def manifests() -> list[dict[str, Any]]:
    """Every object of the deployment files, in the order of their list."""
    files = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    return [each for file in files for each in yaml.safe_load_all((DEPLOY / file).read_text()) if each]


def test_scheduler_works_with_the_rights_it_is_deployed_with(
    api: Api, control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """The files apply; under their ServiceAccount it leads, binds, tells and records."""
    for manifest in manifests():
        path = f"{PLACES[manifest['kind']]}/{manifest['metadata']['name']}"
        # Two more pods that nobody runs would only be in the way.
        query = {"dryRun": "All"} if manifest["kind"] == "Deployment" else {}
        api.patch(path, manifest, kind="apply", fieldManager="test", force="true", **query)
    own = control_plane.kubeconfig_for_service_account(SYSTEM, "fairlead-scheduler")
    kwok_nodes(2, labels={"pool": namespace})
    create(api, namespace, workload(namespace, "web", 4), workload(namespace, "big", 1, cpu="500"))
    with scheduler(own, "--lease-namespace", SYSTEM):
        api.wait("the pods bound", lambda: workloads_bound(api, namespace)["web"] == 4, seconds=90)
        api.wait("the reason", lambda: condition(api, namespace, "big").get("status") == "False", seconds=60)
        events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        api.wait(
            "the events",
            lambda: {"Scheduled", "FailedScheduling"} <= {each["reason"] for each in api.items(events)},
            seconds=60,
        )
