"""Who may start where room may be taken from others, or is kept for a gang that has waited long.

The queue level is asked with everything that runs and where, job by job: evictions are of replicas on nodes, and room
is kept on nodes. That costs more than sums (`turns`), so only policies that want it pay.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.engine.queueing import DEFAULT
from fairlead.engine.tier_parts import TierPart
from fairlead.levels.node.constraints.labels import selected
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model import queuestate
from fairlead.model.columns import Bool, Int, totals
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import QueueEntry, QueueState, Role, RunningReplicas, queue_state
from fairlead.model.selectors import tolerated
from fairlead.model.shape import Shape
from fairlead.sim.jobs import SimJob
from fairlead.sim.policy import SimPolicy
from fairlead.sim.turns import SimTurns

Spots = dict[str, dict[int, int]]
"""Tier of a part → row of a node → replicas."""


@dataclass(frozen=True, slots=True)
class SimGrant:
    """So many more replicas of a job may start: on these very nodes, or (`spots` None) where the policy puts them."""

    job: SimJob
    count: int
    spots: Spots | None


@dataclass(frozen=True, slots=True)
class SimEviction:
    """Replicas of a part of a job that have to leave a node."""

    job: SimJob
    tier: str
    node: int
    count: int
    beneficiary: str
    """The key of the job that gets the room."""


@dataclass(frozen=True, slots=True)
class ContestedTurn:
    """Evictions come first; grants in the order in which they take their places."""

    evictions: tuple[SimEviction, ...]
    grants: tuple[SimGrant, ...]


class ContestedTurns:
    """Asks the queue level. `eligible` nodes of a shape are worked out once, as labels and taints do not change."""

    def __init__(self, turns: SimTurns, policy: SimPolicy) -> None:
        self._turns = turns
        self._policy = policy
        self._masks: dict[Shape, Bool] = {}

    def ask(self, nodes: NodeState, waiting: Sequence[SimJob], running: Sequence[SimJob], now_ms: int) -> ContestedTurn:
        """`waiting` in order of their turn; `running` are the others that hold something."""
        jobs = [*waiting, *running]
        parts = [(job, part) for job in jobs for part in job.split().parts]
        state = self._state(nodes, jobs, len(waiting))
        columns = [nodes.resources.index(name) if name in nodes.resources else -1 for name in state.jobs.resources]
        free = np.hstack([nodes.allocatable - nodes.used, np.zeros((len(nodes.names), 1), dtype=np.int64)])[:, columns]
        masks = np.array([self._eligible(nodes, part.shape) for _, part in parts])
        after = self._policy.reserve_after_ms
        sharing = share(
            state.jobs,
            state.queues,
            state.namespaces,
            state.whole,
            NodeRoom(state.jobs.resources, free, state.jobs.role_request, masks),
            running=state.running,
            policy=SharePolicy(preempt=self._policy.preempt, reserve_after=None if after is None else after // 1000),
            now=now_ms // 1000,
        )
        evictions = tuple(
            SimEviction(
                parts[each.role][0],
                parts[each.role][1].tier,
                int(state.running.node[each.row]),
                each.count,
                each.beneficiary,
            )
            for each in sharing.victims
        )
        return ContestedTurn(evictions, tuple(self._grants(sharing, jobs, parts, now_ms)))

    def _grants(
        self, sharing: Sharing, jobs: Sequence[SimJob], parts: Sequence[tuple[SimJob, TierPart]], now_ms: int
    ) -> Iterator[SimGrant]:
        """Those for whom room was made or kept go first, on the nodes where it is; so do all while room is kept."""
        after = self._policy.reserve_after_ms
        favoured = {each.beneficiary for each in sharing.victims}
        spots: dict[str, Spots] = {}
        for role, there in sharing.spots.items():
            job, part = parts[role]
            spots.setdefault(job.key, {})[part.tier] = dict(there)
        grants = []
        for job in jobs:
            count = sharing.placements.get(job.key, 0)
            due = after is not None and job.least > 1 and now_ms - job.since >= after
            exact = sharing.reserved is not None or due or job.key in favoured
            if count > 0:
                on_spots = exact and not job.claimed
                grants.append(SimGrant(job, count, spots.get(job.key, {}) if on_spots else None))
        yield from sorted(grants, key=lambda grant: grant.spots is None)

    def _state(self, nodes: NodeState, jobs: Sequence[SimJob], waiting: int) -> QueueState:
        queues = {queue.name: queue for queue in self._turns.queues}
        queues.setdefault(DEFAULT, QueueEntry(name=DEFAULT))
        whole = totals(nodes.allocatable[~nodes.unschedulable])
        # Trying whom to evict is what costs, so only the first gang of each queue and namespace does in one round.
        first = {job.pair: job.key for job in reversed(jobs[:waiting]) if job.running < job.least}
        return queue_state(
            jobs=[
                _row(
                    job,
                    place,
                    waits=place < waiting,
                    evicts=first.get(job.pair) == job.key,
                    names=nodes.names,
                )
                for place, job in enumerate(jobs)
            ],
            queues=list(queues.values()),
            weights=self._turns.weights,
            past={},
            whole=dict(zip(nodes.resources, whole, strict=True)),
            node_rows=nodes.rows,
        )

    def _eligible(self, nodes: NodeState, shape: Shape) -> Bool:
        mask = self._masks.get(shape)
        if mask is None:
            profiles = np.array([tolerated(taints, shape.tolerations) for taints in nodes.taint_profiles])
            mask = self._masks[shape] = selected(nodes, shape) & profiles[nodes.taint_profile]
        return mask & ~nodes.unschedulable


def _row(job: SimJob, place: int, *, waits: bool, evicts: bool, names: tuple[str, ...]) -> queuestate.QueuedJob:
    """A job with the parts it still lacks (none, where it is here only for what it holds) and what runs of each."""
    held: dict[str, list[RunningReplicas]] = {}
    for batch in job.batches.values():
        for row, count in zip(batch.rows.tolist(), batch.counts.tolist(), strict=True):
            held.setdefault(batch.part.tier, []).append(RunningReplicas(count=count, node=names[row]))
    workload = job.workload
    minds = bool(workload.shape.near or workload.shape.far or workload.shape.exclusive or job.claimed)
    return queuestate.QueuedJob(
        name=job.key,
        queue=workload.queue or DEFAULT,
        namespace=workload.namespace,
        roles=tuple(
            Role(
                name=part.tier,
                replicas=_count(held.get(part.tier, ())) + (part.need if waits else 0),
                request=dict(part.shape.request),
                held=tuple(held.get(part.tier, ())),
            )
            for part in job.split().parts
        ),
        min_member=job.least,
        priority=workload.priority,
        created=float(place),
        since=job.since // 1000,
        # Whether it fits beside its neighbours, or reaches its volumes, is not known here, so nobody has to go for it.
        preempts=evicts and not minds,
    )


def _count(held: Sequence[RunningReplicas]) -> int:
    return sum(each.count for each in held)


def counts_of(spots: dict[int, int], size: int) -> Int:
    """The spots as a column over all nodes."""
    counts = np.zeros(size, dtype=np.int64)
    for row, count in spots.items():
        counts[row] = count
    return counts
