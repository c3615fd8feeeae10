"""What one process remembers: slots that pods have carried, and since when it has known of a reservation.

Both are safe to be incomplete. That a pod has carried a slot stays true for ever; that a reservation has lapsed is told
from this process' own steady clock alone, so no two clocks have to agree: it starts when the process first meets
the reservation, which is never before it was made.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.admission.rules import SLOT
from fairlead.kube.changes import Change
from fairlead.kube.objects.tier import MarkedPod
from fairlead.live.webhook.ledger import NOTHING, Knowledge, SlotLedger

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
        self._stored: dict[str, dict[str, str]] = {}
        self._granted: dict[str, frozenset[str]] = {}
        self._met: dict[str, tuple[float, dict[str, float]]] = {}
        self._news: dict[str, _News] = {}

    def saw(self, change: Change[MarkedPod]) -> None:
        """A marked pod appeared, changed or went."""
        if change.previous is not None:
            # Its slot or its controller may be another one by now.
            self._carries(change.previous, there=False)
        self._carries(change.object, there=change.kind != "deleted")
        controller = change.object.metadata.controller
        if controller is not None:
            self.wake(controller.uid)

    def _carries(self, pod: MarkedPod, *, there: bool) -> None:
        """The pod carries its slot, or not any more."""
        metadata = pod.metadata
        slot, controller = metadata.annotations.get(SLOT), metadata.controller
        if slot is None:
            return
        self._seen[slot] = None if there else self._clock()
        if controller is not None:
            self._note(controller.uid, slot, metadata.name if there and pod.active else "")

    def _note(self, uid: str, slot: str, pod: str) -> None:
        """The active pod that carries a slot; empty where there is none any more."""
        if pod:
            self._stored.setdefault(uid, {})[slot] = pod
        elif uid in self._stored:
            self._stored[uid].pop(slot, None)
            if not self._stored[uid]:
                del self._stored[uid]

    def settled(self, uid: str) -> Mapping[str, str]:
        """The slots of the ledger that was met last, each with the pod that carries it; none where a pod is missing."""
        stored, granted = self._stored.get(uid, {}), self._granted.get(uid, NOTHING)
        return {slot: stored[slot] for slot in granted} if granted <= stored.keys() else {}

    def met(self, uid: str, ledger: SlotLedger) -> Knowledge:
        """A ledger was read: what this process knows about its slots at this moment.

        The clocks of reservations that it had not met start now; those that are no longer there are forgotten.
        """
        now = self._clock()
        known = self._met[uid][1] if uid in self._met else {}
        met = {slot: known.get(slot, now) for slot in ledger.granted - ledger.seen}
        self._met[uid] = now, met
        self._granted[uid] = ledger.granted
        due = now - self._lapse
        return Knowledge(
            seen=frozenset(slot for slot in met if slot in self._seen),
            lapsed=frozenset(slot for slot, since in met.items() if since <= due or slot in self._unanswered),
        )

    def asked(self, slot: str) -> None:
        """A request for this slot is under way, again perhaps."""
        self._unanswered.pop(slot, None)

    def unanswered(self, slot: str) -> None:
        """The API server was never told of this slot: whether it was granted or not, no pod can carry it."""
        self._unanswered[slot] = self._clock()

    def fresh(self, uid: str) -> bool:
        """Whether the reservations of a ReplicaSet were met so lately that their pods are likely still on their way."""
        due = self._clock() - FRESH_SECONDS
        return uid in self._met and any(since > due for since in self._met[uid][1].values())

    def arriving(self, uid: str, seconds: float) -> bool:
        """Whether a reservation that was met so many seconds ago at most has not been carried by a pod yet."""
        due = self._clock() - seconds
        met = self._met[uid][1] if uid in self._met else {}
        return any(since > due and slot not in self._seen for slot, since in met.items())

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
        """Drop what is too old to be asked for."""
        due = self._clock() - KEEP_SECONDS
        self._seen = {slot: gone for slot, gone in self._seen.items() if gone is None or gone > due}
        self._unanswered = {slot: at for slot, at in self._unanswered.items() if at > due}
        self._met = {uid: (at, slots) for uid, (at, slots) in self._met.items() if at > due}
        self._granted = {uid: slots for uid, slots in self._granted.items() if uid in self._met}
        self._news = {uid: news for uid, news in self._news.items() if uid in self._met}
