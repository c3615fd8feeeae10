"""Pods as roles of `SiteFits`, on the snapshot of a cycle: the strategy of the workload, claims and bound cores too."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fairlead.dataclass import dataclass
from fairlead.engine.shape_columns import There, minds_neighbours
from fairlead.engine.site_fits import Filters, FitsRole, SiteFits
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.constraints.feasible import NOTHING_MORE
from fairlead.levels.node.heights import use
from fairlead.live.cluster.cache import ClusterView
from fairlead.live.cluster.records import PodRecord
from fairlead.model.claims import ClaimDemand
from fairlead.model.workload import AUTO, GLOBAL_GREEDY


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSite:
    """What the node level needs besides the snapshot; as in `scheduler.decide.decide`."""

    view: ClusterView
    present: Callable[[str], There]
    demand: Callable[[PodRecord], ClaimDemand] = lambda pod: ClaimDemand()
    strategy: str = AUTO


def node_fits(site: TurnSite, likes: Sequence[PodRecord | None], asleep: frozenset[int] = frozenset()) -> SiteFits:
    """The fits of one turn. `likes` has one pod of each role, None for a role without pods."""
    view = site.view
    reached: dict[ClaimDemand, Filters] = {}

    def role(pod: PodRecord) -> FitsRole:
        return FitsRole(
            workload=pod.controller,
            shape=pod.shape,
            heights=use if (pod.strategy or site.strategy) == GLOBAL_GREEDY else None,
            filters=(lambda: _filters(site, pod, reached)) if pod.alone else None,
        )

    neighbourly = bool(view.population.wary) or any(minds_neighbours(pod.shape) for pod in likes if pod is not None)
    nodes = WorkingNodes(view.nodes, view.population, view.rank, neighbourly=neighbourly)
    return SiteFits(nodes, [None if pod is None else role(pod) for pod in likes], site.present, asleep)


def _filters(site: TurnSite, pod: PodRecord, reached: dict[ClaimDemand, Filters]) -> Filters:
    """What a pod with claims or bound cores asks of nodes besides its shape."""
    view = site.view
    claims = _reached(site, pod, reached) if pod.volumes else NOTHING_MORE
    return {**claims, **view.cores(pod, view.nodes.names)} if pod.pieces else claims


def _reached(site: TurnSite, pod: PodRecord, known: dict[ClaimDemand, Filters]) -> Filters:
    """Nodes that its claims allow. Claims that ask for the same get the same answer, whatever they are called."""
    demand = site.demand(pod)
    asked = replace(demand, open=tuple(replace(claim, name="") for claim in demand.open))
    if asked not in known:
        known[asked] = reach(site.view.nodes, demand).passing
    return known[asked]
