"""A random mix of pods with every constraint: an independent checker finds no violation and no pod left out."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tools.controlplane.api import Api

from tests.cluster.checker import Cluster, violations
from tests.cluster.following import following
from tests.cluster.mixes import DRIVER, Mix, node_labels, provisioner, volume
from tests.cluster.pages import free_port, measured
from tests.cluster.test_scheduler import scheduler

ROOT = Path(__file__).parents[2]
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CSI_NODES = "/apis/storage.k8s.io/v1/csinodes"
VOLUMES = "/api/v1/persistentvolumes"
PAUSE = 1.0
"""Seconds between two looks; nothing may have moved for two of them."""


@pytest.fixture
def storage(api: Api, namespace: str) -> Iterator[dict[str, str]]:
    """Three classes of this test: volumes that exist, volumes that are made, and those that never come."""
    kinds = {"static": "kubernetes.io/no-provisioner", "made": DRIVER, "never": "nobody.example.com"}
    names = {kind: f"{kind}-{namespace}" for kind in kinds}
    for kind, driver in kinds.items():
        mode = "Immediate" if kind == "never" else "WaitForFirstConsumer"
        body = {"metadata": {"name": names[kind]}, "provisioner": driver, "volumeBindingMode": mode}
        api.create(CLASSES, body)
    yield names
    for name in names.values():
        api.delete(f"{CLASSES}/{name}")
    for each in api.items(VOLUMES):
        if each["spec"].get("storageClassName") in names.values():
            api.delete(f"{VOLUMES}/{each['metadata']['name']}")
    for each in api.items(CSI_NODES):
        api.delete(f"{CSI_NODES}/{each['metadata']['name']}")


def lay_out(api: Api, namespace: str, kwok_nodes: Callable[..., list[str]], nodes: int, kind: str) -> list[str]:
    """Nodes of three sorts, one in ten cordoned, each with a limit of volumes, and free volumes on some."""
    plain = kwok_nodes(nodes * 2 // 3, cpu="8", memory="16Gi", labels=lambda number: node_labels(namespace, number))
    kept = kwok_nodes(
        nodes - len(plain),
        cpu="16",
        memory="8Gi",
        pods=20,
        labels=lambda number: node_labels(namespace, number + 1),
        resources={"example.com/device": "2"},
        taints=[{"key": "kept", "effect": "NoSchedule"}],
    )
    names = [*plain, *kept]
    for name in names[::10]:
        api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    drivers = [{"name": DRIVER, "nodeID": "x", "allocatable": {"count": 3}}]
    api.create_many(CSI_NODES, [{"metadata": {"name": name}, "spec": {"drivers": drivers}} for name in names])
    api.create_many(VOLUMES, [volume(f"free-{name}", name, kind) for name in names[::3]])
    return names


def cluster_now(api: Api, namespace: str) -> Cluster:
    """Everything the checker looks at."""
    nodes = api.items("/api/v1/nodes", labelSelector=f"pool={namespace}")
    return Cluster(
        nodes=nodes,
        pods=api.items(f"/api/v1/namespaces/{namespace}/pods"),
        namespaces=api.items("/api/v1/namespaces"),
        claims=api.items(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"),
        volumes=api.items(VOLUMES),
        classes=api.items(CLASSES),
        csi_nodes=api.items(CSI_NODES),
    )


def wait_for_rest(api: Api, namespace: str, port: int, pods: int, seconds: float) -> None:
    """All pods exist, every one is bound or was told why not, and the scheduler means to try nothing again."""
    idle = [f'fairlead_pending_pods{{state="{state}"}}' for state in ("awake", "binding")]
    with following(api, namespace) as followed:

        def rests() -> bool:
            time.sleep(PAUSE)
            moved = time.monotonic() - followed.since < 2 * PAUSE
            if moved or len(followed) != pods or followed.states["open"]:
                return False
            return all(measured(port, name) == 0 for name in idle)

        try:
            api.wait(f"rest in {namespace}", rests, seconds=seconds)
        except AssertionError as error:
            awake = [measured(port, name) for name in idle]
            raise AssertionError(f"{error}: {dict(followed.states)}, awake and binding {awake}") from error


def run_mix(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    storage: dict[str, str],
    *,
    nodes: int,
    pods: int,
    most: int,
    seed: int,
) -> Cluster:
    """Create the mix, let the scheduler work until nothing moves, and look."""
    names = lay_out(api, namespace, kwok_nodes, nodes, storage["static"])
    mix = Mix(namespace, names, seed, storage)
    sets = mix.workloads(pods, most)
    api.create_many(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", mix.claims)
    port = free_port()
    options = "--no-leader-election", "--listen", f"127.0.0.1:{port}"
    with provisioner(api, namespace, storage["made"]), scheduler(kubeconfig, *options):
        api.create_many(f"/apis/apps/v1/namespaces/{namespace}/replicasets", sets)
        wait_for_rest(api, namespace, port, pods, seconds=120 + pods / 4)
    return cluster_now(api, namespace)


def test_scheduler_keeps_every_rule(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], storage: dict[str, str]
) -> None:
    """400 pods on 40 nodes: nothing placed in violation, nobody left out who had a place."""
    cluster = run_mix(api, kubeconfig, namespace, kwok_nodes, storage, nodes=40, pods=400, most=12, seed=1)
    assert violations(cluster) == []
    assert len(cluster.bound) > 100
    assert cluster.waiting


@pytest.mark.proof
@pytest.mark.timeout(2700)
@pytest.mark.parametrize(("nodes", "pods", "seed"), [(300, 5000, 2), (100, 1500, 7), (100, 1500, 8)])
def test_scheduler_keeps_every_rule_at_full_size(
    api: Api,
    kubeconfig: Path,
    namespace: str,
    kwok_nodes: Callable[..., list[str]],
    storage: dict[str, str],
    nodes: int,
    pods: int,
    seed: int,
) -> None:
    """Thousands of pods, and two more mixes of other seeds; the result is written down."""
    start = time.monotonic()
    cluster = run_mix(api, kubeconfig, namespace, kwok_nodes, storage, nodes=nodes, pods=pods, most=60, seed=seed)
    took = time.monotonic() - start
    found = violations(cluster)
    record(
        f"Random mix of seed {seed}: {len(cluster.bound)} of {pods} pods bound on {nodes} nodes, "
        f"{len(cluster.waiting)} waiting; nodes and pods made and all at rest within {took:.0f} s. "
        f"The independent checker found {len(found)} violations.",
        "rules",
    )
    assert found == []


def record(line: str, what: str = "") -> None:
    """One line of today's proof, on a page of its own for `what`; lines of the same day stand below one another."""
    page = ROOT / "docs" / "proof" / f"{time.strftime('%Y-%m-%d')}-scheduler{what and f'-{what}'}.md"
    if not page.exists():
        page.parent.mkdir(parents=True, exist_ok=True)
        title = f"# The live scheduler, proven{what and f': {what}'}"
        page.write_text(f"{title}\n\nWritten by `make proof`, on a machine of two cores.\n\n")
    with page.open("a") as file:
        file.write(f"- {line}\n")
