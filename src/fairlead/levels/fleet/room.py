"""How many replicas of a workload still fit a cluster, and whether a whole set of components does.

From the sums or the grades of nodes the cluster reports.
"""

from collections.abc import Iterable, Mapping, Sequence

from fairlead.dataclass import dataclass

PODS = "pods"
NO_ROOM = 0
Nodes = list[tuple[int, Mapping[str, int]]]
"""How many nodes are alike, and what each has free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """A class of nodes: how many there are, and what each of them has free at least."""

    nodes: int
    least: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One component of a set: its replicas, and what each of them asks for besides its pod."""

    replicas: int
    request: Mapping[str, int]


def sum_of(parts: Iterable[Part]) -> dict[str, int]:
    """What a whole set asks for, pods included."""
    total: dict[str, int] = {}
    for part in parts:
        for name, amount in {PODS: 1, **part.request}.items():
            total[name] = total.get(name, 0) + amount * part.replicas
    return total


def holds_set(grades: Sequence[Grade], parts: Sequence[Part]) -> bool:
    """Whether nodes of these grades hold all parts together, each node with the least of its grade.

    True where the grades do not tell of every requested resource. The part that fewest nodes can hold comes first, each
    on the first nodes with room: a set that is let in fits; one that only a cleverer packing fits is kept out.
    """
    names = {name for part in parts for name in _asked(part.request)}
    if not grades or not names or any(name not in grade.least for grade in grades for name in names):
        return True
    nodes: Nodes = [(grade.nodes, grade.least) for grade in grades if grade.nodes > 0]

    def able(part: Part) -> int:
        return sum(count for count, free in nodes if _whole_replicas(free, part))

    free = nodes
    for part in sorted(parts, key=able):
        free, left = _first_fit(free, part)
        if left:
            return False
    return True


def _first_fit(nodes: Nodes, part: Part) -> tuple[Nodes, int]:
    """The nodes after as much of the part as fits, and how many replicas are left."""
    after: Nodes = []
    left = part.replicas
    for count, free in nodes:
        most = _whole_replicas(free, part)
        full = min(count, left // most) if most else 0
        last = left - full * most if full < count and most else 0
        left -= full * most + last
        after += [(full, _without(free, part, most)), (int(last > 0), _without(free, part, last))]
        after.append((count - full - int(last > 0), free))
    return [each for each in after if each[0]], left


def _whole_replicas(free: Mapping[str, int], part: Part) -> int:
    return max(0, min((free[name] // amount for name, amount in _asked(part.request).items()), default=part.replicas))


def _without(free: Mapping[str, int], part: Part, replicas: int) -> dict[str, int]:
    return {name: amount - replicas * part.request.get(name, 0) for name, amount in free.items()}


def _asked(request: Mapping[str, int]) -> dict[str, int]:
    """What is asked for besides pods."""
    return {name: amount for name, amount in request.items() if amount and name != PODS}


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
    asked = {PODS: 1, **_asked(request)}
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
    asked = _asked(request)
    if not grades or not asked or any(name not in grade.least for grade in grades for name in asked):
        return None
    return sum(
        max(0, grade.nodes) * max(0, min(grade.least[name] // amount for name, amount in asked.items()))
        for grade in grades
    )
