"""Many replicas at alpha 1: the same choice as `choose`, from heaps instead of whole columns.

At alpha 1 the lowest key is the most usable node, and on it the most usable disk (see `Field.best`), so no score has
to be worked out. Usable bytes only fall while replicas are placed, hence heaps with stale entries dropped on sight:
building costs O(N + D), a replica O(log N) (O(Z + log N) where zones must differ, Z being the number of zones).
"""

from collections.abc import Callable, Collection, Iterable
from enum import Enum
from heapq import heapify, heappop, heappush
from typing import Any

from fairlead.levels.disk.filters import Uses
from fairlead.levels.disk.ledger import DiskLedger
from fairlead.model.columns import Codes
from fairlead.model.disks import DiskTable
from fairlead.model.storage import AntiAffinity, Locality, StorageVolume, Strictness

Kind = tuple[Any, ...]
"""What volumes must have in common to share heaps; the last two parts tell whether disks must differ though nodes need
not, and whether zones must."""


class _Verdict(Enum):
    TAKE = 0
    SKIP = 1
    """Not for this replica, but perhaps for the next one."""
    PARK = 2
    """Not for any replica of this size."""


class _Largest:
    """The largest of values that only fall; equal values in row order. Parked rows come back with `unpark`."""

    __slots__ = ("_heap", "_parked")

    def __init__(self, rows: Iterable[int], values: list[int]) -> None:
        self._heap = [(-values[row], row) for row in rows]
        heapify(self._heap)
        self._parked: list[int] = []

    def first(self, values: list[int], judge: Callable[[int], _Verdict]) -> int | None:
        """The largest row that `judge` takes; rows it skips stay, rows it parks do not come again."""
        skipped = []
        found = None
        while self._heap and found is None:
            negative, row = self._heap[0]
            if -negative != values[row]:
                heappop(self._heap)
                continue
            verdict = judge(row)
            if verdict is _Verdict.TAKE:
                found = row
            elif verdict is _Verdict.SKIP:
                skipped.append(heappop(self._heap))
            else:
                self._parked.append(heappop(self._heap)[1])
        for entry in skipped:
            heappush(self._heap, entry)
        return found

    def fell(self, row: int, values: list[int]) -> None:
        """The value of a row fell."""
        heappush(self._heap, (-values[row], row))

    def unpark(self, values: list[int]) -> None:
        """Parked rows take part again."""
        for row in self._parked:
            heappush(self._heap, (-values[row], row))
        self._parked.clear()


class Shelf:
    """The disks that one kind of volume may use, ready for many choices. Lives inside one call of the level."""

    def __init__(self, static: Codes, disks: DiskTable, ledger: DiskLedger, *, by_zone: bool) -> None:
        self._disks, self._ledger = disks, ledger
        self._node_of: list[int] = disks.node_of.tolist()
        self._usable: list[int] = ledger.usable.tolist()
        self._open: list[bool] = (static == 0).tolist()
        self._own: dict[int, list[int]] = {}
        self._sums = [0] * len(disks.nodes)
        for row, (node, is_open) in enumerate(zip(self._node_of, self._open, strict=True)):
            if is_open:
                self._own.setdefault(node, []).append(row)
                self._sums[node] += self._usable[row]
        self._tops: dict[int, _Largest] = {}
        zones: dict[str, list[int]] = {}
        for node in self._own:
            zones.setdefault(disks.zones[node] if by_zone else "", []).append(node)
        self._zones = {zone: _Largest(nodes, self._sums) for zone, nodes in zones.items()}
        self._by_zone = by_zone
        self._size = 0

    def take(self, size_bytes: int, uses: Uses, rule: AntiAffinity) -> int | None:
        """The disk for the next replica, or None; `rule` is one that `kind` accepts."""
        if size_bytes < self._size:
            self._unpark()
        self._size = size_bytes
        used: Collection[int] = uses.nodes if rule.node is Strictness.HARD else ()
        taken: Collection[int] = uses.disks if rule.disk is Strictness.HARD else ()
        found: dict[int, int] = {}

        def judge(node: int) -> _Verdict:
            if node in used:
                return _Verdict.SKIP
            disk = self._disk(node, taken)
            if disk is not None:
                found[node] = disk
                return _Verdict.TAKE
            return _Verdict.SKIP if taken else _Verdict.PARK

        heads = [
            head
            for zone, largest in self._zones.items()
            if not (self._by_zone and zone in uses.zones) and (head := largest.first(self._sums, judge)) is not None
        ]
        if not heads:
            return None
        return found[min(heads, key=lambda node: (-self._sums[node], node))]

    def fell(self, row: int) -> None:
        """The ledger charged a disk."""
        if not self._open[row]:
            return
        now = int(self._ledger.usable[row])
        node = self._node_of[row]
        self._sums[node] += now - self._usable[row]
        self._usable[row] = now
        if node in self._tops:
            self._tops[node].fell(row, self._usable)
        self._zones[self._disks.zones[node] if self._by_zone else ""].fell(node, self._sums)

    def _disk(self, node: int, taken: Collection[int]) -> int | None:
        """The most usable disk of a node that fits."""
        size, usable, ledger = self._size, self._usable, self._ledger
        if node not in self._tops:
            self._tops[node] = _Largest(self._own[node], usable)

        def judge(row: int) -> _Verdict:
            lacks = usable[row] < size or (ledger.limited and ledger.promised[row] < size)
            if lacks:
                return _Verdict.PARK
            return _Verdict.SKIP if row in taken else _Verdict.TAKE

        return self._tops[node].first(usable, judge)

    def _unpark(self) -> None:
        for largest in self._tops.values():
            largest.unpark(self._usable)
        for largest in self._zones.values():
            largest.unpark(self._sums)


def kind(volume: StorageVolume, rule: AntiAffinity) -> Kind | None:
    """What volumes must have in common to share a shelf; None for a volume that must be chosen for one by one."""
    if volume.held or volume.locality is Locality.PREFER:
        return None
    if Strictness.SOFT in (rule.zone, rule.node, rule.disk):
        return None
    return (
        volume.node_tags,
        volume.disk_tags,
        volume.block,
        volume.topology,
        volume.only_node,
        volume.attached_to if volume.locality is Locality.REQUIRE else "",
        volume.written_bytes,
        rule.disk is Strictness.HARD and rule.node is not Strictness.HARD,
        rule.zone is Strictness.HARD,
    )
