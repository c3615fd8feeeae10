"""The shape of a replica: everything that decides where it may run, and nothing of who it is.

Replicas of one shape are placed together. Shapes are made of tuples, so that they compare and hash.
"""

from dataclasses import field, fields, replace
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.model.selectors import LabelSelector, Preference, Requirement, Term, Toleration

Pairs = tuple[tuple[str, str], ...]
"""Labels or a selector map as sorted pairs."""


def content(record: Any) -> tuple[object, ...]:
    """What a record is compared by."""
    return tuple(getattr(record, each.name) for each in fields(record) if each.compare)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Keep the count of selected replicas even over the values of a node label. No selector selects nothing."""

    key: str
    most_skew: int
    hard: bool
    selector: LabelSelector | None
    least_domains: int = 1
    respects_affinity: bool = True
    respects_taints: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A wish to be near (or far from) selected replicas, nearness being an equal value of a node label.

    `weight` 0 is a requirement. `namespaces` and `namespace_selector` both empty mean the replica's own namespace.
    """

    key: str
    selector: LabelSelector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    weight: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """A port taken on the node itself."""

    number: int
    protocol: str = "TCP"
    address: str = "0.0.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisk:
    """A disk that replicas on one node may not share, or only if all of them only read it.

    Where it is reached through `hosts`, it is the same disk only if one of them is the same.
    """

    kind: str
    name: str
    read_only: bool = False
    hosts: tuple[str, ...] | None = None

    def clashes(self, other: "PodDisk") -> bool:
        """Whether the two may not be on one node."""
        same = self.kind == other.kind and self.name == other.name
        if same and self.hosts is not None:
            same = bool({*self.hosts} & {*(other.hosts or ())})
        return same and not (self.read_only and other.read_only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Amounts are in the unit of their resource (`model.amounts`), sorted by name.

    Every look into a table of groups asks for the hash of a shape, so it is worked out once.
    """

    namespace: str = "default"
    labels: Pairs = ()
    request: tuple[tuple[str, int], ...] = ()
    node_selector: Pairs = ()
    required: tuple[Term, ...] | None = None
    """Node affinity: one of these terms must match; None is no condition, an empty tuple matches no node."""
    preferred: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[Spread, ...] = ()
    near: tuple[Neighbour, ...] = ()
    far: tuple[Neighbour, ...] = ()
    ports: tuple[Port, ...] = ()
    disks: tuple[PodDisk, ...] = ()
    features: tuple[str, ...] = ()
    """What the node must declare that it can do."""
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(content(self)))
        return self._hash or 0

    @property
    def unlabelled(self) -> tuple[object, ...]:
        """What it is compared by, but for its labels."""
        return (
            *(self.namespace, self.request, self.node_selector, self.required, self.preferred, self.tolerations),
            *(self.spread, self.near, self.far, self.ports, self.disks, self.features),
        )

    @property
    def exclusive(self) -> bool:
        """Whether it takes something of a node that no other replica may have there."""
        return bool(self.ports or self.disks)

    @property
    def selective(self) -> bool:
        """Whether it names the nodes that it may run on, so that it has fewer of them to choose from."""
        return bool(self.node_selector) or self.required is not None

    def requiring(self, *conditions: Requirement) -> "Shape":
        """This shape with more conditions on the node, ANDed into every term that has one.

        A term without conditions matches nothing and must go on matching nothing, so it stays empty.
        """
        terms = self.required if self.required is not None else (Term(),)
        narrowed = tuple(
            Term((*term.labels, *conditions), term.fields)
            if term.labels or term.fields or self.required is None
            else term
            for term in terms
        )
        return replace(self, required=narrowed)
