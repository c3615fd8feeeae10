"""Affinity groups that spill over: the preferred clusters first, the others as far as they are needed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.fleet.divide import Division, divide
from fairlead.levels.fleet.overflow import allotments
from fairlead.model.clusters import Traits, cluster_table
from fairlead.model.division import (
    DividePolicy,
    DivideWorkload,
    FleetAffinity,
    FleetSpread,
    Mode,
    PriorDivision,
    Reschedule,
    SpreadBy,
)
from fairlead.model.selectors import Taint
from tests.fleet.build import prior_of

GROUP = FleetAffinity(
    name="a",
    names=("m1",),
    overflow=(FleetAffinity(name="b", names=("m2",)), FleetAffinity(name="c", names=("m1", "m3", "m4"))),
)
POLICY = DividePolicy(mode=Mode.DYNAMIC, affinities=(GROUP,))


def spilt(
    replicas: int,
    room: tuple[int, ...] = (2, 10, 10, 10),
    policy: DividePolicy = POLICY,
    prior: PriorDivision | None = None,
    traits: tuple[Traits, ...] = (),
) -> Division:
    clusters = cluster_table(["m1", "m2", "m3", "m4"], capacity=room, traits=traits)
    return divide(DivideWorkload(name="web", replicas=replicas), clusters, policy, prior=prior)


@pytest.mark.parametrize(
    ("replicas", "want"),
    [(2, (2, 0, 0, 0)), (5, (2, 3, 0, 0)), (12, (2, 10, 0, 0)), (16, (2, 10, 2, 2)), (32, (2, 10, 10, 10))],
)
def test_overflow_takes_what_the_tiers_before_it_do_not_hold(replicas: int, want: tuple[int, ...]) -> None:
    """Tier by tier, and inside a tier by the mode."""
    division = spilt(replicas)
    assert tuple(division.placements.values()) == want
    assert (division.group, division.unplaced) == ("a", 0)


def test_overflow_grows_in_order_and_shrinks_from_the_last() -> None:
    """What runs in a later tier stays when an earlier one gets room; on the way down it goes first."""
    prior = prior_of({"m1": 2, "m2": 3}, mode=Mode.DYNAMIC)
    assert dict(spilt(7, (4, 7, 9, 9), prior=prior).placements) == {"m1": 4, "m2": 3, "m3": 0, "m4": 0}
    assert dict(spilt(4, (4, 7, 9, 9), prior=prior).placements) == {"m1": 2, "m2": 2, "m3": 0, "m4": 0}
    assert dict(spilt(1, (4, 7, 9, 9), prior=prior).placements) == {"m1": 1, "m2": 0, "m3": 0, "m4": 0}
    fresh = replace(POLICY, reschedule=Reschedule.FRESH)
    assert dict(spilt(5, (4, 7, 9, 9), fresh, prior).placements) == {"m1": 5, "m2": 0, "m3": 0, "m4": 0}


def test_overflow_without_room_for_all_is_refused_or_placed_in_part() -> None:
    """The sum of all tiers counts."""
    division = spilt(40)
    assert division.finding is not None
    assert division.finding.sentence == "the clusters have room for 32 of 40 replicas, 8 are missing"
    assert sum(spilt(40, policy=replace(POLICY, partial=True)).placements.values()) == 32


def test_overflow_passes_over_a_tier_whose_clusters_do_not_pass() -> None:
    """The preferred cluster is tainted: the next tier takes its place; what runs there already stays."""
    traits = (Traits(taints=(Taint(key="down"),)), Traits(), Traits(), Traits())
    assert spilt(5, traits=traits).placements["m2"] == 5
    prior = prior_of({"m1": 1}, mode=Mode.DYNAMIC)
    assert dict(spilt(5, prior=prior, traits=traits).placements) == {"m1": 3, "m2": 2, "m3": 0, "m4": 0}


def test_static_weights_spill_over_only_where_they_respect_room() -> None:
    """Without a look at room the preferred clusters hold any number."""
    static = DividePolicy(affinities=(GROUP,))
    assert spilt(9, policy=static).placements["m1"] == 9
    assert dict(spilt(9, policy=replace(static, respect_room=True)).placements) == {"m1": 2, "m2": 7, "m3": 0, "m4": 0}


def test_duplicated_workload_goes_to_the_preferred_clusters() -> None:
    """Each gets the whole, so nothing spills over."""
    assert dict(spilt(2, policy=replace(POLICY, mode=Mode.DUPLICATED)).placements) == {
        "m1": 2, "m2": 0, "m3": 0, "m4": 0,
    }  # fmt: skip


def test_spread_constraints_choose_from_preferred_tiers_first() -> None:
    """Two at most: the preferred one and the next tier, though others have more room; unless room is short."""
    limited = replace(POLICY, spread=(FleetSpread(by=SpreadBy.CLUSTER, least=1, most=2),))
    assert dict(spilt(5, (2, 9, 99, 99), limited).placements) == {"m1": 2, "m2": 3, "m3": 0, "m4": 0}
    assert dict(spilt(50, (2, 9, 99, 99), limited).placements) == {"m1": 2, "m2": 0, "m3": 48, "m4": 0}
    one = replace(POLICY, spread=(FleetSpread(by=SpreadBy.CLUSTER, least=1, most=1),))
    assert dict(spilt(2, (2, 9, 99, 99), one).placements) == {"m1": 2, "m2": 0, "m3": 0, "m4": 0}
    division = spilt(200, (2, 9, 99, 99), limited)
    assert division.finding is not None
    assert division.finding.code == "SpreadUnmet"


@given(
    replicas=st.integers(0, 60),
    tiers=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=4),
    fresh=st.booleans(),
)
def test_allotments_move_nothing_between_tiers(replicas: int, tiers: list[tuple[int, int]], fresh: bool) -> None:
    """All replicas within the bounds; on the way up no tier loses any, on the way down none gains."""
    held, most = [had for had, _ in tiers], [had + room for had, room in tiers]
    replicas = min(replicas, sum(most))
    parts = allotments(replicas, held, most, fresh=fresh)
    assert sum(parts) == replicas
    assert all(0 <= part <= limit for part, limit in zip(parts, most, strict=True))
    if not fresh:
        grows = replicas >= sum(held)
        assert all(part >= had if grows else part <= had for part, had in zip(parts, held, strict=True))
