"""What a configuration says to a plan."""

from fairlead.dataclass import dataclass
from fairlead.levels.tier.presets import DETECTED, TierChoice
from fairlead.model.division import Sticky
from fairlead.model.workload import AUTO


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """`tiers` say how nodes are told apart; `strategy` is for workloads that name none, as in the live scheduler;
    `sticky` for workloads of a fleet that do not say how their last division is kept.
    """

    tiers: TierChoice = DETECTED
    strategy: str = AUTO
    sticky: Sticky = Sticky.MOST


DEFAULT_SETTINGS = PlanSettings()
