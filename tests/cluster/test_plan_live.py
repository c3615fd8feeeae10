"""The plan of a live cluster: read over the API, equal to what the scheduler then does."""

import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane

from fairlead.cli import completing
from tests.cli.test_completion import completed
from tests.cluster.fleets import CAPACITY, deployment, required
from tests.cluster.karmada import CLUSTERS, Bindings, binding, cluster, counts, define, fleet, static
from tests.cluster.test_scheduler import bound, create, scheduler, workload
from tests.cluster.test_webhook import serve
from tests.cluster.webhooks import Setting, webhooks


def fairlead(kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command against the cluster."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *words, "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        timeout=120,
        check=False,
    )


def placements(record: dict[str, Any], namespace: str) -> dict[str, Counter[str]]:
    """Workload → node → new replicas, of one namespace."""
    found = {}
    for each in record["sites"][0]["workloads"]:
        space, _, name = each["workload"].partition("/")
        if space == namespace:
            found[name] = Counter[str]()
            for part in each["parts"]:
                found[name].update(part["placements"])
    return found


def test_plan_of_a_live_cluster_is_what_the_scheduler_does(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]]
) -> None:
    """Planned over the API, then scheduled for real: the same counts on the same nodes; so does a saved snapshot."""
    kwok_nodes(3, cpu="8", labels={"pool": namespace})
    kwok_nodes(2, cpu="4", labels={"pool": namespace, "disk": "ssd"})
    create(
        api,
        namespace,
        workload(namespace, "even", 10),
        workload(namespace, "fast", 4, nodeSelector={"pool": namespace, "disk": "ssd"}),
    )
    api.wait("the pods", lambda: len(api.items(f"/api/v1/namespaces/{namespace}/pods")) == 14)
    done = fairlead(kubeconfig, "plan", "--cluster", "-o", "json")
    assert done.returncode in (0, 1), done.stderr.decode()
    planned = placements(json.loads(done.stdout), namespace)
    assert planned["fast"].total() == 4
    saved = fairlead(kubeconfig, "snapshot")
    again = subprocess.run(
        [sys.executable, "-m", "fairlead", "plan", "-f", "-", "-o", "json"],
        input=saved.stdout,
        capture_output=True,
        check=False,
    )
    assert placements(json.loads(again.stdout), namespace) == planned
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("all pods bound", lambda: len(bound(api, namespace)) == 14, seconds=60)
    real: dict[str, Counter[str]] = {"even": Counter(), "fast": Counter()}
    for pod, node in bound(api, namespace).items():
        real[pod.rpartition("-")[0]][node] += 1
    assert real == planned


def test_plan_of_tiers_is_what_the_webhook_does(
    control_plane: ControlPlane,
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    tmp_path: Path,
) -> None:
    """Planned before they exist, then created through the webhook: as many pods of each must be on demand."""
    kwok_nodes(2, cpu="8", labels=lambda number: {CAPACITY: ("on-demand", "spot")[number % 2]})
    wanted = {"half": (6, "50%"), "some": (5, "2"), "all": (2, "9"), "one": (1, None), "none": (4, None)}
    objects = [deployment(name, count, least) for name, (count, least) in wanted.items()]
    for each in objects:
        each["metadata"]["namespace"] = namespace
    planned = tmp_path / "planned.json"
    planned.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    done = fairlead(kubeconfig, "plan", "--cluster", "-f", str(planned), "-o", "json")
    assert done.returncode in (0, 1), done.stderr.decode()
    targets = {
        each["workload"].partition("/")[2]: each["onDemand"] or 0
        for each in json.loads(done.stdout)["sites"][0]["workloads"]
        if each["workload"].startswith(f"{namespace}/")
    }
    assert targets == {"half": 3, "some": 2, "all": 2, "one": 1, "none": 0}
    folder = tmp_path / "webhook"
    folder.mkdir()
    with webhooks(control_plane, folder, Setting("webhook", count=1)):
        serve(api, namespace)
        for each in objects:
            api.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", each)
        path = f"/api/v1/namespaces/{namespace}/pods"
        api.wait("the pods", lambda: len(api.items(path)) == 18, seconds=180)
        real = Counter(pod["metadata"]["labels"]["app"] for pod in api.items(path) if required(pod))
    assert real == Counter(targets)


def test_plan_of_a_fleet_is_what_the_fleet_scheduler_does(api: Api, kubeconfig: Path, namespace: str) -> None:
    """A policy and Deployments, planned; then the bindings that Karmada would make, divided live: the same counts."""
    define(api, "karmada.yaml")
    names = [f"{namespace}-m{number}" for number in range(1, 5)]
    placement = static(namespace, {name: weight for weight, name in enumerate(names, start=1)})
    selector = {"apiVersion": "apps/v1", "kind": "Deployment"}
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all"},
        "spec": {"resourceSelectors": [selector], "placement": placement, "schedulerName": "fairlead"},
    }
    bindings = Bindings(api, namespace)
    try:
        api.create_many(CLUSTERS, [cluster(name, {"pool": namespace}) for name in names])
        api.create(f"/apis/policy.karmada.io/v1alpha1/namespaces/{namespace}/propagationpolicies", policy)
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        for number in range(6):
            api.create(path, deployment(f"w{number}", 5 + 3 * number, None))
        done = fairlead(kubeconfig, "plan", "--cluster", "-o", "json")
        assert done.returncode in (0, 1), done.stderr.decode()
        planned = {
            each["workload"].partition("/")[2]: {name: count for name, count in each["placements"].items() if count}
            for each in json.loads(done.stdout)["fleet"]
            if each["workload"].startswith(f"{namespace}/")
        }
        assert {name: sum(each.values()) for name, each in planned.items()} == {f"w{n}": 5 + 3 * n for n in range(6)}
        for each in api.items(path):
            meta = each["metadata"]
            resource = {**selector, "namespace": namespace, "name": meta["name"], "uid": meta["uid"]}
            bindings.create(binding(meta["name"], each["spec"]["replicas"], placement, resource=resource))
        with fleet(kubeconfig):
            bindings.settled(seconds=180)
        assert {each["metadata"]["name"]: counts(each) for each in bindings.all()} == planned
    finally:
        for name in names:
            api.delete(f"{CLUSTERS}/{name}")


def test_plan_of_a_fleet_goes_on_into_its_members(api: Api, kubeconfig: Path, namespace: str) -> None:
    """Divided on the host, placed on the nodes of a member, whose own copy of the workload counts once."""
    define(api, "karmada.yaml")
    name = f"{namespace}-m1"
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "all"},
        "spec": {
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "placement": static(namespace, {name: 1}),
        },
    }
    try:
        with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as member:
            nodes = member.create_kwok_nodes(2)
            member.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            api.create(CLUSTERS, cluster(name, {"pool": namespace}))
            api.create(f"/apis/policy.karmada.io/v1alpha1/namespaces/{namespace}/propagationpolicies", policy)
            for where in (api, member.api):
                where.create(f"/apis/apps/v1/namespaces/{namespace}/deployments", deployment("web", 4, None))
            done = fairlead(kubeconfig, "plan", "--cluster", "--member", f"{name}={member.kubeconfig}", "-o", "json")
        assert done.returncode in (0, 1), done.stderr.decode()
        plan = json.loads(done.stdout)
        (divided,) = [each for each in plan["fleet"] if each["workload"] == f"{namespace}/web"]
        assert divided["placements"][name] == 4
        (site,) = [each for each in plan["sites"] if each["cluster"] == name]
        (web,) = [each for each in site["workloads"] if each["workload"] == f"{namespace}/web"]
        placed = Counter[str]()
        for part in web["parts"]:
            placed.update(part["placements"])
        assert (placed.total(), set(placed)) == (4, set(nodes))
    finally:
        api.delete(f"{CLUSTERS}/{name}")


def test_cluster_that_cannot_be_reached_is_exit_code_3(kubeconfig: Path, tmp_path: Path) -> None:
    """Nobody listens there: one line, exit code 3."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    broken = tmp_path / "kubeconfig"
    text = kubeconfig.read_text()
    server = next(line for line in text.splitlines() if "server" in line)
    address = server.split("https://")[1].strip().strip('",')
    broken.write_text(text.replace(address, f"127.0.0.1:{port}"))
    done = fairlead(broken, "snapshot")
    assert (done.returncode, done.stdout) == (3, b"")
    assert done.stderr.count(b"\n") == 1


def test_what_a_cluster_may_have_counts_and_names_are_completed(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An autoscaler at its most, a ReplicationController, `-l` and jsonpath; the shell gets nodes and namespaces."""
    (node,) = kwok_nodes(1, cpu="4", labels={"pool": namespace})
    web = workload(namespace, "web", 1)
    create(api, namespace, web)
    target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
    scaled = {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 6}}
    api.create(f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers", scaled)
    pods = web["spec"]["template"] | {"metadata": {"labels": {"app": "old"}}}
    old = {"metadata": {"name": "old"}, "spec": {"replicas": 1, "selector": {"app": "old"}, "template": pods}}
    api.create(f"/api/v1/namespaces/{namespace}/replicationcontrollers", old)
    api.wait("the pods", lambda: len(api.items(f"/api/v1/namespaces/{namespace}/pods")) == 2)
    asked = ("plan", "--cluster", "--scale-hpa", "max", "-n", namespace)
    template = "jsonpath={range .plan.sites[0].workloads[*]}{.workload} {.replicas} {end}"
    done = fairlead(kubeconfig, *asked, "-o", template)
    counts = {name.partition("/")[2]: count for name, count in batched(done.stdout.decode().split())}
    assert counts == {"web": "6", "old": "1"}, done.stderr.decode()
    chosen = fairlead(kubeconfig, *asked, "-l", "app in (old)", "-o", template)
    assert chosen.stdout.decode().split() == [f"{namespace}/old", "1"]
    assert b"default" in fairlead(kubeconfig, "queue", "-o", "jsonpath={.queues[*].name}").stdout
    monkeypatch.setattr(completing, "SECONDS", 60.0)
    assert namespace in completed("queue", "--kubeconfig", str(kubeconfig), "-n")
    assert node in completed("plan", "--cluster", "--kubeconfig", str(kubeconfig), "--drain")


def batched(words: list[str]) -> list[tuple[str, str]]:
    """Two and two."""
    return list(zip(words[::2], words[1::2], strict=True))
