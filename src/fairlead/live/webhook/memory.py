"""What one process remembers: slots that pods have carried, and since when it has known of a reservation.

Both are safe to be incomplete. That a pod has carried a slot stays true for ever; that a reservation has lapsed is told
from this process' own steady clock alone, so no two clocks have to agree: it starts when the process first meets
the reservation, which is never before it was made.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

from fairlead.kube.admission.rules import SLOT
from fairlead.kube.changes import Change
from fairlead.kube.objects.tier import MarkedPod
from fairlead.live.webhook.ledger import Knowledge, SlotLedger

LAPSE_SECONDS = 45.0
"""Longer than a creation can take after its admission: the API server gives up after 34 seconds."""
FRESH_SECONDS = 10.0
"""How long a reservation is likely to be one that still comes: nearly all pods are stored within moments."""
KEEP_SECONDS = 600.0
"""How long the slot of a deleted pod, or the reservations of a quiet ReplicaSet, are remembered."""


@dataclass(slots=True)
class _News:
    turn: int = 0
    event: asyncio.Event = field(default_factory=asyncio.Event)


class Memory:
    """Fed by a watch of marked pods and by every ledger that is read. Not thread-safe: one loop owns it."""

    def __init__(self, clock: Callable[[], float], *, lapse: float = LAPSE_SECONDS) -> None:
        self._clock = clock
        self._lapse = lapse
        self._seen: dict[str, float | None] = {}
        self._unanswered: dict[str, float] = {}
        self._met: dict[str, tuple[float, dict[str, float]]] = {}
        self._news: dict[str, _News] = {}

    def saw(self, change: Change[MarkedPod]) -> None:
        """A marked pod appeared, changed or went."""
        metadata = change.object.metadata
        slot = metadata.annotations.get(SLOT)
        if slot is not None:
            self._seen[slot] = self._clock() if change.kind == "deleted" else None
        if metadata.controller is not None:
            self.wake(metadata.controller.uid)

    def met(self, uid: str, ledger: SlotLedger) -> Knowledge:
        """A ledger was read: what this process knows about its slots at this moment.

        The clocks of reservations that it had not met start now; those that are no longer there are forgotten.
        """
        now = self._clock()
        known = self._met[uid][1] if uid in self._met else {}
        met = {slot: known.get(slot, now) for slot in ledger.granted - ledger.seen}
        self._met[uid] = now, met
        due = now - self._lapse
        return Knowledge(
            seen=frozenset(slot for slot in met if slot in self._seen),
            lapsed=frozenset(slot for slot, since in met.items() if since <= due or slot in self._unanswered),
        )

    def asked(self, slot: str) -> None:
        """A request for this slot is under way, again perhaps."""
        self._unanswered.pop(slot, None)

    def unanswered(self, slot: str) -> None:
        """Nobody was told of this slot, nor ever will be: whether it was granted or not, no pod can carry it."""
        self._unanswered[slot] = self._clock()

    def fresh(self, uid: str) -> bool:
        """Whether the reservations of a ReplicaSet were met so lately that their pods are likely still on their way."""
        due = self._clock() - FRESH_SECONDS
        return uid in self._met and any(since > due for since in self._met[uid][1].values())

    def mark(self, uid: str) -> int:
        """A number that changes whenever there is news of the ReplicaSet; take it before looking, for `news`."""
        return self._news.setdefault(uid, _News()).turn

    async def news(self, uid: str, since: int, seconds: float) -> None:
        """Wait until there is news since the mark (a marked pod changed, or `wake`), at most so long."""
        news = self._news.setdefault(uid, _News())
        if news.turn != since:
            return
        news.event.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await news.event.wait()

    def wake(self, uid: str) -> None:
        """There is news of the ReplicaSet."""
        news = self._news.get(uid)
        if news is not None:
            news.turn += 1
            news.event.set()

    def forget(self) -> None:
        """Drop what is older than anybody can ask for."""
        due = self._clock() - KEEP_SECONDS
        self._seen = {slot: gone for slot, gone in self._seen.items() if gone is None or gone > due}
        self._unanswered = {slot: at for slot, at in self._unanswered.items() if at > due}
        self._met = {uid: (at, slots) for uid, (at, slots) in self._met.items() if at > due}
        self._news = {uid: news for uid, news in self._news.items() if uid in self._met}
