"""One cycle, decided: waiting pods as groups, in order, each placed as a whole. Pure: a view in, outcomes out.

1. group   pods of one workload and one shape
2. order   higher priority, then older, then by name
3. place   the whole group at once, every constraint kept, each group seeing those before it
4. assign  pods in natural order to the places found
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from fairlead.engine.ground import Ground
from fairlead.live.scheduler.cache import View
from fairlead.live.scheduler.records import PodRecord
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection
from fairlead.model.order import natural_key
from fairlead.model.shape import Shape

GroupKey = tuple[str, Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Pods that are alike in everything that decides where they run."""

    workload: str
    shape: Shape
    pods: tuple[PodRecord, ...]

    @property
    def key(self) -> GroupKey:
        """What identifies the group from cycle to cycle."""
        return self.workload, self.shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a group: where its pods go, which pods wait, and how many nodes refuse them for which reason."""

    group: Group
    placed: tuple[tuple[PodRecord, str], ...]
    waiting: tuple[PodRecord, ...]
    considered: int
    rejected: tuple[Rejection, ...]


def grouped(pods: Iterable[PodRecord]) -> list[Group]:
    """The pods as groups, in the order in which the groups are placed."""
    members: dict[GroupKey, list[PodRecord]] = defaultdict(list)
    for pod in pods:
        members[pod.workload, pod.shape].append(pod)
    groups = [
        Group(workload=workload, shape=shape, pods=tuple(sorted(own, key=lambda pod: natural_key(pod.metadata.name))))
        for (workload, shape), own in members.items()
    ]
    return sorted(groups, key=_turn)


def _turn(group: Group) -> tuple[int, str, object]:
    return (
        -max(pod.priority for pod in group.pods),
        min(pod.created for pod in group.pods),
        natural_key(group.workload),
    )


def decide(view: View, groups: Iterable[Group], per_node: Callable[[str], Int]) -> list[Outcome]:
    """Place every group on the view; `per_node` tells the replicas a workload has on each node already."""
    ground = Ground(view.nodes, view.population, view.rank)
    step = np.ones(len(view.nodes.names), dtype=np.int64)
    counted: dict[str, Int] = {}
    return [_place(ground, view, group, counted, per_node, step) for group in groups]


def _place(
    ground: Ground, view: View, group: Group, counted: dict[str, Int], per_node: Callable[[str], Int], step: Int
) -> Outcome:
    base = counted.get(group.workload)
    if base is None:
        base = per_node(group.workload)
    grouping = ground.place(group.shape, len(group.pods), base, step)
    counted[group.workload] = base + grouping.counts
    places = np.repeat(np.arange(len(step)), grouping.counts).tolist()
    names = view.nodes.names
    return Outcome(
        group=group,
        placed=tuple((pod, names[row]) for pod, row in zip(group.pods, places, strict=False)),
        waiting=group.pods[len(places) :],
        considered=len(view.nodes.rows),
        rejected=_present(grouping.rejected(view.nodes), view) if grouping.unplaced else (),
    )


def _present(rejected: tuple[Rejection, ...], view: View) -> tuple[Rejection, ...]:
    """The rejections without rows whose node is gone."""
    gone = len(view.nodes.names) - len(view.nodes.rows)
    if not gone:
        return rejected
    kept = []
    for each in rejected:
        names = tuple(name for name in each.names if name)
        count = each.count - (gone if each.reason.code == "NodeUnschedulable" else 0)
        if count:
            kept.append(Rejection(reason=each.reason, count=count, names=names))
    return tuple(kept)
