"""The settings that select and tune the rules of the disk level."""

from dataclasses import field
from enum import StrEnum
from fractions import Fraction

from fairlead.dataclass import dataclass
from fairlead.model.storage import AntiAffinity


class DiskRule(StrEnum):
    """How the disk is chosen among the candidates."""

    BALANCE = "balance"
    """The most even outcome: nodes first, then the disks of that node."""
    MOST_FREE = "most-free"
    """The older rule, kept as a baseline: the disk with the most (available − reserved)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancePolicy:
    """Defaults are those of a problem that says nothing.

    `alpha` mixes the absolute score (1) with the ratio score (0), exactly. `everywhere` scores the disk stage over
    all candidate disks instead of those of the chosen node. The percents are off where None.
    """

    alpha: Fraction = Fraction(1)
    everywhere: bool = False
    anti_affinity: AntiAffinity = field(default_factory=AntiAffinity)
    rule: DiskRule = DiskRule.BALANCE
    empty_node_selector: bool = True
    empty_disk_selector: bool = True
    over_percent: int | None = None
    minimal_percent: int | None = None
