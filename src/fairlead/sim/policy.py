"""What is compared: how nodes are chosen, who goes first, and whether tiers are heeded."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.shape_columns import Heights
from fairlead.levels.node.heights import use
from fairlead.model.columns import Int
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape
from fairlead.model.workload import AUTO, GLOBAL_GREEDY, strategy_named
from fairlead.sim.durations import Span, milliseconds
from fairlead.text.documents import strict

MILLION = 10**6

StrategyHeights = Callable[[NodeState, Shape, Int], Heights]
"""(nodes, what a replica asks of them, rank of the nodes) → what is levelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimPolicy:
    """`strategy` is a key of `STRATEGIES`; `fair` shares by queue and namespace, else first come, first served.

    `preempt`: a gang may evict replicas that have less right to their room. `reserve_after_ms`: a gang that has waited
    so long is next, and room is kept for it.
    """

    name: str
    strategy: str = AUTO
    fair: bool = True
    tiers: bool = True
    preempt: bool = False
    reserve_after_ms: int | None = None

    @property
    def contested(self) -> bool:
        """Whether room is taken or kept, so that it matters who runs where."""
        return self.preempt or self.reserve_after_ms is not None


def _mean_use(state: NodeState, shape: Shape) -> Heights:
    """Mean share of cpu and memory used, and what a replica adds, in millionths."""
    used, adds = np.zeros(len(state.names), dtype=np.int64), np.zeros(len(state.names), dtype=np.int64)
    request = dict(shape.request)
    for name in ("cpu", "memory"):
        column = state.column(name)
        if column is not None:
            offered = np.maximum(state.allocatable[:, column], 1)
            used += state.used[:, column] * MILLION // offered // 2
            adds += request.get(name, 0) * MILLION // offered // 2
    return used, adds


def _lowest_use(state: NodeState, shape: Shape, rank: Int) -> Heights:
    return use(state, shape)


def _most_free(state: NodeState, shape: Shape, rank: Int) -> Heights:
    return _mean_use(state, shape)


def _bin_pack(state: NodeState, shape: Shape, rank: Int) -> Heights:
    """Fullest first; a node that does not rise is filled up before the next."""
    return 2 * MILLION - _mean_use(state, shape)[0], np.zeros(len(state.names), dtype=np.int64)


def _spread(state: NodeState, shape: Shape, rank: Int) -> Heights:
    column = state.column("pods")
    held = state.used[:, column] if column is not None else np.zeros(len(state.names), dtype=np.int64)
    return held, np.ones(len(state.names), dtype=np.int64)


def _first_fit(state: NodeState, shape: Shape, rank: Int) -> Heights:
    return rank, np.zeros(len(state.names), dtype=np.int64)


STRATEGIES: Mapping[str, StrategyHeights | None] = MappingProxyType(
    {
        AUTO: None,
        GLOBAL_GREEDY: _lowest_use,
        "most-free": _most_free,
        "spread": _spread,
        "bin-pack": _bin_pack,
        "first-fit": _first_fit,
    }
)
"""How a node is chosen: fewest replicas of the workload (None: as nodes are levelled anyway); lowest use; most cpu and
memory left; fewest replicas of any workload; fullest that fits; first by name that fits."""


def levelled(strategy: str, rank: Int) -> Callable[[NodeState, Shape], Heights] | None:
    """What the strategy levels on nodes of this rank."""
    chosen = STRATEGIES[strategy]
    return None if chosen is None else lambda state, shape: chosen(state, shape, rank)


class _File(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A policy as it is written."""

    name: str = ""
    strategy: str = AUTO
    queue: str = "fair"
    tiers: bool = True
    preempt: bool = False
    reserve_after: Span | None = None


def named(name: str) -> SimPolicy | None:
    """The policy of this name that is always there, or None."""
    known = strategy_named(name)
    return SimPolicy(name=name, strategy=known) if known in STRATEGIES else None


def policy_of(value: Any, name: str) -> SimPolicy:
    """A policy read from a document; `name` is used where it has none."""
    written = strict(value, _File)
    strategy = strategy_named(written.strategy)
    if strategy not in STRATEGIES:
        raise InputError("$.strategy", f"{written.strategy!r}; expected one of {', '.join(STRATEGIES)}")
    if written.queue not in ("fair", "fifo"):
        raise InputError("$.queue", f'{written.queue!r}; expected "fair" or "fifo"')
    if written.queue == "fifo" and (written.preempt or written.reserve_after is not None):
        raise InputError("$.queue", '"fifo" takes and keeps no room; expected "fair" with preempt or reserveAfter')
    after = None if written.reserve_after is None else milliseconds(written.reserve_after, "$.reserveAfter")
    return SimPolicy(
        name=written.name or name,
        strategy=strategy,
        fair=written.queue == "fair",
        tiers=written.tiers,
        preempt=written.preempt,
        reserve_after_ms=after,
    )
