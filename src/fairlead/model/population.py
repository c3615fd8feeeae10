"""The replicas that already run, as columns: where each is and which others it is like.

Replicas that look the same to every selector share one `Resident`, so that a selector is asked once per distinct
resident instead of once per replica.
"""

from collections.abc import Mapping
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.model.columns import Bool, Int, flags, frozen, ints
from fairlead.model.shape import Neighbour, Pairs, PodDisk, Port, Shape, content


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """What other replicas can see of a running one. `far` are its required wishes to stay apart.

    Its hash is worked out once: every replica that comes or goes is looked up by it.
    """

    namespace: str
    labels: Pairs = ()
    far: tuple[Neighbour, ...] = ()
    ports: tuple[Port, ...] = ()
    disks: tuple[PodDisk, ...] = ()
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash(content(self)))
        return self._hash or 0


def resident(shape: Shape) -> Resident:
    """A shape as the others will see it once it runs."""
    required = tuple(each for each in shape.far if not each.weight)
    return Resident(namespace=shape.namespace, labels=shape.labels, far=required, ports=shape.ports, disks=shape.disks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """One row a running replica: its resident, its node's row, and whether it is leaving.

    `namespaces` maps a namespace to its labels, for selectors over namespaces.
    """

    residents: tuple[Resident, ...] = ()
    codes: NDArray[np.int64] = field(default_factory=lambda: ints([]))
    rows: NDArray[np.int64] = field(default_factory=lambda: ints([]))
    leaving: Bool = field(default_factory=lambda: flags([]))
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    wary: tuple[int, ...] | None = None
    """Codes of the residents that refuse others; worked out where it is not given."""

    def __post_init__(self) -> None:
        if self.wary is None:
            codes = tuple(code for code, each in enumerate(self.residents) if each.far)
            object.__setattr__(self, "wary", codes)

    def per_node(self, wanted: Bool, nodes: int, *, staying: bool = False) -> Int:
        """How many replicas of the wanted residents run on each node; `staying` leaves out those that are leaving."""
        if not wanted.any():
            return frozen(np.zeros(nodes, dtype=np.int64))
        chosen = wanted[self.codes]
        if staying:
            chosen = chosen & ~self.leaving
        return frozen(np.bincount(self.rows[chosen], minlength=nodes).astype(np.int64))
