"""The objects of a census, read from the cluster at once."""

import asyncio

from fairlead.kube.client import Client
from fairlead.kube.resources import NODES, PODS
from fairlead.live.webhook.census import Objects
from fairlead.live.webhook.owners import RESOURCES


async def read_objects(client: Client, namespace: str = "") -> Objects:
    """Everything in one namespace, or in all; pods last, so that none is newer than its owner is known to be."""
    kinds = ("Deployment", "ReplicaSet", "StatefulSet")
    owners = await asyncio.gather(*(client.list(RESOURCES[kind], namespace=namespace) for kind in kinds))
    nodes = await client.list(NODES)
    pods = await client.list(PODS, namespace=namespace)
    return Objects(
        deployments=owners[0].items,
        replica_sets=owners[1].items,
        stateful_sets=owners[2].items,
        pods=pods.items,
        nodes=nodes.items,
    )
