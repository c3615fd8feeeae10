"""One attempt of the counting protocol, step by step; all interleavings of several are in `test_ledger_model`."""

from dataclasses import dataclass

import pytest

from fairlead.live.webhook.ledger import Attempt, Knowledge, LedgerStep, Listing, SlotLedger, chosen, tidied

NEW = ("n1", "n2", "n3")


def _slots(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, kw_only=True)
class Case:
    granted: str = ""
    seen: str = ""
    carried: str = ""
    active: str = ""
    known: str = ""
    lapsed: str = ""
    target: int = 2
    version: str | None = "7"
    want: tuple[int, int, int]
    """How many of three requests are granted, go to spot, and wait."""
    kept: str = ""
    """Slots from before that are still in the ledger that is proposed."""


CASES = {
    "nothing yet": Case(version=None, want=(2, 0, 1)),
    "one stored": Case(granted="a", seen="a", active="a", want=(1, 0, 2), kept="a"),
    "full by pods": Case(granted="a b", active="a b", want=(0, 3, 0), kept="a b"),
    "more than full": Case(granted="a b c", active="a b c", want=(0, 3, 0), kept="a b c"),
    "a reservation without a pod holds a slot": Case(granted="a", target=1, want=(0, 0, 3), kept="a"),
    "a reservation and its pod count once": Case(granted="a", active="a", want=(1, 0, 2), kept="a"),
    "a lapsed reservation is free": Case(granted="a", lapsed="a", target=1, want=(1, 0, 2)),
    "a lapsed reservation whose pod came late holds": Case(
        granted="a", lapsed="a", active="a", target=1, want=(0, 3, 0), kept="a"
    ),
    "a pod that was seen and is gone is free": Case(granted="a", seen="a", target=1, want=(1, 0, 2)),
    "a pod that this process saw and is gone is free": Case(granted="a", known="a", target=1, want=(1, 0, 2)),
    "a terminating pod is free": Case(granted="a", carried="a", target=1, want=(1, 0, 2)),
    "a mark that nobody granted counts for nothing": Case(granted="a", active="a z", want=(1, 0, 2), kept="a"),
    "a lost ledger is begun with what pods carry": Case(version=None, active="a z", want=(0, 3, 0), kept="a z"),
    "none asked for": Case(target=0, want=(0, 3, 0)),
    "a write of ours that went through unseen": Case(granted="n1 a", active="a", want=(1, 0, 2), kept="a n1"),
}


def _attempt(case: Case) -> Attempt:
    ledger = SlotLedger(case.version, _slots(case.granted), _slots(case.seen))
    active = _slots(case.active)
    known = Knowledge(_slots(case.known), _slots(case.lapsed))
    return Attempt(requests=NEW).read(ledger, known, case.target).list(Listing(active | _slots(case.carried), active))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_attempt_grants_what_is_free(case: Case) -> None:
    """In order of arrival; the rest goes to spot only if stored pods alone fill the slots."""
    got = _attempt(case)
    assert case.want == (len(got.granted), len(got.spot), len(got.waiting))
    assert (*got.granted, *got.spot, *got.waiting) == NEW
    assert _slots(case.kept) | set(got.granted) == got.proposed.granted
    fresh = set(got.granted) - _slots(case.granted)
    assert got.step is (LedgerStep.WRITE if fresh else LedgerStep.DONE)
    assert got.proposed.version == case.version


FREE: dict[str, tuple[SlotLedger, int, LedgerStep, int]] = {
    "one of two is free": (SlotLedger("7", _slots("a")), 2, LedgerStep.WRITE, 1),
    "more are free than asked for": (SlotLedger("7", _slots("a"), _slots("a")), 9, LedgerStep.WRITE, 3),
    "none is free": (SlotLedger("7", _slots("a b")), 2, LedgerStep.LIST, 0),
    "the target fell": (SlotLedger("7", _slots("a b")), 1, LedgerStep.LIST, 0),
    "there is no ledger": (SlotLedger(), 2, LedgerStep.LIST, 0),
    "a request is named already": (SlotLedger("7", _slots("n2")), 3, LedgerStep.LIST, 0),
}


@pytest.mark.parametrize(("ledger", "target", "step", "granted"), FREE.values(), ids=FREE)
def test_slots_that_the_ledger_leaves_free_need_no_list(
    ledger: SlotLedger, target: int, step: LedgerStep, granted: int
) -> None:
    """Granted in order of arrival; what the ledger names stays in it, and the rest waits."""
    got = Attempt(requests=NEW).read(ledger, Knowledge(), target)
    assert got.step is step
    assert got.granted == NEW[:granted]
    if step is LedgerStep.WRITE:
        assert got.waiting == NEW[granted:]
        assert got.proposed == SlotLedger("7", ledger.granted | set(got.granted), ledger.seen)


@pytest.mark.parametrize(("active", "target", "full"), [("a b", 2, True), ("a b", 3, False), ("a b c", 2, True)])
def test_enough_pods_with_slots_send_everybody_to_spot(active: str, target: int, full: bool) -> None:
    """With fewer the attempt goes on from its start."""
    begun = Attempt(requests=NEW)
    got = begun.look(_slots(active), target)
    assert got.spot == (NEW if full else ())
    assert got.step is (LedgerStep.DONE if full else LedgerStep.READ)
    assert full or got == begun


def test_attempt_that_was_beaten_starts_over_knowing_nothing() -> None:
    """Nothing of the decision survives, only the requests and the count of conflicts."""
    again = _attempt(CASES["nothing yet"]).beaten()
    assert again == Attempt(requests=NEW, conflicts=1)
    assert _attempt(CASES["nothing yet"]).wrote().step is LedgerStep.DONE


def test_tidying_drops_what_is_gone_and_lapsed_only() -> None:
    """Stored slots are marked as seen, reservations stay; with nothing to do the ledger is equal."""
    ledger = SlotLedger("7", _slots("a b c d"), _slots("b"))
    after = tidied(ledger, Knowledge(lapsed=_slots("d")), Listing(_slots("a"), _slots("a")))
    assert after == SlotLedger("7", _slots("a c"), _slots("a"))
    assert tidied(after, Knowledge(), Listing(_slots("a"), _slots("a"))) == after


GATED: dict[str, tuple[str, str, str, int, str, str]] = {
    "the oldest first": ("", "p1 p2 p3", "", 2, "p1 p2", "p1 p2"),
    "beside those that are placed": ("a", "p1 p2", "a", 2, "a p1", "p1"),
    "a granted pod that still waits keeps its slot": ("p2", "p1 p2", "", 1, "p2", "p2"),
    "one that is gone is free": ("a", "p1", "", 1, "p1", "p1"),
    "one that was let go to spot is free": ("s", "p1", "", 1, "p1", "p1"),
    "a lowered target takes nothing away": ("a b", "p1", "a b", 1, "a b", ""),
}


@pytest.mark.parametrize(("granted", "gated", "placed", "target", "want", "takes"), GATED.values(), ids=GATED)
def test_gated_pods_take_free_slots(granted: str, gated: str, placed: str, target: int, want: str, takes: str) -> None:
    """Slots are pods that are stored; who is named by the ledger and listed holds one."""
    after, now = chosen(SlotLedger("7", _slots(granted)), gated.split(), placed.split(), target)
    assert (_slots(want), _slots(takes)) == (after.granted, now)
