"""One question, two askers: a plan and the first cycle of a live scheduler over the API place the same.

The clusters are those of `random_clusters`: fragmented nodes of several resources, selectors and taints, anti-affinity
and spread, gangs with a minimum below their size, priorities, queues with weights and bounds, tiers.
"""

import asyncio
from math import inf

from hypothesis import given, settings

from fairlead.engine.explain import workload_lines
from fairlead.engine.plan import Plan, plan
from fairlead.kube.client import Client
from fairlead.kube.fence import Fence
from fairlead.kube.resources import NODES, POD_GROUPS, PODS, QUEUES, REPLICA_SETS, RESOURCE_QUOTAS
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.model.snapshot import Snapshot
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.props.random_clusters import Cluster, clusters, pod_group, pods_of, quota, replica_set, site_of

SECONDS = 1.0
"""Of virtual time: long enough for the cycle that sees all pods, too short for anything to be tried again."""


def planned(cluster: Cluster) -> Plan:
    """The plan of the controllers."""
    return plan(Snapshot(sites=(site_of(cluster),)))


def placed(made: Plan) -> dict[str, int]:
    """New replicas of each workload."""
    return {path.workload.name: sum(part.placed for part in path.parts) for path in made.sites[0].paths}


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


def bound(cluster: Cluster) -> dict[str, int]:
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
    found = {asked.name: 0 for asked in cluster.asked}
    for pod in api.store.listed(f"{PODS.root}/{PODS.plural}", "", "", ""):
        if pod["spec"].get("nodeName"):
            found[pod["metadata"]["labels"]["app"]] += 1
    return found


@settings(max_examples=150)
@given(clusters())
def test_plan_and_live_scheduler_place_the_same(cluster: Cluster) -> None:
    """As many replicas of every workload, whoever is asked; and `explain` tells the same number."""
    made = planned(cluster)
    expected = placed(made)
    assert bound(cluster) == expected
    for asked in cluster.asked:
        told = "\n".join(workload_lines(made, f"{asked.namespace}/{asked.name}"))
        if expected[asked.name]:
            assert f"{expected[asked.name]} of" in told or "on-demand" in told
