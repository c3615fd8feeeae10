"""The exact count, as a protocol without I/O: one ledger a ReplicaSet, changed only by compare-and-swap.

An attempt serves all requests of one ReplicaSet that wait in one process. It reads the ledger (with its version) and
what the process knows, then lists the pods, then writes: in this order. A pod stored after the list was granted by a
ledger whose version the write would have to beat; listing first and reading the ledger afterwards would overshoot.
And a slot that is known to have been carried, and is not in a later list, is gone; if the process learned of it
after the list, the pod may just have come. While the ledger names fewer slots than the target, no list can show more,
and slots are granted without one (docs/decisions/0420).

      ┌─ look: enough pods carry slots that were granted ──► DONE   all go to spot
    READ ──ledger──► LIST ──pods──► (decide) ──► DONE               nothing to record
      ▲ └─ slots free by the ledger ─┐  └──────► WRITE ──ok──► DONE
      │                              └───────────► │
      └──────────────── conflict, or no answer ────┘

A slot in the ledger is one of four:
  stored     an active pod carries it;
  gone       a pod carried it once and is not active any more: free again;
  reserved   no pod has carried it yet. It may still come, or have been refused after the grant (by a quota, say);
             which of the two, admission cannot tell, so it counts as held, but not as present;
  lapsed     reserved for longer than any creation can take: free again.
"""

from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum

from fairlead.dataclass import dataclass

NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SlotLedger:
    """The slots granted within one ReplicaSet. `version` is None where the ledger is not there yet.

    `seen` are those of `granted` that a stored pod was found to carry.
    """

    version: str | None = None
    granted: frozenset[str] = NOTHING
    seen: frozenset[str] = NOTHING


@dataclass(frozen=True, slots=True)
class Listing:
    """What one consistent list shows of a ReplicaSet: slots carried by its pods, and by its active pods."""

    carried: frozenset[str] = NOTHING
    active: frozenset[str] = NOTHING


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What one process knows besides: slots that some pod has carried, and reservations that have lapsed."""

    seen: frozenset[str] = NOTHING
    lapsed: frozenset[str] = NOTHING


@dataclass(frozen=True, slots=True)
class SlotStates:
    """The slots of a ledger sorted by what has become of them; those gone or lapsed are left out."""

    stored: frozenset[str]
    reserved: frozenset[str]


def standing(ledger: SlotLedger, knowledge: Knowledge, listing: Listing) -> SlotStates:
    """Sort the slots. The listing must have been begun after the ledger and the knowledge were taken."""
    absent = ledger.granted - listing.active
    unseen = absent - ledger.seen - listing.carried - knowledge.seen
    return SlotStates(stored=ledger.granted & listing.active, reserved=unseen - knowledge.lapsed)


class LedgerStep(Enum):
    """What an attempt needs next."""

    READ = "read"
    LIST = "list"
    WRITE = "write"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One try to answer `requests` (slot ids to be, in order of arrival), as a state machine.

    When DONE, every request is in exactly one of `granted`, `spot` and `waiting`; those waiting have to try again.
    `conflicts` counts how often it had to start over. `standing` is what the decision rested on.
    """

    requests: tuple[str, ...]
    step: LedgerStep = LedgerStep.READ
    ledger: SlotLedger = SlotLedger()
    knowledge: Knowledge = Knowledge()
    standing: SlotStates = field(default=SlotStates(NOTHING, NOTHING))
    target: int = 0
    granted: tuple[str, ...] = ()
    spot: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    conflicts: int = 0

    def look(self, active: frozenset[str], target: int) -> "Attempt":
        """These slots were granted once, and active pods carried all of them after the requests came.

        A slot that a pod carries stays in the ledger, so where they are enough no ledger has to be read.
        """
        if len(active) < target:
            return self
        full = SlotStates(stored=active, reserved=NOTHING)
        return replace(self, step=LedgerStep.DONE, standing=full, target=target, spot=self.requests)

    def read(self, ledger: SlotLedger, knowledge: Knowledge, target: int) -> "Attempt":
        """The ledger was read, and this is what the process knows now; grant what is free by the ledger alone.

        No more than the ledger names can be held, so what it leaves free is free. Nothing is known without a ledger,
        and a request that it names already is looked for among the pods.
        """
        free = target - len(ledger.granted)
        listless = ledger.version is not None and free > 0 and ledger.granted.isdisjoint(self.requests)
        return replace(
            self,
            step=LedgerStep.WRITE if listless else LedgerStep.LIST,
            ledger=ledger,
            knowledge=knowledge,
            standing=SlotStates(stored=ledger.seen, reserved=ledger.granted - ledger.seen),
            target=target,
            granted=self.requests[:free] if listless else (),
            waiting=self.requests[free:] if listless else (),
        )

    def list(self, listing: Listing) -> "Attempt":
        """The pods were listed: decide. Nothing may be answered before the step is DONE."""
        # A ledger that was lost (a namespace deleted, a restore) is begun anew with the slots that pods still carry.
        known = self.ledger if self.ledger.version is not None else SlotLedger(None, listing.active, listing.active)
        now = standing(known, self.knowledge, listing)
        # A write whose answer was lost may have gone through: what it granted to us is ours.
        already = tuple(each for each in self.requests if each in now.reserved)
        others = tuple(each for each in self.requests if each not in now.reserved)
        free = max(self.target - len(now.stored) - len(now.reserved), 0)
        fresh, rest = others[:free], others[free:]
        full = len(now.stored) >= self.target
        return replace(
            self,
            step=LedgerStep.WRITE if fresh else LedgerStep.DONE,
            standing=now,
            granted=already + fresh,
            spot=rest if full else (),
            waiting=() if full else rest,
        )

    @property
    def proposed(self) -> SlotLedger:
        """The ledger to write over the version that was read."""
        return SlotLedger(
            self.ledger.version,
            self.standing.stored | self.standing.reserved | frozenset(self.granted),
            self.standing.stored,
        )

    def wrote(self) -> "Attempt":
        """The write went through."""
        return replace(self, step=LedgerStep.DONE)

    def beaten(self) -> "Attempt":
        """A conflict, or no answer came: start over, knowing nothing."""
        return Attempt(requests=self.requests, conflicts=self.conflicts + 1)


def tidied(ledger: SlotLedger, knowledge: Knowledge, listing: Listing) -> SlotLedger:
    """The ledger without what is gone or lapsed; equal to `ledger` where there is nothing to write."""
    now = standing(ledger, knowledge, listing)
    return SlotLedger(ledger.version, now.stored | now.reserved, now.stored)


def chosen(
    ledger: SlotLedger, gated: Iterable[str], placed: Iterable[str], target: int
) -> tuple[SlotLedger, frozenset[str]]:
    """Gated mode: the ledger to write, and the gated pods that take a slot.

    Slots are uids of stored pods here, so there are no reservations: what the ledger names and the list does not
    show is gone. `gated` are active pods that wait, in the order in which they take free slots; `placed` are the slots
    of active ones that were let go with the rule for on-demand nodes (those granted in webhook mode have other names).
    Both must have been listed after the ledger was read.
    A pod that the ledger names but that was let go to spot is neither, so its slot is free again.
    """
    waiting = tuple(gated)
    kept = ledger.granted & (frozenset(waiting) | frozenset(placed))
    free = max(target - len(kept), 0)
    fresh = [each for each in waiting if each not in kept][:free]
    slots = kept | frozenset(fresh)
    after = SlotLedger(ledger.version, slots, slots)
    return after, after.granted & frozenset(waiting)
