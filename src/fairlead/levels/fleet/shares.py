"""What the chosen clusters get, between dividing and recording."""

from dataclasses import dataclass

from fairlead.model.columns import Int
from fairlead.model.decision import Draw
from fairlead.model.reasons import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """The counts of the chosen clusters, in their row order, and how they came about."""

    counts: Int
    finding: Finding | None = None
    floors: Int | None = None
    residual: int = 0
    kept: bool = False
    rule: str = ""
    draws: tuple[Draw, ...] = ()
    notes: tuple[str, ...] = ()
