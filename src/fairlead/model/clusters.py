"""The clusters of a fleet as a table, and what choosing among them looks at."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.columns import Int, distinct, frozen, ints
from fairlead.model.errors import InputError
from fairlead.model.order import natural_rank
from fairlead.model.reasons import Reason
from fairlead.model.selectors import Taint

UNKNOWN = -1
"""The capacity of a cluster that does not report its room."""
NO_LIMIT = 2**62
"""The maximum of a cluster that has none. Weights and amounts stay below it, so that sums of two fit int64."""

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a policy may ask of a cluster. A cluster may cover several zones.

    `barred` is why nothing new of the workload may come, where there is a reason; what is there stays. `unknown`: the
    cluster cannot be read, so whatever stands there stays and nothing comes.
    """

    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    region: str = ""
    zones: tuple[str, ...] = ()
    provider: str = ""
    taints: tuple[Taint, ...] = ()
    deleting: bool = False
    evicting: bool = False
    barred: Reason | None = None
    unknown: bool = False


NO_TRAITS = Traits()


@dataclass(frozen=True, kw_only=True)
class ClusterTable:
    """Clusters in one row order; the order never changes an answer.

    `weights` ≥ 0; `capacity` is the number of whole replicas of the workload that still fit beside those already
    there (`UNKNOWN`: not reported); `minimum` and `maximum` bound the replicas of the workload in the cluster;
    `initial` are seats held before Webster's rule begins; `score` is a preference from outside, higher first.
    """

    names: tuple[str, ...]
    weights: Int
    capacity: Int
    minimum: Int
    maximum: Int
    initial: Int
    score: Int
    traits: tuple[Traits, ...] = field(default=())

    def __post_init__(self) -> None:
        distinct(self.names, "$.clusters")
        for column in (self.weights, self.capacity, self.minimum, self.maximum, self.initial, self.score):
            if len(column) != len(self.names):
                raise InputError("$.clusters", f"a column has {len(column)} rows; expected {len(self.names)}")
        if self.traits and len(self.traits) != len(self.names):
            raise InputError("$.clusters", f"traits of {len(self.traits)} clusters; expected {len(self.names)}")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def rank(self) -> Int:
        """The place of each name in natural order; decides ties that nothing else decides."""
        return frozen(natural_rank(self.names))

    @cached_property
    def text_rank(self) -> Int:
        """The place of each name in plain text order, by which Karmada breaks ties."""
        order = sorted(range(len(self)), key=self.names.__getitem__)
        rank = np.empty(len(self), dtype=np.int64)
        rank[order] = np.arange(len(self))
        return frozen(rank)

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Name to row."""
        return MappingProxyType({name: row for row, name in enumerate(self.names)})

    @cached_property
    def bounded(self) -> bool:
        """Whether any cluster has a minimum or a maximum."""
        return bool(self.minimum.any() or (self.maximum < NO_LIMIT).any())

    @cached_property
    def reports_room(self) -> bool:
        """Whether every cluster reports its room."""
        return bool(len(self) and (self.capacity >= 0).all())

    def traits_of(self, row: int) -> Traits:
        """The traits of a row; none where the table carries none."""
        return self.traits[row] if self.traits else NO_TRAITS

    def take(self, rows: Int) -> "ClusterTable":
        """The table of these rows."""
        picked = rows.tolist()
        return ClusterTable(
            names=tuple(self.names[row] for row in picked),
            weights=frozen(self.weights[rows]),
            capacity=frozen(self.capacity[rows]),
            minimum=frozen(self.minimum[rows]),
            maximum=frozen(self.maximum[rows]),
            initial=frozen(self.initial[rows]),
            score=frozen(self.score[rows]),
            traits=tuple(self.traits[row] for row in picked) if self.traits else (),
        )


def cluster_table(
    names: Sequence[str],
    *,
    weights: Sequence[int] | None = None,
    capacity: Sequence[int] | None = None,
    minimum: Sequence[int] | None = None,
    maximum: Sequence[int] | None = None,
    initial: Sequence[int] | None = None,
    score: Sequence[int] | None = None,
    traits: Sequence[Traits] = (),
) -> ClusterTable:
    """A table from plain sequences; a column left out has its default in every row (weight 1, room unknown)."""
    rows = len(names)

    def column(values: Sequence[int] | None, default: int) -> Int:
        return ints([default] * rows if values is None else values)

    return ClusterTable(
        names=tuple(names),
        weights=column(weights, 1),
        capacity=column(capacity, UNKNOWN),
        minimum=column(minimum, 0),
        maximum=column(maximum, NO_LIMIT),
        initial=column(initial, 0),
        score=column(score, 0),
        traits=tuple(traits),
    )
