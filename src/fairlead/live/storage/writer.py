"""Placements written, many in flight: the node is read again, the placement checked once more, then it is patched.

The patch names the version that was decided on, so a Replica that got a node meanwhile is never overwritten.
"""

import asyncio
from collections.abc import Callable

from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.longhorn import LonghornReplica
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import LONGHORN_NODES, LONGHORN_REPLICAS
from fairlead.live.runtime.elected import Instance
from fairlead.live.runtime.outbox import Outbox, written
from fairlead.live.storage.cache import ReplicaPlacement, StorageCache
from fairlead.live.storage.metrics import StorageMetrics

IN_FLIGHT = 16
"""More than this many writes at once only queue up inside the API server."""
NODE_LABEL, DISK_LABEL = "longhornnode", "longhorndiskuuid"
"""Labels by which Longhorn finds the replicas of a node and of a disk."""
FOLDER_CHARS = 8

Done = Callable[[ReplicaPlacement, LonghornReplica | None, KubeError | None], None]


def patch_of(placement: ReplicaPlacement) -> Raw:
    """The merge patch: node, disk, path, the folder of its data where it has none yet, and Longhorn's labels.

    The folder is named after the Replica's uid, so that the same placement written twice is the same.
    """
    meta, spec = placement.replica.metadata, placement.replica.spec
    folder = spec.data_directory_name or f"{spec.volume_name}-{meta.uid[:FOLDER_CHARS]}"
    return {
        "metadata": {
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "labels": {NODE_LABEL: placement.node, DISK_LABEL: placement.uuid},
        },
        "spec": {
            "nodeID": placement.node,
            "diskID": placement.uuid,
            "diskPath": placement.path,
            "dataDirectoryName": folder,
        },
    }


class ReplicaWriter:
    """`done(placement, newest, error)` is told of each placement: the Replica as it is now, or why it was not written.

    Neither a Replica nor an error: the lead was lost, or the placement does not fit any more.
    """

    def __init__(
        self,
        instance: Instance,
        known: StorageCache,
        measures: StorageMetrics,
        done: Done,
        *,
        fits: Callable[[ReplicaPlacement], bool],
    ) -> None:
        self._client = instance.client
        self._known = known
        self._measures = measures
        self._done = done
        self._leads = instance.leads
        self._fits = fits
        self._reads: dict[str, asyncio.Task[None]] = {}
        self.outbox: Outbox[ReplicaPlacement] = Outbox(
            self._send,
            in_flight=IN_FLIGHT,
            name="replicas",
            pulse=instance.pulse,
            given_up=lambda placement: done(placement, None, None),
        )

    async def _send(self, placement: ReplicaPlacement) -> None:
        newest, error = await written(self._write(placement), self._measures.refusals)
        self._done(placement, newest, error)

    async def _write(self, placement: ReplicaPlacement) -> LonghornReplica | None:
        if not self._leads():
            return None
        namespace = placement.replica.metadata.namespace
        await self._look_at(placement.node, namespace)
        if not self._fits(placement):
            self._measures.refusals.labels("changed").inc()
            return None
        if not self._leads():
            return None
        newest = await self._client.patch(
            LONGHORN_REPLICAS, placement.name, patch_of(placement), namespace=namespace, kind="merge"
        )
        self._measures.writes.inc()
        return newest

    async def _look_at(self, node: str, namespace: str) -> None:
        """Learn how the node is stored now; placements that are sent together share one read of it."""
        read = self._reads.get(node)
        if read is None:
            read = self._reads[node] = asyncio.create_task(self._read(node, namespace))
            read.add_done_callback(lambda _: self._reads.pop(node))
        # A placement that is cancelled must not take the others' read along.
        await asyncio.shield(read)

    async def _read(self, name: str, namespace: str) -> None:
        asked = self._known.nodes.get(name)
        try:
            self._known.read_again(await self._client.get(LONGHORN_NODES, name, namespace=namespace))
        except ApiError as error:
            if not error.not_found:
                raise
            if asked is not None:
                self._known.not_found(asked)
