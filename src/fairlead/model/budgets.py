"""Disruption budgets: how many of the selected replicas may be missing at one time."""

from fairlead.dataclass import dataclass
from fairlead.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """`least` replicas must stay, or at most `missing` may be away; a percentage of all is rounded up.

    One of the two is set. No selector selects nothing.
    """

    name: str
    namespace: str
    selector: LabelSelector | None
    least: int | None = None
    missing: int | None = None
    percent: bool = False

    def allows(self, replicas: int) -> int:
        """How many of so many replicas may be away."""
        number = self.least if self.missing is None else self.missing
        assert number is not None  # one of the two is set
        bound = -(-replicas * number // 100) if self.percent else number
        return max(min(bound if self.missing is not None else replicas - bound, replicas), 0)
