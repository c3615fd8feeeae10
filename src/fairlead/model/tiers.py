"""The two tiers of a cluster's nodes, as conditions on their labels."""

from collections.abc import Iterable, Mapping

from fairlead.dataclass import dataclass
from fairlead.model.selectors import Operator, Requirement, Toleration

CAPACITY = "node.kubernetes.io/capacity"
ON_DEMAND, SPOT, OTHER = "on-demand", "spot", "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """How the nodes of one cluster are told apart, and what replicas that prefer spot are given.

    A node is on demand where every condition of `on_demand` holds, and spot where one of `spot` does. Each condition
    of `marked` shows by itself that a node is on demand: a user may have written it. Without a condition in
    `on_demand` the cluster has no tiers. `single_replica` asks that a workload of one replica stays on demand.
    """

    on_demand: tuple[Requirement, ...] = (Requirement(CAPACITY, Operator.IN, (ON_DEMAND,)),)
    spot: tuple[Requirement, ...] = (Requirement(CAPACITY, Operator.IN, (SPOT,)),)
    marked: tuple[Requirement, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    weight: int = 100
    single_replica: bool = True

    @property
    def present(self) -> bool:
        """Whether there are tiers at all."""
        return bool(self.on_demand)

    @property
    def keys(self) -> tuple[str, ...]:
        """The labels that tell the nodes apart, each once."""
        return tuple(dict.fromkeys(each.key for each in (*self.on_demand, *self.spot)))

    def of(self, labels: Mapping[str, str]) -> str:
        """The tier of a node with these labels: `on-demand`, `spot`, or `other` where it is neither."""
        if self.on_demand and all(each.holds(labels.get(each.key)) for each in self.on_demand):
            return ON_DEMAND
        return SPOT if any(each.holds(labels.get(each.key)) for each in self.spot) else OTHER

    def sentence(self, tiers: Iterable[str]) -> str:
        """One line about nodes of these tiers: `tiers: karpenter.sh/capacity-type, 12 on-demand, 40 spot`."""
        if not self.present:
            return "tiers: none, no node carries a label that tells on-demand from spot; workloads are left alone"
        counted = list(tiers)
        other = counted.count(OTHER)
        neither = f", {other} neither" if other else ""
        counts = f"{counted.count(ON_DEMAND)} on-demand, {counted.count(SPOT)} spot{neither}"
        return f"tiers: {' and '.join(self.keys)}, {counts}"


NO_TIERS = Tiers(on_demand=(), spot=())
