"""The cache and the job cache at full size, in at most 1.5 GiB, in a process of its own."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = """
import json, time
import msgspec
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.changes import Change
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.records import Records

cache, records = Cache(), Records()
job_cache = JobCache(cache.rules)
for number in range({nodes}):
    node = {{"metadata": {{"name": f"node-{{number}}", "labels": {{"kubernetes.io/hostname": f"node-{{number}}",
            "topology.kubernetes.io/zone": "abc"[number % 3]}}}},
            "status": {{"allocatable": {{"cpu": "32", "memory": "128Gi", "pods": "110"}}}}}}
    cache.on_node(Change("added", msgspec.convert(node, Node)))
decoder = msgspec.json.Decoder(Pod)
kept, start = {{}}, time.process_time()
for number in range({pods}):
    app = f"app-{{number % 500}}"
    text = json.dumps({{"metadata": {{"name": f"{{app}}-{{number}}", "namespace": f"team-{{number % 50}}",
            "uid": f"{{number:036d}}",
            "resourceVersion": str(number), "labels": {{"app": app}}, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app,
            "uid": f"{{number % 500:036d}}", "controller": True}}]}},
            "spec": {{"nodeName": f"node-{{number % {nodes}}}", "schedulerName": "fairlead",
            "containers": [{{"name": "c", "resources": {{"requests": {{"cpu": "100m", "memory": "64Mi"}}}}}}]}},
            "status": {{"phase": "Running"}}}})
    record = records.record(decoder.decode(text))
    kept[record.key] = record
    cache.on_pod(Change("added", record))
    job_cache.see(record, "")
cache.view()
took = (time.process_time() - start) / {pods} * 1e6
# Not what getrusage says: that begins with the size of the process which started this one.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) / 1024, took)
"""


def measured(nodes: int, pods: int) -> tuple[float, float]:
    """Peak MiB, and microseconds of CPU a pod from text to column."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(nodes=nodes, pods=pods)], check=True, capture_output=True, text=True
    )
    peak, each = done.stdout.split()
    return float(peak), float(each)


def test_cache_of_a_thousand_pods_is_small() -> None:
    """The script of the proof runs; a thousand pods take no more than the libraries do."""
    peak, _ = measured(50, 1000)
    assert peak < 300


@pytest.mark.proof
def test_cache_at_full_size() -> None:
    """At most 1.5 GiB."""
    peak, each = measured(5000, 100_000)
    page = Path(__file__).parents[2] / "docs" / "proof" / f"{time.strftime('%Y-%m-%d')}-scheduler.md"
    if not page.exists():
        page.write_text("# The live scheduler, proven\n\nWritten by `make proof`.\n\n")
    with page.open("a") as file:
        file.write(
            f"- Cache and job cache of 5,000 nodes and 100,000 pods: peak {peak:.0f} MiB, "
            f"{each:.0f} µs of CPU a pod to read.\n"
        )
    assert peak < 1536
