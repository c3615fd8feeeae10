"""Room in the tree of queues: what is used, what is kept for guarantees, and whether a step still fits."""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead.levels.queue.grants.order import Vector
from fairlead.levels.queue.tree import QueueTree
from fairlead.model.jobs import UNSET

Sparse = tuple[tuple[int, int], ...]
"""(resource, amount) of what is above 0."""


def sparse(amounts: Vector) -> Sparse:
    """Amounts above 0 with their resources."""
    return tuple((resource, amount) for resource, amount in enumerate(amounts) if amount)


class Lack(NamedTuple):
    """Where a step does not fit: the queue (or the whole), the resource, and how much of it is left for the step."""

    queue: int
    resource: int
    left: int


class QueueLedger:
    """A mutable working copy inside one decision.

    Every queue keeps max(its guarantee, what it uses and what the queues below it keep); the sum of what
    its children keep may not pass the capability of the parent, nor the whole. So an unused guarantee is room for its
    owner and for nobody else.
    """

    __slots__ = ("_bounded", "_plain", "guarantee", "inside", "most", "paths", "used")

    def __init__(
        self, tree: QueueTree, most: Sequence[Vector], guarantee: Sequence[Vector], used: Sequence[Vector]
    ) -> None:
        rows, size = tree.whole + 1, len(most[0])
        self.most = [list(bounds) for bounds in most]
        self.guarantee = [list(amounts) for amounts in guarantee]
        self.used = [[0] * size for _ in range(rows)]
        self.inside = [[0] * size for _ in range(rows)]
        self.paths = {row: tree.path(row) for row in (*tree.top_down, tree.whole)}
        self._bounded = {
            queue: tuple(row for row in path if any(most != UNSET for most in self.most[row]))
            for queue, path in self.paths.items()
        }
        self._plain = not any(map(any, self.guarantee))
        """Whether nothing is guaranteed: then what is used counts in full everywhere, and is all that queues keep."""
        if self._plain:
            self.inside = self.used
        for row in reversed(tree.top_down):
            above = self.inside[tree.parent[row]]
            for resource in range(size):
                above[resource] += max(self.guarantee[row][resource], self.inside[row][resource])
        for row in tree.top_down:
            self.add(row, used[row])
        self.add(tree.whole, used[tree.whole])

    def add(self, queue: int, amounts: Vector, sign: int = 1) -> None:
        """Count the amounts as used by the queue and everything above it; sign −1 gives them back."""
        self.count(queue, sparse(amounts), sign)

    def count(self, queue: int, wanted: Sparse, sign: int = 1) -> None:
        """`add` of amounts that are known to be above 0."""
        if self._plain:
            for row in self.paths[queue]:
                used = self.used[row]
                for resource, amount in wanted:
                    used[resource] += amount * sign
            return
        for resource, amount in wanted:
            change = amount * sign
            for row in self.paths[queue]:
                self.used[row][resource] += amount * sign
                inside = self.inside[row]
                before = inside[resource]
                inside[resource] = before + change
                kept = self.guarantee[row][resource]
                if kept:
                    change = max(kept, before + change) - max(kept, before)

    def lack(self, queue: int, need: Vector) -> Lack | None:
        """The first place, from the queue up, that the need does not fit; None where it fits everywhere."""
        return self.short(queue, sparse(need))

    def short(self, queue: int, wanted: Sparse) -> Lack | None:
        """`lack` of amounts that are known to be above 0."""
        if self._plain and self._surely(queue, wanted):
            return None
        for resource, amount in wanted:
            change = amount
            for row in self.paths[queue]:
                before = self.inside[row][resource]
                limit = self.most[row][resource]
                if limit != UNSET and before + change > limit:
                    return Lack(row, resource, max(0, limit - before + amount - change))
                kept = self.guarantee[row][resource]
                if before < kept:
                    change = max(0, before + change - kept)
        return None

    def _surely(self, queue: int, wanted: Sparse) -> bool:
        """Whether so much fits everywhere, where nothing is guaranteed."""
        for row in self._bounded[queue]:
            most, used = self.most[row], self.used[row]
            for resource, amount in wanted:
                if used[resource] + amount > most[resource] != UNSET:
                    return False
        return True

    def left(self, queue: int) -> list[int]:
        """What surely fits, by resource: what is left of the tightest bound on the way to the whole, which has one."""
        return [
            min(self.most[row][r] - self.inside[row][r] for row in self.paths[queue] if self.most[row][r] != UNSET)
            for r in range(len(self.most[0]))
        ]

    def excess(self, queue: int, need: Vector) -> list[int]:
        """By how much the need would pass the whole, by resource."""
        excess = [0] * len(need)
        for resource, amount in sparse(need):
            change = amount
            for row in self.paths[queue][:-1]:
                before, kept = self.inside[row][resource], self.guarantee[row][resource]
                if before < kept:
                    change = max(0, before + change - kept)
            whole = self.paths[queue][-1]
            excess[resource] = max(0, self.inside[whole][resource] + change - self.most[whole][resource])
        return excess

    def keep(self, queue: int, need: Vector) -> dict[int, list[int]]:
        """Lower every bound above the queue by what is left of the need there; returns what was kept, by queue."""
        kept: dict[int, list[int]] = {}
        for row in self.paths[queue]:
            amounts = [
                min(ask, max(0, most - inside)) if most != UNSET else 0
                for ask, most, inside in zip(need, self.most[row], self.inside[row], strict=True)
            ]
            if any(amounts):
                kept[row] = amounts
                self.most[row] = [most - amount for most, amount in zip(self.most[row], amounts, strict=True)]
        return kept

    def unkeep(self, kept: dict[int, list[int]]) -> None:
        """Give back what `keep` kept."""
        for row, amounts in kept.items():
            self.most[row] = [most + amount for most, amount in zip(self.most[row], amounts, strict=True)]
