"""Bound cpu on a node with several NUMA nodes: a replica inside one of them first, then across."""

from collections.abc import Mapping

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node import cores
from fairlead.levels.node.corepins import Cores, core_pins
from fairlead.levels.node.request import NodeRequest
from fairlead.model.amounts import MEMORY
from fairlead.model.nodes import Room
from fairlead.model.order import natural_sorted


@dataclass(frozen=True, slots=True, kw_only=True)
class CorePin:
    """The cores of one replica; `numa` is the NUMA node it lies in, None where it spans several or none is known."""

    cores: Cores
    numa: str | None = None


MOST_REPLICAS = 100_000
"""Counted on one node with NUMA nodes: its capacity is that of pins, which are made one by one."""


def numa_pins(room: Room, request: NodeRequest, most: int = MOST_REPLICAS) -> list[CorePin]:
    """Pins for as many replicas as cores and memory allow, at most `most`.

    NUMA nodes in natural order take what fits inside each by its cores and its memory. The cores left over then serve
    replicas across NUMA nodes, for which the memory left on the node as a whole counts.
    """
    free = dict(room.cores or {})
    memory = request.amounts.get(MEMORY, 0)
    if memory and MEMORY in room.free:
        most = min(most, room.free[MEMORY] // memory)
    pins: list[CorePin] = []
    for zone in natural_sorted(set(room.numa.values())):
        inside = {core: pieces for core, pieces in free.items() if room.numa.get(core) == zone}
        fits = most - len(pins)
        if memory and zone in room.numa_memory_bytes:
            fits = min(fits, room.numa_memory_bytes[zone] // memory)
        pins += [CorePin(cores=pin, numa=zone) for pin in _take(free, inside, request, fits)]
    pins += [CorePin(cores=pin) for pin in _take(free, dict(free), request, most - len(pins))]
    return pins


def _take(free: dict[str, int], part: Mapping[str, int], request: NodeRequest, most: int) -> list[Cores]:
    """Pins on the cores of `part`, charged to `free`."""
    base = request.share_base
    limit = request.max_share
    if limit is not None:
        # The limit is the node's: fragment cores elsewhere count against this part.
        limit = max(limit - sum(1 for core, pieces in free.items() if core not in part and pieces % base), 0)
    row = np.array([list(part.values())], dtype=np.int64).reshape(1, len(part))
    replicas = min(most, int(cores.capacity(row, request.pieces, base, limit)[0]))
    pins = core_pins(part, replicas, request.pieces, base, limit)
    for pin in pins:
        for core, pieces in pin.items():
            free[core] -= pieces
    return pins
