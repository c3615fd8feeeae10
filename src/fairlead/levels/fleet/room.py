"""How many replicas of a workload still fit a cluster, from the sums or the grades of nodes the cluster reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PODS = "pods"
NO_ROOM = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A class of nodes: how many there are, and what each of them has free at least."""

    nodes: int
    least: Mapping[str, int]


def room_of(
    allocatable: Mapping[str, int],
    allocated: Mapping[str, int],
    allocating: Mapping[str, int],
    request: Mapping[str, int],
    grades: Sequence[Grade] = (),
) -> int:
    """The least of ⌊free/request⌋ over pods (one a replica) and every resource that is requested.

    Free is allocatable − allocated − allocating. A requested resource that is not allocatable leaves no room, and
    so does a cluster that reports no pods: as in Karmada, a summary without them promises nothing. Where the grades
    of nodes tell of every requested resource they are asked instead of the sums: free cores that are scattered
    over nodes hold no large replica. Pods count by their sum all the same.
    """
    asked = {PODS: 1, **{name: amount for name, amount in request.items() if amount and name != PODS}}
    by_grades = _on_nodes(grades, request)
    if by_grades is not None:
        asked = {PODS: 1}
    sums = max(
        NO_ROOM,
        min(
            (allocatable.get(name, 0) - allocated.get(name, 0) - allocating.get(name, 0)) // amount
            for name, amount in asked.items()
        ),
    )
    return sums if by_grades is None else min(sums, by_grades)


def _on_nodes(grades: Sequence[Grade], request: Mapping[str, int]) -> int | None:
    """Whole replicas node by node; None where a grade does not tell of a resource, or nothing is requested.

    A node counts with the least that its grade promises, so the room is never overstated.
    """
    asked = {name: amount for name, amount in request.items() if amount and name != PODS}
    if not grades or not asked or any(name not in grade.least for grade in grades for name in asked):
        return None
    return sum(
        max(0, grade.nodes) * max(0, min(grade.least[name] // amount for name, amount in asked.items()))
        for grade in grades
    )
