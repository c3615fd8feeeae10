"""One cycle, decided: waiting pods as groups, in order, each placed as a whole. Pure: a view in, outcomes out.

1. group   pods of one controller and one shape, bare pods of one shape; with claims or bound cores one pod alone;
           labels that no selector reads do not tell shapes apart
2. order   higher priority, then older, then by name
3. place   the whole group at once, every constraint kept, each group seeing those before it
4. assign  pods in natural order to the places found
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from fairlead.engine.shape_columns import Heights, sparse
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.constraints.claims import MADE, Reach, reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, rejections, takes
from fairlead.levels.node.group import Grouping
from fairlead.levels.node.heights import use
from fairlead.live.cluster.cache import ClusterView
from fairlead.live.cluster.lookalikes import joined, lookalikes
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome, grouped, set_aside
from fairlead.live.cluster.records import PodRecord
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Bool, Int
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape
from fairlead.model.workload import AUTO, GLOBAL_GREEDY


def batches(groups: Iterable[PodSet]) -> Iterator[list[PodSet]]:
    """The groups in order, cut so that each one with claims or bound cores is decided on a view of its own.

    These are promised when a pod is placed, and the next pod has to see that.
    """
    batch: list[PodSet] = []
    for group in groups:
        if group.alone:
            if batch:
                yield batch
            yield [group]
            batch = []
        else:
            batch.append(group)
    if batch:
        yield batch


def decide(
    view: ClusterView,
    groups: Iterable[PodSet],
    per_node: Callable[[str], Int],
    demand: Callable[[PodRecord], ClaimDemand] = lambda pod: ClaimDemand(),
    strategy: str = AUTO,
) -> list[PodSetOutcome]:
    """Place every group on the view.

    `per_node` tells the pods a controller has on each node already, `demand` what a pod's claims ask of a node;
    `strategy` is for groups that name none. A group that makes this raise is set aside, the others go on.
    Groups that look the same to every selector have one outcome (`live/cluster/lookalikes.py`).
    """
    cycle = _Cycle(view, per_node, demand, strategy)
    together = lookalikes(list(groups), view.population)
    return [outcome for alike in together for outcome in cycle.decided(alike)]


def settle(
    view: ClusterView, pod: PodRecord, node: str, demand: Callable[[PodRecord], ClaimDemand]
) -> PodSetOutcome | None:
    """The volumes and cores of a pod that is decided alone, on the node that a turn gave it; None: not there any more.

    Every constraint is asked again, of this node only: a pod that was recorded after the turn may have gone elsewhere
    than the turn chose, and taken the room, or the place in a spread, that this one was given. A pod that makes this
    raise is left to `decide`, which sets it aside.
    """
    row = view.nodes.rows[node]
    try:
        claims = demand(pod) if pod.volumes else None
        reached, also = _alone(view, view.nodes.only(row), pod, claims)
        if not takes(view.nodes, row, pod.shape, view.population, also):
            return None
        (group,) = grouped([pod])
        volumes = _volumes(claims, reached, 0) if claims and reached else {}
    except Exception:
        return None
    return PodSetOutcome(
        group=group, placed=((pod, node),), waiting=(), considered=len(view.nodes.rows), rejected=(), volumes=volumes
    )


class _Cycle:
    """The working copy of one call of `decide`: each group sees those that were placed before it."""

    def __init__(
        self,
        view: ClusterView,
        per_node: Callable[[str], Int],
        demand: Callable[[PodRecord], ClaimDemand],
        strategy: str,
    ) -> None:
        self.view, self.per_node, self.demand, self.strategy = view, per_node, demand, strategy
        self.step = np.ones(len(view.nodes.names), dtype=np.int64)
        self.counted: dict[str, Int] = {}
        self.placed: list[tuple[Shape, Int]] = []
        self.working = WorkingNodes(view.nodes, view.population, view.rank)

    def decided(self, alike: list[PodSet]) -> list[PodSetOutcome]:
        """What becomes of groups that are placed as one; where that fails, each is tried by itself."""
        try:
            return [self.place(joined(alike))]
        except Exception as error:
            self.restore()
            if len(alike) == 1:
                return [set_aside(alike[0], error, len(self.view.nodes.rows))]
        return [outcome for each in alike for outcome in self.decided([each])]

    def place(self, group: PodSet) -> PodSetOutcome:
        """Place one group, and count it."""
        base = self.counted.get(group.controller)
        if base is None:
            base = self.per_node(group.controller)
        claims = self.demand(group.pods[0]) if group.claims else None
        heights = base, self.step
        if (group.pods[0].strategy or self.strategy) == GLOBAL_GREEDY:
            heights = use(self.working.current, group.shape)
        outcome, counts = _place(self.working, self.view, group, heights, claims)
        if not group.pods[0].bare:
            self.counted[group.controller] = base + counts
        self.placed.append((group.shape, counts))
        return outcome

    def restore(self) -> None:
        """Make the working nodes anew, with what was placed before the group that failed."""
        self.working = WorkingNodes(self.view.nodes, self.view.population, self.view.rank)
        for shape, counts in self.placed:
            self.working.shift(shape, sparse(counts), 1)


def _place(
    working: WorkingNodes, view: ClusterView, group: PodSet, heights: Heights, claims: ClaimDemand | None
) -> tuple[PodSetOutcome, Int]:
    reached, also = _alone(view, view.nodes, group.pods[0], claims)
    grouping = working.place(group.shape, len(group.pods), heights, also)
    places = np.repeat(np.arange(len(grouping.counts)), grouping.counts).tolist()
    names = view.nodes.names
    outcome = PodSetOutcome(
        group=group,
        placed=tuple((pod, names[row]) for pod, row in zip(group.pods, places, strict=False)),
        waiting=group.pods[len(places) :],
        considered=len(view.nodes.rows),
        rejected=_rejected(grouping, view) if grouping.unplaced else (),
        volumes=_volumes(claims, reached, places[0]) if claims and reached and places else {},
    )
    return outcome, grouping.counts


def _alone(
    view: ClusterView, nodes: NodeState, pod: PodRecord, claims: ClaimDemand | None
) -> tuple[Reach | None, Mapping[Reason, Bool]]:
    """Which volumes the claims get on each of these nodes, and which of them have these and the bound cores."""
    reached = reach(nodes, claims) if claims else None
    also = reached.passing if reached else NOTHING_MORE
    return reached, {**also, **view.cores(pod, nodes.names)} if pod.pieces else also


def _volumes(claims: ClaimDemand, reached: Reach, row: int) -> dict[str, str]:
    chosen = {}
    for claim, taken in zip(claims.open, reached.taken, strict=True):
        place = int(taken[row])
        chosen[claim.name] = "" if place == MADE else claim.candidates[place].name
    return chosen


def _rejected(grouping: Grouping, view: ClusterView) -> tuple[Rejection, ...]:
    """Why nodes refuse, rows whose node is gone left out."""
    there = np.array([bool(name) for name in view.nodes.names], dtype=np.bool_)
    return rejections(np.where(there, grouping.codes, 0).astype(np.uint8), view.nodes.names)
