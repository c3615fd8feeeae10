"""Webster, dynamic, aggregated and duplicated; bounds, room, partial placement."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from fairlead.levels.fleet.divide import Division, divide
from fairlead.levels.fleet.modes import fnv1a_32
from fairlead.model.clusters import cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, Mode, PriorDivision, Reschedule, Ties
from tests.fleet.build import prior_of

FRESH = Reschedule.FRESH
UNLIMITED = 2**62


@dataclass(frozen=True, kw_only=True)
class Case:
    """A division: clusters as name → (weight, room, minimum, maximum), and the counts that are wanted."""

    mode: Mode
    replicas: int
    clusters: Mapping[str, tuple[int, ...]]
    prior: Mapping[str, int] | None = None
    policy: Mapping[str, object] = field(default_factory=dict)
    want: Mapping[str, int]
    reason: str | None = None
    unplaced: int = 0


def solved(case: Case, uid: str = "") -> Division:
    """The division of the case."""
    columns = [tuple(row) + (1, -1, 0, UNLIMITED)[len(row) :] for row in case.clusters.values()]
    weights, rooms, minimums, maximums = ([row[place] for row in columns] for place in range(4))
    clusters = cluster_table(list(case.clusters), weights=weights, capacity=rooms, minimum=minimums, maximum=maximums)
    prior: PriorDivision | None = None if case.prior is None else prior_of(case.prior, mode=case.mode)
    workload = DivideWorkload(name="web", replicas=case.replicas, uid=uid, tie_uid=uid)
    return divide(workload, clusters, DividePolicy(mode=case.mode, **case.policy), prior=prior)  # type: ignore[arg-type]


CASES = {
    "webster rounds quotas to the nearest": Case(
        mode=Mode.WEBSTER, replicas=14, clusters={"a": (3,), "b": (2,), "c": (1,)}, want={"a": 7, "b": 5, "c": 2}
    ),
    "webster respects room when asked to": Case(
        mode=Mode.WEBSTER,
        replicas=6,
        clusters={"a": (1, 1), "b": (1, 9)},
        policy={"respect_room": True},
        want={"a": 1, "b": 5},
    ),
    "webster grants minimums first": Case(
        mode=Mode.WEBSTER, replicas=5, clusters={"a": (9,), "b": (1, -1, 2)}, want={"a": 3, "b": 2}
    ),
    "dynamic by room": Case(
        mode=Mode.DYNAMIC,
        replicas=12,
        clusters={"a": (1, 20), "b": (1, 12), "c": (1, 6)},
        want={"a": 6, "b": 4, "c": 2},
    ),
    "dynamic steady up divides the difference": Case(
        mode=Mode.DYNAMIC,
        replicas=8,
        clusters={"a": (1, 4), "b": (1, 0)},
        prior={"a": 1, "b": 5},
        want={"a": 3, "b": 5},
    ),
    "dynamic steady down scales what runs": Case(
        mode=Mode.DYNAMIC,
        replicas=6,
        clusters={"a": (1, 1), "b": (1, 1), "c": (1, 1)},
        prior={"a": 2, "b": 4, "c": 6},
        want={"a": 1, "b": 2, "c": 3},
    ),
    "dynamic steady unchanged keeps everything": Case(
        mode=Mode.DYNAMIC,
        replicas=6,
        clusters={"a": (1, 100), "b": (1, 0)},
        prior={"a": 1, "b": 5},
        want={"a": 1, "b": 5},
    ),
    "dynamic fresh starts over from room and what runs": Case(
        mode=Mode.DYNAMIC,
        replicas=6,
        clusters={"a": (1, 5), "b": (1, 1)},
        prior={"a": 1, "b": 5},
        policy={"reschedule": FRESH},
        want={"a": 3, "b": 3},
    ),
    "dynamic replicas of a vanished cluster are handed out again": Case(
        mode=Mode.DYNAMIC, replicas=6, clusters={"a": (1, 9)}, prior={"a": 2, "gone": 4}, want={"a": 6}
    ),
    "dynamic a cluster that reports no room counts with all of it": Case(
        mode=Mode.DYNAMIC, replicas=4, clusters={"a": (1,), "b": (1, 4)}, want={"a": 2, "b": 2}
    ),
    "dynamic maximum caps a roomy cluster": Case(
        mode=Mode.DYNAMIC, replicas=6, clusters={"a": (1, 100, 0, 2), "b": (1, 5)}, want={"a": 2, "b": 4}
    ),
    "dynamic minimum is granted": Case(
        mode=Mode.DYNAMIC, replicas=6, clusters={"a": (1, 96), "b": (1, 4, 2)}, want={"a": 4, "b": 2}
    ),
    "dynamic maximum below what runs moves the rest": Case(
        mode=Mode.DYNAMIC, replicas=6, clusters={"a": (1, 9, 0, 2), "b": (1, 9)}, prior={"a": 6}, want={"a": 2, "b": 4}
    ),
    "dynamic not enough room leaves things as they are": Case(
        mode=Mode.DYNAMIC,
        replicas=24,
        clusters={"a": (1, 1), "b": (1, 1)},
        prior={"a": 4, "b": 8},
        want={"a": 4, "b": 8},
        reason="InsufficientRoom",
        unplaced=12,
    ),
    "dynamic not enough room places a part when asked to": Case(
        mode=Mode.DYNAMIC,
        replicas=24,
        clusters={"a": (1, 1), "b": (1, 1)},
        prior={"a": 4, "b": 8},
        policy={"partial": True},
        want={"a": 5, "b": 9},
        reason="InsufficientRoom",
        unplaced=10,
    ),
    "aggregated takes one cluster where one is enough": Case(
        mode=Mode.AGGREGATED,
        replicas=12,
        clusters={"a": (1, 6), "b": (1, 12), "c": (1, 6)},
        want={"a": 0, "b": 12, "c": 0},
    ),
    "aggregated divides by room inside the fewest": Case(
        mode=Mode.AGGREGATED,
        replicas=12,
        clusters={"a": (1, 6), "b": (1, 8), "c": (1, 10)},
        want={"a": 0, "b": 5, "c": 7},
    ),
    "aggregated packed fills the roomiest": Case(
        mode=Mode.AGGREGATED,
        replicas=12,
        clusters={"a": (1, 6), "b": (1, 8), "c": (1, 10)},
        policy={"packed": True},
        want={"a": 0, "b": 2, "c": 10},
    ),
    "aggregated packed where nobody reports room": Case(
        mode=Mode.AGGREGATED,
        replicas=5,
        clusters=dict.fromkeys("abcd", (1,)),
        policy={"packed": True},
        want={"a": 5, "b": 0, "c": 0, "d": 0},
    ),
    "static bounds beside weights of 61 bits": Case(
        mode=Mode.STATIC,
        replicas=4,
        clusters={"a": (2**61, -1, 0, 3), "b": (1, -1, 1), "c": (0,)},
        want={"a": 3, "b": 1, "c": 0},
    ),
    "aggregated steady up prefers the clusters in use": Case(
        mode=Mode.AGGREGATED,
        replicas=24,
        clusters={"a": (1, 6), "b": (1, 6), "c": (1, 20)},
        prior={"a": 4, "b": 8},
        want={"a": 10, "b": 14, "c": 0},
    ),
    "aggregated steady down empties the smallest": Case(
        mode=Mode.AGGREGATED,
        replicas=8,
        clusters={"a": (1, 100), "b": (1, 100)},
        prior={"a": 4, "b": 8},
        want={"a": 0, "b": 8},
    ),
    "aggregated fresh forgets who is in use": Case(
        mode=Mode.AGGREGATED,
        replicas=12,
        clusters={"a": (1, 6), "b": (1, 12)},
        prior={"a": 5},
        policy={"reschedule": FRESH},
        want={"a": 0, "b": 12},
    ),
    "aggregated nothing to place": Case(mode=Mode.AGGREGATED, replicas=0, clusters={"a": (1, 6)}, want={"a": 0}),
    "aggregated no room at all": Case(
        mode=Mode.AGGREGATED,
        replicas=12,
        clusters={"a": (1, 3), "b": (1, 3)},
        want={"a": 0, "b": 0},
        reason="InsufficientRoom",
        unplaced=12,
    ),
    "duplicated whole in each": Case(
        mode=Mode.DUPLICATED, replicas=3, clusters={"a": (1,), "b": (0,)}, want={"a": 3, "b": 3}
    ),
    "duplicated above a maximum places nothing": Case(
        mode=Mode.DUPLICATED,
        replicas=3,
        clusters={"a": (1,), "b": (1, -1, 0, 2)},
        want={"a": 0, "b": 0},
        reason="MaximumsTooLow",
        unplaced=6,
    ),
    "duplicated in part where room is respected": Case(
        mode=Mode.DUPLICATED,
        replicas=3,
        clusters={"a": (1, 9), "b": (1, 2)},
        policy={"respect_room": True, "partial": True},
        want={"a": 3, "b": 2},
        reason="InsufficientRoom",
        unplaced=1,
    ),
    "static room respected, the rest by weight": Case(
        mode=Mode.STATIC,
        replicas=10,
        clusters={"a": (3, 2), "b": (1, 20), "c": (1, 20)},
        policy={"respect_room": True},
        want={"a": 2, "b": 4, "c": 4},
    ),
    "static maximum and minimum": Case(
        mode=Mode.STATIC,
        replicas=12,
        clusters={"a": (6, -1, 0, 4), "b": (1, -1, 3), "c": (5,)},
        want={"a": 4, "b": 3, "c": 5},
    ),
    "static maximums too low": Case(
        mode=Mode.STATIC,
        replicas=12,
        clusters={"a": (1, -1, 0, 4), "b": (1, -1, 0, 4)},
        want={"a": 0, "b": 0},
        reason="MaximumsTooLow",
        unplaced=12,
    ),
    "static maximums too low, in part": Case(
        mode=Mode.STATIC,
        replicas=12,
        clusters={"a": (1, -1, 0, 4), "b": (1, -1, 0, 4)},
        policy={"partial": True},
        want={"a": 4, "b": 4},
        reason="MaximumsTooLow",
        unplaced=4,
    ),
    "static minimums too high, even in part": Case(
        mode=Mode.STATIC,
        replicas=3,
        clusters={"a": (1, -1, 2), "b": (1, -1, 2)},
        policy={"partial": True},
        want={"a": 0, "b": 0},
        reason="MinimumsTooHigh",
        unplaced=3,
    ),
    "static minimum above the room": Case(
        mode=Mode.STATIC,
        replicas=3,
        clusters={"a": (1, 1, 2), "b": (1, 9)},
        policy={"respect_room": True},
        want={"a": 0, "b": 0},
        reason="MinimumWithoutRoom",
        unplaced=3,
    ),
    "static weight 0 gets its minimum and no more": Case(
        mode=Mode.STATIC, replicas=5, clusters={"a": (0, -1, 2), "b": (1,)}, want={"a": 2, "b": 3}
    ),
    "static all weights 0": Case(
        mode=Mode.STATIC,
        replicas=5,
        clusters={"a": (0,), "b": (0,)},
        want={"a": 0, "b": 0},
        reason="ZeroWeights",
        unplaced=5,
    ),
    "static nothing to place, all weights 0": Case(mode=Mode.STATIC, replicas=0, clusters={"a": (0,)}, want={"a": 0}),
    "static scaled to none has no minimum": Case(
        mode=Mode.STATIC,
        replicas=0,
        clusters={"a": (1, 9, 2), "b": (1, 0, 1)},
        prior={"a": 2, "b": 1},
        want={"a": 0, "b": 0},
    ),
    "webster scaled to none has no minimum": Case(
        mode=Mode.WEBSTER,
        replicas=0,
        clusters={"a": (1, 9, 2), "b": (1, 0, 1)},
        prior={"a": 2, "b": 1},
        want={"a": 0, "b": 0},
    ),
    "dynamic scaled to none has no minimum": Case(
        mode=Mode.DYNAMIC,
        replicas=0,
        clusters={"a": (1, 9, 2), "b": (1, 0, 1)},
        prior={"a": 2, "b": 1},
        want={"a": 0, "b": 0},
    ),
    "aggregated scaled to none has no minimum": Case(
        mode=Mode.AGGREGATED,
        replicas=0,
        clusters={"a": (1, 9, 2), "b": (1, 0, 1)},
        prior={"a": 2, "b": 1},
        want={"a": 0, "b": 0},
    ),
    "duplicated scaled to none has no minimum": Case(
        mode=Mode.DUPLICATED,
        replicas=0,
        clusters={"a": (1, 9, 2), "b": (1, 0, 1)},
        prior={"a": 2, "b": 1},
        want={"a": 0, "b": 0},
    ),
    "static weights beyond 32 and products beyond 64 bits": Case(
        mode=Mode.STATIC,
        replicas=3_000_000,
        clusters={"a": (2**61,), "b": (2**60,)},
        want={"a": 2_000_000, "b": 1_000_000},
    ),
    "no clusters at all": Case(mode=Mode.STATIC, replicas=2, clusters={}, want={}, reason="NoClusters", unplaced=2),
    "more runs than is wanted and nothing fits": Case(
        mode=Mode.STATIC,
        replicas=3,
        clusters={"a": (1, -1, 2), "b": (1, -1, 2)},
        prior={"a": 2, "b": 2},
        want={"a": 0, "b": 0},
        reason="MinimumsTooHigh",
        unplaced=3,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_division_by_mode_gives_the_counts_wanted(case: Case) -> None:
    """Every mode, with the bounds and shortages that change it."""
    division = solved(case)
    assert dict(division.placements) == case.want
    assert (division.finding.code if division.finding else None) == case.reason
    assert division.unplaced == case.unplaced


def test_too_little_room_for_copies_is_told_over_all_clusters() -> None:
    """Three replicas in each of two clusters are six; a maximum of two in one of them leaves room for five."""
    case = CASES["duplicated above a maximum places nothing"]
    finding = solved(case).finding
    assert finding is not None
    assert finding.details == {"room": 5, "replicas": 6, "missing": 1}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_division_by_mode_does_not_depend_on_the_order_of_clusters(case: Case) -> None:
    """Clusters turned round give the same counts."""
    turned = Case(
        mode=case.mode,
        replicas=case.replicas,
        clusters=dict(reversed(case.clusters.items())),
        prior=case.prior,
        policy=case.policy,
        want=case.want,
    )
    assert dict(solved(turned).placements) == case.want


def test_webster_tie_turns_with_one_bit_of_the_uid() -> None:
    """The residual of 5 over two equals goes to the first name for an even hash, to the last for an odd one."""
    case = Case(mode=Mode.WEBSTER, replicas=5, clusters={"a": (1,), "b": (1,)}, want={})
    even = next(uid for uid in map(str, range(99)) if fnv1a_32(uid) % 2 == 0)
    odd = next(uid for uid in map(str, range(99)) if fnv1a_32(uid) % 2)
    assert dict(solved(case, even).placements) == {"a": 3, "b": 2}
    assert dict(solved(case, odd).placements) == {"a": 2, "b": 3}
    assert dict(solved(case, "").placements) == {"a": 3, "b": 2}


@pytest.mark.parametrize(("ties", "winner"), [(Ties.ASCENDING, "a"), (Ties.DESCENDING, "b")])
def test_webster_tie_follows_the_policy_where_it_says_which(ties: Ties, winner: str) -> None:
    """Whatever the uid's bit; and among equals the one with fewer replicas still comes first."""
    policy = DividePolicy(mode=Mode.WEBSTER, ties=ties)
    for uid in ("", "1", "2", "3", "4"):
        workload = DivideWorkload(name="web", replicas=5, uid=uid, tie_uid=uid)
        assert divide(workload, cluster_table(["a", "b"]), policy).placements[winner] == 3
    seated = cluster_table(["a", "b"], weights=[3, 1], initial=[1, 0])
    one = divide(DivideWorkload(name="web", replicas=1), seated, policy)
    assert dict(one.placements) == {"a": 1, "b": 1}


def test_fnv1a_of_known_texts() -> None:
    """The published values of the hash."""
    assert fnv1a_32("") == 0x811C9DC5
    assert fnv1a_32("a") == 0xE40C292C
    assert fnv1a_32("foobar") == 0xBF9CF968


def test_webster_initial_seats_are_part_of_the_answer_and_not_of_the_replicas() -> None:
    """Two more seats where the old party has one: the new party gets both."""
    clusters = cluster_table(["old", "new"], initial=[1, 0])
    division = divide(DivideWorkload(name="web", replicas=2), clusters, DividePolicy(mode=Mode.WEBSTER))
    assert dict(division.placements) == {"old": 1, "new": 2}
    assert division.unplaced == 0


def test_webster_initial_seats_above_a_maximum_stay() -> None:
    """A maximum stops new seats; those that were there are not taken away, in part or not."""
    clusters = cluster_table(["a", "b"], initial=[5, 0], maximum=[3, 3])
    whole = divide(DivideWorkload(name="web", replicas=3), clusters, DividePolicy(mode=Mode.WEBSTER))
    assert dict(whole.placements) == {"a": 5, "b": 3}
    part = divide(DivideWorkload(name="web", replicas=9), clusters, DividePolicy(mode=Mode.WEBSTER, partial=True))
    assert (dict(part.placements), part.unplaced) == ({"a": 5, "b": 3}, 6)


def test_webster_without_any_weight_leaves_the_initial_seats() -> None:
    """All weights 0: nobody may get more, and nothing is taken away."""
    clusters = cluster_table(["a", "b"], weights=[0, 0], initial=[2, 1])
    division = divide(DivideWorkload(name="web", replicas=1), clusters, DividePolicy(mode=Mode.WEBSTER))
    assert (dict(division.placements), division.unplaced) == ({"a": 2, "b": 1}, 1)
    assert division.finding is not None
    assert division.finding.code == "ZeroWeights"


def test_webster_floors_and_residual_are_those_of_the_weights() -> None:
    """7 over 2:1 owes 4 and 2, one is residual."""
    case = Case(mode=Mode.WEBSTER, replicas=7, clusters={"a": (2,), "b": (1,)}, want={})
    division = solved(case)
    assert (dict(division.floors), division.residual) == ({"a": 4, "b": 2}, 1)


def test_dynamic_unchanged_says_that_the_prior_is_kept() -> None:
    """`kept` holds only where nothing moves."""
    assert solved(CASES["dynamic steady unchanged keeps everything"]).kept
    assert not solved(CASES["dynamic steady up divides the difference"]).kept


def test_static_within_bounds_keeps_a_prior_that_still_fits() -> None:
    """Room counts beside what runs: a full cluster keeps its residual."""
    case = Case(
        mode=Mode.STATIC,
        replicas=3,
        clusters={"a": (1, 0), "b": (1, 0)},
        prior={"a": 1, "b": 2},
        policy={"respect_room": True},
        want={},
    )
    division = solved(case)
    assert dict(division.placements) == {"a": 1, "b": 2}
    assert division.kept


def test_static_within_bounds_same_floors_keeps_the_holder() -> None:
    """6 → 5 over four clusters with a maximum that nobody reaches: one of the two holders stays."""
    case = Case(
        mode=Mode.STATIC,
        replicas=5,
        clusters=dict.fromkeys("abcd", (1, -1, 0, 9)),
        prior={"a": 2, "b": 1, "c": 2, "d": 1},
        want={},
    )
    assert {tuple(solved(case, uid).placements.values()) for uid in map(str, range(40))} == {
        (2, 1, 1, 1),
        (1, 1, 2, 1),
    }


def test_static_prior_that_today_s_bounds_forbid_has_no_floors_to_compare() -> None:
    """The prior's 12 do not fit the maximums of today, so its floors equal none and the residual is drawn."""
    case = Case(
        mode=Mode.STATIC,
        replicas=5,
        clusters={"a": (1, -1, 0, 4), "b": (1, -1, 0, 4)},
        prior={"a": 6, "b": 6},
        want={},
    )
    assert {tuple(solved(case, uid).placements.values()) for uid in map(str, range(40))} == {(3, 2), (2, 3)}
