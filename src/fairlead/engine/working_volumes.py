"""The volumes of a site while a decision is made or time goes by: which claim got which volume where, which volumes
are attached to which node, and which claims are in use.

`mark` and `undo` take back what came after a mark, as with `WorkingNodes`.
"""

from collections import Counter
from dataclasses import replace

from fairlead.dataclass import dataclass
from fairlead.engine.volume_limits import VolumeLimits
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.claims import MADE, Reach
from fairlead.model.claims import ClaimDemand, OpenClaim, SiteVolumes, Terms
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.selectors import Operator, Requirement, Term

Claim = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class _Given:
    """The volume that a claim gets: on which node, which one (empty: it is made), and from where it can be reached."""

    node: str
    volume: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class _Taken:
    """A replica on a node with its claims; `given` are those of them that got their volume with it."""

    namespace: str
    demand: ClaimDemand
    node: str
    given: tuple[Claim, ...]


def is_plain(demand: ClaimDemand) -> bool:
    """Whether replicas with this demand take nothing from one another."""
    return not (demand.open or demand.sole or demand.attached)


class WorkingVolumes:
    """Follows the claims of replicas as they are placed and go. Nodes keep their names and labels meanwhile."""

    def __init__(self, volumes: SiteVolumes, nodes: NodeState) -> None:
        self._nodes = nodes
        self._topology = volumes.topology
        self._limits = VolumeLimits(lambda volume: volume)
        for node, limits in volumes.limits.items():
            self._limits.limit(node, limits)
        self._used: Counter[Claim] = Counter()
        for held in volumes.held:
            if held.volume is not None:
                self._limits.hold(held.volume, nodes.names[held.row])
            if held.claim is not None:
                self._used[held.claim] += 1
        self._given: dict[Claim, _Given] = {}
        self._promised: set[str] = set()
        """Volumes that claims got here."""
        self._placed: list[_Taken] = []
        self._fresh: set[Claim] = set()
        """Claims whose volume is being made."""

    def seen(self, namespace: str, demand: ClaimDemand, *, bound: bool) -> ClaimDemand:
        """The demand as things are now.

        A claim that got a volume which is being made is bound to that node, as for the live scheduler; once it is
        `bound`, to the nodes from which the volume can be reached.
        """
        if demand.blocked is not None:
            return demand
        if any(self._used[namespace, name] for name in demand.sole):
            return ClaimDemand(blocked=reasons.CLAIM_TAKEN)
        still_open: list[OpenClaim] = []
        volumes = list(demand.volumes)
        for claim in demand.open:
            given = self._given.get((namespace, claim.name))
            if given is None:
                left = tuple(each for each in claim.candidates if each.name not in self._promised)
                still_open.append(replace(claim, candidates=left))
            elif (namespace, claim.name) in self._fresh and not bound:
                still_open.append(replace(claim, node=given.node, candidates=()))
            elif given.terms is not None:
                volumes.append(given.terms)
        crowded = self._limits.crowded(demand.attached)
        return replace(demand, volumes=tuple(volumes), open=tuple(still_open), crowded=crowded)

    def take(self, namespace: str, demand: ClaimDemand, reached: Reach, row: int) -> None:
        """A replica goes to the node (row); `demand` is what `seen` said, `reached` the answer to it."""
        node = self._nodes.names[row]
        given = []
        for claim, choice in zip(demand.open, reached.taken, strict=True):
            key = namespace, claim.name
            if key not in self._given:
                self._given[key] = self._volume(claim, int(choice[row]), row)
                self._promised.add(self._given[key].volume)
                given.append(key)
                if not self._given[key].volume:
                    self._fresh.add(key)
        taken = _Taken(namespace, demand, node, tuple(given))
        self._count(taken, 1)
        self._placed.append(taken)

    def leave(self, namespace: str, demand: ClaimDemand, row: int) -> None:
        """A replica is gone from the node; the volumes of its claims stay where they are."""
        self._count(_Taken(namespace, demand, self._nodes.names[row], ()), -1)

    def mark(self) -> int:
        """A point to return to."""
        return len(self._placed)

    def undo(self, mark: int) -> None:
        """Take back every replica after the mark, with the volumes that its claims got."""
        while len(self._placed) > mark:
            taken = self._placed.pop()
            self._count(taken, -1)
            for key in taken.given:
                self._promised.discard(self._given.pop(key).volume)
                self._fresh.discard(key)

    def settle(self) -> None:
        """What has been placed stays, and volumes that were being made are there: no mark before is returned to."""
        self._placed.clear()
        self._fresh.clear()

    def _volume(self, claim: OpenClaim, choice: int, row: int) -> _Given:
        node = self._nodes.names[row]
        if choice != MADE:
            return _Given(node, claim.candidates[choice].name, claim.candidates[choice].nodes)
        driver = claim.maker.driver if claim.maker is not None else ""
        labels = [(key, self._label(key, row)) for key in self._topology.get((driver, node), ())]
        known = tuple(Requirement(key, Operator.IN, (value,)) for key, value in labels if value is not None)
        return _Given(node, "", (Term(known),) if known else None)

    def _label(self, key: str, row: int) -> str | None:
        column = self._nodes.labels.get(key)
        code = ABSENT if column is None else int(column.codes[row])
        return None if column is None or code == ABSENT else column.values[code]

    def _count(self, taken: _Taken, sign: int) -> None:
        for volume in taken.demand.attached:
            (self._limits.hold if sign > 0 else self._limits.leave)(volume, taken.node)
        for name in taken.demand.sole:
            self._used[taken.namespace, name] += sign
