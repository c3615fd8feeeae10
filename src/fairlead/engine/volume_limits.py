"""Volumes attached to nodes, or about to be, against the limits that drivers set: counted as they come and go.

A *holder* is whatever keeps a volume on a node: a claim that a pod there uses, a disk
that a pod names itself, or an attachment that is still there.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping

from fairlead.model.claims import Attached

Holder = tuple[str, str]


class VolumeLimits:
    """`volume_of` tells which volume a holder holds; None where no driver attaches it."""

    def __init__(self, volume_of: Callable[[Holder], Attached | None]) -> None:
        self._volume_of = volume_of
        self._known: dict[Holder, Attached | None] = {}
        self._nodes: dict[Holder, Counter[str]] = {}
        self._there: dict[str, Counter[Attached]] = defaultdict(Counter)
        self._distinct: dict[str, Counter[str]] = defaultdict(Counter)
        """By driver and node, how many volumes."""
        self._limits: dict[str, dict[str, int]] = defaultdict(dict)
        """By driver and node, how many there may be."""

    def limit(self, node: str, limits: Mapping[str, int]) -> None:
        """How many volumes each driver may attach to the node; a driver that is not named has no limit."""
        for driver in [driver for driver, by_node in self._limits.items() if node in by_node]:
            del self._limits[driver][node]
            if not self._limits[driver]:
                del self._limits[driver]
        for driver, count in limits.items():
            self._limits[driver][node] = count

    def hold(self, holder: Holder, node: str) -> None:
        """One more user of the holder on the node."""
        if holder not in self._nodes:
            self._nodes[holder] = Counter()
            self._known[holder] = self._volume_of(holder)
        self._nodes[holder][node] += 1
        if self._nodes[holder][node] == 1:
            self._count(self._known[holder], node, 1)

    def leave(self, holder: Holder, node: str) -> None:
        """One user less."""
        nodes = self._nodes[holder]
        nodes[node] -= 1
        if not nodes[node]:
            del nodes[node]
            self._count(self._known[holder], node, -1)
        if not nodes:
            del self._nodes[holder], self._known[holder]

    def again(self, holder: Holder) -> None:
        """Something about the holder changed: it may hold another volume by now."""
        if holder not in self._nodes:
            return
        before, now = self._known[holder], self._volume_of(holder)
        if before != now:
            self._known[holder] = now
            for node in self._nodes[holder]:
                self._count(before, node, -1)
                self._count(now, node, 1)

    def crowded(self, wanted: Collection[Attached]) -> tuple[str, ...]:
        """Nodes on which these volumes together would pass a driver's limit. One that is there already adds nothing."""
        found: set[str] = set()
        for driver in {driver for driver, _ in wanted}:
            mine = [each for each in wanted if each[0] == driver]
            held: Mapping[str, int] = self._distinct.get(driver, {})
            for node, limit in self._limits.get(driver, {}).items():
                if held.get(node, 0) + len(mine) > limit:
                    more = sum(each not in self._there.get(node, ()) for each in mine)
                    if more and held.get(node, 0) + more > limit:
                        found.add(node)
        return tuple(sorted(found))

    def _count(self, volume: Attached | None, node: str, sign: int) -> None:
        if volume is None:
            return
        there, distinct = self._there[node], self._distinct[volume[0]]
        there[volume] += sign
        if there[volume] == max(sign, 0):
            # The first holder came, or the last one went.
            distinct[node] += sign
        if not there[volume]:
            del there[volume]
        if not there:
            del self._there[node]
        if not distinct[node]:
            del distinct[node]
        if not distinct:
            del self._distinct[volume[0]]
