"""Manifests for `fairlead place`: nodes and pods to a problem of the verb."""

from typing import TYPE_CHECKING

from fairlead.model.amounts import CPU, MEMORY
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.kube.manifests.node import PlaceManifests
    from fairlead.problems.place import PlaceProblem
    from fairlead.problems.rooms import NodeInput

_OWN_FIELDS = (CPU, MEMORY, "storage", "pods")


def problem_of(
    found: "Catalogue",
    *,
    workload: str,
    request: dict[str, int] | None,
    strategy: str | None,
    count: int | None,
    limit: int,
    partial: bool,
) -> "PlaceProblem":
    """The problem that the objects and the options pose.

    Without `count` as many replicas are placed as the workload still lacks.
    """
    from fairlead.kube.manifests.node import place_manifests
    from fairlead.problems.place import PlaceProblem
    from fairlead.problems.rooms import RequestSpec

    given = place_manifests(found, workload=workload, request=request)
    asked = {name: value for name, value in given.shape.request if name != "pods"}
    wanted = count if count is not None else given.need
    if not wanted:
        raise InputError("--count", "all replicas of the workload run already; expected how many more to place")
    return PlaceProblem(
        strategy=strategy or given.strategy,
        count=wanted,
        nodes_limit=limit,
        partial=partial,
        request=RequestSpec(
            cpu=f"{asked.get(CPU, 0)}m",
            memory=asked.get(MEMORY, 0),
            extended={name: value for name, value in asked.items() if name not in _OWN_FIELDS},
        ),
        nodes=_nodes(given),
    )


def _nodes(given: "PlaceManifests") -> list["NodeInput"]:
    """One node a row: what is free of each resource, and the filter that rules it out."""
    from fairlead.levels.node.constraints.feasible import Constraints
    from fairlead.levels.node.constraints.reasons import FILTERS, NO_ROOM
    from fairlead.problems.rooms import NodeInput

    state = given.state
    constraints = Constraints(state, given.shape)
    if not constraints.independent:
        raise InputError("", "the replica has rules about its neighbours (ports, affinity, spread); use fairlead plan")
    # Room is judged from the amounts below, so only what comes before it in the order of filters rules a node out.
    filters = FILTERS[: FILTERS.index(NO_ROOM)]
    codes = constraints.codes().tolist()
    result = []
    for row, name in enumerate(state.names):
        free = dict(zip(state.resources, state.free[row].tolist(), strict=True))
        total = dict(zip(state.resources, state.allocatable[row].tolist(), strict=True))
        total_cpu = {CPU: f"{total.pop(CPU)}m"} if CPU in total else {}
        code = codes[row]
        result.append(
            NodeInput(
                name=name,
                count=given.running.get(name, 0),
                cpu=f"{free.get(CPU, 0)}m",
                memory=free.get(MEMORY, 0),
                pods=free.get("pods"),
                extended={each: value for each, value in free.items() if each not in _OWN_FIELDS},
                total=total_cpu | total,
                excluded=filters[code - 1].code if 0 < code <= len(filters) else None,
            )
        )
    return result
