"""`Fits` on a plain table of nodes: enough to try a gang, with no opinion on which nodes are best."""

from collections.abc import Hashable, Mapping

import numpy as np

from fairlead.levels.queue.fits import Spots
from fairlead.model.amounts import quantity
from fairlead.model.columns import Bool, Int
from fairlead.model.jobs import UNSET


class NodeRoom:
    """Free amounts by node. Replicas go to the node that takes the fewest more of them, so that large gaps stay large.

    Rows of `free` are in natural order of the names, which decides ties. `eligible[role, node]` says where a role
    may run at all.
    """

    def __init__(self, resources: tuple[str, ...], free: Int, request: Int, eligible: Bool) -> None:
        self.resources = resources
        self.free = np.array(free)
        self.request = request
        self.eligible = eligible

    def _capacity(self, role: int, free: Int) -> Int:
        """How many replicas of the role each node takes."""
        asked = self.request[role]
        wanted = asked > 0
        if not wanted.any():
            return np.where(self.eligible[role], np.iinfo(np.int64).max, 0)
        fits = np.maximum(free[:, wanted], 0) // asked[wanted]
        return np.where(self.eligible[role], fits.min(axis=1), 0)

    def _place(self, role: int, count: int, free: Int) -> dict[int, int]:
        """Where up to `count` replicas go; `free` is changed."""
        capacity = np.minimum(self._capacity(role, free), count)
        order = np.argsort(np.where(capacity > 0, self._capacity(role, free), np.iinfo(np.int64).max), kind="stable")
        before = np.cumsum(capacity[order].astype(object)) - capacity[order]
        taken = np.clip(count - before, 0, capacity[order]).astype(np.int64)
        spots = {int(node): int(number) for node, number in zip(order, taken, strict=True) if number}
        for node, number in spots.items():
            free[node] -= number * self.request[role]
        return spots

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """See `Fits`; roles are tried one after the other."""
        free = self.free.copy()
        return {role: sum(self._place(role, count, free).values()) for role, count in roles.items()}

    def kind(self, role: int) -> Hashable:
        """See `Kinds`."""
        return self.request[role].tobytes(), self.eligible[role].tobytes()

    def places(self, roles: Mapping[int, int]) -> int | None:
        """See `AnyOrder`: replicas of one kind take equal places; others must fit however badly they are spread."""
        rows, total = list(roles), sum(roles.values())
        asked, nodes = self.request[rows], self.eligible[rows]
        if (asked == asked[0]).all() and (nodes == nodes[0]).all():
            return min(total, sum(map(int, self._capacity(rows[0], self.free))))
        counts = np.array(list(roles.values()), dtype=object)
        demand = (asked.astype(object) * counts[:, None]).sum(axis=0)
        kinds = np.unique(np.hstack((asked, nodes)), axis=0)
        sure = all(self._never_full(kind[: asked.shape[1]], kind[asked.shape[1] :] > 0, demand) for kind in kinds)
        return total if sure else None

    def _never_full(self, asked: Int, eligible: Bool, demand: Int) -> bool:
        """Whether so much in all cannot leave every eligible node without room for one replica of this kind.

        A node is full when some resource is short of a replica. With the demand of each resource only so many
        nodes, the smallest, can be made short of it; if these are fewer than there are, one is left.
        """
        fillable = 0
        free = self.free[eligible]
        fits = (free >= asked).all(axis=1)
        for resource in np.flatnonzero(asked).tolist():
            gaps = np.sort(free[fits, resource] - asked[resource] + 1).astype(object)
            fillable += int(np.searchsorted(np.cumsum(gaps), demand[resource], side="right")) if len(gaps) else 0
        return fillable < int(fits.sum())

    def take(self, role: int, count: int) -> Spots:
        """See `Fits`."""
        return self._place(role, count, self.free)

    def give(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        for node, number in spots.items():
            if node != UNSET:
                self.free[node] += number * self.request[role]

    def put(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        for node, number in spots.items():
            if node != UNSET:
                self.free[node] -= number * self.request[role]

    def why(self, role: int) -> str:
        """How many nodes lack what, most first."""
        asked = self.request[role]
        parts = [f"{int((~self.eligible[role]).sum())} may not be used"] if not self.eligible[role].all() else []
        for resource in np.flatnonzero(asked).tolist():
            short = int((self.eligible[role] & (self.free[:, resource] < asked[resource])).sum())
            if short:
                name = self.resources[resource]
                parts.append(f"{short} have less than {quantity(name, int(asked[resource]))} {name}")
        return f"of {len(self.free)} nodes " + ", ".join(parts) if parts else f"{len(self.free)} nodes"
