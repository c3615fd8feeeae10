"""Which replicas must be near which, and which must stay apart: inter-replica affinity over topology domains."""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node.constraints.labels import domains
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.population import Population, Resident
from fairlead.model.shape import Neighbour, PodDisk, Shape


def sees(term: Neighbour, owner: str, namespace: str, labels: dict[str, str], population: Population) -> bool:
    """Whether a wish held in namespace `owner` is about a replica of `namespace` with these labels."""
    return _in_scope(term, owner, namespace, population) and term.selector is not None and term.selector.selects(labels)


def _in_scope(term: Neighbour, owner: str, namespace: str, population: Population) -> bool:
    if not term.namespaces and term.namespace_selector is None:
        return namespace == owner
    if namespace in term.namespaces:
        return True
    if term.namespace_selector is None:
        return False
    return term.namespace_selector.selects(dict(population.namespaces.get(namespace, {})))


def seen(term: Neighbour, shape: Shape, population: Population) -> Bool:
    """Which residents a wish of the shape is about."""
    return np.array(
        [sees(term, shape.namespace, each.namespace, dict(each.labels), population) for each in population.residents],
        dtype=np.bool_,
    )


def sees_itself(term: Neighbour, shape: Shape, population: Population) -> bool:
    """Whether replicas of the shape are about one another."""
    return sees(term, shape.namespace, shape.namespace, dict(shape.labels), population)


@dataclass(slots=True)
class Apart:
    """One required wish to stay apart: domains that are taken, and whether a new replica takes its own."""

    codes: Int
    taken: Bool
    itself: bool

    def allowed(self) -> Bool:
        """Nodes whose domain is free; a node without the key has no domain and is allowed."""
        return ~self.taken[self.codes]

    def place(self, row: int) -> None:
        """A new replica on the node takes the domain from its own kind."""
        if self.itself and self.codes[row] != ABSENT:
            self.taken[self.codes[row]] = True


def apart(state: NodeState, shape: Shape, population: Population) -> list[Apart]:
    """The wishes of the shape, and those of running replicas against it."""
    found = []
    for term in shape.far:
        if term.weight:
            continue
        codes, count = domains(state, term.key)
        present = population.per_node(seen(term, shape, population), len(state.names))
        found.append(Apart(codes, _occupied(codes, count, present), sees_itself(term, shape, population)))
    return found + _against(state, shape, population)


def _against(state: NodeState, shape: Shape, population: Population) -> list[Apart]:
    """Running replicas that refuse this shape, one `Apart` a topology key."""
    labels = dict(shape.labels)
    refusing: dict[str, Bool] = {}
    for code in population.wary or ():
        each = population.residents[code]
        for term in each.far:
            if sees(term, each.namespace, shape.namespace, labels, population):
                refusing.setdefault(term.key, np.zeros(len(population.residents), dtype=np.bool_))[code] = True
    found = []
    for key, wanted in refusing.items():
        codes, count = domains(state, key)
        present = population.per_node(wanted, len(state.names))
        found.append(Apart(codes, _occupied(codes, count, present), itself=False))
    return found


def _occupied(codes: Int, count: int, present: Int) -> Bool:
    """Per domain whether a resident is there; one entry more, always free, for nodes without the key."""
    there = np.zeros(count + 1, dtype=np.bool_)
    there[codes[(present > 0) & (codes != ABSENT)]] = True
    return there


@dataclass(slots=True)
class Together:
    """The required wishes to be near, all of them at once.

    A replica counts for a wish only if every wish is about it, and only where its node has a domain. While no such one
    is anywhere, a shape that is about itself may begin in any domain; from then on the others follow.
    """

    codes: list[Int]
    present: list[Bool]
    keyed: Bool
    may_begin: bool

    def allowed(self) -> Bool:
        """Nodes that have all the keys and, for each term, a resident near."""
        if self.may_begin:
            return self.keyed
        near = self.keyed.copy()
        for codes, present in zip(self.codes, self.present, strict=True):
            near &= present[codes]
        return near

    def place(self, row: int, itself: bool) -> None:
        """A new replica that is about itself opens its domains to the next."""
        if itself:
            self.may_begin = False
            for codes, present in zip(self.codes, self.present, strict=True):
                present[codes[row]] = True


def together(state: NodeState, shape: Shape, population: Population) -> tuple[Together, bool] | None:
    """The required wishes to be near and whether the shape is about itself; None where there are none."""
    terms = [term for term in shape.near if not term.weight]
    if not terms:
        return None
    wanted = np.ones(len(population.residents), dtype=np.bool_)
    for term in terms:
        wanted &= seen(term, shape, population)
    present = population.per_node(wanted, len(state.names))
    keyed = np.ones(len(state.names), dtype=np.bool_)
    codes, occupied = [], []
    for term in terms:
        column, count = domains(state, term.key)
        keyed &= column != ABSENT
        codes.append(column)
        occupied.append(_occupied(column, count, present))
    itself = all(sees_itself(term, shape, population) for term in terms)
    begun = any(there.any() for there in occupied)
    return Together(codes, occupied, keyed, may_begin=itself and not begun), itself


def wished(state: NodeState, shape: Shape, population: Population) -> Int:
    """The summed weights of preferred neighbours: near ones add for every replica in the domain, far ones subtract."""
    total = np.zeros(len(state.names), dtype=np.int64)
    for sign, terms in ((1, shape.near), (-1, shape.far)):
        for term in terms:
            if term.weight:
                codes, count = domains(state, term.key)
                present = population.per_node(seen(term, shape, population), len(state.names))
                keyed = codes != ABSENT
                # One place more than there are domains, the last: that of nodes without the key.
                per_domain = np.bincount(codes[keyed], weights=present[keyed], minlength=count + 1).astype(np.int64)
                total += sign * term.weight * per_domain[codes]
    return total


def port_taken(state: NodeState, shape: Shape, population: Population) -> Bool:
    """Nodes where a running replica holds one of the shape's ports."""
    wanted = np.array([_clash(each, shape) for each in population.residents], dtype=np.bool_)
    return population.per_node(wanted, len(state.names)) > 0


def disk_taken(state: NodeState, shape: Shape, population: Population) -> Bool:
    """Nodes where a running replica has one of the shape's disks, and not both only read it."""
    wanted = np.array([_share(each.disks, shape.disks) for each in population.residents], dtype=np.bool_)
    return population.per_node(wanted, len(state.names)) > 0


def shares_with_itself(shape: Shape) -> bool:
    """Whether two replicas of the shape may not be on one node because of their disks."""
    return _share(shape.disks, shape.disks)


def _share(theirs: tuple[PodDisk, ...], mine: tuple[PodDisk, ...]) -> bool:
    return any(each.clashes(other) for each in mine for other in theirs)


def _clash(running: Resident, shape: Shape) -> bool:
    return any(
        mine.number == theirs.number
        and mine.protocol == theirs.protocol
        and (mine.address == theirs.address or "0.0.0.0" in (mine.address, theirs.address))
        for mine in shape.ports
        for theirs in running.ports
    )
