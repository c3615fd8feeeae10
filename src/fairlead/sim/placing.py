"""Which jobs start where: the composition that a plan and the live scheduler ask, over nodes that last for the run.

`share` asks it. Jobs for which there is enough in sum go `straight` to the nodes: where they take all of them, the
composition would say the same (docs/decisions/0430).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.shape_columns import Heights, RowCounts, There
from fairlead.engine.share_and_place import PlacingTurn, placing_turn, share_and_place
from fairlead.engine.site_fits import FitsRole, SiteFits
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.share import SharePolicy
from fairlead.sim.claims import SimReplica
from fairlead.sim.cluster import SimCluster
from fairlead.sim.jobs import SimJob
from fairlead.sim.policy import SimPolicy, levelled
from fairlead.sim.tables import SimRole, roles_of, running_table
from fairlead.sim.turns import SimTurns

SEARCH = 20_000
"""Candidates that the search for victims looks at in one pass, as the live scheduler does at first."""


@dataclass(frozen=True, slots=True)
class SimStart:
    """Replicas of a role that start on these nodes; one of them, where claims tell them apart."""

    role: SimRole
    spread: RowCounts
    replica: SimReplica | None = None


@dataclass(frozen=True, slots=True)
class SimEviction:
    """Replicas of a part of a job that have to leave a node."""

    job: SimJob
    tier: str
    node: int
    count: int
    beneficiary: str
    """The key of the job that gets the room."""


class SimPlacing:
    """The nodes have counted every start and eviction when it is returned."""

    def __init__(self, cluster: SimCluster, turns: SimTurns, policy: SimPolicy) -> None:
        self._cluster, self._turns = cluster, turns
        self._heights = levelled(policy.strategy, cluster.nodes.rank)
        after = policy.reserve_after_ms
        self._policy = SharePolicy(
            preempt=policy.preempt,
            reserve_after=None if after is None else after // 1000,
            budget=SEARCH,
            reasons=False,
        )
        self._tried: frozenset[str] = frozenset()

    def share(
        self, waiting: Sequence[SimJob], running: Sequence[SimJob], now_ms: int
    ) -> tuple[list[SimEviction], list[SimStart]]:
        """`waiting` in order of age; `running` are others that replicas may be taken from."""
        jobs = [(job, self._roles(job)) for job in (*waiting, *running)]
        roles = [role for _, own in jobs for role in own]
        table = running_table(jobs) if self._policy.preempt else None
        state = self._turns.state(jobs, self._cluster.shared)
        fits = self._fits(roles, len(state.jobs.role_names), [job for job, _ in jobs])
        shared = share_and_place(state, fits, running=table, policy=self._policy, now=now_ms // 1000, tried=self._tried)
        fits.room({})  # what the last gang found, and did not take
        self._tried = shared.cursor
        evictions = [
            SimEviction(
                roles[each.role].job,
                roles[each.role].part.tier,
                int(table.node[each.row]),
                each.count,
                each.beneficiary,
            )
            for each in shared.victims
            if table is not None
        ]
        return evictions, list(self._settled(roles, shared.spots))

    def straight(self, jobs: Sequence[SimJob]) -> list[SimStart] | None:
        """Start these jobs, for all of which there is room in sum; None where nodes, quotas or gangs stop one of them.

        They come in order of age. It is the composition's second step; the first would grant everything.
        """
        asked = [(job, self._roles(job)) for job in jobs]
        if any(job.bounded or job.workload.min_resources or job.least > job.asked for job in jobs):
            return None
        if len(asked) > 1:
            asked.sort(key=self._turn)
        roles = [role for _, own in asked for role in own]
        if len(roles) == len(jobs) and not any(job.claimed for job in jobs):
            return self._one_by_one(roles)
        fits = self._fits(roles, len(roles), jobs)
        spots: dict[int, Spots] = {}
        start = fits.mark()
        first = 0
        for job, own in asked:
            room = fits.room({first + place: role.part.need for place, role in enumerate(own) if role.part.need})
            if sum(room.values()) < job.lacking:
                fits.undo(start)
                return None
            spots |= {place: fits.take(place, count) for place, count in room.items()}
            first += len(own)
        return list(self._settled(roles, spots))

    def _one_by_one(self, roles: Sequence[SimRole]) -> list[SimStart] | None:
        """As `SiteFits` would place roles of one job each, without the cost of making one."""
        nodes, starts = self._cluster.nodes, []
        for role in roles:
            shape, need = role.part.shape, role.part.need
            level: Heights | There = (
                self._heights(nodes.current, shape)
                if self._heights is not None
                else self._cluster.present(role.job.batches.values())
            )
            spread = nodes.take(shape, need, level)
            if sum(spread[1].tolist()) < need:
                nodes.undo(0)
                return None
            starts.append(SimStart(role, spread))
        nodes.settle()
        return starts

    def _turn(self, asked: tuple[SimJob, Sequence[SimRole]]) -> PlacingTurn:
        job, roles = asked
        size = float((job.vector / np.maximum(self._cluster.shared, 1)).max(initial=0.0))
        return placing_turn(job.workload.priority, [role.part.shape for role in roles if role.part.need], size)

    def alone(self, job: SimJob) -> list[SimStart]:
        """Start as much of the job as finds nodes and its gang allows."""
        roles = self._roles(job)
        fits = self._fits(roles, len(roles), [job])
        room = fits.room({place: role.part.need for place, role in enumerate(roles) if role.part.need})
        enough = sum(room.values()) >= job.least - job.running
        spots = {place: fits.take(place, count) for place, count in room.items() if count and enough}
        fits.room({})
        return list(self._settled(roles, spots))

    def _roles(self, job: SimJob) -> list[SimRole]:
        return roles_of(job, self._cluster.claims)

    def _fits(self, roles: Sequence[SimRole], size: int, jobs: Iterable[SimJob]) -> SiteFits:
        """Rows of the table that stand for many have no replicas that nodes could take."""
        cluster = self._cluster
        by_key = {job.key: job for job in jobs}
        asked: list[FitsRole | None] = [
            FitsRole(workload=role.job.key, shape=role.part.shape, heights=self._heights, demand=role.demand)
            for role in roles
        ]
        asked += [None] * (size - len(roles))
        return SiteFits(
            cluster.nodes,
            asked,
            lambda key: cluster.present(by_key[key].batches.values()),
            volumes=cluster.claims.volumes,
        )

    def _settled(self, roles: Sequence[SimRole], spots: Mapping[int, Spots]) -> Iterator[SimStart]:
        """What starts; nodes and volumes keep it."""
        self._cluster.nodes.settle()
        self._cluster.claims.volumes.settle()
        for number, there in spots.items():
            rows = sorted(there)
            role = roles[number]
            if role.replicas:
                places = [row for row in rows for _ in range(there[row])]
                for row, replica in zip(places, role.replicas, strict=False):
                    yield SimStart(role, (np.array([row]), np.ones(1, dtype=np.int64)), replica)
            elif rows:
                spread = np.array(rows, dtype=np.int64), np.array([there[row] for row in rows], dtype=np.int64)
                yield SimStart(role, spread)
