"""Pods per second, side by side: kube-scheduler, Fairlead, and a bare loop that only posts the same number of bindings.

Each contestant gets a fresh API server and etcd, the same nodes and the same pods, which wait before it starts, and
works under a ServiceAccount. Timed is from the first pod seen bound until none is left. `python -m bench.scheduler
--full` runs the sizes of the claim; `python -m bench scheduler` a small one.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.controlplane import build
from tools.controlplane.api import Api
from tools.controlplane.commands import Options
from tools.controlplane.plane import ControlPlane
from tools.controlplane.processes import free_ports

from bench.measure import Report

PODS = "/api/v1/namespaces/default/pods"
WORKLOADS = 50
IN_FLIGHT = 48
ZONE = "topology.kubernetes.io/zone"
SMALL, FULL = ((1000, 200),), ((5000, 1000), (10000, 5000))
"""Pods and nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one contestant did."""

    name: str
    pods_per_second: float
    cpu_seconds: float
    peak_mib: float


def pod(number: int, scheduler: str, *, constrained: bool) -> dict[str, Any]:
    """One pod of one of the workloads."""
    app = f"w{number % WORKLOADS}"
    spec: dict[str, Any] = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}],
    }
    if constrained:
        linux = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [linux]}]}
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    meta = {"name": f"{app}-{number}", "labels": {"app": app}, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


@contextmanager
def cluster(pods: int, nodes: int, scheduler: str, *, constrained: bool) -> Iterator[tuple[ControlPlane, Path]]:
    """A fresh control plane with nodes and waiting pods, and the kubeconfig of a ServiceAccount."""
    with ControlPlane(Options(controller_manager=False, scheduler=False, kwok=False)) as plane:
        plane.create_kwok_nodes(nodes, labels=lambda number: {ZONE: "abc"[number % 3]})
        plane.api.create_many(PODS, [pod(number, scheduler, constrained=constrained) for number in range(pods)])
        own = plane.kubeconfig_for_service_account("default", "contestant")
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        subject = {"kind": "ServiceAccount", "name": "contestant", "namespace": "default"}
        body = {"metadata": {"name": "contestant"}, "roleRef": role, "subjects": [subject]}
        plane.api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", body)
        yield plane, own


def kube(plane: ControlPlane, own: Path) -> list[str]:
    """The stock kube-scheduler with its client limits lifted."""
    file = plane.folder / "contestant.json"
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(own), "qps": 5000, "burst": 10000},
        "leaderElection": {"leaderElect": False},
    }
    file.write_text(json.dumps(configuration))
    admin, port = plane.kubeconfig, free_ports(1)[0]
    return [
        str(build.ensure(print) / "kube-scheduler"),
        f"--config={file}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--authentication-kubeconfig={admin}",
        f"--authorization-kubeconfig={admin}",
        f"--cert-dir={plane.folder}",
    ]


def fairlead(*more: str) -> Callable[[ControlPlane, Path], list[str]]:
    """Fairlead's scheduler."""

    def command(plane: ControlPlane, own: Path) -> list[str]:
        options = ["--kubeconfig", str(own), "--no-leader-election", "--listen", "127.0.0.1:0", *more]
        return [sys.executable, "-m", "fairlead", "scheduler", *options]

    return command


def bare(plane: ControlPlane, own: Path) -> list[str]:
    """The loop of `post_bindings`."""
    return [sys.executable, "-m", "bench.scheduler", "--bare", str(own)]


CONTESTANTS: dict[str, tuple[str, Callable[[ControlPlane, Path], list[str]]]] = {
    "kube-scheduler": ("default-scheduler", kube),
    "fairlead": ("fairlead", fairlead()),
    "fairlead, no events": ("fairlead", fairlead("--no-events")),
    "bare loop": ("fairlead", bare),
}


def race(name: str, pods: int, nodes: int, *, constrained: bool) -> Result:
    """One contestant on a fresh server."""
    scheduler, command = CONTESTANTS[name]
    with cluster(pods, nodes, scheduler, constrained=constrained) as (plane, own):
        log = (plane.folder / "contestant.log").open("wb")
        process = subprocess.Popen(command(plane, own), stdout=log, stderr=log)
        try:
            _wait(plane.api, process, "spec.nodeName!=", found=True)
            start = time.monotonic()
            _wait(plane.api, process, "spec.nodeName=", found=False)
            seconds = time.monotonic() - start
            cpu, peak = _cost(process.pid)
        finally:
            process.terminate()
            process.wait(30)
            log.close()
    return Result(name=name, pods_per_second=pods / seconds, cpu_seconds=cpu, peak_mib=peak)


def _wait(api: Api, process: subprocess.Popen[bytes], selector: str, *, found: bool) -> None:
    """Until the server has (or has not) a pod that the selector finds."""
    deadline = time.monotonic() + 600
    while bool(api.get(PODS, fieldSelector=selector, limit=1, resourceVersion="0")["items"]) != found:
        if process.poll() not in (None, 0) or time.monotonic() > deadline:
            raise RuntimeError(f"the contestant ended with {process.poll()} before its work was done")
        time.sleep(0.05)


def _cost(pid: int) -> tuple[float, float]:
    """CPU seconds and peak MiB so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / 100, int(peak.split()[1]) / 1024


async def post_bindings(kubeconfig: str) -> None:
    """List the waiting pods and the nodes, and post a binding for each, round the nodes; then stay to be measured."""
    from fairlead.kube.config import load
    from fairlead.kube.http import connect
    from fairlead.kube.objects.meta import Bare
    from fairlead.kube.resources import NODES
    from fairlead.kube.resources import PODS as PODS_RESOURCE

    client = connect(load(kubeconfig_path=kubeconfig))
    nodes = [each.metadata.name for each in (await client.list(NODES.of(Bare))).items]
    pods = [each.metadata for each in (await client.list(PODS_RESOURCE.of(Bare))).items]
    work = iter(enumerate(pods))

    async def turn() -> None:
        for number, meta in work:
            await client.bind(meta.namespace, meta.name, nodes[number % len(nodes)], uid=meta.uid)

    await asyncio.gather(*(turn() for _ in range(IN_FLIGHT)))
    await asyncio.Event().wait()


def compare(report: Report, sizes: tuple[tuple[int, int], ...]) -> None:
    """All contestants, plain and constrained, size by size."""
    if build.obstacle():
        report.line(f"skipped: {build.obstacle()}")
        return
    for pods, nodes in sizes:
        for constrained in (False, True):
            results = [race(name, pods, nodes, constrained=constrained) for name in CONTESTANTS]
            slow = results[0].pods_per_second
            report.table(
                f"{pods} pods on {nodes} nodes, {'node affinity and topology spread' if constrained else 'plain'}",
                ["contestant", "pods/s", "against kube-scheduler", "CPU s", "peak MiB"],
                [
                    [
                        each.name,
                        f"{each.pods_per_second:.0f}",
                        f"{each.pods_per_second / slow:.2f}×",
                        f"{each.cpu_seconds:.1f}",
                        f"{each.peak_mib:.0f}",
                    ]
                    for each in results
                ],
            )


def run(report: Report) -> None:
    """The small size."""
    compare(report, SMALL)


def main() -> None:
    """The command line of this group alone."""
    parser = argparse.ArgumentParser(prog="python -m bench.scheduler", description="Schedulers side by side.")
    parser.add_argument("--full", action="store_true", help="5,000 pods on 1,000 nodes and 10,000 on 5,000")
    parser.add_argument("--pods", type=int, help="pods, instead of a known size")
    parser.add_argument("--nodes", type=int, default=200, help="nodes, with --pods")
    parser.add_argument("--bare", metavar="KUBECONFIG", help="be the bare loop")
    options = parser.parse_args()
    if options.bare:
        import uvloop

        uvloop.run(post_bindings(options.bare))
        return
    sizes = FULL if options.full else SMALL
    compare(Report(sys.stdout), ((options.pods, options.nodes),) if options.pods else sizes)


if __name__ == "__main__":
    main()
