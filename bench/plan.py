"""`fairlead plan` on one large file: nodes, Deployments with their ReplicaSets, and pods of which half run."""

import json
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Any

from bench.goals import Figure
from bench.measure import CPU, Report, best
from fairlead.engine.plan import plan
from fairlead.kube.manifests.records import plan_answer
from fairlead.kube.manifests.view import viewed

SIZES = ((500, 10_000), (1_500, 30_000), (5_000, 100_000))
PODS_EACH = 100
"""Pods of one Deployment."""


def run(report: Report) -> None:
    """Reading, deciding and the record, at three sizes."""
    rows = []
    with TemporaryDirectory() as folder:
        for nodes, pods in SIZES:
            path = Path(folder) / f"{nodes}.json"
            path.write_text(json.dumps(manifests(nodes, pods)))
            rows.append([f"{nodes:,}", f"{pods:,}", f"{path.stat().st_size / 1e6:.0f} MB", *_phases(str(path))])
    report.table(
        "plan, in processor time; the target of the largest is 2 s in all",
        ["nodes", "pods", "JSON", "read", "decide", "record", "in all", "unplaced"],
        rows,
    )


def from_file_to_text() -> Figure:
    """Seconds of the whole command, from the start of the process to its JSON."""
    with TemporaryDirectory() as folder:
        values = []
        for nodes, pods in SIZES:
            path = Path(folder) / f"{nodes}.json"
            path.write_text(json.dumps(manifests(nodes, pods)))
            values.append(min(_command_seconds(path) for _ in range(3)))
    return Figure(sizes=tuple(f"{nodes:,} nodes, {pods:,} pods" for nodes, pods in SIZES), values=tuple(values))


def _command_seconds(path: Path) -> float:
    """Processor time of `fairlead plan` on the file, user and system."""
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fairlead", "plan", "-f", str(path), "-o", "json"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _phases(path: str) -> list[str]:
    found, view = viewed([path])
    decided = plan(view)
    read = best(lambda: viewed([path]), repeats=3, budget_s=20, clock=CPU)
    decide = best(lambda: plan(view), repeats=3, budget_s=20, clock=CPU)
    record = best(lambda: plan_answer(decided, found), repeats=3, budget_s=20, clock=CPU)
    times = (read, decide, record, read + decide + record)
    return [*(f"{each:.2f} s" for each in times), str(decided.unplaced)]


def manifests(nodes: int, pods: int) -> dict[str, Any]:
    """A List of a cluster on which every second pod runs and every other waits; all of them fit."""
    items = [_node(number) for number in range(nodes)]
    for number in range(pods // PODS_EACH):
        items += [_deployment(number), _replica_set(number)]
        items += [_pod(number, copy, nodes) for copy in range(PODS_EACH)]
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _node(number: int) -> dict[str, Any]:
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}},
    }


def _template(number: int) -> dict[str, Any]:
    amounts = {"cpu": f"{100 + 50 * (number % 7)}m", "memory": f"{128 * (1 + number % 5)}Mi"}
    return {"containers": [{"name": "app", "image": f"app-{number}:1", "resources": {"requests": amounts}}]}


def _owned(name: str, kind: str, owner: str) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    return {"name": name, "namespace": "bench", "uid": f"uid-{name}", "ownerReferences": [reference]}


def _deployment(number: int) -> dict[str, Any]:
    labels = {"app": f"app-{number}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": f"app-{number}", "namespace": "bench", "uid": f"uid-app-{number}"},
        "spec": {
            "replicas": PODS_EACH,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _template(number)},
        },
    }


def _replica_set(number: int) -> dict[str, Any]:
    labels = {"app": f"app-{number}"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": _owned(f"app-{number}-rs", "Deployment", f"app-{number}"),
        "spec": {"replicas": PODS_EACH, "selector": {"matchLabels": labels}},
    }


def _pod(number: int, copy: int, nodes: int) -> dict[str, Any]:
    meta = _owned(f"app-{number}-rs-{copy}", "ReplicaSet", f"app-{number}-rs")
    runs = copy % 2 == 0
    placed = {"nodeName": f"node-{(number * PODS_EACH + copy) % nodes}"} if runs else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "labels": {"app": f"app-{number}"}},
        "spec": {**_template(number), **placed},
        "status": {"phase": "Running" if runs else "Pending"},
    }
