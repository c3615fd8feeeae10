"""Every level against an exact solver: small instances here, middle ones in the bench."""

from random import Random

import pytest

pytest.importorskip("highspy", reason="the exact solver is not installed")

from bench.optimality import CLAIMED, REPORTED, Result, gaps, shared

TARGETS, INSTANCES = 5, 12


@pytest.mark.parametrize("name", CLAIMED)
def test_level_that_claims_the_optimum_reaches_it(name: str) -> None:
    """No gap in any instance, in either direction."""
    assert gaps(CLAIMED[name], TARGETS, INSTANCES) == [0.0] * INSTANCES


@pytest.mark.parametrize("name", REPORTED)
def test_level_that_claims_less_is_never_better_than_the_optimum(name: str) -> None:
    """Otherwise the two would solve different problems."""
    assert min(gaps(REPORTED[name], TARGETS, INSTANCES)) >= 0


def test_queue_gives_nobody_a_whole_replica_above_its_fluid_share() -> None:
    """What the level claims for replicas of one size; many small namespaces may leave a large one below its share."""
    draw = Random(3)
    rows = [row for _ in range(INSTANCES) for row in shared(draw, TARGETS)[1]]
    assert all(row.allocated["cpu"] - row.fair["cpu"] <= 1000 for row in rows)


def test_gap_is_relative_and_has_a_sign() -> None:
    """One more than ten is a tenth; around zero the difference itself counts."""
    assert [Result(11, 10).gap, Result(10, 10).gap, Result(9, 10).gap, Result(2, 0).gap] == [0.1, 0.0, -0.1, 2.0]
