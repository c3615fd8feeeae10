"""How many replicas of a request fit each node, by resource, and which resource binds.

Nodes in the same state are computed once. A request of 0 limits nothing.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node import cores, reasons, volumes
from fairlead.levels.node.constraints.reasons import FILTERS
from fairlead.levels.node.numa import numa_pins
from fairlead.levels.node.oversold import MOST_SLOTS
from fairlead.levels.node.request import NodeRequest
from fairlead.model.amounts import CPU, MEMORY
from fairlead.model.columns import Int, frozen
from fairlead.model.errors import InputError
from fairlead.model.nodes import UNLIMITED, Room
from fairlead.model.reasons import Reason

CORES, VOLUMES, STORAGE, PODS, GIVEN = "cores", "volumes", "storage", "pods", "given"

T = TypeVar("T")

_REASONS = {
    CPU: reasons.INSUFFICIENT_CPU,
    CORES: reasons.INSUFFICIENT_CORES,
    MEMORY: reasons.INSUFFICIENT_MEMORY,
    STORAGE: reasons.INSUFFICIENT_STORAGE,
    "ephemeral-storage": reasons.INSUFFICIENT_STORAGE,
    VOLUMES: reasons.INSUFFICIENT_VOLUMES,
    PODS: reasons.INSUFFICIENT_PODS,
    GIVEN: reasons.NO_CAPACITY,
}


_FILTERS = {reason.code: reason for reason in FILTERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """`limits[resource]` is a column of replicas by that resource alone (`UNLIMITED` where it does not limit).

    `upper` is above `capacity` only on nodes where packing mixed volumes gave up searching.
    """

    rooms: tuple[Room, ...]
    request: NodeRequest
    limits: Mapping[str, Int]
    capacity: Int
    upper: Int

    def binding(self, row: int) -> str | None:
        """The resource that limits this node, the first of those equally tight; None where nothing does."""
        if self.capacity[row] == UNLIMITED:
            return None
        return next(name for name, column in self.limits.items() if column[row] == self.capacity[row])


def reason_of(resource: str) -> Reason:
    """The reason of a node that has none left of `resource`, or that a filter of this code has ruled out."""
    if resource in _FILTERS:
        return _FILTERS[resource]
    return _REASONS.get(resource, reasons.INSUFFICIENT_RESOURCE)


def fit(rooms: Sequence[Room], request: NodeRequest, barred: Sequence[Reason | None] = ()) -> Fit:
    """The capacities of the nodes for one request.

    `barred` has a reason for each node that a filter of the caller has ruled out, and None for the others.
    """
    limits: dict[str, Int] = {}
    for reason in sorted({each for each in barred if each is not None}, key=lambda each: each.code):
        limits[reason.code] = _column([0 if each is reason else UNLIMITED for each in barred])
    if any(room.capacity is not None for room in rooms):
        limits[GIVEN] = _column([UNLIMITED if room.capacity is None else room.capacity for room in rooms])
    bounded = [room for room in rooms if not room.bare]
    by_resource, upper = _by_resource(bounded, request)
    if len(bounded) < len(rooms):
        # What a node does not tell about itself cannot be weighed: its given capacity stands.
        rows = np.flatnonzero([not room.bare for room in rooms])
        by_resource = {name: _spread(column, rows, len(rooms)) for name, column in by_resource.items()}
        upper = {name: _spread(column, rows, len(rooms)) for name, column in upper.items()}
    return Fit(
        rooms=tuple(rooms),
        request=request,
        limits=limits | by_resource,
        capacity=_least(limits | by_resource, len(rooms)),
        upper=_least(limits | by_resource | upper, len(rooms)),
    )


def _spread(column: Int, rows: Int, length: int) -> Int:
    """The column at these rows of a longer one, unlimited elsewhere."""
    result = np.full(length, UNLIMITED, dtype=np.int64)
    result[rows] = column
    return frozen(result)


def _by_resource(rooms: Sequence[Room], request: NodeRequest) -> tuple[dict[str, Int], dict[str, Int]]:
    """What each resource allows, and upper bounds of those that are not exact."""
    limits: dict[str, Int] = {}
    upper: dict[str, Int] = {}
    for name, amount in request.amounts.items():
        if amount and name not in (CPU, STORAGE):
            limits[name] = _divided(rooms, name, amount, absent=0)
    # A node's storage is the sum of its volumes and what else it stores, so chosen volumes are charged to it as well.
    stored = request.amounts.get(STORAGE, 0)
    charged = stored + sum(mount.size_bytes for mount in request.automatic)
    if charged:
        limits[STORAGE] = _divided(rooms, STORAGE, charged, absent=0 if stored else UNLIMITED)
    if any(PODS in room.free for room in rooms):
        limits[PODS] = _divided(rooms, PODS, 1, absent=UNLIMITED)
    if request.cpu_milli:
        limits[CPU] = _unbound(rooms, request.cpu_milli)
    if request.pieces:
        limits[CORES] = _bound(rooms, request)
    if request.automatic:
        found = _once(rooms, _volume_state, lambda room: volumes.capacity(room.volumes, request.automatic))
        limits[VOLUMES] = _column([each.replicas for each in found])
        upper[VOLUMES] = _column([each.most for each in found])
    return limits, upper


def _least(limits: Mapping[str, Int], rows: int) -> Int:
    return frozen(np.minimum.reduce([np.full(rows, UNLIMITED, dtype=np.int64), *limits.values()]))


def _column(values: list[int]) -> Int:
    return frozen(np.array(values, dtype=np.int64))


def _divided(rooms: Sequence[Room], name: str, amount: int, *, absent: int) -> Int:
    """Whole replicas by one divisible resource; what a node does not name makes `absent` replicas."""
    return _column([room.free[name] // amount if name in room.free else absent for room in rooms])


def _unbound(rooms: Sequence[Room], milli: int) -> Int:
    """Cpu that is not bound: counted where the node gives a quantity; with cores (period and quota), a replica may use
    all of them but not more than there are."""
    return _column(
        [
            room.free[CPU] // milli
            if CPU in room.free
            else UNLIMITED
            if room.cores is None or milli <= 1000 * len(room.cores)
            else 0
            for room in rooms
        ]
    )


def _bound(rooms: Sequence[Room], request: NodeRequest) -> Int:
    free = _matrix(rooms)
    _check(rooms, free, request)
    result = cores.capacity(free, request.pieces, request.share_base, request.max_share)
    zoned = [row for row, room in enumerate(rooms) if room.numa]
    found = _once([rooms[row] for row in zoned], _numa_state, lambda room: len(numa_pins(room, request)))
    for row, replicas in zip(zoned, found, strict=True):
        result[row] = replicas
    return frozen(result)


def _matrix(rooms: Sequence[Room]) -> Int:
    """Free pieces, nodes × cores; the order of the cores does not matter here."""
    width = max((len(room.cores or ()) for room in rooms), default=0)
    padding = [cores.ABSENT] * width
    rows = [[*(room.cores or {}).values(), *padding][:width] for room in rooms]
    return np.array(rows, dtype=np.int64).reshape(len(rooms), width)


def _check(rooms: Sequence[Room], free: Int, request: NodeRequest) -> None:
    """Refuse what would take memory without end, and a limit that the node is above already."""
    if free.max(initial=0) > MOST_SLOTS * request.share_base:
        row = int(np.argmax(free.max(axis=1)))
        raise InputError(
            "$.nodes",
            f"a core of {rooms[row].name} has {int(free[row].max())} free pieces; "
            f"expected at most {MOST_SLOTS} times the share base of {request.share_base}",
        )
    if request.max_share is None or not request.pieces % request.share_base:
        return
    shared = cores.fragment_cores(free, request.share_base)
    for row in np.flatnonzero(shared > request.max_share)[:1].tolist():
        raise InputError(
            "$.request.maxShare",
            f"is {request.max_share}, but {int(shared[row])} cores of {rooms[row].name} are shared already; "
            "expected no less than that, or -1 for no limit",
        )


def _once(rooms: Sequence[Room], state: Callable[[Room], Hashable], compute: Callable[[Room], T]) -> list[T]:
    """`compute` for every node, called once for nodes in the same state."""
    known: dict[Hashable, T] = {}
    result = []
    for room in rooms:
        key = state(room)
        if key not in known:
            known[key] = compute(room)
        result.append(known[key])
    return result


def _volume_state(room: Room) -> Hashable:
    return tuple(sorted((volume.free_bytes, volume.total_bytes) for volume in room.volumes.values()))


def _numa_state(room: Room) -> Hashable:
    return (
        tuple(sorted((room.cores or {}).items())),
        tuple(sorted(room.numa.items())),
        tuple(sorted(room.numa_memory_bytes.items())),
        room.free.get(MEMORY),
    )
