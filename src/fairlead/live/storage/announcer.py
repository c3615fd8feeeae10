"""What a look found, said on the volumes that it is about."""

from collections.abc import Callable
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.objects.longhorn import LonghornReplica, LonghornVolume
from fairlead.levels.disk.rebalance import Rebalance
from fairlead.live.storage import messages
from fairlead.live.storage.cache import ReplicaPlacement
from fairlead.live.storage.decide import Outlook
from fairlead.live.storage.notifier import VolumeNotifier

PATIENCE = 30.0
"""Seconds that Longhorn has for a replica before its volume is told that there is a disk for it."""


@dataclass(slots=True, eq=False)
class VolumeAnnouncer:
    """`volume` finds one by its name. While this instance `acts`, a disk that it will write is not announced."""

    notifier: VolumeNotifier
    volume: Callable[[str], LonghornVolume | None]
    monotonic: Callable[[], float]
    acts: bool
    _since: dict[str, float] = field(default_factory=dict, init=False)
    """By volume, when a disk was first there for a replica that waits."""

    def say(self, found: Outlook, advice: Rebalance) -> float | None:
        """Replicas without a disk, those for which there is one, and moves; when there will be more to say."""
        topics = set()
        for short in found.short:
            volume = self.volume(short.volume)
            if volume is not None:
                topics.add(self.notifier.tell(volume, messages.UNSCHEDULED, short.theme, short.note, kind="Warning"))
        overdue, again = self._overdue(found)
        for volume, places in overdue:
            topics.add(self.notifier.tell(volume, messages.PLACEABLE, str(len(places)), messages.placeable(places)))
        self.notifier.settle([messages.UNSCHEDULED, messages.PLACEABLE], topics)
        self._say_moves(advice)
        return again

    def lost(self) -> None:
        """This instance leads no longer: what ends and begins anew is not followed here from now on."""
        self._since.clear()
        self.notifier.clear()

    def written(self, placement: ReplicaPlacement, newest: LonghornReplica) -> None:
        """The replica has its disk."""
        volume = self.volume(newest.spec.volume_name)
        if volume is not None:
            note = messages.scheduled(placement.name, placement.node, placement.disk)
            self.notifier.happened(volume, messages.SCHEDULED, note, newest)

    def _say_moves(self, advice: Rebalance) -> None:
        topics = set()
        for move in advice.moves:
            volume = self.volume(move.volume)
            if volume is not None:
                theme, note = advice.disks.place(move.target), messages.move(move, advice.disks)
                topics.add(self.notifier.tell(volume, messages.MOVE, theme, note, replica=move.replica))
        self.notifier.settle([messages.MOVE], topics)

    def _overdue(self, found: Outlook) -> tuple[list[tuple[LonghornVolume, list[str]]], float | None]:
        """Volumes whose replicas have waited for long though there is a disk; and when the next will have."""
        places: dict[str, list[str]] = {}
        for each in found.placements if not self.acts else ():
            name = each.replica.spec.volume_name
            places.setdefault(name, []).append(messages.scheduled(each.name, each.node, each.disk))
        now = self.monotonic()
        self._since = {name: self._since.get(name, now) for name in places}
        due = {name: since + PATIENCE for name, since in self._since.items()}
        volumes = ((self.volume(name), own) for name, own in places.items() if due[name] <= now)
        overdue = [(volume, own) for volume, own in volumes if volume is not None]
        return overdue, min((time for time in due.values() if time > now), default=None)
