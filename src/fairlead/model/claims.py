"""What a replica's volume claims demand of a node, with everything looked up: no names are left to resolve."""

from dataclasses import dataclass

from fairlead.model.reasons import Reason
from fairlead.model.selectors import LabelSelector, Requirement, Term

Terms = tuple[Term, ...] | None
"""One of the terms must match the node; None matches every node, an empty tuple none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A volume that exists, is free and would do for a claim, on the nodes that `nodes` match."""

    name: str
    nodes: Terms = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """Volumes can be made: on nodes that `nodes` match, and where one of the `roomy` topologies has enough left.

    `roomy` None: the driver does not report room, so there is no condition.
    """

    nodes: Terms = None
    roomy: tuple[LabelSelector, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A claim that gets its volume where its first replica goes.

    `candidates` stand in the order of choice. `node` is set where the choice has been made already.
    """

    name: str
    node: str = ""
    candidates: tuple[Candidate, ...] = ()
    maker: Maker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDemand:
    """All claims of one replica.

    `blocked` forbids every node. `volumes` are the node terms of the volumes that claims are bound to, `zones` what
    such volumes say by labels (a node without any zone label passes). On `crowded` nodes a driver's limit of attached
    volumes would be passed.
    """

    blocked: Reason | None = None
    volumes: tuple[tuple[Term, ...], ...] = ()
    zones: tuple[Requirement, ...] = ()
    open: tuple[OpenClaim, ...] = ()
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
        return own + [self.more] * (count - len(own))
