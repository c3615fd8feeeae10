"""The state dump: pods come back as they were remembered, and its plan is the next cycle."""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from fairlead.engine.plan import plan
from fairlead.engine.record import plan_record
from fairlead.kube.client import Client
from fairlead.kube.codec.shapes import shape
from fairlead.kube.codec.specs import spec_of
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.load import read_manifests
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.kube.objects.pod import PodSpec
from fairlead.kube.resources import NODES, PODS, REPLICA_SETS
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.model.shape import Shape
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.node.test_group import shapes

ZONE = "topology.kubernetes.io/zone"


@given(shapes)
def test_spec_of_a_shape_has_that_shape(formed: Shape) -> None:
    """Nothing that decides where a pod may run is lost on the way out."""
    spec = msgspec.convert(spec_of(formed, formed.request), PodSpec)
    back = shape(formed.namespace, dict(formed.labels), spec)
    ordered = replace(
        formed,
        near=tuple(sorted(formed.near, key=lambda wish: bool(wish.weight))),
        far=tuple(sorted(formed.far, key=lambda wish: bool(wish.weight))),
        request=back.request,
    )
    assert back == ordered
    assert dict(back.request)["cpu"] == dict(formed.request)["cpu"]


def node(number: int) -> dict[str, Any]:
    """A node of four cores in one of two zones."""
    return {
        "metadata": {"name": f"n{number}", "labels": {ZONE: "ab"[number % 2], "kubernetes.io/hostname": f"n{number}"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
    }


def pod(app: str, number: int, on: str = "", **spec: Any) -> dict[str, Any]:
    """A pod of a workload."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    return {
        "metadata": {
            "name": f"{app}-{number}",
            "namespace": "shop",
            "uid": f"{app}-{number}",
            "labels": {"app": app},
            "ownerReferences": [owner],
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedulerName": "fairlead",
            "nodeName": on,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}],
            **spec,
        },
        "status": {"phase": "Running" if on else "Pending"},
    }


SPREAD = {
    "topologyKey": ZONE,
    "maxSkew": 1,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "even"}},
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "lone"}}}
        ]
    }
}
CASES = {
    "level": [pod("web", number) for number in range(6)],
    "beside others": [pod("web", 0, "n0"), pod("web", 1, "n0"), *(pod("web", number) for number in range(2, 7))],
    "spread": [pod("even", number, topologySpreadConstraints=[SPREAD]) for number in range(5)],
    "apart": [pod("lone", number, affinity=APART) for number in range(3)],
    "two": [
        *(pod("a", number) for number in range(4)),
        *(pod("b", number, nodeSelector={ZONE: "a"}) for number in range(3)),
    ],
    "not all fit": [pod("web", number, nodeSelector={"kubernetes.io/hostname": "n1"}) for number in range(6)],
}


async def told(api: FakeApi) -> tuple[bytes, list[PodSetOutcome]]:
    """The dump of a scheduler that has just synced, and the cycle it would make next."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(api), monotonic=clock, wall=clock, leads=lambda: False), Options(shadow=True))
    task = asyncio.create_task(scheduler.run())
    await asyncio.sleep(5)
    assert scheduler.synced
    answer = scheduler.snapshot()(), await scheduler.cycle.run()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return answer


@pytest.mark.parametrize("case", CASES)
def test_plan_of_the_dump_is_the_next_cycle(case: str, tmp_path: Path) -> None:
    """The same workloads get the same numbers on the same nodes, and the same number waits."""
    api = FakeApi()
    for number in range(4):
        api.put(NODES, node(number))
    for each in CASES[case]:
        (owner,) = each["metadata"]["ownerReferences"]
        api.put(REPLICA_SETS, {"metadata": {"name": owner["name"], "namespace": "shop", "uid": owner["uid"]}})
        api.put(PODS, each)
    text, outcomes = run(told(api))
    file = tmp_path / "dump.json"
    file.write_bytes(text)
    manifests, errors = read_manifests([str(file)])
    found = catalogue(manifests)
    assert not errors
    assert not found.errors
    (site,) = plan_record(plan(snapshot(found)))["sites"]
    planned = {
        row["workload"]: {place: count for part in row["parts"] for place, count in part["placements"].items()}
        for row in site["workloads"]
    }
    cycle = {
        outcome.group.controller.partition("/")[2]: dict(Counter(place for _, place in outcome.placed))
        for outcome in outcomes
    }
    assert planned == cycle
