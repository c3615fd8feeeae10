"""The nodes of a cluster as columns: what they have, what is used, and how they are marked."""

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.model.amounts import WHOLE
from fairlead.model.columns import Bool, Int, flags, frozen, ints
from fairlead.model.selectors import Taint

ABSENT = -1
"""The code of a label that a node does not carry."""


@dataclass(frozen=True, slots=True)
class LabelColumn:
    """The values of one label key: per node a code into `values`, or ABSENT; `code_of` is the way back."""

    codes: NDArray[np.int32]
    values: tuple[str, ...]
    code_of: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "code_of", {value: code for code, value in enumerate(self.values)})

    def only(self, row: int) -> "LabelColumn":
        """The label of one node."""
        code = int(self.codes[row])
        if code == ABSENT:
            return LabelColumn(self.codes[row : row + 1], ())
        return LabelColumn(frozen(np.zeros(1, dtype=np.int32)), (self.values[code],))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """One row a node, in the order given. Amounts are in the unit of their resource.

    `pods` is a resource like the others: a replica takes one of it.
    """

    names: tuple[str, ...]
    resources: tuple[str, ...]
    allocatable: Int
    used: Int
    labels: Mapping[str, LabelColumn]
    taint_profile: Int
    taint_profiles: tuple[tuple[Taint, ...], ...]
    unschedulable: Bool
    features: tuple[tuple[str, ...], ...]
    """What each node declares that it can do."""
    rows: Mapping[str, int] = field(repr=False)

    @property
    def free(self) -> Int:
        """What is left, never below zero (a node may be over-committed)."""
        left: Int = np.maximum(self.allocatable - self.used, 0)
        return left

    def column(self, resource: str) -> int | None:
        """The place of a resource, None where no node has it."""
        return self.resources.index(resource) if resource in self.resources else None

    def only(self, row: int) -> "NodeState":
        """The same with one node, so that a question about it costs nothing for the others."""
        here, name = slice(row, row + 1), self.names[row]
        return NodeState(
            names=(name,),
            resources=self.resources,
            allocatable=self.allocatable[here],
            used=self.used[here],
            labels={key: column.only(row) for key, column in self.labels.items()},
            taint_profile=ints([0]),
            taint_profiles=(self.taint_profiles[int(self.taint_profile[row])],),
            unschedulable=self.unschedulable[here],
            features=self.features[here],
            rows={name: 0},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRecord:
    """One node as it is read, before it becomes a row."""

    name: str
    allocatable: Mapping[str, int]
    used: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    features: tuple[str, ...] = ()


def node_state(records: Sequence[NodeRecord]) -> NodeState:
    """The records as columns. Resources and taint profiles are in order of name, so that nothing depends on order."""
    resources = tuple(sorted({name for record in records for name in (*record.allocatable, *record.used)}))
    profiles = tuple(sorted({record.taints for record in records}, key=repr))
    profile_of = {profile: code for code, profile in enumerate(profiles)}
    return NodeState(
        names=tuple(record.name for record in records),
        resources=resources,
        allocatable=_matrix([record.allocatable for record in records], resources),
        used=_matrix([record.used for record in records], resources),
        labels=_label_columns(records),
        taint_profile=ints([profile_of[record.taints] for record in records]),
        taint_profiles=profiles,
        unschedulable=flags([record.unschedulable for record in records]),
        features=tuple(record.features for record in records),
        rows={record.name: row for row, record in enumerate(records)},
    )


def _matrix(lists: Sequence[Mapping[str, int]], resources: tuple[str, ...]) -> Int:
    if not lists:
        return ints(np.empty((0, len(resources))))
    rows = [[min(each.get(name, 0), WHOLE) for name in resources] for each in lists]
    return ints(rows).reshape(len(lists), len(resources))


def _label_columns(records: Sequence[NodeRecord]) -> dict[str, LabelColumn]:
    codes: dict[str, NDArray[np.int32]] = {}
    values: dict[str, dict[str, int]] = {}
    for row, record in enumerate(records):
        for key, value in record.labels.items():
            if key not in codes:
                codes[key] = np.full(len(records), ABSENT, dtype=np.int32)
                values[key] = {}
            codes[key][row] = values[key].setdefault(value, len(values[key]))
    return {key: LabelColumn(frozen(column), tuple(values[key])) for key, column in codes.items()}
