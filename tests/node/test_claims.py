"""Volume claims: where volumes are, where they can be made, and what stands in the way."""

from dataclasses import dataclass

import pytest

from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.claims import MADE, reach
from fairlead.levels.node.constraints.feasible import Constraints, rejections
from fairlead.model.claims import Candidate, ClaimDemand, Maker, OpenClaim
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.selectors import LabelSelector, Operator, Requirement, Term
from fairlead.model.shape import Shape

ZONE, OLD = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
STATE = node_state(
    [
        NodeRecord(name="a1", allocatable={"cpu": 1000}, labels={ZONE: "a", "disk": "ssd"}),
        NodeRecord(name="a2", allocatable={"cpu": 1000}, labels={ZONE: "a"}),
        NodeRecord(name="b1", allocatable={"cpu": 1000}, labels={OLD: "b"}),
        NodeRecord(name="c1", allocatable={"cpu": 1000}),
    ]
)


def on(*zones: str) -> Term:
    """A term for zones."""
    return Term((Requirement(ZONE, Operator.IN, zones),))


def topology(zone: str) -> LabelSelector:
    """A reported topology."""
    return LabelSelector((Requirement(ZONE, Operator.IN, (zone,)),))


@dataclass(frozen=True)
class Case:
    """A demand and the nodes that pass."""

    demand: ClaimDemand
    want: str


CASES = {
    "no claims, no condition": Case(ClaimDemand(), "a1 a2 b1 c1"),
    "a missing claim forbids every node": Case(ClaimDemand(blocked=reasons.CLAIM_MISSING), ""),
    "a bound volume is where it is": Case(ClaimDemand(volumes=((on("a"),),)), "a1 a2"),
    "terms of a volume are alternatives": Case(
        ClaimDemand(volumes=((on("x"), Term((Requirement("disk", Operator.EXISTS),))),)), "a1"
    ),
    "a volume with no term at all is nowhere": Case(ClaimDemand(volumes=((),)), ""),
    "a zone label under today's name is not looked for under its old name; a node without zones passes": Case(
        ClaimDemand(zones=(Requirement(ZONE, Operator.IN, ("b",)),)), "c1"
    ),
    "a zone label under its old name": Case(ClaimDemand(zones=(Requirement(OLD, Operator.IN, ("b",)),)), "b1 c1"),
    "a zone label under its old name, where nodes have today's": Case(
        ClaimDemand(zones=(Requirement(OLD, Operator.IN, ("a",)),)), "a1 a2 c1"
    ),
    "one free volume that suits": Case(
        ClaimDemand(open=(OpenClaim(name="c", candidates=(Candidate(name="v", nodes=(on("a"),)),)),)), "a1 a2"
    ),
    "two claims, one volume: it serves one of them": Case(
        ClaimDemand(
            open=(
                OpenClaim(name="c", candidates=(Candidate(name="v"),)),
                OpenClaim(name="d", candidates=(Candidate(name="v"),)),
            )
        ),
        "",
    ),
    "two claims, two volumes in one zone": Case(
        ClaimDemand(
            open=(
                OpenClaim(name="c", candidates=(Candidate(name="v"),)),
                OpenClaim(name="d", candidates=(Candidate(name="v"), Candidate(name="w", nodes=(on("a"),)))),
            )
        ),
        "a1 a2",
    ),
    "a volume is made anywhere": Case(ClaimDemand(open=(OpenClaim(name="c", maker=Maker()),)), "a1 a2 b1 c1"),
    "a volume is made in allowed topologies": Case(
        ClaimDemand(open=(OpenClaim(name="c", maker=Maker(nodes=(on("a"),))),)), "a1 a2"
    ),
    "a volume is made where room is reported": Case(
        ClaimDemand(open=(OpenClaim(name="c", maker=Maker(roomy=(topology("a"),))),)), "a1 a2"
    ),
    "nobody reports room": Case(ClaimDemand(open=(OpenClaim(name="c", maker=Maker(roomy=())),)), ""),
    "the node was chosen before": Case(ClaimDemand(open=(OpenClaim(name="c", node="b1", maker=Maker()),)), "b1"),
    "a node with too many volumes": Case(ClaimDemand(crowded=("a1", "gone")), "a2 b1 c1"),
}


@pytest.mark.parametrize("name", CASES)
def test_claims(name: str) -> None:
    """The nodes that pass, case by case."""
    case = CASES[name]
    constraints = Constraints(STATE, Shape(), also=reach(STATE, case.demand).passing)
    passed = [node for node, allowed in zip(STATE.names, constraints.allowed(), strict=True) if allowed]
    assert " ".join(passed) == case.want


def test_claims_say_which_volume_is_taken() -> None:
    """The first candidate that is reachable; where there is none, one is made."""
    claim = OpenClaim(
        name="c", candidates=(Candidate(name="v", nodes=(on("a"),)), Candidate(name="w")), maker=Maker(nodes=())
    )
    assert reach(STATE, ClaimDemand(open=(claim,))).taken[0].tolist() == [0, 0, 1, 1]
    alone = OpenClaim(name="c", maker=Maker())
    assert reach(STATE, ClaimDemand(open=(alone,))).taken[0].tolist() == [MADE] * 4


def test_claims_reasons_are_counted() -> None:
    """Each filter has its reason; a reason that forbids every node stands before those of single nodes."""
    demand = ClaimDemand(open=(OpenClaim(name="c", maker=Maker(nodes=(on("a"),), roomy=(topology("z"),))),))
    codes = Constraints(STATE, Shape(), also=reach(STATE, demand).passing).codes()
    assert [(each.reason.code, each.count) for each in rejections(codes, STATE.names)] == [
        ("NoVolumeThere", 2),
        ("NoStorageRoom", 2),
    ]
    blocked = reach(STATE, ClaimDemand(blocked=reasons.CLAIM_TAKEN)).passing
    codes = Constraints(STATE, Shape(request=(("cpu", 9000),)), also=blocked).codes()
    assert [each.reason.code for each in rejections(codes, STATE.names)] == ["ClaimTaken"]
