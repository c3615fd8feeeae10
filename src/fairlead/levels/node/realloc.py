"""Growing or shrinking a replica that is pinned: it keeps its cores, its NUMA node and its volumes where it can."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.levels.node import reasons
from fairlead.levels.node.capacity import CORES, reason_of
from fairlead.levels.node.corepins import Cores
from fairlead.levels.node.keepvolumes import kept_volumes
from fairlead.levels.node.pins import ReplicaPin
from fairlead.levels.node.request import NodeRequest
from fairlead.model.amounts import MEMORY
from fairlead.model.decision import Decision, Trace
from fairlead.model.nodes import Room
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import because


@dataclass(frozen=True, slots=True, kw_only=True)
class Current:
    """What the replica holds now, in the units of `Room`; `mounts` maps a mount's text to its volume and bytes."""

    cores: Mapping[str, int] = field(default_factory=dict)
    numa: str | None = None
    amounts: Mapping[str, int] = field(default_factory=dict)
    mounts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize(Decision):
    """`pin` is what the replica holds afterwards, None where the new size does not fit."""

    node: str
    current: Current
    pin: ReplicaPin | None


def resize(room: Room, request: NodeRequest, current: Current) -> Resize:
    """The replica at its new size on its own node; `room` does not count what it holds.

    Cores: as many pieces as can be stay on the cores they are on. A replica inside one NUMA node stays in it if it fits
    there, else it may move to another, else it spans several. Volumes stay where they are or the resize fails: data
    does not move.
    """
    lacking = [
        name
        for name, amount in request.amounts.items()
        if name in room.free and amount > room.free[name] + current.amounts.get(name, 0)
    ]
    found = _cores(room, request, current) if request.pieces else ({}, None)
    mounts = kept_volumes(room.volumes, request.automatic, current.mounts)
    if found is None:
        lacking.append(CORES)
    if mounts is None:
        lacking.append("volumes")
    if lacking or found is None or mounts is None:
        where = f"on {room.name} {reason_of(lacking[0]).sentence}"
        finding = because(reasons.INSUFFICIENT_CAPACITY, missing=1, wanted=1, where=where)
        return Resize(
            placements={},
            unplaced=1,
            finding=finding,
            trace=Trace(considered=1),
            node=room.name,
            current=current,
            pin=None,
        )
    cores, zone = found
    pin = ReplicaPin(cores=cores, mounts=mounts, numa=zone)
    return Resize(
        placements={room.name: 1},
        trace=Trace(considered=1, kept=_kept(pin, current)),
        node=room.name,
        current=current,
        pin=pin,
    )


def _kept(pin: ReplicaPin, current: Current) -> dict[str, int]:
    kept = {f"core {core}": min(pieces, current.cores.get(core, 0)) for core, pieces in pin.cores.items()}
    return {core: pieces for core, pieces in kept.items() if pieces}


def _cores(room: Room, request: NodeRequest, current: Current) -> tuple[Cores, str | None] | None:
    """The cores after the resize and the NUMA node they lie in."""
    free = {core: pieces + current.cores.get(core, 0) for core, pieces in (room.cores or {}).items()}
    partly = sum(1 for pieces in free.values() if pieces % request.share_base)
    may_share = request.max_share is None or partly < request.max_share
    for zone in _zones(room, request, current):
        inside = {core: free[core] for core in free if zone is None or room.numa.get(core) == zone}
        found = _closest(inside, current.cores, request.pieces, request.share_base, may_share)
        if found is not None:
            return found, zone
    return None


def _zones(room: Room, request: NodeRequest, current: Current) -> Iterator[str | None]:
    """NUMA nodes in the order in which they are tried; None stands for the whole node."""
    own = {room.numa.get(core) for core in current.cores}
    if len(own) <= 1:
        home = current.numa or next(iter(own), None)
        for zone in sorted(natural_sorted(set(room.numa.values())), key=lambda zone: zone != home):
            back = current.amounts.get(MEMORY, 0) if zone == home else 0
            room_there = room.numa_memory_bytes.get(zone)
            if room_there is None or request.amounts.get(MEMORY, 0) <= room_there + back:
                yield zone
    yield None


def _closest(free: Mapping[str, int], own: Mapping[str, int], pieces: int, base: int, may_share: bool) -> Cores | None:
    """The pin that keeps most pieces where they are; ties to partly used fragment cores, then natural order."""
    whole_cores, fragment = divmod(pieces, base)
    names = natural_sorted(free)
    # A core that this replica holds whole stays eligible even if the rest of it is shared.
    wholes = [name for name in names if free[name] >= base and (free[name] % base == 0 or own.get(name, 0) >= base)]
    wholes.sort(key=lambda name: -min(own.get(name, 0), base))
    if not fragment:
        return _pin(wholes[:whole_cores], None, base, fragment) if len(wholes) >= whole_cores else None
    best: tuple[tuple[int, bool], Cores] | None = None
    for name in names:
        shared = free[name] % base > 0
        others = [other for other in wholes[: whole_cores + 1] if other != name][:whole_cores]
        if free[name] < fragment or len(others) < whole_cores or not (shared or may_share):
            continue
        kept = min(own.get(name, 0), fragment) + sum(min(own.get(other, 0), base) for other in others)
        if best is None or (-kept, not shared) < best[0]:
            best = (-kept, not shared), _pin(others, name, base, fragment)
    return best[1] if best is not None else None


def _pin(wholes: Sequence[str], shared: str | None, base: int, fragment: int) -> Cores:
    pin = dict.fromkeys(wholes, base) | ({shared: fragment} if shared is not None else {})
    return {name: pin[name] for name in natural_sorted(pin)}
