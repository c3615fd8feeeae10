"""One question, three askers: a plan, the first cycle of a live scheduler over the API and the first instant of a
simulation place the same replicas on the same nodes (docs/decisions/0380, 0430).

The clusters are those of `random_clusters`: fragmented nodes of several resources, selectors and taints, anti-affinity
and spread, gangs with a minimum below their size, priorities, queues with weights and bounds, tiers.
"""

import asyncio
from collections import Counter
from math import inf

from hypothesis import given, settings

from fairlead.engine.explain import workload_lines
from fairlead.engine.plan import Plan, plan
from fairlead.engine.site_plan import spots
from fairlead.kube.client import Client
from fairlead.kube.fence import Fence
from fairlead.kube.resources import NODES, POD_GROUPS, PODS, QUEUES, REPLICA_SETS, RESOURCE_QUOTAS
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.model.snapshot import Snapshot
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import _Loop
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.props.random_clusters import Cluster, clusters, pod_group, pods_of, quota, replica_set, site_of

Places = dict[str, Counter[str]]
"""Workload → node → replicas."""

SECONDS = 1.0
"""Of virtual time: long enough for the cycle that sees all pods, too short for anything to be tried again."""


def planned(cluster: Cluster) -> Plan:
    """The plan of the controllers."""
    return plan(Snapshot(sites=(site_of(cluster),)))


def placed(made: Plan) -> Places:
    """New replicas of each workload."""
    (site,) = made.sites
    found: Places = {path.workload.name: Counter() for path in site.paths}
    for path in site.paths:
        for part in path.parts:
            found[path.workload.name].update(spots(part, site.before.names))
    return found


def simulated(cluster: Cluster) -> Places:
    """Replicas of each workload that run after the first instant of a simulation."""
    loop = _Loop(story(scenario_of({}), site=site_of(cluster), until_ms=1), SimPolicy(name="fair"))
    loop.until_the_end(lambda now: None)
    found: Places = {job.workload.name: Counter() for job in loop.jobs.values()}
    for job in loop.jobs.values():
        for batch in job.batches.values():
            for row, count in zip(batch.rows.tolist(), batch.counts.tolist(), strict=True):
                found[job.workload.name][loop.cluster.state.names[row]] += count
    return found


def api_of(cluster: Cluster) -> FakeApi:
    """A server that has the nodes, the queues and all pods, none of them bound."""
    api = FakeApi(now=lambda: "1970-01-12T13:47:40Z")
    for node in cluster.nodes:
        api.put(NODES, node)
    for queue in cluster.queues:
        api.put(QUEUES, queue)
    for namespace, weight in cluster.weights.items():
        api.put(RESOURCE_QUOTAS, quota((namespace, weight)), namespace=namespace)
    for asked in cluster.asked:
        if asked.least:
            api.put(POD_GROUPS, pod_group(asked), namespace=asked.namespace)
        else:
            api.put(REPLICA_SETS, replica_set(asked), namespace=asked.namespace)
        for pod in pods_of(asked, cluster.tiered):
            api.put(PODS, pod, namespace=asked.namespace)
    return api


def bound(cluster: Cluster) -> Places:
    """Pods of each workload that the live scheduler binds in its first cycle over the API."""
    api = api_of(cluster)

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        fence = Fence(clock)
        fence.begin()
        fence.extend(inf, inf)
        client = Client(api).fenced(fence)
        instance = Instance(client, monotonic=clock, wall=lambda: clock() + 1e6, leads=lambda: True)
        task = asyncio.create_task(Scheduler(instance, Options()).run())
        await asyncio.sleep(SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())
    found: Places = {asked.name: Counter() for asked in cluster.asked}
    for pod in api.store.listed(f"{PODS.root}/{PODS.plural}", "", "", ""):
        if node := pod["spec"].get("nodeName"):
            found[pod["metadata"]["labels"]["app"]][node] += 1
    return found


@settings(max_examples=150)
@given(clusters())
def test_plan_simulation_and_live_scheduler_place_the_same(cluster: Cluster) -> None:
    """As many replicas of every workload on every node, whoever is asked; and `explain` tells the same number."""
    made = planned(cluster)
    expected = placed(made)
    assert simulated(cluster) == expected
    live = bound(cluster)
    # Where all pods find a place in order of age the scheduler takes no turn, and may use other nodes (0120, 0430).
    if any(live[asked.name].total() < asked.replicas for asked in cluster.asked):
        assert live == expected
    for asked in cluster.asked:
        told = "\n".join(workload_lines(made, f"{asked.namespace}/{asked.name}"))
        if expected[asked.name]:
            assert f"{expected[asked.name].total()} of" in told or "on-demand" in told
