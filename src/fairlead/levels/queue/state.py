"""The working copy of one decision: what each job holds, and whose turn it is. Nothing of it leaves the level."""

from collections.abc import Mapping
from math import lcm

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue.deserved import Amounts
from fairlead.levels.queue.fits import Fits, Spots
from fairlead.levels.queue.grants.gang import GangStep, Members
from fairlead.levels.queue.grants.ledger import QueueLedger
from fairlead.levels.queue.grants.order import Measure, Turn, namespace_measure, queue_measure, turn
from fairlead.levels.queue.tree import QueueTree
from fairlead.model.columns import Int
from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable

JobKey = tuple[int, int, int, int, int]
"""−priority, 0 while not ready, dominant share, age, row: the job with the lowest key goes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a decision reads: the tables, the tree, what every queue deserves, and which resources count in shares."""

    jobs: JobTable
    queues: QueueTable
    namespaces: NamespaceTable
    tree: QueueTree
    deserved: tuple[Amounts, ...]
    whole: tuple[int, ...]
    counted: tuple[int, ...]
    contended: tuple[tuple[int, ...], ...]
    """By queue (and last the whole): the resources that decide what is short there, see `deserved.contended`."""
    pairs: dict[tuple[int, int], int]
    """(queue, namespace) → row; every pair that has a job."""


class State:
    """Members, ledger and the usage of namespaces in queues, kept in step by `grant` and `evict`."""

    def __init__(self, world: World, members: Members, ledger: QueueLedger) -> None:
        self.world = world
        self.members = members
        self.ledger = ledger
        jobs = world.jobs
        self.pair_of = [
            world.pairs[queue, namespace]
            for queue, namespace in zip(jobs.queue.tolist(), jobs.namespace.tolist(), strict=True)
        ]
        self.queue_of: list[int] = jobs.queue.tolist()
        held = jobs.per_job(jobs.role_request * jobs.role_running[:, None])
        self.job_used: list[list[int]] = held.tolist()
        self.pair_used: list[list[int]] = self.by_pair(held).tolist()
        self.queue_measures = [
            queue_measure(world.deserved[row], world.whole, int(weight), world.counted)
            for row, weight in enumerate(world.queues.weight)
        ]
        self.pair_measures = self._pair_measures()
        rows = world.namespaces.past.tolist()
        self.past = [rows[namespace] if any(rows[namespace]) else None for _, namespace in world.pairs]
        """By pair: usage of the past that still counts, None for none."""
        below = lcm(*(world.whole[r] for r in world.counted if world.whole[r]))
        self.factors = [(r, below // world.whole[r]) for r in world.counted if world.whole[r]]
        self.below = below
        self._queue_keys = list(zip(world.queues.priority.tolist(), world.tree.rank.tolist(), strict=True))
        self.spots: dict[int, dict[int, int]] = {}
        """By role: where its replicas were placed in this decision."""
        self._keys = list(zip((-jobs.priority).tolist(), jobs.age.tolist(), range(len(jobs)), strict=True))

    def _pair_measures(self) -> list[Measure]:
        weights: list[int] = self.world.namespaces.weight.tolist()
        by_weight = {weight: namespace_measure(self.world.whole, weight, self.world.counted) for weight in set(weights)}
        return [by_weight[weights[namespace]] for _, namespace in self.world.pairs]

    @staticmethod
    def _add(sums: list[int], amounts: list[int], sign: int) -> None:
        for resource, amount in enumerate(amounts):
            if amount:
                sums[resource] += amount * sign

    def grant(self, job: int, step: GangStep, sign: int = 1) -> None:
        """Count the step as granted; sign −1 takes it back."""
        for role, count in step.roles:
            self.members.held[role] += count * sign
        mine, pair = self.job_used[job], self.pair_used[self.pair_of[job]]
        for resource, amount in step.adds:
            mine[resource] += amount * sign
            pair[resource] += amount * sign
        self.ledger.count(self.queue_of[job], step.adds, sign)

    def place(self, job: int, step: GangStep, fits: Fits | None) -> dict[int, Spots]:
        """Grant the step and take its places on nodes; where, by role."""
        places = self._settle(dict(step.roles), fits)
        self.grant(job, step)
        return places

    def _settle(self, roles: Mapping[int, int], fits: Fits | None) -> dict[int, Spots]:
        """Take the places of these replicas and note them; where, by role."""
        places: dict[int, Spots] = {}
        for role, count in roles.items():
            places[role] = fits.take(role, count) if fits is not None else {UNSET: count}
            held = self.spots.setdefault(role, {})
            for node, number in places[role].items():
                held[node] = held.get(node, 0) + number
        return places

    def lift(self, role: int, node: int, count: int) -> None:
        """Replicas granted in this decision are not to start there after all."""
        held = self.spots.setdefault(role, {})
        held[node] = held.get(node, 0) - count

    def fresh(self) -> list[tuple[int, int, int, int]]:
        """(job, role, node, replicas) granted in this decision; the node is UNSET where there are none."""
        rows: list[tuple[int, int, int, int]] = []
        jobs = self.world.jobs
        granted = np.array(self.members.held, dtype=np.int64) - jobs.role_running
        touched = sorted({*np.flatnonzero(granted).tolist(), *self.spots})
        owners: list[int] = jobs.role_job[touched].tolist()
        for job, role in zip(owners, touched, strict=True):
            placed = {node: n for node, n in self.spots.get(role, {}).items() if node != UNSET and n > 0}
            rows.extend((job, role, node, number) for node, number in placed.items())
            rest = int(granted[role]) - sum(placed.values())
            if rest > 0:
                rows.append((job, role, UNSET, rest))
        return rows

    def grant_all(self, counts: Mapping[int, int], fits: Fits | None = None) -> int:
        """Grant so many replicas to each of these jobs, in the order in which it takes them; how many were granted.

        Nodes take what fits them, higher priority and older jobs first: a gang as a whole or not at all.
        """
        sums: dict[int, list[int]] = {}
        granted = 0
        for job in sorted(counts, key=self._keys.__getitem__):
            taken = self.members.take(job, counts[job])
            if fits is not None:
                taken = self._what_fits(job, taken, fits)
            use = self.members.amounts(taken)
            self._add(self.job_used[job], use, 1)
            self._add(self.pair_used[self.pair_of[job]], use, 1)
            self._add(sums.setdefault(self.queue_of[job], [0] * len(use)), use, 1)
            granted += sum(taken.values())
        for queue, use in sums.items():
            self.ledger.add(queue, use)
        return granted

    def _what_fits(self, job: int, taken: Mapping[int, int], fits: Fits) -> dict[int, int]:
        """Of replicas that are counted as held, those that nodes take; the others are held no longer."""
        room = dict(fits.room(taken))
        self.members.lose({role: count - room[role] for role, count in taken.items()})
        if not self.members.ready(job):
            self.members.lose(room)
            return {}
        found = {role: count for role, count in room.items() if count}
        self._settle(found, fits)
        return found

    def by_pair(self, amounts: Int) -> Int:
        """Amounts of the jobs summed by pair, [pair, resource]."""
        sums = np.zeros((len(self.world.pairs), amounts.shape[1]), dtype=np.int64)
        np.add.at(sums, self.pair_of, amounts)
        return sums

    def job_share(self, job: int) -> int:
        """The dominant share of the job, over `below`."""
        used, most = self.job_used[job], 0
        for resource, factor in self.factors:
            part = used[resource] * factor
            if part > most:
                most = part
        return most

    def job_key(self, job: int) -> JobKey:
        """Priority, then not yet ready before ready, then dominant share, then age."""
        priority, age, row = self._keys[job]
        return priority, int(self.members.ready(job)), self.job_share(job), age, row

    def pair_turn(self, pair: int, rank: int) -> Turn:
        """The place of a namespace among those of its queue: usage here and still counted from the past, by weight."""
        measure = self.pair_measures[pair]
        past = self.past[pair]
        amounts = self.pair_used[pair]
        if past is not None:
            amounts = [now + before for now, before in zip(amounts, past, strict=True)]
        return turn(0, measure.above(amounts), measure.below, rank, pair)

    def queue_turn(self, queue: int) -> Turn:
        """The place of a queue among its siblings."""
        measure = self.queue_measures[queue]
        priority, rank = self._queue_keys[queue]
        return turn(priority, measure.above(self.ledger.used[queue]), measure.below, rank, queue)
