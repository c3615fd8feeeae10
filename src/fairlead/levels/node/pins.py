"""The pins of replicas: which pieces of which cores, which volumes. On Kubernetes they are a recorded intent."""

from collections.abc import Mapping

from fairlead.dataclass import dataclass
from fairlead.levels.node.capacity import Fit
from fairlead.levels.node.corepins import core_pins
from fairlead.levels.node.numa import CorePin, numa_pins
from fairlead.levels.node.volumes import VolumePin, volume_pins

MOST_PINS = 100_000
"""Listed in one answer; the counts go on beyond it, and a note says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaPin:
    """One replica's parts of its node: core to pieces, mount to volume and bytes, and its NUMA node if it has one."""

    cores: Mapping[str, int]
    mounts: VolumePin
    numa: str | None = None

    @property
    def volumes(self) -> dict[str, int]:
        """Volume to bytes, all mounts together."""
        result: dict[str, int] = {}
        for held in self.mounts.values():
            for name, size in held.items():
                result[name] = result.get(name, 0) + size
        return result


def pins(fit: Fit, row: int, replicas: int) -> tuple[ReplicaPin, ...]:
    """Pins of so many replicas on one node, no more than its capacity; none where nothing is bound."""
    request, room = fit.request, fit.rooms[row]
    replicas = min(replicas, int(fit.capacity[row]), MOST_PINS)
    if room.bare or not (request.pieces or request.automatic):
        return ()
    cores: list[CorePin] = [CorePin(cores={})] * replicas
    if request.pieces and room.numa:
        cores = numa_pins(room, request, replicas)
    elif request.pieces:
        found = core_pins(room.cores or {}, replicas, request.pieces, request.share_base, request.max_share)
        cores = [CorePin(cores=each) for each in found]
    mounts: list[VolumePin] = [{}] * replicas
    if request.automatic:
        mounts = volume_pins(room.volumes, request.automatic, replicas)
    return tuple(
        ReplicaPin(cores=core.cores, mounts=mount, numa=core.numa) for core, mount in zip(cores, mounts, strict=True)
    )
