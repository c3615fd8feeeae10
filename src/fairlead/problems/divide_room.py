"""What a cluster reports of its resources in the JSON of `fairlead divide`, and the room that leaves for a workload."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from fairlead.levels.fleet.room import Grade, room_of
from fairlead.model.amounts import Quantity, amount, amounts

MOST = 2**48
"""More replicas than this are refused (a request) or mean "no limit" (room, maximum): sums of them stay exact."""

Count = Annotated[int, Meta(ge=0, le=MOST)]


class _Strict(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A part of a problem."""


class RangeIn(_Strict, kw_only=True, frozen=True):
    """What a node of a grade has free of one resource."""

    name: str
    min: Quantity
    max: Quantity | None = None


class GradeIn(_Strict, kw_only=True, frozen=True):
    """A grade of nodes."""

    grade: Count
    ranges: list[RangeIn]


class ModelingIn(_Strict, kw_only=True, frozen=True):
    """How many nodes of a grade there are."""

    grade: Count
    count: Count = 0


class SummaryIn(_Strict, kw_only=True, frozen=True):
    """Amounts of a whole cluster, from which its room for the workload's request is reckoned."""

    allocatable: dict[str, Quantity] = {}
    allocated: dict[str, Quantity] = {}
    allocating: dict[str, Quantity] = {}
    allocatable_modelings: list[ModelingIn] = []


def room(summary: SummaryIn, models: Sequence[GradeIn], request: Mapping[str, int], path: str) -> int:
    """The replicas that still fit a cluster; `path` is the cluster's place in the problem."""
    sums = f"{path}.resourceSummary"
    counts = {each.grade: each.count for each in summary.allocatable_modelings}
    return room_of(
        amounts(summary.allocatable, f"{sums}.allocatable"),
        amounts(summary.allocated, f"{sums}.allocated"),
        amounts(summary.allocating, f"{sums}.allocating"),
        request,
        [_grade(each, counts, f"{path}.resourceModels[{row}]") for row, each in enumerate(models) if counts],
    )


def _grade(given: GradeIn, counts: Mapping[int, int], path: str) -> Grade:
    least = {
        each.name: amount(each.name, each.min, f"{path}.ranges[{row}].min") for row, each in enumerate(given.ranges)
    }
    return Grade(nodes=counts.get(given.grade, 0), least=least)
