"""Fleet against brute force: fewest moves, bounded shares, fewest clusters, one seat at a time."""

from fractions import Fraction
from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.fleet.divide import divide
from fairlead.model.clusters import cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, Mode, PriorDivision, Sticky

NAMES = "abcdef"


def in_quota(weights: list[int], replicas: int) -> list[tuple[int, ...]]:
    """Every result that sums to the replicas with each count its floor, or one more where the quota is not whole."""
    total = sum(weights)
    ranges = [
        range(weight * replicas // total, weight * replicas // total + 1 + (weight * replicas % total > 0))
        for weight in weights
    ]
    return [result for result in product(*ranges) if sum(result) == replicas]


def moves(result: tuple[int, ...], prior: list[int]) -> int:
    """Replicas that start somewhere new."""
    return sum(max(0, now - before) for now, before in zip(result, prior, strict=True))


@given(
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=6),
    replicas=st.integers(0, 25),
    data=st.data(),
)
def test_sticky_most_moves_no_more_than_any_result_in_quota(
    weights: list[int], replicas: int, data: st.DataObject
) -> None:
    """Against every result in quota."""
    prior = data.draw(st.lists(st.integers(0, 8), min_size=len(weights), max_size=len(weights)))
    names = NAMES[: len(weights)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas, uid="u"),
        cluster_table(names, weights=weights),
        DividePolicy(sticky=Sticky.MOST),
        prior=PriorDivision(replicas=sum(prior), counts=dict(zip(names, prior, strict=True))),
    )
    result = tuple(division.placements[name] for name in names)
    every = in_quota(weights, replicas)
    assert result in every
    assert moves(result, prior) == min(moves(other, prior) for other in every)


@given(
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    replicas=st.integers(0, 25),
    data=st.data(),
)
def test_sticky_seed_keeps_a_prior_in_quota_and_only_then(
    weights: list[int], replicas: int, data: st.DataObject
) -> None:
    """Rule 2 for the same clusters: the prior is kept exactly where it is one of the results in quota."""
    every = in_quota(weights, replicas)
    anything = st.tuples(*(st.integers(0, 8) for _ in weights))
    prior = data.draw(st.one_of(st.sampled_from(every), anything))
    names = NAMES[: len(weights)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas, uid="u"),
        cluster_table(names, weights=weights),
        DividePolicy(),
        prior=PriorDivision(replicas=7, counts=dict(zip(names, prior, strict=True))),
    )
    assert division.kept == (prior in every)
    if division.kept:
        assert tuple(division.placements[name] for name in names) == prior


@given(
    rows=st.lists(st.tuples(st.integers(1, 6), st.integers(0, 4), st.integers(0, 9)), min_size=1, max_size=5),
    replicas=st.integers(0, 25),
)
def test_static_within_bounds_rounds_the_fluid_share(rows: list[tuple[int, int, int]], replicas: int) -> None:
    """Against the level found by bisection over every fraction that can matter."""
    weights = [weight for weight, *_ in rows]
    lower = [least for _, least, _ in rows]
    upper = [least + more for _, least, more in rows]
    names = NAMES[: len(rows)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas, uid="u"),
        cluster_table(names, weights=weights, minimum=lower, maximum=upper),
        DividePolicy(),
    )
    if not replicas:  # scaled to none there is no minimum
        lower = [0 for _ in rows]
    if not sum(lower) <= replicas <= sum(upper):
        assert division.finding is not None
        return
    shares = fluid(weights, lower, upper, replicas)
    for name, share in zip(names, shares, strict=True):
        low = share.numerator // share.denominator
        assert division.floors[name] == low
        assert low <= division.placements[name] <= low + (share.denominator > 1)


def fluid(weights: list[int], lower: list[int], upper: list[int], replicas: int) -> list[Fraction]:
    """Shares clip(level·weight, lower, upper) that sum to the replicas, the level found segment by segment."""
    rows = list(zip(weights, lower, upper, strict=True))

    def shares(level: Fraction) -> list[Fraction]:
        return [min(max(level * weight, Fraction(low)), Fraction(high)) for weight, low, high in rows]

    marks = sorted({Fraction(bound, weight) for weight, low, high in rows for bound in (low, high)})
    before = max((mark for mark in marks if sum(shares(mark)) <= replicas), default=Fraction(0))
    after = min((mark for mark in marks if sum(shares(mark)) >= replicas), default=before)
    low_sum, high_sum = sum(shares(before)), sum(shares(after))
    if high_sum == low_sum:
        return shares(before)
    return shares(before + (after - before) * (replicas - low_sum) / (high_sum - low_sum))


@given(rooms=st.lists(st.integers(0, 9), min_size=1, max_size=6), replicas=st.integers(1, 30), packed=st.booleans())
def test_aggregated_uses_no_more_clusters_than_must_be(rooms: list[int], replicas: int, packed: bool) -> None:
    """Against every set of clusters with the room."""
    names = NAMES[: len(rooms)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas),
        cluster_table(names, capacity=rooms),
        DividePolicy(mode=Mode.AGGREGATED, packed=packed),
    )
    sizes = [
        size
        for size in range(1, len(rooms) + 1)
        if any(sum(subset) >= replicas for subset in combinations(rooms, size))
    ]
    if sizes:
        assert sum(count > 0 for count in division.placements.values()) <= min(sizes)
        assert all(division.placements[name] <= room for name, room in zip(names, rooms, strict=True))
    else:
        assert division.finding is not None


@given(rooms=st.lists(st.integers(1, 12), min_size=1, max_size=5), replicas=st.integers(0, 30))
def test_dynamic_equals_one_seat_at_a_time(rooms: list[int], replicas: int) -> None:
    """Against handing out replica after replica to the highest room/(2·seats + 1)."""
    names = NAMES[: len(rooms)]
    division = divide(
        DivideWorkload(name="web", replicas=replicas),
        cluster_table(names, capacity=rooms),
        DividePolicy(mode=Mode.DYNAMIC),
    )
    if replicas > sum(rooms):
        assert division.finding is not None
        return
    seats = [0] * len(rooms)
    for _ in range(replicas):
        turn = max(range(len(rooms)), key=lambda row: (Fraction(rooms[row], 2 * seats[row] + 1), -seats[row], -row))
        seats[turn] += 1
    assert [division.placements[name] for name in names] == seats
