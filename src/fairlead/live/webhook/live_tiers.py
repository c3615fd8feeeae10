"""The tiers that the webhook goes by."""

from fairlead.levels.tier.presets import DETECTED, TierChoice
from fairlead.levels.tier.split import Policy, policy_of
from fairlead.model.tiers import Tiers


class LiveTiers:
    """`now` is what decisions go by. Before any node is seen it is the configured label, or the seed's."""

    def __init__(self, choice: TierChoice = DETECTED) -> None:
        self.choice = choice
        self.now: Tiers = self.choice.tiers(None)

    @property
    def policy(self) -> Policy:
        """What the tiers mean to the level."""
        return policy_of(self.now)
