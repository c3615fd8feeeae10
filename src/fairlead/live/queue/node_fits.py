"""`Fits` on the snapshot of a cycle: every constraint of the node level, the strategy of the workload, claims too.

What `room` has found is kept until the next question, so that the `take` that follows costs nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints, rejections
from fairlead.levels.node.constraints.reasons import VOLUME_ELSEWHERE
from fairlead.levels.node.heights import use
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.live.cluster.cache import ClusterView
from fairlead.live.cluster.records import COMMUNISM, GLOBAL_GREEDY, PodRecord
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Bool, Int
from fairlead.model.decision import Rejection
from fairlead.model.jobs import UNSET
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSite:
    """What the node level needs besides the snapshot; as in `scheduler.decide.decide`."""

    view: ClusterView
    per_node: Callable[[str], Int]
    demand: Callable[[PodRecord], ClaimDemand] = lambda pod: ClaimDemand()
    strategy: str = COMMUNISM


class NodeFits:
    """One working copy for one turn. `likes` has one pod of each role, None for a role without pods.

    Roles of `asleep` get nothing: nothing has happened that could help them since they were refused.
    """

    def __init__(self, site: TurnSite, likes: Sequence[PodRecord | None], asleep: frozenset[int] = frozenset()) -> None:
        view = site.view
        self.ground = WorkingNodes(view.nodes, view.population, view.rank)
        self._site = site
        self._likes = likes
        self._asleep = set(asleep)
        self._step = np.ones(len(view.nodes.names), dtype=np.int64)
        self._there: dict[str, Int] = {}
        self._also: dict[int, Mapping[Reason, Bool]] = {}
        self._alike: dict[ClaimDemand, Mapping[Reason, Bool]] = {}
        self._refused: dict[tuple[Shape, int], tuple[Rejection, ...]] = {}
        """What nodes say by shape and filters, while nothing is placed or taken away."""
        self._kept: dict[int, Int] = {}
        self._mark = 0

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """See `Fits`; roles are placed one after the other, and each keeps its places until the next question."""
        self._release()
        if any(role in self._asleep for role in roles):
            return dict.fromkeys(roles, 0)
        found: dict[int, int] = {}
        for role, count in roles.items():
            counts = self._place(role, count)
            found[role] = int(counts.sum())
            if found[role]:
                self._kept[role] = counts
        return found

    def rest(self, roles: Iterable[int]) -> None:
        """These roles get nothing more."""
        self._asleep.update(roles)

    def places(self, roles: Mapping[int, int]) -> int | None:
        """See `AnyOrder`: an answer where replicas take nothing from one another but amounts."""
        self._release()
        state, population = self.ground.state, self.ground.population
        request = np.zeros((len(roles), len(state.resources)), dtype=np.int64)
        eligible = np.zeros((len(roles), len(state.names)), dtype=np.bool_)
        for row, role in enumerate(roles):
            pod = self._likes[role]
            if pod is None or pod.alone or role in self._asleep:
                return None
            constraints = Constraints(state, pod.shape, population)
            if not constraints.independent:
                return None
            eligible[row] = constraints.allowed()
            for name, amount in pod.shape.request:
                column = state.column(name)
                if column is not None:
                    request[row, column] = amount
        room = NodeRoom(state.resources, state.free, request, eligible)
        return room.places(dict(enumerate(roles.values())))

    def take(self, role: int, count: int) -> Spots:
        """See `Fits`."""
        counts = self._kept.pop(role, None)
        if counts is None or int(counts.sum()) != count:
            if counts is not None:
                self._kept[role] = counts
            self._release()
            counts = self._place(role, count)
        if not self._kept:
            self._mark = self.ground.mark()
        return {int(row): int(counts[row]) for row in np.flatnonzero(counts)}

    def give(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, -1)

    def put(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, 1)

    def why(self, role: int) -> str:
        """How many nodes refuse one more replica for which reason, most first."""
        found = ", ".join(f"{each.count} {each.reason.code}" for each in self.refusals(role))
        return f"of {len(self._site.view.nodes.rows)} nodes {found}" if found else "others of the gang take the room"

    def refusals(self, role: int) -> tuple[Rejection, ...]:
        """Why the nodes that refuse one more replica refuse it; empty where a node would take one."""
        self._release()
        pod = self._likes[role]
        if pod is None:
            return ()
        filters = self._filters(role, pod)
        asked = pod.shape, id(filters)
        if asked not in self._refused:
            self._refused[asked] = self._refusals(pod.shape, filters)
        return self._refused[asked]

    def _refusals(self, shape: Shape, filters: Mapping[Reason, Bool]) -> tuple[Rejection, ...]:
        ground = self.ground
        codes = Constraints(ground.state, shape, ground.population, filters).codes()
        names = self._site.view.nodes.names
        there = np.array([bool(name) for name in names], dtype=np.bool_)
        return rejections(np.where(there, codes, 0).astype(np.uint8), names) if codes[there].all() else ()

    def ever(self, role: int) -> bool:
        """See `Emptied`. What others do there is left out, and so are the wishes about them."""
        pod = self._likes[role]
        if pod is None:
            return False
        nodes = self._site.view.nodes
        empty = replace(nodes, used=np.zeros_like(nodes.used))
        alone = replace(pod.shape, near=(), far=(), spread=(), ports=())
        return bool(Constraints(empty, alone, also=self._filters(role, pod)).allowed().any())

    def at(self, role: int, row: int) -> bool:
        """Place one replica on this very node, if it fits there."""
        self._release()
        pod = self._likes[role]
        assert pod is not None  # a role with a waiting pod
        only = np.zeros(len(self._step), dtype=np.bool_)
        only[row] = True
        filters = self._filters(role, pod)
        also = {**filters, VOLUME_ELSEWHERE: filters.get(VOLUME_ELSEWHERE, only) & only}
        grouping = self.ground.place(pod.shape, 1, *self._heights(pod), also)
        self._mark = self.ground.mark()
        self._count(pod.workload, grouping.counts)
        return bool(grouping.counts.sum())

    def _place(self, role: int, count: int) -> Int:
        pod = self._likes[role]
        if pod is None:
            return np.zeros(len(self._step), dtype=np.int64)
        counts = self.ground.place(pod.shape, count, *self._heights(pod), self._filters(role, pod)).counts
        self._count(pod.workload, counts)
        return counts

    def _release(self) -> None:
        """Take back what `room` found and nobody took."""
        for role, counts in self._kept.items():
            pod = self._likes[role]
            assert pod is not None  # it was placed
            self._count(pod.workload, -counts)
        self._kept.clear()
        if self.ground.mark() > self._mark:
            self.ground.undo(self._mark)
            self._refused.clear()

    def _shift(self, role: int, spots: Spots, sign: int) -> None:
        self._release()
        pod = self._likes[role]
        if pod is None:
            return
        counts = np.zeros(len(self._step), dtype=np.int64)
        for row, number in spots.items():
            if row != UNSET:
                counts[row] += number
        self.ground.shift(pod.shape, counts, sign)
        self._count(pod.workload, sign * counts)

    def _heights(self, pod: PodRecord) -> tuple[Int, Int]:
        if (pod.strategy or self._site.strategy) == GLOBAL_GREEDY:
            return use(self.ground.state, pod.shape)
        return self._base(pod.workload), self._step

    def _base(self, workload: str) -> Int:
        found = self._there.get(workload)
        if found is None:
            found = self._there[workload] = self._site.per_node(workload)
        return found

    def _count(self, workload: str, counts: Int) -> None:
        self._refused.clear()
        self._there[workload] = self._base(workload) + counts

    def _filters(self, role: int, pod: PodRecord) -> Mapping[Reason, Bool]:
        if not pod.alone:
            return NOTHING_MORE
        if role not in self._also:
            view = self._site.view
            claims = self._reached(pod) if pod.volumes else NOTHING_MORE
            self._also[role] = {**claims, **view.cores(pod, view.nodes.names)} if pod.pieces else claims
        return self._also[role]

    def _reached(self, pod: PodRecord) -> Mapping[Reason, Bool]:
        """Nodes that its claims allow. Claims that ask for the same get the same answer, whatever they are called."""
        demand = self._site.demand(pod)
        asked = replace(demand, open=tuple(replace(claim, name="") for claim in demand.open))
        if asked not in self._alike:
            self._alike[asked] = reach(self._site.view.nodes, demand).passing
        return self._alike[asked]
