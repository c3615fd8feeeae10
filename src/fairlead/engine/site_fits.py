"""The seam of queue and node on a site: `Fits` by every constraint of the node level and the strategy of each role.

The one way in which the queue level asks nodes, for plan, simulation, live turn and `share` on manifests
(docs/decisions/0380). What `room` has found is kept until the next question, so that the `take` that follows costs
nothing.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.claimed import place_one_demand
from fairlead.engine.shape_columns import NOWHERE, Heights, RowCounts, There, needs_like, sparse
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes, is_plain
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints, rejections
from fairlead.levels.node.constraints.reasons import VOLUME_ELSEWHERE
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.model.claims import ClaimDemand, SiteVolumes
from fairlead.model.columns import Bool, Codes
from fairlead.model.decision import Rejection
from fairlead.model.jobs import UNSET
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape

Filters = Mapping[Reason, Bool]


class FitsRole(NamedTuple):
    """A role as nodes see it. `workload` names that of which replicas are levelled, `heights` levels something else.

    `filters` works out what else its replicas ask of nodes (claims, cores), None where they ask for nothing else.
    Where `demand` is given, volumes are followed: what a replica gets the next one does not.
    """

    workload: str
    shape: Shape
    heights: Callable[[NodeState, Shape], Heights] | None = None
    filters: Callable[[], Filters] | None = None
    demand: ClaimDemand | None = None

    @property
    def plain(self) -> bool:
        """Whether its replicas ask for their shape only."""
        return self.filters is None and self.demand is None


@dataclass(frozen=True, slots=True)
class FitsMark:
    """A point that `SiteFits` can return to."""

    nodes: int
    volumes: int
    there: Mapping[str, There]


class SiteFits:
    """One working copy for one decision; a role without replicas is None.

    `present` tells how many replicas a workload has on which nodes. Roles of `asleep` get nothing:
    nothing has happened that could help them since they were refused. `volumes` are those that demands are met from.
    """

    def __init__(
        self,
        nodes: WorkingNodes,
        roles: Sequence[FitsRole | None],
        present: Callable[[str], There] = lambda workload: {},
        asleep: frozenset[int] = frozenset(),
        volumes: WorkingVolumes | None = None,
    ) -> None:
        self.nodes = nodes
        self._volumes = WorkingVolumes(SiteVolumes(), nodes.current) if volumes is None else volumes
        self._roles = roles
        self._present = present
        self._asleep = set(asleep)
        self._there: dict[str, There] = {}
        self._moved: dict[str, dict[int, int]] = {}
        """By workload what was given and put back on nodes since it was last asked about: evictions on trial are many,
        and few of them concern it."""
        self._filters: dict[int, Filters] = {}
        self._kinds: list[Filters] = []
        """Distinct filters; roles that are handed the same ones are answered together."""
        self._kind: dict[int, int] = {}
        self._refused: dict[tuple[Shape, Hashable], tuple[Rejection, ...]] = {}
        """What nodes say by shape and kind of filters, while nothing is placed or taken away."""
        self._kept: dict[int, RowCounts] = {}
        self._mark, self._volume_mark = 0, 0

    @property
    def resting(self) -> bool:
        """Whether some role gets nothing, whatever room there is."""
        return bool(self._asleep)

    @cached_property
    def _real(self) -> Bool:
        """Rows that are nodes."""
        return np.array([bool(name) for name in self.nodes.current.names], dtype=np.bool_)

    def shape(self, role: int) -> Shape:
        """What the role asks of nodes; nothing where it has no replicas."""
        like = self._roles[role]
        return Shape() if like is None else like.shape

    def mark(self) -> FitsMark:
        """A point to return to: nothing has been given or put back since."""
        self._release()
        for workload in tuple(self._moved):
            self._base(workload)
        return FitsMark(self.nodes.mark(), self._volumes.mark(), dict(self._there))

    def undo(self, mark: FitsMark) -> None:
        """Take back all that was taken after the mark."""
        self._release()
        self.nodes.undo(mark.nodes)
        self._volumes.undo(mark.volumes)
        self._mark, self._volume_mark = mark.nodes, mark.volumes
        self._there = dict(mark.there)
        self._moved.clear()
        self._refused.clear()

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """See `Fits`; roles are placed one after the other, and each keeps its places until the next question."""
        self._release()
        if any(role in self._asleep for role in roles):
            return dict.fromkeys(roles, 0)
        found: dict[int, int] = {}
        for role, count in roles.items():
            spread = self._place(role, count)
            found[role] = sum(spread[1].tolist())
            if found[role]:
                self._kept[role] = spread
        return found

    def rest(self, roles: Iterable[int]) -> None:
        """These roles get nothing more."""
        self._asleep.update(roles)

    def takes(self, role: int) -> bool:
        """Whether a node takes one more replica; True where that is not easily told."""
        self._release()
        like = self._roles[role]
        return like is not None and role not in self._asleep and (not like.plain or self.nodes.takes(like.shape))

    def places(self, roles: Mapping[int, int]) -> int | None:
        """See `AnyOrder`: an answer where replicas take nothing from one another but amounts."""
        self._release()
        state, population = self.nodes.current, self.nodes.population
        request = np.zeros((len(roles), len(state.resources)), dtype=np.int64)
        eligible = np.zeros((len(roles), len(state.names)), dtype=np.bool_)
        for row, number in enumerate(roles):
            role = self._roles[number]
            if role is None or not role.plain or number in self._asleep:
                return None
            constraints = Constraints(state, role.shape, population)
            if not constraints.independent:
                return None
            eligible[row] = constraints.allowed()
            request[row] = self.nodes.vector(role.shape)
        room = NodeRoom(state.resources, state.free, request, eligible)
        return room.places(dict(enumerate(roles.values())))

    def take(self, role: int, count: int) -> Spots:
        """See `Fits`."""
        spread = self._kept.pop(role, None)
        if spread is None or sum(spread[1].tolist()) != count:
            if spread is not None:
                self._kept[role] = spread
            self._release()
            spread = self._place(role, count)
        if not self._kept:
            self._settle()
        rows, counts = spread
        return dict(zip(rows.tolist(), counts.tolist(), strict=True))

    def give(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, -1)

    def put(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, 1)

    def why(self, role: int) -> str:
        """How many nodes refuse one more replica for which reason, most first."""
        found = ", ".join(f"{each.count} {each.reason.code}" for each in self.refusals(role))
        nodes = len(self.nodes.current.rows)
        return f"of {nodes} nodes {found}" if found else "others of the gang take the room"

    def refusals(self, role: int) -> tuple[Rejection, ...]:
        """Why the nodes that refuse one more replica refuse it; empty where a node would take one."""
        self._release()
        like = self._roles[role]
        if like is None:
            return ()
        filters = self._also(role)
        asked = self._alike(like.shape), ("role", role) if like.demand is not None else self._kind.get(role, UNSET)
        if asked not in self._refused:
            self._refused[asked] = self._refusals(like.shape, filters)
        return self._refused[asked]

    def _refusals(self, shape: Shape, filters: Filters) -> tuple[Rejection, ...]:
        codes, there = self._codes(shape, filters), self._real
        return rejections(codes, self.nodes.current.names) if codes[there].all() else ()

    def codes(self, role: int) -> Codes:
        """Why nodes refuse one more replica, beside those that the last `room` found places for; 0: they do not."""
        return self._codes(self.shape(role), self._also(role))

    def _codes(self, shape: Shape, filters: Filters) -> Codes:
        """By row of a node; 0 in rows that are no nodes, too."""
        codes = Constraints(self.nodes.current, shape, self.nodes.population, filters).codes()
        return np.where(self._real, codes, 0).astype(np.uint8)

    def kind(self, role: int) -> Hashable:
        """See `Kinds`."""
        like = self._roles[role]
        if like is None or not like.plain or role in self._asleep:
            return role
        return self._alike(like.shape)

    def _alike(self, shape: Shape) -> Shape:
        """The shape without its name where nothing looks at that: gangs that differ in nothing else are alike."""
        return shape if self.nodes.wary else needs_like(shape)

    def ever(self, role: int) -> bool:
        """See `Emptied`. What others do there is left out, and so are the wishes about them."""
        like = self._roles[role]
        if like is None:
            return False
        state = self.nodes.current
        empty = replace(state, used=np.zeros_like(state.used))
        alone = replace(like.shape, near=(), far=(), spread=(), ports=())
        return bool(Constraints(empty, alone, also=self._also(role)).allowed().any())

    def at(self, role: int, row: int) -> bool:
        """Place one replica on this very node, if it fits there."""
        self._release()
        like = self._roles[role]
        assert like is not None  # a role with a waiting replica
        only = np.zeros(len(self.nodes.rank), dtype=np.bool_)
        only[row] = True
        filters = self._also(role)
        also = {**filters, VOLUME_ELSEWHERE: filters.get(VOLUME_ELSEWHERE, only) & only}
        grouping = self.nodes.place(like.shape, 1, self._level(like), also)
        self._settle()
        self._count(like.workload, sparse(grouping.counts), 1)
        return bool(grouping.counts.sum())

    def _place(self, role: int, count: int) -> RowCounts:
        like = self._roles[role]
        if like is None:
            return NOWHERE
        if like.demand is not None:
            return self._place_claimed(like, like.demand, count)
        spread = self.nodes.take(like.shape, count, self._level(like), self._also(role))
        self._count(like.workload, spread, 1)
        return spread

    def _place_claimed(self, like: FitsRole, demand: ClaimDemand, count: int) -> RowCounts:
        """Replicas that take nothing from one another together, others one by one."""
        counts = np.zeros(len(self.nodes.rank), dtype=np.int64)
        each = count if is_plain(demand) else 1
        for _ in range(0, count, each):
            level = self._level(like)
            grouping = place_one_demand(self.nodes, self._volumes, like.shape, demand, each, level)
            self._count(like.workload, sparse(grouping.counts), 1)
            counts += grouping.counts
            if grouping.unplaced:
                break
        return sparse(counts)

    def _settle(self) -> None:
        """What is placed now stays."""
        self._mark, self._volume_mark = self.nodes.mark(), self._volumes.mark()

    def _release(self) -> None:
        """Take back what `room` found and `take` did not use."""
        for role, spread in self._kept.items():
            like = self._roles[role]
            assert like is not None  # it was placed
            self._count(like.workload, spread, -1)
        self._kept.clear()
        if self.nodes.mark() > self._mark:
            self.nodes.undo(self._mark)
            self._volumes.undo(self._volume_mark)
            self._refused.clear()

    def _shift(self, role: int, spots: Spots, sign: int) -> None:
        self._release()
        like = self._roles[role]
        if like is None:
            return
        rows = sorted(row for row in spots if row != UNSET)
        counts = [spots[row] for row in rows]
        spread = np.array(rows, dtype=np.int64), np.array(counts, dtype=np.int64)
        self.nodes.shift(like.shape, spread, sign)
        self._count(like.workload, spread, sign)

    def _level(self, like: FitsRole) -> Heights | There:
        if like.heights is not None:
            return like.heights(self.nodes.current, like.shape)
        return self._base(like.workload)

    def _base(self, workload: str) -> There:
        found = self._there.get(workload)
        if found is None:
            found = self._there[workload] = self._present(workload)
        moved = self._moved.pop(workload, None)
        if moved:
            there = dict(found)
            for row, number in moved.items():
                there[row] = there.get(row, 0) + number
            found = self._there[workload] = there
        return found

    def _count(self, workload: str, spread: RowCounts, sign: int) -> None:
        self._refused.clear()
        moved = self._moved.setdefault(workload, {})
        for row, number in zip(spread[0].tolist(), spread[1].tolist(), strict=True):
            moved[row] = moved.get(row, 0) + sign * number

    def _also(self, role: int) -> Filters:
        like = self._roles[role]
        if like is not None and like.demand is not None:
            seen = self._volumes.seen(like.shape.namespace, like.demand, bound=True)
            return reach(self.nodes.current, seen).passing
        if like is None or like.filters is None:
            return NOTHING_MORE
        if role not in self._filters:
            made = self._filters[role] = like.filters()
            self._kind[role] = next((kind for kind, each in enumerate(self._kinds) if each is made), len(self._kinds))
            if self._kind[role] == len(self._kinds):
                self._kinds.append(made)
        return self._filters[role]
