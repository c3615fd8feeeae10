"""What stops a job that waits: the stage, with its numbers, told from the state after the last grant.

The stages in the order in which they are asked: the bound of a queue above it, the whole (a gang that finds part of its
room; a namespace or a queue that has its share; room that others hold), a reservation, and at last the nodes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlead.levels.queue import reasons
from fairlead.levels.queue.fits import Fits
from fairlead.levels.queue.grants.gang import GangStep
from fairlead.levels.queue.grants.grant import Block
from fairlead.levels.queue.grants.ledger import Lack
from fairlead.levels.queue.grants.reservation import Reservation
from fairlead.levels.queue.state import State
from fairlead.model.amounts import quantity
from fairlead.model.jobs import UNSET
from fairlead.model.reasons import Detail, Finding, because


class Why:
    """Findings for jobs that wait. `fair` are the fluid shares of the pairs of queue and namespace."""

    def __init__(
        self,
        state: State,
        fair: Sequence[Sequence[Fraction]],
        reservation: Reservation | None = None,
        fits: Fits | None = None,
    ) -> None:
        self.state = state
        # Whole amounts are compared with them, so that what is below a whole unit makes no difference.
        self.fair = [[int(amount) for amount in row] for row in fair]
        self.right = [[int(amount) for amount in row] for row in state.world.deserved]
        self.reservation = reservation
        self.namespaces = Counter(queue for queue, _ in state.world.pairs)
        """How many namespaces have jobs in each queue."""
        self.fits = fits
        self._texts: dict[tuple[int, int], str] = {}

    def findings(self, blocks: Mapping[int, Block]) -> dict[int, Finding]:
        """For every blocked job the stage that stops it; jobs that are alike are told the same."""
        by_kind: dict[tuple[object, ...], Finding] = {}
        found: dict[int, Finding] = {}
        for job, block in blocks.items():
            like = self._like(job, block)
            known = by_kind.get(like)
            if known is None:
                known = by_kind[like] = self._blocked(job, block)
            found[job] = known
        return found

    def _like(self, job: int, block: Block) -> tuple[object, ...]:
        """Equal for jobs that are stopped by the same, with the same numbers."""
        state, step = self.state, block.step
        if block.lack is None or (self.reservation is not None and self.reservation.job == job):
            return (job,)
        held = None if state.members.ready(job) else tuple(state.job_used[job])
        return state.pair_of[job], block.lack, step.size, step.use, step.need, held

    def held_room(self, found: Mapping[int, Finding], blocks: Mapping[int, Block]) -> dict[int, Finding]:
        """For gangs that find a part of their room and whose queues may hold the rest too: who has it."""
        short = {job: blocks[job] for job, each in found.items() if each.reason is reasons.GANG_SHORTFALL}
        asked = {
            job: self._share(job, block.step, block.lack, self._details(block.step, block.lack))
            for job, block in short.items()
            if block.lack is not None
        }
        return {job: each for job, each in asked.items() if each.reason is reasons.ROOM_HELD}

    def _blocked(self, job: int, block: Block) -> Finding:
        if block.lack is None:
            role = block.step.roles[0][0]
            detail = self.fits.why(role) if self.fits is not None else ""
            return because(reasons.NODES_FULL, count=block.step.size, fits=block.placeable, detail=detail)
        if block.lack.queue != self.state.world.tree.whole:
            return self._capability(job, block.step, block.lack)
        return self._room(job, block.step, block.lack)

    def _amount(self, resource: int, amount: int) -> str:
        known = self._texts.get((resource, amount))
        if known is None:
            known = self._texts[resource, amount] = quantity(self.state.world.jobs.resources[resource], amount)
        return known

    def _capability(self, job: int, step: GangStep, lack: Lack) -> Finding:
        """The queue, or one above it, may not hold more."""
        most = self.state.ledger.most[lack.queue][lack.resource] + self._kept(job, lack.queue)[lack.resource]
        never = self._starting(job, step, lack.resource) > most
        details = self._details(step, lack)
        details |= {"queue": self.state.world.queues.names[lack.queue], "most": self._amount(lack.resource, most)}
        return because(reasons.GANG_ABOVE_CAPABILITY if never else reasons.QUEUE_CAPABILITY, **details)

    def _starting(self, job: int, step: GangStep, resource: int) -> int:
        """What the gang needs in all, what it holds included; 0 for a job that is ready."""
        return 0 if self.state.members.ready(job) else step.need[resource] + self.state.job_used[job][resource]

    def _details(self, step: GangStep, lack: Lack) -> dict[str, Detail]:
        return {
            "count": step.size,
            "asked": self._amount(lack.resource, step.need[lack.resource]),
            "resource": self.state.world.jobs.resources[lack.resource],
            "left": self._amount(lack.resource, lack.left),
        }

    def _kept(self, job: int, queue: int) -> list[int]:
        """What a reservation for another job keeps there."""
        nothing = [0] * len(self.state.world.whole)
        if self.reservation is None or self.reservation.job == job:
            return nothing
        return self.reservation.kept.get(queue, nothing)

    def _room(self, job: int, step: GangStep, lack: Lack) -> Finding:
        """The whole is used up, for this job at least."""
        world, resource = self.state.world, lack.resource
        details = self._details(step, lack)
        need = step.need[resource]
        if self._starting(job, step, resource) > world.whole[resource]:
            return because(reasons.GANG_ABOVE_WHOLE, **details, whole=self._amount(resource, world.whole[resource]))
        kept = self._kept(job, lack.queue)[resource]
        if kept and self.reservation is not None and need <= lack.left + kept:
            holder = world.jobs.names[self.reservation.job]
            details["left"] = self._amount(resource, lack.left + kept)
            return because(reasons.ROOM_RESERVED, job=holder, **details)
        each = max(1, need // step.size)
        if step.size > 1 and lack.left >= each:
            return because(reasons.GANG_SHORTFALL, fits=lack.left // each, **details)
        return self._share(job, step, lack, details)

    def _share(self, job: int, step: GangStep, lack: Lack, details: dict[str, Detail]) -> Finding:
        """Whose share is used up: the namespace's, the queue's, or neither's, where others hold more than theirs."""
        state, world, resource = self.state, self.state.world, lack.resource
        queue, pair = state.queue_of[job], state.pair_of[job]
        right, held = self.right[queue][resource], state.ledger.used[queue][resource]
        details |= {
            "queue": world.queues.names[queue],
            "held": self._amount(resource, held),
            "fair": self._amount(resource, right),
        }
        if held + step.use[resource] <= right:
            return because(reasons.ROOM_HELD, **details)
        mine, fair = state.pair_used[pair][resource], self.fair[pair][resource]
        if self.namespaces[queue] == 1 or mine + step.use[resource] <= fair:
            return because(reasons.QUEUE_SHARE, **details)
        details |= {
            "namespace": world.namespaces.names[int(world.jobs.namespace[job])],
            "held": self._amount(resource, mine),
            "fair": self._amount(resource, fair),
        }
        return because(reasons.NAMESPACE_SHARE, **details)


def evicted(state: State, counts: Mapping[int, tuple[int, int]]) -> dict[int, Finding]:
    """Findings for jobs that lost replicas: job → (how many, to whom)."""
    names = state.world.jobs.names
    return {
        job: because(reasons.EVICTED, count=count, beneficiary=names[beneficiary])
        for job, (count, beneficiary) in counts.items()
    }


def next_step(state: State, job: int) -> Block | None:
    """What the job's next step finds now; None where it would find room in sum."""
    step = state.members.step(job)
    if step is None or state.queue_of[job] == UNSET:
        return None
    lack = state.ledger.lack(state.queue_of[job], step.need)
    return Block(step, lack) if lack is not None else None
