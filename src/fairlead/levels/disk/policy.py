"""The settings that select and tune the rules of the disk level."""

from fairlead.model.balancing import BalancePolicy, Rule

__all__ = ["BalancePolicy", "Rule"]
