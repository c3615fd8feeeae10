"""What the chosen clusters get, between dividing and recording."""

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from fairlead.dataclass import dataclass
from fairlead.model.columns import Int
from fairlead.model.decision import Draw
from fairlead.model.reasons import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterShares:
    """The counts of the chosen clusters, in their row order, and how they came about.

    `kept` says that the whole prior was reused, `stayed` which clusters keep what they had.
    """

    counts: Int
    finding: Finding | None = None
    floors: Int | None = None
    residual: int = 0
    kept: bool = False
    stayed: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    rule: str = ""
    draws: tuple[Draw, ...] = ()
    notes: tuple[str, ...] = ()
