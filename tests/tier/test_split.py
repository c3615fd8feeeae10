"""The verdict on one new replica, rule by rule."""

from dataclasses import dataclass

import pytest
from tools.reference.reasons import reasons_of

from fairlead.engine.explain_tier import lines
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Policy, Split, TierVerdict, ordinal, split, target_of
from fairlead.model.owners import HeldSlots, Newcomer, Owner, OwnerKind, TierPin

DEPLOYMENT, STATEFUL_SET = OwnerKind.DEPLOYMENT, OwnerKind.STATEFUL_SET


@dataclass(frozen=True, kw_only=True)
class Case:
    kind: OwnerKind = DEPLOYMENT
    replicas: int = 5
    minimum: str | None = "2"
    first: int = 0
    stored: int = 0
    reserved: int = 0
    name: str = ""
    pin: TierPin = TierPin.NONE
    single_rule: bool = True
    want: TierVerdict
    code: str
    warns: tuple[str, ...] = ()
    selector: bool = False


CASES = {
    "first slot": Case(want=TierVerdict.ON_DEMAND, code="SlotGranted"),
    "last slot": Case(stored=1, want=TierVerdict.ON_DEMAND, code="SlotGranted"),
    "full": Case(stored=2, want=TierVerdict.SPOT, code="SlotsFull"),
    "more than full, as after a lowered minimum": Case(stored=4, want=TierVerdict.SPOT, code="SlotsFull"),
    "a reservation counts": Case(stored=1, reserved=1, want=TierVerdict.RETRY, code="SlotsUnresolved"),
    "reservations below the target leave room": Case(reserved=1, want=TierVerdict.ON_DEMAND, code="SlotGranted"),
    "full without the reservations": Case(stored=2, reserved=1, want=TierVerdict.SPOT, code="SlotsFull"),
    "minimum of zero": Case(minimum="0", want=TierVerdict.SPOT, code="SlotsFull"),
    "minimum above the replicas": Case(minimum="9", stored=4, want=TierVerdict.ON_DEMAND, code="SlotGranted"),
    "percentage": Case(minimum="50%", stored=2, want=TierVerdict.ON_DEMAND, code="SlotGranted"),
    "no minimum": Case(minimum=None, want=TierVerdict.UNMANAGED, code="NoMinimum"),
    "bad minimum": Case(minimum="two", want=TierVerdict.UNMANAGED, code="InvalidMinimum", warns=("InvalidMinimum",)),
    "scaled to zero": Case(replicas=0, want=TierVerdict.UNMANAGED, code="ScaledToZero"),
    "one replica": Case(replicas=1, minimum=None, want=TierVerdict.ON_DEMAND, code="SingleReplica", selector=True),
    "one replica, minimum of zero": Case(
        replicas=1, minimum="0", want=TierVerdict.ON_DEMAND, code="SingleReplica", selector=True
    ),
    "one replica, bad minimum": Case(
        replicas=1,
        minimum="x",
        want=TierVerdict.ON_DEMAND,
        code="SingleReplica",
        selector=True,
        warns=("InvalidMinimum",),
    ),
    "one replica and a second in flight": Case(replicas=1, stored=1, want=TierVerdict.SPOT, code="SlotsFull"),
    "one replica granted, not seen": Case(replicas=1, reserved=1, want=TierVerdict.RETRY, code="SlotsUnresolved"),
    "one replica, rule switched off": Case(
        replicas=1, minimum=None, single_rule=False, want=TierVerdict.UNMANAGED, code="NoMinimum"
    ),
    "one replica, rule off, minimum of one": Case(
        replicas=1, minimum="1", single_rule=False, want=TierVerdict.ON_DEMAND, code="SlotGranted"
    ),
    "pinned elsewhere": Case(
        pin=TierPin.ELSEWHERE, want=TierVerdict.UNMANAGED, code="UserPinned", warns=("UserPinned",)
    ),
    "pinned to on-demand": Case(
        pin=TierPin.ON_DEMAND, stored=9, want=TierVerdict.UNMANAGED, code="UserPinned", warns=("UserPinned",)
    ),
    "node named": Case(
        pin=TierPin.NAMED, replicas=1, want=TierVerdict.UNMANAGED, code="UserPinned", warns=("UserPinned",)
    ),
    "pinned, but not asked for": Case(
        pin=TierPin.ELSEWHERE, minimum=None, want=TierVerdict.UNMANAGED, code="NoMinimum"
    ),
    "first ordinal": Case(
        kind=STATEFUL_SET, minimum="3", name="db-0", want=TierVerdict.ON_DEMAND, code="OrdinalRequired"
    ),
    "last required ordinal": Case(
        kind=STATEFUL_SET, minimum="3", name="db-2", want=TierVerdict.ON_DEMAND, code="OrdinalRequired"
    ),
    "next ordinal": Case(kind=STATEFUL_SET, minimum="3", name="db-3", want=TierVerdict.SPOT, code="OrdinalBeyond"),
    "held slots do not matter to ordinals": Case(
        kind=STATEFUL_SET, minimum="3", name="db-1", stored=9, want=TierVerdict.ON_DEMAND, code="OrdinalRequired"
    ),
    "ordinals start at five": Case(
        kind=STATEFUL_SET, minimum="3", first=5, name="db-7", want=TierVerdict.ON_DEMAND, code="OrdinalRequired"
    ),
    "below the first ordinal": Case(
        kind=STATEFUL_SET, minimum="3", first=5, name="db-2", want=TierVerdict.SPOT, code="OrdinalBeyond"
    ),
    "less than a majority": Case(
        kind=STATEFUL_SET, minimum="2", name="db-2", want=TierVerdict.SPOT, code="OrdinalBeyond", warns=("Quorum",)
    ),
    "half": Case(
        kind=STATEFUL_SET,
        replicas=4,
        minimum="2",
        name="db-0",
        want=TierVerdict.ON_DEMAND,
        code="OrdinalRequired",
        warns=("Quorum",),
    ),
    "all": Case(
        kind=STATEFUL_SET,
        minimum="5",
        name="db-4",
        want=TierVerdict.ON_DEMAND,
        code="OrdinalRequired",
        warns=("Quorum",),
    ),
    "no ordinal": Case(
        kind=STATEFUL_SET, minimum="3", name="db-x", want=TierVerdict.UNMANAGED, code="NoOrdinal", warns=("NoOrdinal",)
    ),
    "one replica of a set": Case(
        kind=STATEFUL_SET,
        replicas=1,
        minimum=None,
        name="db-0",
        want=TierVerdict.ON_DEMAND,
        code="SingleReplica",
        selector=True,
    ),
    "one replica of a set, oddly named": Case(
        kind=STATEFUL_SET,
        replicas=1,
        minimum=None,
        name="x",
        want=TierVerdict.ON_DEMAND,
        code="SingleReplica",
        selector=True,
    ),
    "one replica of a set, a higher one in flight": Case(
        kind=STATEFUL_SET, replicas=1, minimum=None, name="db-2", want=TierVerdict.SPOT, code="OrdinalBeyond"
    ),
}


def _split(case: Case) -> Split:
    owner = Owner(
        kind=case.kind,
        name="web" if case.kind is DEPLOYMENT else "db",
        replicas=case.replicas,
        min_available=case.minimum,
        first_ordinal=case.first,
    )
    held = HeldSlots(stored=case.stored, reserved=case.reserved)
    return split(Newcomer(name=case.name, pin=case.pin), owner, held, Policy(single_replica=case.single_rule))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_split_follows_its_rules(case: Case) -> None:
    """Each rule gives its verdict, its reason, its warnings and the form of the requirement."""
    got = _split(case)
    assert (case.want, case.code) == (got.verdict, got.rule.code)
    assert case.warns == tuple(each.code for each in got.warnings)
    assert case.selector is got.selector
    placed = case.want in (TierVerdict.ON_DEMAND, TierVerdict.SPOT)
    assert ({case.want.value: 1} if placed else {}) == dict(got.placements)
    assert (got.finding is not None) is (case.want is TierVerdict.RETRY)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_split_is_explained_by_its_reason(case: Case) -> None:
    """The first sentence carries the reason; every warning that is not the reason itself follows."""
    got = _split(case)
    first, *rest = lines(got)
    assert got.rule.sentence in first
    assert all(any(each.sentence in line for line in rest) for each in got.warnings if each != got.rule)


ADVICE = {
    "first slot": "With more slots held, or a lower min-available, it would prefer spot nodes.",
    "full": "A higher min-available, or a slot given up, would put the next one on on-demand nodes.",
    "a reservation counts": "It is admitted as soon as the replicas that were granted slots appear",
    "bad minimum": "Editing the workload would change this.",
    "no minimum": "",
    "scaled to zero": "",
    "one replica": "",
}


@pytest.mark.parametrize("name", ADVICE)
def test_split_says_what_would_change_it_where_something_would(name: str) -> None:
    """The last sentence; a workload of one replica is not told to lower what does not apply to it."""
    _, *rest = lines(_split(CASES[name]))
    assert [line.startswith(ADVICE[name]) for line in rest] == ([True] if ADVICE[name] else [])


def test_slots_are_numbered_and_bounded_by_the_replicas() -> None:
    """With a minimum of nine and five replicas the fifth slot is the last."""
    owner = Owner(kind=DEPLOYMENT, name="web", replicas=5, min_available="9")
    fifth = split(Newcomer(), owner, HeldSlots(stored=4), Policy())
    assert fifth.rule.sentence == "takes slot 5 of 5 on on-demand nodes"
    assert split(Newcomer(), owner, HeldSlots(stored=5), Policy()).verdict is TierVerdict.SPOT


def test_target_of_a_workload_left_alone_says_why() -> None:
    """A workload without a number has a finding instead."""
    target = target_of(Owner(kind=DEPLOYMENT, name="web", replicas=3), Policy())
    assert target.count is None
    assert target.finding is not None
    assert target.finding.code == "NoMinimum"


NAMES = {
    "db-0": 0,
    "db-10": 10,
    "db-": None,
    "db": None,
    "other-3": None,
    "db-2-1": None,
    "db-²": None,
    "db-+1": None,
    "db-99999999999": None,
}


@pytest.mark.parametrize(("name", "want"), NAMES.items(), ids=NAMES)
def test_ordinal_is_what_follows_the_name_of_the_set(name: str, want: int | None) -> None:
    """Only ASCII digits right after the set's name and a dash are an ordinal."""
    assert want == ordinal(name, Owner(kind=STATEFUL_SET, name="db", replicas=3))


def test_reason_codes_are_distinct() -> None:
    """No code stands for two things, and all belong to the level."""
    found = reasons_of(reasons)
    assert len({each.code for each in found}) == len(found)
    assert {each.level for each in found} == {"tier"}
