"""Who may start: the queue level's answer, asked only where there is not enough for everybody.

What already runs is one row for each queue and namespace, because the order of grants reads their sums only. Of those
that wait, a queue and namespace shows its first `WINDOW` jobs in order, and the rest as one row that raises its demand.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.engine.queueing import DEFAULT, SiteJob, admitted_on_site, job_of, share_site
from fairlead.engine.tier_parts import TierPart
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import Amounts, QueueEntry
from fairlead.model.shape import Shape
from fairlead.model.workload import Workload
from fairlead.sim.jobs import SimJob
from fairlead.sim.waiting import Pair, Waiting

WINDOW = 40
HELD, REST = "held", "rest"
"""Kinds of the rows that stand for many; no real workload has such a kind."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What a queue or namespace (`kind`) has and deserves."""

    kind: str
    name: str
    used: Amounts
    deserved: Amounts


class SimTurns:
    """Keeps what is asked for and held, by queue and namespace."""

    def __init__(self, resources: tuple[str, ...], queues: Sequence[QueueEntry], weights: Mapping[str, int]) -> None:
        self.resources = resources
        self.queues = tuple(queues)
        self.weights = weights
        self.asked: dict[Pair, Int] = {}
        self._asked_in_all: Int = np.zeros(len(resources), dtype=np.int64)
        self.held: dict[Pair, Int] = {}
        self._plain = not any(queue.parent or queue.guarantee or queue.deserved or not queue.open for queue in queues)
        self._known = {queue.name for queue in queues} | {DEFAULT, ""}
        self._limits = [
            (queue.name, np.array([queue.capability.get(name, -1) for name in resources], dtype=np.int64))
            for queue in queues
            if queue.capability
        ]

    def ask(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas are asked for."""
        more = count * job.vector
        self._asked_in_all = self._asked_in_all + more
        before = self.asked.get(job.pair)
        self.asked[job.pair] = more if before is None else before + more

    def hold(self, job: SimJob, count: int) -> None:
        """`count` more (or less) replicas run."""
        more = count * job.vector
        before = self.held.get(job.pair)
        self.held[job.pair] = more if before is None else before + more

    def enough(self, whole: Int) -> bool:
        """Whether there is enough for all that is asked: then everybody may start, and no order matters."""
        if not self._plain or any(queue not in self._known for queue, _ in self.asked):
            return False
        for name, limit in self._limits:
            own = [asked for (queue, _), asked in self.asked.items() if (queue or DEFAULT) == name]
            total = np.sum(own, axis=0) if own else self._nothing()
            if bool(((limit >= 0) & (total > limit)).any()):
                return False
        return bool((self._asked_in_all <= whole).all()) if self.asked else True

    def grants(
        self, nodes: NodeState, waiting: Waiting, refused: Mapping[str, SimJob], full: Collection[Shape]
    ) -> list[tuple[SimJob, int]]:
        """How many more replicas each waiting job may start, in the order in which they take their places.

        `refused` jobs and the needs that are `full` are left out: what they would get is for the others.
        """
        by_pair = waiting.first(WINDOW, refused, full)
        shown = sorted((job for jobs in by_pair.values() for job in jobs), key=lambda job: job.turn)
        rows = [_aged(job, place) for place, job in enumerate(shown)]
        for pair, held in self.held.items():
            others = held - sum((job.running * job.vector for job in by_pair.get(pair, [])), self._nothing())
            if others.any():
                rows.append(self._row(pair, HELD, others, running=1))
        for pair, jobs in by_pair.items():
            rest = waiting.rest(pair, {**refused, **{job.key: job for job in jobs}}, full, self._nothing())
            if rest.any():
                rows.append(self._row(pair, REST, rest, running=0))
        admitted = admitted_on_site(nodes, rows, self.queues, self.weights)
        return [(job, count - job.running) for job, count in zip(shown, admitted, strict=False) if count > job.running]

    def standing(self, nodes: NodeState) -> list[Standing]:
        """What each queue that is asked for anything, and each namespace, has and deserves."""
        rows: list[SiteJob] = []
        for pair, asked in self.asked.items():
            held = self.held.get(pair, self._nothing())
            for kind, amounts, running in ((HELD, held, 1), (REST, np.maximum(asked - held, 0), 0)):
                if amounts.any():
                    rows.append(self._row(pair, kind, amounts, running))
        sharing = share_site(nodes, rows, self.queues, self.weights)
        fair: dict[str, Counter[str]] = {}
        for space in sharing.namespaces:
            fair.setdefault(space.namespace, Counter()).update(space.fair)
        queues = [
            Standing("queue", row.name, self._holds(0, row.name), row.deserved)
            for row in sharing.queues
            if any(row.requested.values())
        ]
        return [*queues, *(Standing("namespace", name, self._holds(1, name), own) for name, own in fair.items())]

    def _holds(self, place: int, name: str) -> Amounts:
        """What is held by all pairs of a queue (place 0) or namespace (place 1)."""
        total = sum((held for pair, held in self.held.items() if (pair[place] or DEFAULT) == name), self._nothing())
        return dict(zip(self.resources, total.tolist(), strict=True))

    def _row(self, pair: Pair, kind: str, amounts: Int, running: int) -> SiteJob:
        queue, namespace = pair
        shape = Shape(namespace=namespace, request=tuple(zip(self.resources, amounts.tolist(), strict=True)))
        workload = Workload(
            kind=kind,
            namespace=namespace,
            name=queue,
            replicas=1,
            shape=shape,
            queue=queue,
            priority=-(2**31),
            created="~",
        )
        return job_of(workload, (TierPart(workload=workload, tier="", shape=shape, running=running, need=1 - running),))

    def _nothing(self) -> Int:
        return np.zeros(len(self.resources), dtype=np.int64)


def _aged(job: SimJob, place: int) -> SiteJob:
    """The job with its place in the order as its age."""
    parts = job.split().parts
    return SiteJob(workload=job.workload, parts=parts, least_together=job.least, created=f"{place:012d}")
