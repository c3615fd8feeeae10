"""The working state of one call: what is still usable on each disk while replicas are placed one after another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.rational import largest, widen
from fairlead.model.balancing import BalancePolicy
from fairlead.model.columns import Int, frozen
from fairlead.model.disks import UNKNOWN, DiskTable

Wide = NDArray[Any]

NO_LIMIT = 2**63 - 1


class DiskLedger:
    """Usable bytes and the room under the over-provisioning limit, both falling as replicas are charged.

    Mutable, and never handed out of the level call that made it.
    """

    __slots__ = ("free", "limited", "promised", "short", "usable")

    def __init__(self, disks: DiskTable, policy: BalancePolicy) -> None:
        self.usable: Int = disks.usable_bytes.copy()
        self.short: Int = disks.short_bytes
        self.free: Int = disks.free_bytes
        self.limited = policy.over_percent is not None
        self.promised: Int = _room_under_limit(disks, policy.over_percent)

    def charge(self, row: int, size_bytes: int) -> None:
        """A replica of this size is placed on the disk. What is not there is noted as short, never as below 0."""
        left = int(self.usable[row]) - size_bytes
        self.usable[row] = max(left, 0)
        if left < 0:
            self._change_short(row, -left)
        if self.limited:
            self.promised = _own(self.promised)
            self.promised[row] = max(int(self.promised[row]) - size_bytes, -NO_LIMIT)

    def release(self, row: int, size_bytes: int) -> None:
        """A replica of this size leaves the disk."""
        gained = self.gained(row, size_bytes)
        self.usable[row] = min(int(self.usable[row]) + gained, NO_LIMIT)
        if gained < size_bytes:
            self._change_short(row, gained - size_bytes)
        if self.limited and self.promised[row] < NO_LIMIT // 2:
            self.promised = _own(self.promised)
            self.promised[row] = min(int(self.promised[row]) + size_bytes, NO_LIMIT)

    def _change_short(self, row: int, by: int) -> None:
        self.short = _own(self.short)
        self.short[row] = min(int(self.short[row]) + by, NO_LIMIT)

    def gained(self, row: int, size_bytes: int) -> int:
        """By how much the usable bytes rise if a replica of this size leaves the disk."""
        return max(size_bytes - int(self.short[row]), 0)


def _own(column: Int) -> Int:
    """A column to write to: many calls never do, so the table's serves until then."""
    return column if column.flags.writeable else column.copy()


def _room_under_limit(disks: DiskTable, percent: int | None) -> Int:
    """(maximum − reserved)·percent/100 − scheduled for each disk; no limit where the maximum is not known."""
    if percent is None:
        return np.empty(0, dtype=np.int64)
    key = ("room", percent)
    if key not in disks.derived:
        disks.derived[key] = frozen(_work_out_room(disks, percent))
    return disks.derived[key]


def _work_out_room(disks: DiskTable, percent: int) -> Int:
    real = np.maximum(disks.maximum_bytes - disks.reserved_bytes, 0)
    room = widen(real, 2 * (largest(real) + 1) * (percent + 1)) * percent // 100 - disks.scheduled_bytes
    room = np.where(disks.maximum_bytes == UNKNOWN, NO_LIMIT, np.clip(room, -NO_LIMIT, NO_LIMIT))
    return room.astype(np.int64)


def minimal_spare(disks: DiskTable, percent: int | None) -> Int | None:
    """For each disk the bytes that may be written at most: available − more than `percent` of maximum; None: off.

    The rule is strict (what remains must be above the percentage), hence the last − 1.
    """
    if percent is None:
        return None
    key = ("spare", percent)
    if key not in disks.derived:
        disks.derived[key] = frozen(_work_out_spare(disks, percent))
    return disks.derived[key]


def _work_out_spare(disks: DiskTable, percent: int) -> Int:
    bound = 100 * (largest(disks.maximum_bytes) + largest(disks.available_bytes) + 1)
    maximum, available = widen(disks.maximum_bytes, bound), widen(disks.available_bytes, bound)
    spare = (available * 100 - maximum * percent - 1) // 100
    known = (disks.maximum_bytes != UNKNOWN) & (disks.available_bytes != UNKNOWN)
    return np.where(known, spare, NO_LIMIT).astype(np.int64)
