"""How many replicas of a workload still fit a cluster, from the sums the cluster reports."""

from collections.abc import Mapping

PODS = "pods"
NO_ROOM = 0


def room_of(
    allocatable: Mapping[str, int],
    allocated: Mapping[str, int],
    allocating: Mapping[str, int],
    request: Mapping[str, int],
) -> int:
    """The least of ⌊free/request⌋ over pods (one a replica) and every resource that is requested.

    Free is allocatable − allocated − allocating. A requested resource that is not allocatable leaves no room, and
    so does a cluster that reports no pods: as in Karmada, a summary without them promises nothing.
    """
    asked = {PODS: 1, **{name: amount for name, amount in request.items() if amount and name != PODS}}
    return max(
        NO_ROOM,
        min(
            (allocatable.get(name, 0) - allocated.get(name, 0) - allocating.get(name, 0)) // amount
            for name, amount in asked.items()
        ),
    )
