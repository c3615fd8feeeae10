"""Pods that are placed together, and what became of them: the types between deciding and acting."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.levels.queue.reasons import SET_ASIDE
from fairlead.live.cluster.records import PodRecord
from fairlead.model.decision import Rejection
from fairlead.model.faults import fault
from fairlead.model.order import natural_key
from fairlead.model.reasons import Finding, because
from fairlead.model.shape import Shape

PodSetKey = tuple[str, Shape, str, str]
"""Controller, shape, strategy, and the name of the pod where it is decided alone.

Bare pods have no controller in common. Those of one shape that the queue level treats alike are a group all the same,
so that thousands of them cost what thousands of one controller cost (docs/decisions/0360).
"""


def pod_set_key(pod: PodRecord) -> PodSetKey:
    """Which group a pod belongs to, from cycle to cycle."""
    controller = _standing(pod) if pod.bare else pod.controller
    return controller, pod.shape, pod.strategy, pod.metadata.name if pod.alone else ""


def _standing(pod: PodRecord) -> str:
    """What the queue level reads of a bare pod; a space is in none of these names."""
    return f"bare {pod.queue_fields.queue} {pod.priority} {pod.priority_class} {pod.preempts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSet:
    """Pods that are alike in everything that decides where they run."""

    controller: str
    shape: Shape
    pods: tuple[PodRecord, ...]

    @property
    def key(self) -> PodSetKey:
        """What identifies the group from cycle to cycle."""
        return pod_set_key(self.pods[0])

    @property
    def claims(self) -> bool:
        """Whether its pod has volumes that have to be looked up."""
        return self.pods[0].volumes

    @property
    def alone(self) -> bool:
        """Whether it is one pod that is decided on a view of its own."""
        return self.pods[0].alone


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSetOutcome:
    """What became of a group: where its pods go, which pods wait, and how many nodes refuse them for which reason."""

    group: PodSet
    placed: tuple[tuple[PodRecord, str], ...]
    waiting: tuple[PodRecord, ...]
    considered: int
    rejected: tuple[Rejection, ...]
    volumes: Mapping[str, str] = field(default_factory=dict)
    """Claims that get a volume on the pod's node: the volume's name, or empty where one is made."""
    finding: Finding | None = None
    """The stage of the queue level that stops it; None where only nodes do."""
    defect: Exception | None = None
    """What deciding it raised, where it was set aside for that."""


def set_aside(group: PodSet, error: Exception, considered: int) -> PodSetOutcome:
    """The outcome of a group that could not be decided: it waits, and is told why (docs/decisions/0201)."""
    return PodSetOutcome(
        group=group,
        placed=(),
        waiting=group.pods,
        considered=considered,
        rejected=(),
        finding=because(SET_ASIDE, why=fault(error)),
        defect=error,
    )


def grouped(pods: Iterable[PodRecord]) -> list[PodSet]:
    """The pods as groups, in the order in which the groups are placed."""
    members: dict[PodSetKey, list[PodRecord]] = defaultdict(list)
    for pod in pods:
        members[pod_set_key(pod)].append(pod)
    groups = []
    for own in map(in_order, members.values()):
        groups.append(PodSet(controller=own[0].controller, shape=own[0].shape, pods=own))
    return sorted(groups, key=_turn)


def in_order(pods: Iterable[PodRecord]) -> tuple[PodRecord, ...]:
    """The pods of one group, in the order in which they get the places found."""
    return tuple(sorted(pods, key=_within))


def _within(pod: PodRecord) -> tuple[str, object]:
    """Pods of a controller in natural order of names; bare pods, which have nothing in common, the oldest first."""
    return pod.created if pod.bare else "", natural_key(pod.metadata.name)


def _turn(group: PodSet) -> tuple[int, str, object]:
    return (
        -max(pod.priority for pod in group.pods),
        min(pod.created for pod in group.pods),
        natural_key(group.controller),
    )
