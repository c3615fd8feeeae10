"""Volumes: how many replicas the volumes of a node hold, and which replica gets which.

Normal volumes of a request may share a volume of the node. Those with the flag `m` lie together on one volume that
nothing else uses or will use; it must be unused and as large as they are together. A size of 0 charges nothing but
still needs a volume.
"""

from collections.abc import Mapping, Sequence

from fairlead.dataclass import dataclass
from fairlead.levels.node.packing import deal, pack
from fairlead.model.mounts import Mount
from fairlead.model.nodes import UNLIMITED, NodeVolume
from fairlead.model.order import natural_sorted

VolumePin = dict[str, dict[str, int]]
"""Mount text to the volume it got and the bytes it is charged there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRoom:
    """`replicas` fit for certain; `most` is an upper bound, above `replicas` only where the search gave up."""

    replicas: int
    most: int


def capacity(volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount]) -> VolumeRoom:
    """How many replicas with these mounts (only those chosen automatically) fit."""
    if not mounts:
        return VolumeRoom(replicas=UNLIMITED, most=UNLIMITED)
    if not any(mount.whole for mount in mounts):
        return _normal([volume.free_bytes for volume in volumes.values()], mounts)
    low, high, proved = 0, len(_unused(volumes, mounts)), True
    # More replicas take more volumes away and need more room in the rest, so the answer is where this first fails.
    while low < high:
        middle = (low + high + 1) // 2
        room = _normal([volumes[name].free_bytes for name in _others(volumes, mounts, middle)], mounts)
        proved &= room.replicas == room.most
        low, high = (middle, high) if room.replicas >= middle else (low, middle - 1)
    return VolumeRoom(replicas=low, most=low if proved else len(_unused(volumes, mounts)))


def volume_pins(volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount], replicas: int) -> list[VolumePin]:
    """The volumes of so many replicas, no more than fit. Fullest volume first; ties in natural order."""
    names = natural_sorted(volumes)
    whole = _unused(volumes, mounts)[:replicas] if any(mount.whole for mount in mounts) else []
    bins = {name: volumes[name].free_bytes for name in names if name not in set(whole)}
    roomiest = max(bins, key=lambda name: (bins[name], -names.index(name)), default="")
    sized = [mount for mount in mounts if not mount.whole and mount.size_bytes]
    held = list(bins)
    chosen = deal(list(bins.values()), [mount.size_bytes for mount in sized], replicas)
    pins = []
    for number in range(replicas):
        pin: VolumePin = {}
        for mount, row in zip(sized, chosen[number], strict=True):
            pin[mount.text] = {held[row]: mount.size_bytes}
        for mount in mounts:
            if not mount.whole and not mount.size_bytes:
                pin[mount.text] = {roomiest: 0}
        if whole:
            pin |= whole_shares(whole[number], volumes[whole[number]].total_bytes, mounts)
        pins.append({mount.text: pin[mount.text] for mount in mounts})
    return pins


def whole_shares(name: str, total_bytes: int, mounts: Sequence[Mount]) -> VolumePin:
    """A whole volume divided among the mounts that share it, in proportion to their sizes, rounded down."""
    wholes = [mount for mount in mounts if mount.whole]
    together = sum(mount.size_bytes for mount in wholes)
    return {
        mount.text: {name: total_bytes * mount.size_bytes // together if together else total_bytes // len(wholes)}
        for mount in wholes
    }


def _normal(free: Sequence[int], mounts: Sequence[Mount]) -> VolumeRoom:
    sizes = [mount.size_bytes for mount in mounts if not mount.whole and mount.size_bytes]
    if not free and not all(mount.whole for mount in mounts):
        return VolumeRoom(replicas=0, most=0)
    if not sizes:
        return VolumeRoom(replicas=UNLIMITED, most=UNLIMITED)
    packing = pack(free, sizes)
    return VolumeRoom(replicas=packing.replicas, most=packing.most)


def _unused(volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount]) -> list[str]:
    """Volumes that can be taken whole, smallest first: taking a smaller one leaves the larger for the rest."""
    together = sum(mount.size_bytes for mount in mounts if mount.whole)
    able = [
        name
        for name in natural_sorted(volumes)
        if volumes[name].free_bytes == volumes[name].total_bytes >= max(together, 1)
    ]
    return sorted(able, key=lambda name: volumes[name].total_bytes)


def _others(volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount], taken: int) -> list[str]:
    whole = set(_unused(volumes, mounts)[:taken])
    return [name for name in volumes if name not in whole]
