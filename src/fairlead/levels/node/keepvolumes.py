"""Volumes of a replica that is resized: those it has stay where they are, new ones are chosen."""

from collections.abc import Mapping, Sequence

from fairlead.levels.node.volumes import VolumePin, capacity, volume_pins, whole_shares
from fairlead.model.mounts import Mount, mount
from fairlead.model.nodes import NodeVolume


def kept_volumes(
    volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount], current: Mapping[str, Mapping[str, int]]
) -> VolumePin | None:
    """The mounts at their new sizes, None where they do not fit.

    A mount is the same as before if it has the same target. What the replica holds now is given back first, up to the
    size of the volume. If one of the mounts that share a whole volume stays, all of them stay on that volume.
    """
    at = {mount(text).target: name for text, held in current.items() for name in held}
    was_whole = {name for text, held in current.items() if mount(text).whole for name in held}
    free = {
        name: min(volume.total_bytes, volume.free_bytes + sum(held.get(name, 0) for held in current.values()))
        for name, volume in volumes.items()
    }
    if any(at.get(each.target, next(iter(free), "")) not in free for each in mounts):
        return None
    pin: VolumePin = {}
    taken = _whole(volumes, mounts, at, was_whole)
    if taken:
        if volumes[taken].total_bytes < sum(each.size_bytes for each in mounts if each.whole):
            return None
        pin |= whole_shares(taken, volumes[taken].total_bytes, mounts)
        free[taken] = 0
    for each in mounts:
        if not each.whole and each.target in at:
            pin[each.text] = {at[each.target]: each.size_bytes}
            free[at[each.target]] -= each.size_bytes
    if any(left < 0 for left in free.values()):
        return None
    fresh = [each for each in mounts if each.text not in pin]
    left = {
        name: NodeVolume(free_bytes=free[name], total_bytes=volumes[name].total_bytes) for name in free if name != taken
    }
    if capacity(left, fresh).replicas < 1:
        return None
    pin |= volume_pins(left, fresh, 1)[0]
    return {each.text: pin[each.text] for each in mounts}


def _whole(
    volumes: Mapping[str, NodeVolume], mounts: Sequence[Mount], at: Mapping[str, str], was_whole: set[str]
) -> str | None:
    """The volume that the replica holds whole and keeps."""
    stays = {at[each.target] for each in mounts if each.whole and each.target in at}
    return next((name for name in volumes if name in stays & was_whole), None)
