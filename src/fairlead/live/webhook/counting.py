"""The exact count at work: requests of one ReplicaSet are gathered and served together, one attempt after another.

While one attempt is under way, newcomers wait for the next; so a burst of a hundred pods costs a handful of writes. A
request that can be answered neither way waits for news of the granted pods, and is told to come back when its time
is up.
"""

import asyncio
from collections.abc import Callable
from dataclasses import KW_ONLY, field

from fairlead.dataclass import dataclass
from fairlead.kube.admission.admit import Lookup, owner_of
from fairlead.kube.client import Client
from fairlead.kube.objects.tier import TieredController
from fairlead.kube.retry import Backoff, Jitter, default_jitter
from fairlead.levels.tier.split import target_of
from fairlead.live.webhook.ledger import Attempt, LedgerStep
from fairlead.live.webhook.listing import active_slots, slots_of
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import BeatenError, LedgerStore, Scope
from fairlead.model.errors import FairleadError
from fairlead.model.owners import HeldSlots, Owner, OwnerKind

MOST_CONFLICTS = 16
CONFLICT_BACKOFF = Backoff(first=0.01, cap=0.3)
LOOK_AGAIN_SECONDS = 0.5
"""A wait for news ends after this long all the same: a watch may have been cut."""


class CountingError(FairleadError):
    """The count could not be made; the caller answers with an error and the failure policy decides."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The owner as read live, None where it is gone; and the slots held, as they concern one request."""

    owner: Owner | None
    held: HeldSlots = HeldSlots()


@dataclass(slots=True)
class _Queue:
    """Requests of one ReplicaSet that wait in this process, by slot, with the time at which they give up."""

    scope: Scope
    waiting: dict[str, tuple[float, asyncio.Future[Counted]]] = field(default_factory=dict)
    full: bool = False
    """Whether the last attempt left requests undecided: all slots are granted, and not all are stored."""
    task: asyncio.Task[None] | None = None

    @property
    def first_end(self) -> float:
        """The time at which the first of them gives up."""
        return min(until for until, _ in self.waiting.values())


@dataclass(slots=True, eq=False)
class Counter:
    """Counts for every ReplicaSet. `conflicts` and `writes` tell how hard it had to work."""

    client: Client
    store: LedgerStore
    owners: Owners
    memory: Memory
    tiers: LiveTiers
    _: KW_ONLY
    clock: Callable[[], float]
    jitter: Jitter = default_jitter
    conflicts: int = field(default=0, init=False)
    writes: int = field(default=0, init=False)
    _queues: dict[str, _Queue] = field(default_factory=dict, init=False)

    async def count(self, scope: Scope, slot: str, *, until: float) -> Counted:
        """What is held when `slot` is decided. A slot that is granted is recorded before this returns.

        `until` is the time on the clock at which a request that cannot be decided comes back undecided.
        """
        queue = self._queues.setdefault(scope.uid, _Queue(scope))
        future: asyncio.Future[Counted] = asyncio.get_running_loop().create_future()
        queue.waiting[slot] = until, future
        self.memory.asked(slot)
        if queue.task is None:
            queue.task = asyncio.create_task(self._serve(queue))
        else:
            self.memory.wake(scope.uid)
        try:
            return await future
        except asyncio.CancelledError:
            self.memory.unanswered(slot)
            raise
        finally:
            queue.waiting.pop(slot, None)

    def soon(self, uid: str) -> bool:
        """Whether a request of the ReplicaSet that comes back in a moment is likely to find what it waits for."""
        return self.memory.fresh(uid)

    async def preview(self, scope: Scope, slot: str) -> Counted:
        """What `count` would say, with nothing written (dry run)."""
        attempt, owner = await self._read(scope, Attempt(requests=(slot,)))
        if attempt.step is LedgerStep.LIST:
            attempt = attempt.list(await slots_of(self.client, scope))
        return Counted(owner, _held(attempt, slot))

    async def _serve(self, queue: _Queue) -> None:
        """Serve the queue until it is empty."""
        try:
            while queue.waiting:
                await self._turn(queue)
        finally:
            queue.task = None
            if not queue.waiting:
                self._queues.pop(queue.scope.uid, None)

    async def _turn(self, queue: _Queue) -> None:
        """One attempt for all that wait now; then a pause, if all that are left have to wait."""
        batch = tuple(queue.waiting)
        mark = self.memory.mark(queue.scope.uid)
        patience = queue.first_end - self.clock()
        if patience > 0 and queue.full and self.memory.arriving(queue.scope.uid, LOOK_AGAIN_SECONDS):
            # A list would not show all of them yet (docs/decisions/0420).
            await self.memory.news(queue.scope.uid, mark, min(LOOK_AGAIN_SECONDS, patience))
            return
        try:
            attempt, owner = await self._attempt(queue.scope, batch)
        except Exception as error:
            # A defect, too, ends with these requests: unanswered they would wait until their time is up.
            for slot in batch:
                _settle(queue, slot, error)
            return
        now = self.clock()
        for slot in batch:
            overdue = slot in queue.waiting and queue.waiting[slot][0] <= now
            if slot not in attempt.waiting or overdue:
                _settle(queue, slot, Counted(owner, _held(attempt, slot)))
        queue.full = bool(attempt.waiting)
        if queue.waiting and queue.waiting.keys() <= set(attempt.waiting):
            pause = min(LOOK_AGAIN_SECONDS, max(queue.first_end - now, 0.0))
            await self.memory.news(queue.scope.uid, mark, pause)

    async def _attempt(self, scope: Scope, slots: tuple[str, ...]) -> tuple[Attempt, Owner | None]:
        """Drive one attempt to its end: read, list, write, and from the start again after a conflict."""
        attempt, owner = await self._looked(scope, Attempt(requests=slots))
        while attempt.step is not LedgerStep.DONE:
            if attempt.step is LedgerStep.READ:
                attempt, owner = await self._read(scope, attempt)
            elif attempt.step is LedgerStep.LIST:
                attempt = attempt.list(await slots_of(self.client, scope))
            else:
                attempt = await self._written(scope, attempt)
        return attempt, owner

    async def _looked(self, scope: Scope, attempt: Attempt) -> tuple[Attempt, Owner | None]:
        """Where all slots seem to be granted and stored, look whether that is so, first of all."""
        stored = self.memory.settled(scope.uid)
        if not stored or len(stored) < self._target(_owner(scope, await self.owners.cached(_lookup(scope)))):
            return attempt, None
        active, owner = await asyncio.gather(active_slots(self.client, scope, stored), self._owner(scope))
        return attempt.look(active, self._target(owner)), owner

    async def _read(self, scope: Scope, attempt: Attempt) -> tuple[Attempt, Owner | None]:
        """Read the ledger, and beside it the owner."""
        ledger, owner = await asyncio.gather(self.store.read(scope.uid), self._owner(scope))
        return attempt.read(ledger, self.memory.met(scope.uid, ledger), self._target(owner)), owner

    def _target(self, owner: Owner | None) -> int:
        """min(M, N). Without a target nothing is granted, and the caller decides by the owner alone."""
        return 0 if owner is None else target_of(owner, self.tiers.policy).count or 0

    async def _written(self, scope: Scope, attempt: Attempt) -> Attempt:
        try:
            await self.store.write(scope, attempt.proposed, target=attempt.target)
        except BeatenError as error:
            self.conflicts += 1
            if attempt.conflicts >= MOST_CONFLICTS:
                raise CountingError(f"ledger {scope.uid}: {attempt.conflicts} conflicts in a row: {error}") from error
            await asyncio.sleep(CONFLICT_BACKOFF.wait(attempt.conflicts + 1, self.jitter))
            return attempt.beaten()
        self.writes += 1
        self.memory.met(scope.uid, attempt.proposed)
        return attempt.wrote()

    async def _owner(self, scope: Scope) -> Owner | None:
        return _owner(scope, await self.owners.live(_lookup(scope)))


def _lookup(scope: Scope) -> Lookup:
    return Lookup(kind="Deployment", namespace=scope.namespace, name=scope.deployment, uid=scope.deployment_uid)


def _owner(scope: Scope, found: TieredController | None) -> Owner | None:
    """The Deployment as the level sees it, None where it is gone."""
    if found is None or found.metadata.uid != scope.deployment_uid:
        return None
    return owner_of(OwnerKind.DEPLOYMENT, found)


def _held(attempt: Attempt, slot: str) -> HeldSlots:
    """The slots held as they concern one request: those granted before it in the same batch count as taken."""
    stored, reserved = len(attempt.standing.stored), len(attempt.standing.reserved - set(attempt.granted))
    if slot in attempt.granted:
        return HeldSlots(stored=stored, reserved=reserved + attempt.granted.index(slot))
    return HeldSlots(stored=stored, reserved=reserved + len(attempt.granted))


def _settle(queue: _Queue, slot: str, result: Counted | Exception) -> None:
    """Answer one request, if it is still waited for."""
    _, future = queue.waiting.pop(slot, (0.0, None))
    if future is None or future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
