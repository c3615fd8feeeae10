"""Larger than one machine can hold: the scheduler's memory and cycle, and the fleet's decisions, on generated objects.

`python -m bench scale` measures all sizes, each in a process of its own; `python -m bench.scale cluster 15000 300000`
or `python -m bench.scale fleet 100 100000` measures one. docs/scale.md says what follows from the figures.
"""

import asyncio
import gc
import json
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
from tests.fake import FakeApi

from bench.measure import Report
from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.fleet.decide import decide
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler

CLUSTERS = ((1_500, 30_000), (5_000, 100_000), (15_000, 300_000))
"""Nodes, pods that run."""
FLEETS = ((100, 1_000), (100, 10_000), (100, 100_000))
"""Clusters, bindings."""
APPS, NAMESPACES = 500, 50
BURST = 1_000
"""Pods that wait for one cycle, of `BURST_APPS` workloads."""
BURST_APPS = 50


POLICIES = 100
"""Policies by which the bindings of a fleet are placed."""


def run(report: Report) -> None:
    """Both tables."""
    rows = []
    for nodes, pods in CLUSTERS:
        found = _apart("cluster", nodes, pods)
        cycles = (f"{found['first_cycle'] * 1e3:.0f} ms", f"{found['cycle'] * 1e3:.0f} ms")
        read = f"{found['read'] / pods * 1e6:.0f} µs"
        rows.append([f"{nodes:,}", f"{pods:,}", read, f"{found['memory']:.0f} MiB", *cycles, str(found["bound"])])
    headers = ["nodes", "pods", "reading a pod", "peak memory", "first cycle", "later cycle", "bound"]
    report.table(
        f"one cluster; a cycle places {BURST:,} pods of {BURST_APPS} workloads (processor time)", headers, rows
    )
    rows = []
    for clusters, bindings in FLEETS:
        found = _apart("fleet", clusters, bindings)
        each = f"{found['decide'] / bindings * 1e6:.0f} µs"
        again = f"{found['again']:.2f} s"
        taken = f"{found['memory']:.0f} MiB"
        rows.append([f"{clusters:,}", f"{bindings:,}", f"{found['decide']:.2f} s", each, again, taken])
    headers = ["clusters", "bindings", "decide all", "each", "decide again", "peak memory"]
    report.table("a fleet (processor time)", headers, rows)


def _apart(what: str, first: int, second: int) -> dict[str, Any]:
    """In a process of its own, so that memory is that of this size alone."""
    command = [sys.executable, "-m", "bench.scale", what, str(first), str(second)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def cluster(nodes: int, pods: int) -> dict[str, float]:
    """A scheduler that knows so many nodes and running pods, and places a burst on top of them, twice."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    scheduler.job_cache.served = lambda resource: False
    decoder, records = msgspec.json.Decoder(Pod), Records()
    for number in range(nodes):
        scheduler.cache.on_node(Change("added", msgspec.convert(node(number), Node)))
    gc.freeze()
    start = process_time()
    for number in range(pods):
        record = records.record(decoder.decode(pod(number, f"app-{number % APPS}", f"node-{number % nodes}")))
        scheduler.events.on_pod(Change("added", record))
    scheduler.cache.view()
    read = process_time() - start
    gc.freeze()
    cycles = []
    for burst in range(2):
        for each in _burst(records, decoder, pods + burst * BURST):
            scheduler.events.on_pod(Change("added", each))
        start = process_time()
        await scheduler.cycle.run()
        cycles.append(process_time() - start)
    bound = len(scheduler.cache.assumed)
    return {"read": read, "memory": _peak(), "first_cycle": cycles[0], "cycle": cycles[1], "bound": bound}


def _burst(records: Records, decoder: "msgspec.json.Decoder[Pod]", first: int) -> list[PodRecord]:
    numbers = range(first, first + BURST)
    return [records.record(decoder.decode(pod(number, f"new-{number % BURST_APPS}", ""))) for number in numbers]


def node(number: int) -> dict[str, Any]:
    """One of 32 cores in one of three zones."""
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "abc"[number % 3]}
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts}}


def pod(number: int, app: str, node_name: str) -> bytes:
    """A pod of a ReplicaSet as the API server sends it; without a node it waits."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}", "controller": True}
    meta = {
        "name": f"{app}-{number}",
        "namespace": f"team-{number % NAMESPACES}" if node_name else "team-0",
        "uid": f"{number:036d}",
        "resourceVersion": str(number),
        "labels": {"app": app},
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [owner],
    }
    requests = {"cpu": "100m", "memory": "64Mi"}
    placed = {"nodeName": node_name} if node_name else {}
    spec = {"schedulerName": "fairlead", "containers": [{"name": "c", "resources": {"requests": requests}}], **placed}
    status = {"phase": "Running" if node_name else "Pending"}
    return msgspec.json.encode({"metadata": meta, "spec": spec, "status": status})


async def fleet(clusters: int, bindings: int) -> dict[str, float]:
    """All bindings of a fleet decided together, as after a change that concerns every one; then once more."""
    members = [
        msgspec.convert({"metadata": {"name": f"member-{number}"}}, KarmadaCluster) for number in range(clusters)
    ]
    asked = [msgspec.convert(binding(number, clusters), ResourceBinding) for number in range(bindings)]
    gc.freeze()
    start = process_time()
    first = decide(asked, members)
    middle = process_time()
    decide(asked, members)
    again = process_time() - middle
    placed = sum(each.success for each in first)
    return {"decide": middle - start, "again": again, "memory": _peak(), "bound": placed}


def binding(number: int, clusters: int) -> dict[str, Any]:
    """A Deployment of 25 replicas, divided over ten of the clusters as one of `POLICIES` policies says."""
    policy = number % POLICIES
    chosen = [f"member-{(policy * 7 + place * 11) % clusters}" for place in range(10)]
    weights = [
        {"targetCluster": {"clusterNames": [name]}, "weight": 1 + (policy + place) % 5}
        for place, name in enumerate(chosen)
    ]
    placement = {
        "clusterAffinity": {"clusterNames": chosen},
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        },
    }
    name = f"app-{number}"
    return {
        "metadata": {"name": name, "namespace": f"team-{number % NAMESPACES}", "uid": f"uid-{name}", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-{name}"},
            "replicas": 25,
            "replicaRequirements": {},
            "schedulerName": "fairlead",
            "placement": placement,
        },
    }


def _peak() -> float:
    """The most memory that this process held, in MiB; not what getrusage says, which begins with the parent's size."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    what, *sizes = sys.argv[1:]
    measured = {"cluster": cluster, "fleet": fleet}[what]
    print(json.dumps(asyncio.run(measured(*map(int, sizes)))))
