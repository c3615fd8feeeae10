"""The scheduler under fault: kills, a server that restarts, a rival, a lost leader; and under its own rights."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from tools.controlplane.api import Api, ApiError
from tools.controlplane.plane import ControlPlane

from tests.cluster import volcano
from tests.cluster.cutter import cutter
from tests.cluster.pages import free_port, measured, page
from tests.cluster.test_scheduler import condition, create, scheduler, workload, workloads_bound
from tests.cluster.test_scheduler_rules import record

DEPLOY = Path(__file__).parents[2] / "deploy" / "scheduler"
SYSTEM = "fairlead-system"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{SYSTEM}/serviceaccounts",
    "ConfigMap": f"/api/v1/namespaces/{SYSTEM}/configmaps",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/rolebindings",
    "FlowSchema": "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "PriorityLevelConfiguration": "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
    "Deployment": f"/apis/apps/v1/namespaces/{SYSTEM}/deployments",
    "PodDisruptionBudget": f"/apis/policy/v1/namespaces/{SYSTEM}/poddisruptionbudgets",
}


def cache_is_true(api: Api, port: int) -> bool:
    """After one more comparison the scheduler finds no difference from a fresh list."""
    before = measured(port, "fairlead_self_checks_total")
    api.wait("a comparison", lambda: measured(port, "fairlead_self_checks_total") > before >= 0, seconds=60)
    return measured(port, "fairlead_cache_differences") == 0


MARK = "fairlead.test/bound-by"


@contextmanager
def rival(api: Api, namespace: str, nodes: list[str], seed: int) -> Iterator[Counter[str]]:
    """Somebody who binds waiting pods of the namespace at random, whether they are his or not, and marks them."""
    stop, tally, random = threading.Event(), Counter[str](), Random(seed)

    def work() -> None:
        while not stop.wait(0.02):
            try:
                found = waiting(api, namespace)
                for pod in random.sample(found, min(3, len(found))):
                    name = pod["metadata"]["name"]
                    target = {"apiVersion": "v1", "kind": "Node", "name": random.choice(nodes)}
                    meta = {"name": name, "annotations": {MARK: "rival"}}
                    api.create(
                        f"/api/v1/namespaces/{namespace}/pods/{name}/binding",
                        {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target},
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


def waiting(api: Api, namespace: str) -> list[dict[str, Any]]:
    """Pods without a node."""
    return api.items(f"/api/v1/namespaces/{namespace}/pods", fieldSelector="spec.nodeName=")


def all_there(api: Api, namespace: str, pods: int) -> None:
    """Wait until the controllers have made all pods."""
    where = f"/api/v1/namespaces/{namespace}/pods"
    api.wait(f"{pods} pods", lambda: len(api.items(where)) == pods, seconds=300)


def granted(api: Api, namespace: str) -> Counter[str]:
    """Pods per node that the scheduler bound itself."""
    found = api.items(f"/api/v1/namespaces/{namespace}/pods")
    return Counter(
        pod["spec"]["nodeName"]
        for pod in found
        if pod["spec"].get("nodeName") and (pod["metadata"].get("annotations") or {}).get(MARK) != "rival"
    )


def kill_at_random(api: Api, kubeconfig: Path, namespace: str, pods: int, goal: int, kills: int, seed: int) -> None:
    """Kill the scheduler again and again on the way to `goal` bound pods of `pods`."""
    random = Random(seed)
    begun = pods - len(waiting(api, namespace))
    for number in range(kills):
        least = begun + (goal - begun) * (number + 1) // (kills + 1)
        with scheduler(kubeconfig, "--no-leader-election", "--no-events") as process:
            api.wait("progress", lambda least=least: pods - len(waiting(api, namespace)) >= least, seconds=300)
            time.sleep(random.random() / 5)
            process.kill()


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """What the scheduler went through, and what came of it."""

    cuts: int
    rivals: Counter[str]
    most: int
    true: bool


def live_through(
    api: Api,
    plane: ControlPlane,
    folder: Path,
    namespace: str,
    nodes: list[str],
    *,
    pods: int,
    kills: int,
    rounds: int,
) -> Story:
    """Pods of one core each, in three parts: kills; a server that restarts while watches are cut; a rival.

    The last part of the pods comes with the rival, so that both want the same ones. A queue, a weight and a gang are
    there too, so that there are books to be compared.
    """
    early = pods * 4 // 5
    each = max(early // 50, 10)
    create(api, namespace, *(workload(namespace, f"w{number}", each) for number in range(early // each)))
    all_there(api, namespace, early)
    kill_at_random(api, plane.kubeconfig, namespace, early, early * 9 // 10, kills, seed=3)
    port, cuts, gangs = free_port(), 0, f"{namespace[:40]}-gangs"
    volcano.install(api)
    with (
        cutter(plane.kubeconfig, folder) as way,
        volcano.namespaces(api, gangs),
        volcano.queues(api, cut={"weight": 2}),
    ):
        volcano.weigh(api, gangs, 3)
        volcano.make_gang(api, gangs, "gang", 5, queue="cut")
        options = ("--no-leader-election", "--no-events", "--self-check", "1", "--listen", f"127.0.0.1:{port}")
        with scheduler(way.kubeconfig, *options):
            for number in range(rounds):
                plane.restart_apiserver(kill=number % 2 == 0)
                api.wait("it follows", lambda: page(port, "/readyz") == "ok\n", seconds=180)
                cuts += way.cut()
            api.wait("all pods bound", lambda: not waiting(api, namespace), seconds=300)
            late = (pods - early) // 4
            with rival(api, namespace, nodes, seed=4) as tally:
                create(api, namespace, *(workload(namespace, f"r{number}", late) for number in range(4)))
                all_there(api, namespace, early + 4 * late)
                cuts += way.cut()
                api.wait("all pods bound", lambda: not waiting(api, namespace), seconds=300)
            api.wait("the gang", lambda: volcano.bound(api, gangs)["gang"] == 5, seconds=180)
            true = cache_is_true(api, port)
            some = api.items(f"/api/v1/namespaces/{namespace}/pods", limit=1)[0]["metadata"]["name"]
            assert '"state":"bound"' in page(port, f"/explain?pod={namespace}/{some}")
    return Story(cuts=cuts, rivals=tally, most=max(granted(api, namespace).values()), true=true)


def test_scheduler_survives_kills_cuts_a_restarted_server_and_a_rival(
    api: Api,
    control_plane: ControlPlane,
    tmp_path: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """5 kills during 500 pods and the rest: every pod bound once, no room promised twice, the cache true."""
    nodes = kwok_nodes(10, cpu="64", labels={"pool": namespace})
    story = live_through(api, control_plane, tmp_path, namespace, nodes, pods=500, kills=5, rounds=1)
    assert story.cuts
    assert story.rivals["bound"] or story.rivals["409"]
    assert story.most <= 64
    assert story.true


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_scheduler_survives_fifty_kills(
    api: Api,
    control_plane: ControlPlane,
    tmp_path: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
) -> None:
    """50 kills during 5,000 pods, and the rest at full size; the result is written down."""
    nodes = kwok_nodes(100, cpu="64", labels={"pool": namespace})
    story = live_through(api, control_plane, tmp_path, namespace, nodes, pods=5000, kills=50, rounds=3)
    record(
        f"5,000 pods on {len(nodes)} nodes of 64 cores: 50 SIGKILLs, 3 restarts of the API server (2 by SIGKILL), "
        f"{story.cuts} connections cut (watches among them), a rival that bound {story.rivals['bound']} of the last "
        f"1,000 pods itself and lost {story.rivals['409']}: every pod bound, at most {story.most} cores of a node "
        f"granted by the scheduler, the cache {'equal to' if story.true else 'NOT equal to'} a fresh list.",
        "faults",
    )
    assert story.most <= 64
    assert story.true


def test_scheduler_that_lost_its_lease_binds_nothing(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Another takes the lease while it works: it stops at once; when the lease is gone it leads and works again."""
    kwok_nodes(4, cpu="64", labels={"pool": namespace})
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/fairlead-scheduler"
    port = free_port()
    with scheduler(kubeconfig, "--lease-namespace", namespace, "--listen", f"127.0.0.1:{port}"):
        create(api, namespace, workload(namespace, "a", 20))
        api.wait("the first pods bound", lambda: workloads_bound(api, namespace)["a"] == 20, seconds=180)
        api.patch(lease, {"spec": {"holderIdentity": "somebody-else"}})
        api.wait("it knows", lambda: measured(port, "fairlead_leader") == 0, seconds=180)
        create(api, namespace, workload(namespace, "b", 20))
        where = f"/api/v1/namespaces/{namespace}/pods"

        def seen() -> bool:
            names = [pod["metadata"]["name"] for pod in api.items(where, labelSelector="app=b")]
            told = [page(port, f"/explain?pod={namespace}/{name}") for name in names]
            return len(names) == 20 and all('"state":"waiting"' in each for each in told)

        api.wait("it sees the pods", seen, seconds=180)
        # One more look after all were seen: a cycle that should not be would have bound them by now.
        assert seen()
        assert workloads_bound(api, namespace)["b"] == 0
        api.delete(lease)
        api.wait("it works again", lambda: workloads_bound(api, namespace)["b"] == 20, seconds=180)


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
    record(f"Idle with 1,000 unschedulable pods: {share:.2%} of a core over 60 s.", "faults")
    assert share < 0.02


def manifests() -> list[dict[str, Any]]:
    """Every object of the deployment files, in the order of their list."""
    files = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    return [each for file in files for each in yaml.safe_load_all((DEPLOY / file).read_text()) if each]


def deployed(plane: ControlPlane) -> Path:
    """Apply the deployment files; the kubeconfig of their ServiceAccount."""
    for manifest in manifests():
        path = f"{PLACES[manifest['kind']]}/{manifest['metadata']['name']}"
        # Two more pods that nobody runs would only be in the way.
        query = {"dryRun": "All"} if manifest["kind"] == "Deployment" else {}
        plane.api.patch(path, manifest, kind="apply", fieldManager="test", force="true", **query)
    return plane.kubeconfig_for_service_account(SYSTEM, "fairlead-scheduler")


def test_scheduler_works_with_the_rights_it_is_deployed_with(
    api: Api, control_plane: ControlPlane, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """The files apply; under their ServiceAccount it leads, binds, tells and records."""
    own = deployed(control_plane)
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
