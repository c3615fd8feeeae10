"""Where the storage replicas of a cluster are, and where each of them could go instead."""

from collections.abc import Sequence

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.filters import Uses, apart, room, static_codes
from fairlead.levels.disk.ledger import DiskLedger, Wide
from fairlead.model.balancing import BalancePolicy
from fairlead.model.columns import Bool, Codes, Int
from fairlead.model.disks import Closed, DiskTable
from fairlead.model.order import natural_key
from fairlead.model.storage import HeldReplica, Locality, StorageVolume


@dataclass(frozen=True, slots=True)
class Sited:
    """A working storage replica: its volume's number, its name, and the table row of its disk at the outset."""

    volume: int
    name: str
    row: int


class Layout:
    """Replicas on disks, movable one at a time. Mutable, and never handed out of the level call that made it.

    `emptied` rows take no replica and do not count as usable space. Volumes are in natural order of names, replicas in
    that order and then by their own names, so the order of the input does not matter.
    """

    def __init__(
        self,
        volumes: Sequence[StorageVolume],
        disks: DiskTable,
        policy: BalancePolicy,
        emptied: frozenset[int] = frozenset(),
    ) -> None:
        self.disks, self.policy = disks, policy
        self.volumes = sorted(volumes, key=lambda each: natural_key(each.name))
        self.ledger = DiskLedger(disks, policy)
        self.open: Bool = disks.closed == Closed.OPEN
        self.open[list(emptied)] = False
        if policy.alpha < 1:
            self.open &= disks.total_bytes > 0
        rows = {disks.place(row): row for row in range(len(disks))}
        self.lost: list[str] = []
        self.replicas: list[Sited] = []
        for number, volume in enumerate(self.volumes):
            for held in sorted(volume.held, key=lambda each: natural_key(each.name)):
                self._site(number, held, rows)
        self.at = [replica.row for replica in self.replicas]
        self._own: list[list[int]] = [[] for _ in self.volumes]
        for index, replica in enumerate(self.replicas):
            self._own[replica.volume].append(index)
        self._static: dict[int, Codes] = {}

    def _site(self, number: int, held: HeldReplica, rows: dict[str, int]) -> None:
        place = f"{held.node}/{held.disk}"
        if held.failed:
            return
        if place in rows:
            self.replicas.append(Sited(number, held.name, rows[place]))
        else:
            self.lost.append(f"{held.name} on {place}")

    def summable(self, column: Int) -> Wide:
        """A column of bytes in a type that holds its sum."""
        return column.astype(object) if self.disks.wide else column

    def size(self, replica: int) -> int:
        """The bytes of a replica."""
        return self.volume(replica).size_bytes

    def volume(self, replica: int) -> StorageVolume:
        """The volume of a replica."""
        return self.volumes[self.replicas[replica].volume]

    def movable(self, replica: int) -> bool:
        """Whether a replica may move at all: its volume is whole, and locality does not hold it where it is."""
        volume = self.volume(replica)
        whole = volume.healthy and not volume.replicas and not any(held.failed for held in volume.held)
        here = self.disks.nodes[int(self.disks.node_of[self.at[replica]])]
        held_here = volume.locality is Locality.PREFER and volume.attached_to == here
        return whole and not held_here

    def refusals(self, replica: int) -> Codes:
        """For each disk why the replica cannot move there, 0 where it can without sharing more than it does now."""
        number = self.replicas[replica].volume
        volume = self.volumes[number]
        if number not in self._static:
            self._static[number] = static_codes(volume, self.disks, self.policy)
        uses = Uses()
        for other in self._own[number]:
            if other != replica:
                uses.add(self.disks, int(self.disks.node_of[self.at[other]]), self.at[other])
        rule = volume.anti_affinity or self.policy.anti_affinity
        codes, classes = apart(self._static[number], uses, self.disks, rule)
        codes = room(codes, volume.size_bytes, self.ledger)
        if classes is not None:
            shares_more = (codes == 0) & (classes > classes[self.at[replica]])
            codes = np.where(shares_more, np.uint8(why.NUMBER[why.DISK_USED]), codes)
        return codes

    def targets(self, replica: int) -> Bool:
        """The disks that the replica can move to: open, not its own, and refused by nothing."""
        allowed: Bool = (self.refusals(replica) == 0) & self.open
        allowed[self.at[replica]] = False
        return allowed

    def move(self, replica: int, row: int) -> None:
        """The replica is copied to a disk, then removed from the one it was on."""
        self.ledger.charge(row, self.size(replica))
        self.ledger.release(self.at[replica], self.size(replica))
        self.at[replica] = row
