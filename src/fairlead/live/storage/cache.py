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


_REMEMBERED = 65_536
"""Nodes, volumes and disks that are remembered with their last change."""


class StorageCache:
    """All of one namespace, so that names are unique. Volumes and settings are as their watches have them."""

    def __init__(self, volumes: Mapping[Key, LonghornVolume], settings: Mapping[Key, LonghornSetting]) -> None:
        self.nodes: dict[str, LonghornNode] = {}
        self.replicas: dict[str, LonghornReplica] = {}
        self._volumes = volumes
        self._settings = settings
        self._assumed: dict[str, tuple[ReplicaPlacement, LonghornReplica, int]] = {}
        """By name what is being written, the Replica as it will be, and the moment at which it was decided."""
        self.moment = 0
        """Changes that others have made so far."""
        self._changed: dict[str, int] = {}
        """By node, volume or uuid of a disk the moment at which it, or a replica there, changed last."""
        self._ruled = 0
        """The moment at which something changed last that all depends on: a setting, or what is not remembered."""
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
        names = self._by_volume.get(waiting.spec.volume_name, set()) | self._by_disk.get(placement.uuid, set())
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

    def there(self, placement: ReplicaPlacement) -> bool:
        """Whether the Replica was not deleted, or made anew, since it was decided."""
        found = self.replicas.get(placement.name)
        return found is not None and found.metadata.uid == placement.replica.metadata.uid

    def assume(self, placement: ReplicaPlacement, moment: int) -> None:
        """Count the placement, which was decided at that moment, from now on, before it is written."""
        assumed = placement.placed()
        self._assumed[placement.name] = (placement, assumed, moment)
        self._put(assumed)

    def as_decided(self, placement: ReplicaPlacement) -> bool:
        """Whether nothing that the placement depends on has changed since it was decided, but for what is placed.

        It depends on what `around` gives. All that is placed meanwhile was decided with this placement in mind.
        """
        decided, _, moment = self._assumed.get(placement.name, (None, None, 0))
        if decided is not placement or self._ruled > moment:
            return False
        volume = placement.replica.spec.volume_name
        nodes = {self.replicas[name].spec.node_id for name in self._by_volume.get(volume, ())}
        return all(self._changed.get(name, 0) <= moment for name in (volume, placement.uuid, *nodes))

    def undo(self, placement: ReplicaPlacement) -> None:
        """It was not written: unless something newer is known, or decided, the Replica waits again."""
        decided, assumed, _ = self._assumed.get(placement.name, (None, None, 0))
        if decided is placement:
            del self._assumed[placement.name]
            if self.replicas.get(placement.name) is assumed:
                self._put(placement.replica)

    def written(self, newest: LonghornReplica) -> None:
        """The answer to our own write."""
        name = newest.metadata.name
        there = self.replicas.get(name)
        if there is None or there.metadata.uid != newest.metadata.uid:
            # Deleted meanwhile, and perhaps made anew: the watch knows better.
            return
        _, assumed, _ = self._assumed.pop(name, (None, None, 0))
        if there is assumed or _later(newest, there):
            self._put(newest)

    def read_again(self, node: LonghornNode) -> None:
        """A node as the server had it when it was asked.

        One that is not known was deleted while it was read, or is told by the watch in a moment.
        """
        name = node.metadata.name
        there = self.nodes.get(name)
        if there is not None and _later(node, there):
            self.nodes[name] = node
            self._note(name)

    def not_found(self, asked: LonghornNode) -> None:
        """The server had no such node when it was asked for this one; one that was made anew since then stays."""
        name = asked.metadata.name
        there = self.nodes.get(name)
        if there is not None and there.metadata.uid == asked.metadata.uid:
            del self.nodes[name]
            self._note(name)

    def on_node(self, change: Change[LonghornNode]) -> bool:
        """A word from the watch; gives whether it is news."""
        name = change.object.metadata.name
        if change.kind == "deleted":
            if self.nodes.pop(name, None) is None:
                return False
        elif name in self.nodes and not _newer(change.object, self.nodes[name]):
            return False
        else:
            self.nodes[name] = change.object
        self._note(name)
        return True

    def on_volume(self, change: Change[LonghornVolume]) -> None:
        """A word from the watch, which has counted it already."""
        self._note(change.object.metadata.name)

    def on_setting(self, change: Change[LonghornSetting]) -> None:
        """A word from the watch, which has counted it already."""
        self._note()
        self._ruled = self.moment

    def on_replica(self, change: Change[LonghornReplica]) -> bool:
        """A word from the watch; gives whether it is news. The echo of our own write is none."""
        name = change.object.metadata.name
        there = self.replicas.get(name)
        if change.kind == "deleted":
            if there is not None and there.metadata.uid == change.object.metadata.uid:
                self._assumed.pop(name, None)
                self._drop(name)
                self._note(*_touched(there))
                return True
            return False
        if there is not None and not _newer(change.object, there):
            return False
        _, assumed, _ = self._assumed.pop(name, (None, None, 0))
        self._put(change.object)
        if assumed is not None and _as_written(assumed, change.object):
            return False
        for state in (there, change.object):
            if state is not None:
                self._note(*_touched(state))
        return True

    def _note(self, *names: str) -> None:
        """Something about these nodes, volumes and disks changed."""
        self.moment += 1
        if len(self._changed) > _REMEMBERED:
            self._changed.clear()
            self._ruled = self.moment
        self._changed.update(dict.fromkeys(names, self.moment))

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
            for groups, group in ((self._by_volume, old.spec.volume_name), (self._by_disk, old.spec.disk_id)):
                names = groups.get(group, set())
                names.discard(name)
                if not names:
                    groups.pop(group, None)


def _with_disks(node: LonghornNode, uuids: set[str]) -> LonghornNode:
    """The node with these disks only."""
    known = {name for name, status in node.status.disk_status.items() if status.disk_uuid in uuids}
    disks = {name: spec for name, spec in node.spec.disks.items() if name in known}
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, disks=disks))


def _touched(replica: LonghornReplica) -> tuple[str, str, str]:
    """What a change of the Replica may matter to."""
    return replica.spec.volume_name, replica.spec.node_id, replica.spec.disk_id


def _as_written(assumed: LonghornReplica, seen: LonghornReplica) -> bool:
    """Whether the watch shows what we write, and nothing else is new; it is often faster than the answer."""
    folder = seen.spec.data_directory_name
    spec = msgspec.structs.replace(assumed.spec, data_directory_name=folder)
    return (assumed.metadata.uid, spec, assumed.status) == (seen.metadata.uid, seen.spec, seen.status)


def _newer(one: LonghornNode | LonghornReplica, other: LonghornNode | LonghornReplica) -> bool:
    """Whether the first is a later version, or another object under the same name."""
    if one.metadata.uid != other.metadata.uid:
        return one.metadata.resource_version != other.metadata.resource_version
    return _later(one, other)


def _later(one: LonghornNode | LonghornReplica, other: LonghornNode | LonghornReplica) -> bool:
    """Whether the first was stored after the other; where versions are no numbers, whether they differ."""
    mine, theirs = one.metadata.resource_version, other.metadata.resource_version
    if not (mine.isdigit() and theirs.isdigit()):
        return mine != theirs
    return int(mine) > int(theirs)
