"""Volume claims: nodes from which all volumes of a replica can be reached, or on which they can be made."""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.labels import requirement_holds, term_matches
from fairlead.model.claims import ClaimDemand, OpenClaim, Terms
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Reason
from fairlead.model.selectors import LabelSelector, Operator, Requirement

OLDER = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Old names of the labels that tell zone and region, each with the name of today."""
ZONE_KEYS = (*OLDER, *OLDER.values())
"""Labels by which volumes and nodes tell where they are."""
MADE = -1
"""Instead of a candidate's place: the volume is made."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The filters' answer, and for each open claim the candidate taken on each node (MADE: none, one is made)."""

    passing: dict[Reason, Bool]
    taken: tuple[Int, ...]


def reach(state: NodeState, demand: ClaimDemand) -> Reach:
    """Which nodes pass, by reason."""
    nodes = len(state.names)
    passing: dict[Reason, Bool] = {}
    if demand.blocked is not None:
        return Reach({demand.blocked: np.zeros(nodes, dtype=np.bool_)}, ())
    if demand.volumes or demand.zones:
        there = np.ones(nodes, dtype=np.bool_)
        for terms in demand.volumes:
            there &= _matches(state, terms)
        for zone in demand.zones:
            there &= _in_zone(state, zone)
        passing[reasons.VOLUME_ELSEWHERE] = there
    taken: tuple[Int, ...] = ()
    if demand.open:
        possible, roomy, taken = _open(state, demand.open)
        passing |= {reasons.NO_VOLUME: possible, reasons.NO_STORAGE_ROOM: roomy}
    if demand.crowded:
        light = np.ones(nodes, dtype=np.bool_)
        light[[state.rows[name] for name in demand.crowded if name in state.rows]] = False
        passing[reasons.TOO_MANY_VOLUMES] = light
    return Reach(passing, taken)


def _matches(state: NodeState, terms: Terms) -> Bool:
    if terms is None:
        return np.ones(len(state.names), dtype=np.bool_)
    found = np.zeros(len(state.names), dtype=np.bool_)
    for term in terms:
        found |= term_matches(state, term)
    return found


def _in_zone(state: NodeState, zone: Requirement) -> Bool:
    """The node has the zone under the volume's label, or under today's name of an old one that it lacks.

    A node without any label of this kind is in every zone.
    """
    held = requirement_holds(state, zone)
    if zone.key in OLDER:
        newer = Requirement(OLDER[zone.key], Operator.IN, zone.values)
        held |= _lacks(state, zone.key) & requirement_holds(state, newer)
    for_all: Bool = np.logical_and.reduce([_lacks(state, key) for key in ZONE_KEYS])
    return held | for_all


def _lacks(state: NodeState, key: str) -> Bool:
    return requirement_holds(state, Requirement(key, Operator.DOES_NOT_EXIST))


def _open(state: NodeState, claims: tuple[OpenClaim, ...]) -> tuple[Bool, Bool, tuple[Int, ...]]:
    """Where every open claim finds or gets a volume, where the making finds room, and which candidate is taken.

    A candidate serves one claim of a replica: on each node the earlier claim has the first choice.
    """
    nodes = len(state.names)
    possible, roomy = np.ones(nodes, dtype=np.bool_), np.ones(nodes, dtype=np.bool_)
    used: dict[str, Bool] = {}
    taken = []
    for claim in claims:
        choice = np.full(nodes, MADE, dtype=np.int64)
        if claim.node:
            possible &= np.array([name == claim.node for name in state.names], dtype=np.bool_)
        for place, candidate in enumerate(claim.candidates):
            before = used.setdefault(candidate.name, np.zeros(nodes, dtype=np.bool_))
            mine = _matches(state, candidate.nodes) & ~before & (choice == MADE)
            choice[mine] = place
            before |= mine
        makeable, room = _makeable(state, claim)
        possible &= (choice != MADE) | makeable
        roomy &= (choice != MADE) | room
        taken.append(choice)
    return possible, roomy, tuple(taken)


def _makeable(state: NodeState, claim: OpenClaim) -> tuple[Bool, Bool]:
    if claim.maker is None:
        return np.zeros(len(state.names), dtype=np.bool_), np.ones(len(state.names), dtype=np.bool_)
    makeable = _matches(state, claim.maker.nodes)
    if claim.maker.roomy is None:
        return makeable, np.ones(len(state.names), dtype=np.bool_)
    room = np.zeros(len(state.names), dtype=np.bool_)
    for topology in claim.maker.roomy:
        room |= _selected(state, topology)
    return makeable, room


def _selected(state: NodeState, topology: LabelSelector) -> Bool:
    found = np.ones(len(state.names), dtype=np.bool_)
    for requirement in topology.requirements:
        found &= requirement_holds(state, requirement)
    return found
