"""The jobs of an instant as tables of the queue level, and as roles that nodes are asked about.

Queues and namespaces stay for the whole run; jobs are written as columns. What runs and is not shown as a job of its
own is one row for each queue and namespace, because the order of grants reads sums only. What waits and is not shown is
one row too: it raises the demand, and no room is enough for it (docs/decisions/0430).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.queueing import DEFAULT, site_state
from fairlead.engine.tier_parts import TierPart
from fairlead.model.amounts import WHOLE
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Int, ints, lookup
from fairlead.model.jobs import UNSET, JobTable, RunningTable
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import PODS, QueueEntry, QueueState, summable
from fairlead.sim.claims import SimClaims, SimReplica
from fairlead.sim.jobs import SimJob

Pair = tuple[str, str]
"""Queue and namespace."""
_LAST = -(2**31)
"""The priority of rows that stand for many."""


@dataclass(frozen=True, slots=True)
class SimRole:
    """Replicas of a part of a job that ask nodes for the same; `replicas` are they where claims tell them apart."""

    job: SimJob
    part: TierPart
    replicas: tuple[SimReplica, ...] = ()

    @property
    def demand(self) -> ClaimDemand | None:
        """What their claims demand of nodes."""
        return self.replicas[0].demand if self.replicas else None


def roles_of(job: SimJob, claims: SimClaims) -> list[SimRole]:
    """The parts of a job as roles; replicas with volume claims of their own are roles of their own, as in a plan."""
    parts = job.split().parts
    return [SimRole(job, part) for part in parts] if not job.claimed else list(_claimed(job, parts, claims))


def _claimed(job: SimJob, parts: Sequence[TierPart], claims: SimClaims) -> Iterator[SimRole]:
    left = claims.idle(job.workload.key, job.workload.namespace, job.lacking)
    for part in parts:
        alike: dict[ClaimDemand, list[SimReplica]] = {}
        for _ in range(part.need):
            replica = next(left)
            alike.setdefault(replica.demand, []).append(replica)
        if not alike:
            yield SimRole(job, part)
        for number, own in enumerate(alike.values()):
            yield SimRole(job, replace(part, running=0 if number else part.running, need=len(own)), tuple(own))


class _Row(NamedTuple):
    """A job of the table; roles as (replicas, of these running, request)."""

    name: str
    pair: Pair
    roles: Sequence[tuple[int, int, Int | Sequence[int]]]
    priority: int = _LAST
    least: int = 1
    since: int = UNSET
    preempts: bool = False
    together: Mapping[str, int] = {}
    """What has to be free for the gang to start."""
    startable: bool = True


class SimTables:
    """Makes the tables. `namespaces` are all that ever have a job."""

    def __init__(
        self, nodes: NodeState, queues: Sequence[QueueEntry], weights: Mapping[str, int], namespaces: Iterable[str]
    ) -> None:
        self._base = site_state(nodes, (), queues, {**dict.fromkeys(namespaces, 1), **weights})
        self._queues, self._namespaces = lookup(self._base.queues.names), lookup(self._base.namespaces.names)
        self._order = [nodes.resources.index(name) for name in self._base.jobs.resources]
        self._pods = nodes.column(PODS)

    def state(
        self,
        jobs: Sequence[tuple[SimJob, Sequence[SimRole]]],
        held: Mapping[Pair, Sequence[int]],
        rest: Mapping[Pair, Sequence[int]],
        whole: Int,
    ) -> QueueState:
        """`jobs` in order of age; beside them so much is `held` and so much more waits (`rest`)."""
        rows = [
            _Row(
                name=job.key,
                pair=job.pair,
                roles=[(role.part.running + role.part.need, role.part.running, job.vector) for role in roles],
                priority=job.workload.priority,
                least=job.least,
                since=job.since // 1000,
                preempts=not job.claimed,
                together=dict(job.workload.min_resources),
                startable=all(
                    name in self._base.jobs.resources for name, amount in job.workload.min_resources if amount
                ),
            )
            for job, roles in jobs
        ]
        for running, sums in ((1, held), (0, rest)):
            rows += [
                _Row(name="", pair=pair, roles=[(1, running, own)], startable=False)
                for pair, own in sums.items()
                if any(own)
            ]
        offered = np.minimum(whole[self._order], WHOLE)
        return summable(replace(self._base, jobs=self._table(rows, offered), whole=ints(offered)))

    def _table(self, rows: Sequence[_Row], whole: Int) -> JobTable:
        roles = [role for row in rows for role in row.roles]
        request = np.array([own for _, _, own in roles], dtype=np.int64).reshape(len(roles), len(self._order))
        if self._pods is not None:
            np.maximum(request[:, self._pods], 1, out=request[:, self._pods])
        never = np.array([not row.startable for row in rows], dtype=np.int64)
        resources = self._base.jobs.resources
        least = np.array([[row.together.get(name, 0) for name in resources] for row in rows], dtype=np.int64)
        least = least.reshape(len(rows), len(resources))
        queues = tuple(row.pair[0] or DEFAULT for row in rows)
        return JobTable(
            names=tuple(row.name for row in rows),
            resources=self._base.jobs.resources,
            queue=_column([self._queues.get(name, UNSET) for name in queues]),
            queue_names=queues,
            namespace=_column([self._namespaces[row.pair[1]] for row in rows]),
            priority=_column([row.priority for row in rows]),
            age=np.arange(len(rows)),
            min_member=_column([row.least for row in rows]),
            min_resources=np.maximum(least, never[:, None] * (whole + 1)),
            preempts=np.array([row.preempts for row in rows], dtype=np.bool_),
            since=_column([row.since for row in rows]),
            role_start=np.cumsum([0, *(len(row.roles) for row in rows)]),
            role_names=("",) * len(roles),
            role_replicas=_column([replicas for replicas, _, _ in roles]),
            role_minimum=np.zeros(len(roles), dtype=np.int64),
            role_running=_column([running for _, running, _ in roles]),
            role_request=request[:, self._order],
        )


def _column(values: Sequence[int]) -> Int:
    return np.array(values, dtype=np.int64)


def running_table(jobs: Sequence[tuple[SimJob, Sequence[SimRole]]]) -> RunningTable:
    """What runs of these jobs on which node, for evictions."""
    found: list[tuple[int, int, int, int, int]] = []
    first = 0
    for number, (job, roles) in enumerate(jobs):
        by_tier = {role.part.tier: first + place for place, role in reversed(list(enumerate(roles)))}
        for batch in job.batches.values():
            role = by_tier.get(batch.part.tier, by_tier[roles[-1].part.tier])  # as `SimJob.tier_now`
            for node, count in zip(batch.rows.tolist(), batch.counts.tolist(), strict=True):
                found.append((number, role, node, count, job.workload.priority))
        first += len(roles)
    columns = np.array(found, dtype=np.int64).reshape(len(found), 5)
    return RunningTable(
        job=columns[:, 0],
        role=columns[:, 1],
        node=columns[:, 2],
        count=columns[:, 3],
        priority=columns[:, 4],
        preemptable=np.ones(len(found), dtype=np.bool_),
        protected=np.zeros(len(found), dtype=np.bool_),
        budget=np.full(len(found), UNSET),
        allowed=np.zeros(0, dtype=np.int64),
    )
