"""What a replica's volume claims demand of a node, with everything looked up: no names are left to resolve."""

from collections.abc import Mapping
from dataclasses import field, replace

from fairlead.dataclass import dataclass
from fairlead.model.reasons import Reason
from fairlead.model.selectors import LabelSelector, Requirement, Term

Terms = tuple[Term, ...] | None
"""One of the terms must match the node; None matches every node, an empty tuple none."""

Attached = tuple[str, str]
"""A driver and what it calls a volume that it attaches to a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A volume that exists, is free and would do for a claim, on the nodes that `nodes` match."""

    name: str
    nodes: Terms = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Volumes can be made: on nodes that `nodes` match, and where one of the `roomy` topologies has enough left.

    `roomy` None: the driver does not report room, so there is no condition. `driver` makes them.
    """

    driver: str = ""
    nodes: Terms = None
    roomy: tuple[LabelSelector, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A claim that gets its volume where its first replica goes.

    `candidates` stand in the order of choice. `node` is set where the choice has been made already. A claim that is
    `own` stands for one that is made for each replica, under a name of its own.
    """

    name: str
    own: bool = False
    node: str = ""
    candidates: tuple[Candidate, ...] = ()
    maker: Maker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDemand:
    """All claims of one replica.

    `blocked` forbids every node. `volumes` are the node terms of the volumes that claims are bound to, `zones` what
    such volumes say by labels (a node without any zone label passes). `attached` are the volumes that drivers attach
    to its node; on `crowded` nodes a driver's limit of them would be passed. A claim that is named in `sole` serves one
    replica at a time.
    """

    blocked: Reason | None = None
    volumes: tuple[tuple[Term, ...], ...] = ()
    zones: tuple[Requirement, ...] = ()
    open: tuple[OpenClaim, ...] = ()
    sole: tuple[str, ...] = ()
    attached: tuple[Attached, ...] = ()
    crowded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaClaims:
    """A replica that is told by name, the node (row) on which it runs (−1 where it does not), and its demand."""

    row: int
    demand: ClaimDemand


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadClaims:
    """`replicas` are those with claims of their own, in the order in which they start; all others demand `more`."""

    replicas: tuple[ReplicaClaims, ...] = ()
    more: ClaimDemand = ClaimDemand()

    def waiting(self, count: int) -> list[ClaimDemand]:
        """The demands of the next so many replicas to start."""
        own = [each.demand for each in self.replicas if each.row < 0][:count]
        return own + [numbered(self.more, number) for number in range(count - len(own))]


def numbered(demand: ClaimDemand, number: int) -> ClaimDemand:
    """The demand with claims of this replica's own, where it has such claims."""
    names = {each.name: f"{each.name}#{number}" for each in demand.open if each.own}
    if not names:
        return demand
    suffixes = tuple(f"/{name}" for name in names)
    return replace(
        demand,
        open=tuple(replace(each, name=names.get(each.name, each.name)) for each in demand.open),
        attached=tuple(
            (driver, f"{handle}#{number}" if handle.endswith(suffixes) else handle)
            for driver, handle in demand.attached
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldVolume:
    """A volume on a node (row): by which claim (namespace and name, None without one) of which workload (key).

    `volume` is as its driver knows it, None where none attaches it.
    """

    row: int
    workload: str = ""
    claim: tuple[str, str] | None = None
    volume: Attached | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteVolumes:
    """The volumes on the nodes of a cluster, and what drivers say of the nodes.

    `limits` is by node and driver how many volumes there may be; `topology` are by driver and node the labels by which
    a volume that is made on the node is bound to the nodes around it.
    """

    held: tuple[HeldVolume, ...] = ()
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    topology: Mapping[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
