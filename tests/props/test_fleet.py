"""What holds for every division, whatever the input."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.clusters import NO_LIMIT, UNKNOWN, ClusterTable, cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, DivisionAsk, Mode, PriorDivision, Reschedule, Sticky

NAMES = tuple(f"c{number}" for number in range(1, 12))


@st.composite
def tables(draw: st.DrawFn, *, bounded: bool = True, most_weight: int = 9) -> ClusterTable:
    """Up to eight clusters, some of weight 0 or huge, some without reported room, some with bounds."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
    minimums = [draw(st.integers(0, 3)) if bounded else 0 for _ in names]
    return cluster_table(
        names,
        weights=[draw(st.one_of(st.integers(0, most_weight), st.just(2**61))) for _ in names],
        capacity=[draw(st.sampled_from((UNKNOWN, 0, 1, 5, 30))) for _ in names],
        minimum=minimums,
        maximum=[
            least + draw(st.integers(0, 20)) if bounded and draw(st.booleans()) else NO_LIMIT for least in minimums
        ],
    )


@st.composite
def priors(draw: st.DrawFn) -> PriorDivision | None:
    """A last result over some clusters, not necessarily a sound one."""
    if draw(st.booleans()):
        return None
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=8, unique=True))
    return PriorDivision(
        mode=draw(st.sampled_from((Mode.STATIC, Mode.STATIC, Mode.DUPLICATED))),
        replicas=draw(st.integers(0, 40)),
        weights={name: draw(st.integers(0, 5)) for name in names},
        counts={name: draw(st.integers(0, 8)) for name in names},
    )


POLICIES = st.builds(
    DividePolicy,
    mode=st.sampled_from(Mode),
    sticky=st.sampled_from(Sticky),
    coefficient=st.sampled_from((None, Fraction(0), Fraction(1, 3), Fraction(1))),
    reschedule=st.sampled_from((Reschedule.STEADY, Reschedule.FRESH)),
    respect_room=st.booleans(),
    partial=st.booleans(),
    packed=st.booleans(),
)
WORKLOADS = st.builds(
    DivideWorkload, name=st.just("web"), replicas=st.integers(0, 60), uid=st.sampled_from(("u1", "u2", "u3"))
)


def counts_of(division: Division, clusters: ClusterTable) -> list[int]:
    """The placements in the order of the table."""
    return [division.placements[name] for name in clusters.names]


@given(workload=WORKLOADS, clusters=tables(), policy=POLICIES, prior=priors())
def test_division_places_all_within_bounds_or_says_why(
    workload: DivideWorkload, clusters: ClusterTable, policy: DividePolicy, prior: PriorDivision | None
) -> None:
    """placed + unplaced is what was asked, nobody leaves its bounds, and whatever is unplaced has a reason."""
    division = divide(workload, clusters, policy, prior=prior)
    counts = counts_of(division, clusters)
    asked = workload.replicas * (len(clusters) if policy.mode is Mode.DUPLICATED else 1)
    assert sum(counts) + division.unplaced == asked
    assert (division.unplaced > 0) <= (division.finding is not None)
    assert min(counts) >= 0
    if division.finding is None:
        held = [prior.counts.get(name, 0) if prior else 0 for name in clusters.names]
        for row, count in enumerate(counts):
            if policy.mode is not Mode.DUPLICATED:
                assert count >= clusters.minimum[row]
            assert count <= clusters.maximum[row]
            if policy.needs_room and clusters.capacity[row] >= 0:
                assert count <= clusters.capacity[row] + held[row]
            if policy.mode in (Mode.STATIC, Mode.WEBSTER) and clusters.weights[row] == 0:
                assert count == clusters.minimum[row]


@given(workload=WORKLOADS, clusters=tables(bounded=False), prior=priors(), sticky=st.sampled_from(Sticky))
def test_static_division_stays_between_floor_and_ceiling(
    workload: DivideWorkload, clusters: ClusterTable, prior: PriorDivision | None, sticky: Sticky
) -> None:
    """Every count is its floor or one more, and whole quotas get exactly their floor."""
    division = divide(workload, clusters, DividePolicy(sticky=sticky), prior=prior)
    total = sum(clusters.weights.tolist())
    if total:
        for name, weight, count in zip(clusters.names, clusters.weights, counts_of(division, clusters), strict=True):
            quota = Fraction(int(weight) * workload.replicas, total)
            assert division.floors[name] == quota.numerator // quota.denominator
            assert count - division.floors[name] in ((0,) if quota.denominator == 1 else (0, 1))


@given(workload=WORKLOADS, clusters=tables(), policy=POLICIES, prior=priors(), order=st.permutations(range(8)))
def test_division_does_not_depend_on_the_order_of_clusters(
    workload: DivideWorkload,
    clusters: ClusterTable,
    policy: DividePolicy,
    prior: PriorDivision | None,
    order: list[int],
) -> None:
    """Rows in another order, the same placements."""
    rows = [row for row in order if row < len(clusters)]
    turned = cluster_table(
        [clusters.names[row] for row in rows],
        weights=[int(clusters.weights[row]) for row in rows],
        capacity=[int(clusters.capacity[row]) for row in rows],
        minimum=[int(clusters.minimum[row]) for row in rows],
        maximum=[int(clusters.maximum[row]) for row in rows],
    )
    first = divide(workload, clusters, policy, prior=prior)
    second = divide(workload, turned, policy, prior=prior)
    assert dict(first.placements) == dict(second.placements)
    assert first.kept == second.kept


@given(workload=WORKLOADS, clusters=tables(bounded=False), sticky=st.sampled_from((Sticky.SEED, Sticky.MOST)))
def test_static_division_of_its_own_result_moves_nothing(
    workload: DivideWorkload, clusters: ClusterTable, sticky: Sticky
) -> None:
    """What was decided once is kept when nothing changes."""
    policy = DividePolicy(sticky=sticky)
    first = divide(workload, clusters, policy)
    if first.finding is None:
        prior = PriorDivision(
            replicas=workload.replicas,
            weights={name: int(weight) for name, weight in zip(clusters.names, clusters.weights, strict=True)},
            counts=dict(first.placements),
        )
        again = divide(
            DivideWorkload(name="web", replicas=workload.replicas, uid="other"), clusters, policy, prior=prior
        )
        assert dict(again.placements) == dict(first.placements)
        assert again.kept
        assert again.trace.draws == ()


@given(clusters=tables(bounded=False, most_weight=4), replicas=st.integers(0, 40), uid=st.sampled_from(("u1", "u2")))
def test_webster_never_takes_from_a_cluster_on_the_way_up(clusters: ClusterTable, replicas: int, uid: str) -> None:
    """One replica more changes one cluster by one."""
    policy = DividePolicy(mode=Mode.WEBSTER)
    before, after = (
        divide(DivideWorkload(name="web", replicas=count, tie_uid=uid), clusters, policy)
        for count in (replicas, replicas + 1)
    )
    if after.finding is None:
        steps = [after.placements[name] - before.placements[name] for name in clusters.names]
        assert sorted(steps)[:-1] == [0] * (len(clusters) - 1)
        assert sum(steps) == 1


@given(st.lists(st.tuples(WORKLOADS, tables(bounded=False), POLICIES, priors()), min_size=1, max_size=6))
def test_divisions_together_equal_divisions_alone(
    asked: list[tuple[DivideWorkload, ClusterTable, DividePolicy, PriorDivision | None]],
) -> None:
    """The matrix form gives row for row what `divide` gives."""
    asks = [
        DivisionAsk(workload=workload, clusters=clusters, policy=policy, prior=prior)
        for workload, clusters, policy, prior in [*asked, *asked]
    ]
    for ask, division in zip(asks, divide_all(asks), strict=True):
        alone = divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
        assert dict(division.placements) == dict(alone.placements)
        assert (division.kept, division.unplaced, division.residual) == (alone.kept, alone.unplaced, alone.residual)
        assert (division.rule, dict(division.floors)) == (alone.rule, dict(alone.floors))
