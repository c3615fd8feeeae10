"""Many divisions at once: matrices, groups of a batch, residuals balanced over the fleet."""

from collections.abc import Sequence

import numpy as np
import pytest

from fairlead.levels.fleet import static_batch
from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import divide
from fairlead.levels.fleet.static import StaticRule
from fairlead.levels.fleet.static_batch import PriorBatch
from fairlead.model.clusters import cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, DivisionAsk, PriorDivision, Sticky
from tests.fleet.matrices import divide_many

RNG = np.random.default_rng(7)
NAMES = [f"c{number}" for number in range(7)]
TABLE = cluster_table(NAMES, weights=[1, 1, 1, 2, 2, 5, 0], capacity=[5, 9, 0, 4, 4, 2, 1])


def priors(weights: np.ndarray, counts: np.ndarray, replicas: np.ndarray) -> PriorBatch:  # type: ignore[type-arg]
    """Priors of all rows, over all clusters, by static weight."""
    yes = np.ones(len(counts), dtype=bool)
    return PriorBatch(
        known=yes,
        static=yes,
        vanished=~yes,
        replicas=replicas,
        member=np.ones(counts.shape, dtype=bool),
        weights=weights,
        counts=counts,
    )


@pytest.mark.parametrize("sticky", list(Sticky))
@pytest.mark.parametrize("cells", [7, 65_536])
def test_matrix_rows_equal_single_divisions(sticky: Sticky, cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row for row the same counts, rule and leftovers as `divide`, whatever the size of a slice."""
    monkeypatch.setattr(static_batch, "_CELLS", cells)
    rows, uids = 60, [f"u{number}" for number in range(60)]
    weights = RNG.integers(0, 4, (rows, 7))
    weights[5] = 0
    capacity = RNG.integers(0, 9, (rows, 7))
    replicas = RNG.integers(0, 20, rows)
    before = RNG.integers(0, 4, (rows, 7))
    then = before.sum(axis=1) + RNG.integers(0, 2, rows)
    policy = DividePolicy(sticky=sticky)
    prior = priors(weights, before, then)
    batch = divide_many(uids, replicas, TABLE, policy, weights=weights, capacity=capacity, prior=prior)
    for row, uid in enumerate(uids):
        clusters = cluster_table(NAMES, weights=weights[row].tolist(), capacity=capacity[row].tolist())
        single = divide(
            DivideWorkload(name="web", uid=uid, replicas=int(replicas[row])),
            clusters,
            policy,
            prior=PriorDivision(
                replicas=int(then[row]),
                weights=dict(zip(NAMES, weights[row].tolist(), strict=True)),
                counts=dict(zip(NAMES, before[row].tolist(), strict=True)),
            ),
        )
        if weights[row].any():
            assert batch.counts[row].tolist() == [single.placements[name] for name in NAMES]
            assert (bool(batch.kept[row]) or sticky is Sticky.MOST) == (single.kept or sticky is Sticky.MOST)
        assert int(batch.unplaced[row]) == (int(replicas[row]) if not weights[row].any() else 0)
        assert int(batch.residual[row]) + int(batch.floors[row].sum()) == int(replicas[row])


def test_matrix_without_weights_uses_those_of_the_table() -> None:
    """The table's weights and room for every row."""
    batch = divide_many(["u1", "u2"], np.array([12, 13]), TABLE, DividePolicy())
    assert batch.counts[0].tolist() == [1, 1, 1, 2, 2, 5, 0]
    assert batch.counts[1].sum() == 13
    assert batch.rule.tolist() == [StaticRule.DRAW, StaticRule.DRAW]


def test_matrix_room_that_a_row_does_not_report_leaves_weights_alone() -> None:
    """A negative capacity is "not reported"."""
    room = np.full((1, 7), -1)
    batch = divide_many(["u"], np.array([3]), TABLE, DividePolicy(), capacity=room)
    alone = divide(
        DivideWorkload(name="w", uid="u", replicas=3),
        cluster_table(NAMES, weights=[1, 1, 1, 2, 2, 5, 0]),
        DividePolicy(),
    )
    assert batch.counts[0].tolist() == [alone.placements[name] for name in NAMES]


def test_batch_with_odds_beyond_64_bits_keeps_them_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row's products do not fit int64: its recorded odds are whole numbers all the same, the others' too."""
    monkeypatch.setattr(static_batch, "_CELLS", 2)
    batch = [
        DivisionAsk(
            workload=DivideWorkload(name="w", uid="u", replicas=1),
            clusters=cluster_table(["a", "b"], weights=[weight, weight], capacity=[2**47, 2**47]),
            policy=DividePolicy(),
        )
        for weight in (1, 2**50, 3)
    ]
    drawn = [division.trace.draws[0].weights for division in divide_all(batch)]
    assert all(first == second > 0 for first, second in drawn)
    assert drawn[1][0] == 2**50 * 2**48 * 2
    alone = [divide(ask.workload, ask.clusters, ask.policy).trace.draws[0].weights for ask in batch]
    assert drawn == alone


def test_no_rows_give_no_answers() -> None:
    """An empty batch is not special."""
    assert divide_many([], np.array([], dtype=np.int64), TABLE, DividePolicy()).counts.shape == (0, 7)
    assert divide_all([]) == []


def asks(
    replicas: Sequence[int], weights: dict[str, int], *, balanced: bool = True, **more: object
) -> list[DivisionAsk]:
    """One ask for each number of replicas; every second one lists the clusters the other way round."""
    result = []
    for number, count in enumerate(replicas):
        names = list(weights)[:: -1 if number % 2 else 1]
        result.append(
            DivisionAsk(
                workload=DivideWorkload(name=f"w{number}", uid=f"uid-{number}", replicas=count),
                clusters=cluster_table(names, weights=[weights[name] for name in names]),
                policy=DividePolicy(balance_residuals=balanced),
                **more,  # type: ignore[arg-type]
            )
        )
    return result


def residuals(batch: Sequence[DivisionAsk], names: Sequence[str]) -> list[int]:
    """The residuals each cluster got over the batch."""
    divisions = divide_all(batch)
    return [sum(each.placements[name] - each.floors[name] for each in divisions) for name in names]


def test_balanced_residuals_of_equal_clusters_differ_by_at_most_one() -> None:
    """200 bindings with 1 or 2 residuals over five equal clusters."""
    replicas = [5 * number + 1 + number % 2 for number in range(200)]
    won = residuals(asks(replicas, dict.fromkeys("abcde", 1)), "abcde")
    assert max(won) - min(won) <= 1
    assert sum(won) == 300
    drawn = residuals(asks(replicas, dict.fromkeys("abcde", 1), balanced=False), "abcde")
    assert max(drawn) - min(drawn) > 1


def test_balanced_residuals_of_unequal_weights_are_balanced_within_each_weight() -> None:
    """Weights 1,1,1,3,3: the light ones among themselves, the heavy ones among themselves."""
    won = residuals(asks(list(range(1, 150)), dict(zip("abcde", (1, 1, 1, 3, 3), strict=True))), "abcde")
    assert max(won[:3]) - min(won[:3]) <= 1
    assert max(won[3:]) - min(won[3:]) <= 1


def test_balanced_residuals_stay_in_quota_and_do_not_depend_on_order() -> None:
    """Each result is floors plus at most one; the batch turned round gives the same results."""
    batch = asks(list(range(40)), dict.fromkeys("abcd", 1))
    forward, backward = divide_all(batch), divide_all(batch[::-1])[::-1]
    for ask, first, second in zip(batch, forward, backward, strict=True):
        assert dict(first.placements) == dict(second.placements)
        assert sum(first.placements.values()) == ask.workload.replicas
        assert {first.placements[name] - first.floors[name] for name in "abcd"} <= {0, 1}
        drawn = {name for each in first.trace.draws for name in each.winners}
        assert drawn == {name for name in "abcd" if first.placements[name] > first.floors[name]}


def test_balanced_residuals_keep_what_is_kept_and_count_it() -> None:
    """Three kept residuals on `a`: the next six go to the others."""
    prior = PriorDivision(replicas=4, counts={"a": 2, "b": 1, "c": 1})
    kept = asks([4] * 3, dict.fromkeys("abc", 1), prior=prior)
    fresh = asks([4] * 9, dict.fromkeys("abc", 1))[3:]
    assert residuals([*kept, *fresh], "abc") == [3, 3, 3]


def test_batch_of_different_kinds_keeps_the_order_of_the_asks() -> None:
    """What fits no matrix is divided alone, in its place."""
    batch = asks([4, 5], {"a": 1, "b": 1}, balanced=False)
    odd = DivisionAsk(
        workload=DivideWorkload(name="odd", replicas=3),
        clusters=cluster_table(["x"], maximum=[2]),
        policy=DividePolicy(),
    )
    nobody = DivisionAsk(
        workload=DivideWorkload(name="none", replicas=3),
        clusters=cluster_table(["a", "b"], weights=[0, 0]),
        policy=DividePolicy(),
    )
    divisions = divide_all([batch[0], odd, nobody, batch[1]])
    assert [division.finding.code if division.finding else None for division in divisions] == [
        None,
        "MaximumsTooLow",
        "ZeroWeights",
        None,
    ]
    assert sum(divisions[3].placements.values()) == 5
