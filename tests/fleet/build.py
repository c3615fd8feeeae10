"""Short ways to write fleet problems in tests."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction

from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.clusters import ClusterTable, cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, DivisionAsk, Mode, PriorDivision, Sticky

MEMBERS = ("member1", "member2", "member3", "member4")


def ones(names: Iterable[str]) -> dict[str, int]:
    """Weight 1 for each."""
    return dict.fromkeys(names, 1)


def table(weights: Mapping[str, int], capacity: Mapping[str, int] | None = None) -> ClusterTable:
    """Clusters with these weights and this room."""
    return cluster_table(
        list(weights),
        weights=list(weights.values()),
        capacity=None if capacity is None else [capacity[name] for name in weights],
    )


def prior_of(
    counts: Mapping[str, int],
    weights: Mapping[str, int] | None = None,
    *,
    replicas: int | None = None,
    mode: Mode = Mode.STATIC,
) -> PriorDivision:
    """A last result; its replicas are the sum unless given."""
    return PriorDivision(
        mode=mode,
        replicas=sum(counts.values()) if replicas is None else replicas,
        weights=ones(counts) if weights is None else weights,
        counts=counts,
    )


def static(
    replicas: int,
    weights: Mapping[str, int],
    *,
    prior: PriorDivision | None = None,
    uid: str = "u",
    capacity: Mapping[str, int] | None = None,
    coefficient: Fraction | None = None,
    sticky: Sticky = Sticky.SEED,
) -> Division:
    """One static division."""
    return divide(
        DivideWorkload(name="web", replicas=replicas, uid=uid),
        table(weights, capacity),
        DividePolicy(sticky=sticky, coefficient=coefficient),
        prior=prior,
    )


def outcomes(
    replicas: int,
    weights: Mapping[str, int],
    *,
    prior: PriorDivision | None = None,
    capacity: Mapping[str, int] | None = None,
    coefficient: Fraction | None = None,
    sticky: Sticky = Sticky.SEED,
    objects: int = 400,
) -> Counter[tuple[int, ...]]:
    """How often each result comes out over many objects."""
    clusters = table(weights, capacity)
    policy = DividePolicy(sticky=sticky, coefficient=coefficient)
    asks = [
        DivisionAsk(
            workload=DivideWorkload(name="web", replicas=replicas, uid=f"uid-{number}"),
            clusters=clusters,
            policy=policy,
            prior=prior,
        )
        for number in range(objects)
    ]
    return Counter(tuple(division.placements[name] for name in weights) for division in divide_all(asks))


def chi_square(observed: Iterable[int], expected: Iterable[float]) -> float:
    """Pearson's statistic."""
    return sum((seen - wanted) ** 2 / wanted for seen, wanted in zip(observed, expected, strict=True))
