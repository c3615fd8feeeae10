"""What a configuration says to a plan."""

from dataclasses import dataclass

from fairlead.levels.tier.presets import DETECTED, TierChoice
from fairlead.model.workload import COMMUNISM


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSettings:
    """`tiers` say how nodes are told apart; `strategy` is for workloads that name none, as in the live scheduler."""

    tiers: TierChoice = DETECTED
    strategy: str = COMMUNISM


DEFAULT_SETTINGS = PlanSettings()
