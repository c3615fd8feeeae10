"""One cycle, decided: waiting pods as groups, in order, each placed as a whole. Pure: a view in, outcomes out.

1. group   pods of one workload and one shape; a pod with volume claims or bound cores is a group of its own
2. order   higher priority, then older, then by name
3. place   the whole group at once, every constraint kept, each group seeing those before it
4. assign  pods in natural order to the places found
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from fairlead.engine.ground import Ground
from fairlead.levels.node.constraints.claims import MADE, Reach, reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, rejections
from fairlead.levels.node.group import Grouping
from fairlead.levels.node.heights import use
from fairlead.live.scheduler.cache import View
from fairlead.live.scheduler.records import COMMUNISM, GLOBAL_GREEDY, PodRecord
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection
from fairlead.model.order import natural_key
from fairlead.model.reasons import Finding
from fairlead.model.shape import Shape

GroupKey = tuple[str, Shape, str, str]
"""Workload, shape, strategy, and the name of the pod where it is decided alone."""


def group_key(pod: PodRecord) -> GroupKey:
    """Which group a pod belongs to, from cycle to cycle."""
    return pod.workload, pod.shape, pod.strategy, pod.metadata.name if pod.alone else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pods that are alike in everything that decides where they run."""

    workload: str
    shape: Shape
    pods: tuple[PodRecord, ...]

    @property
    def key(self) -> GroupKey:
        """What identifies the group from cycle to cycle."""
        return group_key(self.pods[0])

    @property
    def claims(self) -> bool:
        """Whether its pod has volumes that have to be looked up."""
        return self.pods[0].volumes

    @property
    def alone(self) -> bool:
        """Whether it is one pod that is decided on a view of its own."""
        return self.pods[0].alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a group: where its pods go, which pods wait, and how many nodes refuse them for which reason."""

    group: Group
    placed: tuple[tuple[PodRecord, str], ...]
    waiting: tuple[PodRecord, ...]
    considered: int
    rejected: tuple[Rejection, ...]
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Claims that get a volume on the pod's node: the volume's name, or empty where one is made."""
    finding: Finding | None = None
    """The stage of the queue level that stops it; None where only nodes do."""


def grouped(pods: Iterable[PodRecord]) -> list[Group]:
    """The pods as groups, in the order in which the groups are placed."""
    members: dict[GroupKey, list[PodRecord]] = defaultdict(list)
    for pod in pods:
        members[group_key(pod)].append(pod)
    groups = [
        Group(workload=workload, shape=shape, pods=tuple(sorted(own, key=lambda pod: natural_key(pod.metadata.name))))
        for (workload, shape, _, _), own in members.items()
    ]
    return sorted(groups, key=_turn)


def _turn(group: Group) -> tuple[int, str, object]:
    return (
        -max(pod.priority for pod in group.pods),
        min(pod.created for pod in group.pods),
        natural_key(group.workload),
    )


def batches(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """The groups in order, cut so that each one with claims or bound cores is decided on a view of its own.

    These are promised when a pod is placed, and the next pod has to see that.
    """
    batch: list[Group] = []
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
    view: View,
    groups: Iterable[Group],
    per_node: Callable[[str], Int],
    demand: Callable[[PodRecord], ClaimDemand] = lambda pod: ClaimDemand(),
    strategy: str = COMMUNISM,
) -> list[Outcome]:
    """Place every group on the view.

    `per_node` tells the replicas a workload has on each node already, `demand` what a pod's claims ask of a node;
    `strategy` is for groups that name none.
    """
    ground = Ground(view.nodes, view.population, view.rank)
    step = np.ones(len(view.nodes.names), dtype=np.int64)
    counted: dict[str, Int] = {}
    outcomes = []
    for group in groups:
        base = counted.get(group.workload)
        if base is None:
            base = per_node(group.workload)
        claims = demand(group.pods[0]) if group.claims else None
        heights = base, step
        if (group.pods[0].strategy or strategy) == GLOBAL_GREEDY:
            heights = use(ground.state, group.shape)
        outcome, counts = _place(ground, view, group, heights, claims)
        counted[group.workload] = base + counts
        outcomes.append(outcome)
    return outcomes


def _place(
    ground: Ground, view: View, group: Group, heights: tuple[Int, Int], claims: ClaimDemand | None
) -> tuple[Outcome, Int]:
    reached = reach(view.nodes, claims) if claims else None
    also = reached.passing if reached else NOTHING_MORE
    if group.pods[0].pieces:
        also = {**also, **view.cores(group.pods[0], view.nodes.names)}
    grouping = ground.place(group.shape, len(group.pods), *heights, also)
    places = np.repeat(np.arange(len(grouping.counts)), grouping.counts).tolist()
    names = view.nodes.names
    outcome = Outcome(
        group=group,
        placed=tuple((pod, names[row]) for pod, row in zip(group.pods, places, strict=False)),
        waiting=group.pods[len(places) :],
        considered=len(view.nodes.rows),
        rejected=_rejected(grouping, view) if grouping.unplaced else (),
        volumes=_volumes(claims, reached, places[0]) if claims and reached and places else {},
    )
    return outcome, grouping.counts


def _volumes(claims: ClaimDemand, reached: Reach, row: int) -> dict[str, str]:
    chosen = {}
    for claim, taken in zip(claims.open, reached.taken, strict=True):
        place = int(taken[row])
        chosen[claim.name] = "" if place == MADE else claim.candidates[place].name
    return chosen


def _rejected(grouping: Grouping, view: View) -> tuple[Rejection, ...]:
    """Why nodes refuse, rows whose node is gone left out."""
    there = np.array([bool(name) for name in view.nodes.names], dtype=np.bool_)
    return rejections(np.where(there, grouping.codes, 0).astype(np.uint8), view.nodes.names)
