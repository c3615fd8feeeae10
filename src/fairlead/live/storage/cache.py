"""What is known of Longhorn's objects: what the watches told, and what is newer than that.

Newer are placements that are being written, the answers to our own writes, and nodes that were read again. Of two
states of one object the later version counts.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change, Key
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The objects of one moment."""

    nodes: tuple[LonghornNode, ...]
    volumes: tuple[LonghornVolume, ...]
    replicas: tuple[LonghornReplica, ...]
    settings: tuple[LonghornSetting, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaPlacement:
    """A Replica that waits, as it was when it was decided, and the disk it goes to."""

    replica: LonghornReplica
    node: str
    disk: str
    uuid: str
    path: str

    @property
    def name(self) -> str:
        """The name of the Replica."""
        return self.replica.metadata.name

    def placed(self) -> LonghornReplica:
        """The Replica as it will be; its version is still the old one."""
        spec = msgspec.structs.replace(self.replica.spec, node_id=self.node, disk_id=self.uuid, disk_path=self.path)
        return msgspec.structs.replace(self.replica, spec=spec)


class StorageCache:
    """All of one namespace, so that names are unique. Volumes and settings are as their watches have them."""

    def __init__(self, volumes: Mapping[Key, LonghornVolume], settings: Mapping[Key, LonghornSetting]) -> None:
        self.nodes: dict[str, LonghornNode] = {}
        self.replicas: dict[str, LonghornReplica] = {}
        self._volumes = volumes
        self._settings = settings
        self._assumed: dict[str, tuple[ReplicaPlacement, LonghornReplica]] = {}
        self._by_volume: dict[str, set[str]] = defaultdict(set)
        self._by_disk: dict[str, set[str]] = defaultdict(set)

    def seen(self) -> Seen:
        """Everything, as it is now."""
        return Seen(
            nodes=tuple(self.nodes.values()),
            volumes=tuple(self._volumes.values()),
            replicas=tuple(self.replicas.values()),
            settings=tuple(self._settings.values()),
        )

    def around(self, placement: ReplicaPlacement) -> Seen:
        """What decides whether one placement still fits: its disk, and the other replicas of its volume with theirs.

        The Replica itself waits; all other replicas are as they are now, those being written too.
        """
        waiting = placement.replica
        names = self._by_volume[waiting.spec.volume_name] | self._by_disk[placement.uuid]
        others = [self.replicas[name] for name in sorted(names - {placement.name})]
        siblings = [each.spec for each in others if each.spec.volume_name == waiting.spec.volume_name]
        names = {placement.node, *(each.node_id for each in siblings)} & self.nodes.keys()
        disks = {placement.uuid, *(each.disk_id for each in siblings)}
        namespace = waiting.metadata.namespace
        volume = self._volumes.get((namespace, waiting.spec.volume_name))
        return Seen(
            nodes=tuple(_with_disks(self.nodes[name], disks) for name in sorted(names)),
            volumes=() if volume is None else (volume,),
            replicas=(waiting, *(each for each in others if each.spec.node_id)),
            settings=tuple(self._settings.values()),
        )

    def still(self, placement: ReplicaPlacement) -> bool:
        """Whether the Replica is as it was when it was decided."""
        return self.replicas.get(placement.name) is placement.replica

    def assume(self, placement: ReplicaPlacement) -> None:
        """Count the placement from now on, before it is written."""
        assumed = placement.placed()
        self._assumed[placement.name] = (placement, assumed)
        self._put(assumed)

    def undo(self, placement: ReplicaPlacement) -> None:
        """It was not written: unless something newer is known, or decided, the Replica waits again."""
        decided, assumed = self._assumed.get(placement.name, (None, None))
        if decided is placement:
            del self._assumed[placement.name]
            if self.replicas.get(placement.name) is assumed:
                self._put(placement.replica)

    def written(self, newest: LonghornReplica) -> None:
        """The answer to our own write."""
        name = newest.metadata.name
        _, assumed = self._assumed.pop(name, (None, None))
        there = self.replicas.get(name)
        # Deleted meanwhile: the watch knows better.
        if there is not None and (there is assumed or _newer(newest, there)):
            self._put(newest)

    def read_again(self, name: str, node: LonghornNode | None) -> None:
        """A node as the server has it at this moment; None: it is gone."""
        if node is None:
            self.nodes.pop(name, None)
        elif name not in self.nodes or _newer(node, self.nodes[name]):
            self.nodes[name] = node

    def on_node(self, change: Change[LonghornNode]) -> bool:
        """A word from the watch; gives whether it is news."""
        name = change.object.metadata.name
        if change.kind == "deleted":
            return self.nodes.pop(name, None) is not None
        if name in self.nodes and not _newer(change.object, self.nodes[name]):
            return False
        self.nodes[name] = change.object
        return True

    def on_replica(self, change: Change[LonghornReplica]) -> bool:
        """A word from the watch; gives whether it is news. The echo of our own write is none."""
        name = change.object.metadata.name
        there = self.replicas.get(name)
        if change.kind == "deleted":
            if there is not None and there.metadata.uid == change.object.metadata.uid:
                self._assumed.pop(name, None)
                self._drop(name)
                return True
            return False
        if there is not None and not _newer(change.object, there):
            return False
        _, assumed = self._assumed.pop(name, (None, None))
        self._put(change.object)
        return assumed is None or not _as_written(assumed, change.object)

    def _put(self, replica: LonghornReplica) -> None:
        name = replica.metadata.name
        self._drop(name)
        self.replicas[name] = replica
        self._by_volume[replica.spec.volume_name].add(name)
        if replica.spec.disk_id:
            self._by_disk[replica.spec.disk_id].add(name)

    def _drop(self, name: str) -> None:
        old = self.replicas.pop(name, None)
        if old is not None:
            self._by_volume[old.spec.volume_name].discard(name)
            self._by_disk[old.spec.disk_id].discard(name)


def _with_disks(node: LonghornNode, uuids: set[str]) -> LonghornNode:
    """The node with these disks only."""
    known = {name for name, status in node.status.disk_status.items() if status.disk_uuid in uuids}
    disks = {name: spec for name, spec in node.spec.disks.items() if name in known}
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, disks=disks))


def _as_written(assumed: LonghornReplica, seen: LonghornReplica) -> bool:
    """Whether the watch shows what we write, and nothing else is new; it is often faster than the answer."""
    folder = seen.spec.data_directory_name
    spec = msgspec.structs.replace(assumed.spec, data_directory_name=folder)
    return (assumed.metadata.uid, spec, assumed.status) == (seen.metadata.uid, seen.spec, seen.status)


def _newer(one: LonghornNode | LonghornReplica, other: LonghornNode | LonghornReplica) -> bool:
    """Whether the first is a later version, or another object under the same name."""
    mine, theirs = one.metadata.resource_version, other.metadata.resource_version
    if one.metadata.uid != other.metadata.uid or not (mine.isdigit() and theirs.isdigit()):
        return mine != theirs
    return int(mine) > int(theirs)
