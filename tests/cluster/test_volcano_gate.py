"""Volcano's Jobs arrive while evictions are allowed: the tables of namespaces come out exactly, by gate and reclaim."""

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api

from tests.cluster import volcano
from tests.cluster.played.host import Crew
from tests.cluster.played.volcano_jobs import JobController, PlayedJob, Task
from tests.cluster.test_fairness import running
from tests.queue.tables import TABLES, Table

Nodes = Callable[..., list[str]]
SIZE = 2
"""Pods of a gang, 1 cpu each: one cpu of the tables is one gang."""


def settings(namespace: str, **evictions: Any) -> dict[str, Mapping[str, Any]]:
    """The gate is kept, evictions are allowed, budget and switch are in the test's own namespace."""
    return {
        "queue": {"admit": "gated", "statusSeconds": 0.2},
        "evictions": {"allowed": True, "perMinute": 240, "namespace": namespace, "switch": "switch", **evictions},
    }


def spaces(namespace: str, table: Table) -> dict[str, str]:
    """The namespaces of a table by their names there."""
    return {row.namespace: f"{namespace[:40]}-{row.namespace}".replace("--", "-") for row in table.rows}


def answered(api: Api, namespace: str, job: PlayedJob) -> bool:
    """Whether the Job's group runs, or was told to wait."""
    status = api.get(f"{volcano.groups_path(namespace)}/{job.group}").get("status", {})
    return status.get("phase") in ("Running", "Pending")


def gangs(api: Api, table: Table, names: Mapping[str, str]) -> list[int]:
    """For each row of the table how many of its gangs are whole on nodes."""
    found = {name: volcano.bound(api, names[name]) for name in names}
    return [
        sum(pods == SIZE for group, pods in found[row.namespace].items() if group.startswith(f"{row.queue}-"))
        for row in table.rows
    ]


@pytest.mark.parametrize(
    ("which", "one_by_one"),
    [("default weights", True), ("weighted queues and namespaces", True), ("weighted queues and namespaces", False)],
    ids=["4 4 6 2, each after the one before", "3 1 10 2, each after the one before", "3 1 10 2, one after another"],
)
def test_namespace_tables_come_out_exactly_as_jobs_arrive(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, tmp_path: Path, which: str, one_by_one: bool
) -> None:
    """Namespace by namespace, so that the first hold too much for a while; at rest each has what the table gives it.

    No gang is ever on nodes in part once it is at rest, and who waits was not let in or waits with all its pods.
    """
    table = TABLES[which]
    volcano.install(api)
    kwok_nodes(4, cpu=str(4 * SIZE))
    names = spaces(namespace, table)
    queues = {name: {"weight": weight, "reclaimable": True} for name, (weight, _) in table.queues.items()}
    with ExitStack() as stack:
        stack.enter_context(volcano.namespaces(api, *names.values()))
        stack.enter_context(volcano.queues(api, **queues))
        for row in table.rows:
            volcano.weigh(api, names[row.namespace], row.weight)
        stack.enter_context(running(kubeconfig, tmp_path, **settings(namespace)))
        jobs = {name: JobController(api, there) for name, there in names.items()}
        stack.enter_context(Crew(*(each.sync for each in jobs.values())))
        for row in table.rows:
            for number in range(row.requested):
                job = PlayedJob(name=f"{row.queue}-{number}", queue=row.queue, tasks={"t": Task(replicas=SIZE)})
                jobs[row.namespace].submit(job)
                if one_by_one:
                    there = names[row.namespace]
                    api.wait(f"{job.name} stands", lambda there=there, job=job: answered(api, there, job))
        want = [row.assigned for row in table.rows]
        api.wait(f"gangs on nodes {want}", lambda: gangs(api, table, names) == want, seconds=120)
        for controller in jobs.values():
            for name in list(controller.jobs):
                controller.end(name)


def charged(api: Api, namespace: str) -> int:
    """Evictions of the last minute, as the budget has them."""
    recent = api.get(f"/api/v1/namespaces/{namespace}/configmaps/switch")["data"]["recent"]
    return sum(int(line.split()[1]) for line in recent.splitlines())


def test_pods_above_the_minimum_go_newest_first_within_the_budget(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Nodes, tmp_path: Path
) -> None:
    """5, 10, 1 and 0 of 16 become 4, 4, 6 and 2: of each elastic job the newest pods go, no more than is paid for."""
    table = TABLES["default weights"]
    volcano.install(api)
    kwok_nodes(4, cpu="4")
    names = spaces(namespace, table)
    queue_of = {row.namespace: row.queue for row in table.rows}
    old, new = {"ns1": 4, "ns2": 4}, {"ns1": 1, "ns2": 6}
    with ExitStack() as stack:
        stack.enter_context(volcano.namespaces(api, *names.values()))
        stack.enter_context(volcano.queues(api, q1={"weight": 1}, q2={"weight": 1}))
        scheduler = stack.enter_context(running(kubeconfig, tmp_path, **settings(namespace, perMinute=8)))
        for name in ("ns1", "ns2"):
            volcano.make_group(api, names[name], "el", 1, queue=queue_of[name])
            add(api, names[name], "old", old[name])
        second_after(api, names.values())
        for name in ("ns1", "ns2"):
            add(api, names[name], "new", new[name])
        api.wait("fifteen run", lambda: held(api, names) == [5, 10, 0, 0])
        for name, pods in (("ns3", 10), ("ns4", 2)):
            volcano.make_gang(api, names[name], "el", pods, 1, queue=queue_of[name])
        api.wait("all have what they deserve", lambda: held(api, names) == [4, 4, 6, 2])
        for name in ("ns1", "ns2"):
            left = {pod["metadata"]["name"] for pod in api.items(f"/api/v1/namespaces/{names[name]}/pods")}
            assert left == {f"old-{number}" for number in range(old[name])}
        assert scheduler.metric('fairlead_evicted_pods_total{action="reclaim"}') == 7
        # What was charged and not carried out is given back a moment later.
        api.wait("the budget has what went", lambda: charged(api, namespace) == 7)


def add(api: Api, namespace: str, prefix: str, count: int) -> None:
    """Bare pods of the group `el`."""
    made = [volcano.member("el", f"{prefix}-{number}") for number in range(count)]
    api.create_many(f"/api/v1/namespaces/{namespace}/pods", made)


def held(api: Api, names: Mapping[str, str]) -> list[int]:
    """Bound pods by namespace, in the order of the table."""
    return list(volcano.running(api, names.values()).values())


def second_after(api: Api, namespaces: Any) -> None:
    """Until a pod that is created now is newer than those there are: the API tells times in seconds."""
    made = [
        pod["metadata"]["creationTimestamp"]
        for namespace in namespaces
        for pod in api.items(f"/api/v1/namespaces/{namespace}/pods")
    ]
    api.wait("a later second", lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 1)) > max(made))
