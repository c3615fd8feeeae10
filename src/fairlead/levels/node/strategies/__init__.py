"""The rules that turn capacities into counts, one module each. They know columns, not resources.

A strategy comes with what it wants in total, so that a caller sees how much is missing.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairlead.dataclass import dataclass
from fairlead.levels.node.ask import NodeAsk, Strategy
from fairlead.levels.node.strategies import average, communism, drained, even, fill
from fairlead.model.nodes import NodeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyRule:
    """A strategy under its name. `wanted` is the number of new replicas that would satisfy the ask in full."""

    name: str
    strategy: Strategy
    wanted: Callable[[NodeTable, NodeAsk], int]
    per_node: bool = False
    """Whether `count` in a problem means replicas a node rather than in total."""


def _need(nodes: NodeTable, ask: NodeAsk) -> int:
    return ask.need


RULES: tuple[StrategyRule, ...] = (
    StrategyRule(name="auto", strategy=communism.communism, wanted=_need),
    StrategyRule(name="fill", strategy=fill.fill, wanted=fill.wanted, per_node=True),
    StrategyRule(name="average", strategy=average.average, wanted=average.wanted, per_node=True),
    StrategyRule(name="global", strategy=even.global_, wanted=_need),
    StrategyRule(name="global-greedy", strategy=even.greedy, wanted=_need),
    StrategyRule(name="drained", strategy=drained.drained, wanted=_need),
)

_ALIASES = {"communism": "auto", "each": "average"}

BY_NAME: Mapping[str, StrategyRule] = MappingProxyType(
    {rule.name: rule for rule in RULES}
    | {alias: next(rule for rule in RULES if rule.name == name) for alias, name in _ALIASES.items()}
)
"""Every strategy by each of its names."""
