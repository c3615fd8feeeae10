"""The plan of a live cluster: read over the API, equal to what the scheduler then does."""

import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.controlplane.api import Api

from tests.cluster.test_scheduler import bound, create, scheduler, workload


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
