"""What is promised of every plan is checked on every plan: a broken one does not leave the engine."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairlead.engine import invariants, site
from fairlead.engine.outcomes import Outcome
from fairlead.engine.plan import plan
from fairlead.engine.site import plan_site
from fairlead.engine.site_plan import SitePlan
from fairlead.model.errors import InvariantError
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload

NODES = node_state([NodeRecord(name=name, allocatable={"cpu": 4, "pods": 9}) for name in ("n1", "n2")])
WORKLOAD = Workload(
    kind="Job",
    namespace="a",
    name="j",
    replicas=4,
    shape=Shape(namespace="a", request=(("cpu", 1), ("pods", 1))),
    least_together=3,
)
HERE = Site(name="", nodes=NODES, population=Population(), workloads=(WORKLOAD,))


def sound() -> SitePlan:
    """Four replicas on two nodes of four cores."""
    return plan_site(HERE, [(WORKLOAD, 4)])


def with_part(made: SitePlan, **fields: object) -> SitePlan:
    """The plan with its only part changed, and the nodes as the part says."""
    (path,) = made.paths
    part = replace(path.parts[0], **fields)  # type: ignore[arg-type]  # fields of the class
    used = made.before.used + np.outer(part.counts, [1, 1])
    return replace(made, paths=(replace(path, parts=(part,)),), after=replace(made.before, used=used))


def test_a_sound_plan_passes() -> None:
    """Nothing is said of a plan that keeps its promises."""
    invariants.check(sound())
    assert sound().paths[0].parts[0].counts.tolist() == [2, 2]


Broken = Callable[[SitePlan], SitePlan]
BROKEN: dict[str, tuple[Broken, str]] = {
    "a negative count": (
        lambda made: with_part(made, counts=np.array([5, -1])),
        "Job/a/j: places a negative number of replicas on a node",
    ),
    "more placed than granted": (
        lambda made: with_part(made, granted=3),
        "Job/a/j: places 4 of 3 granted and 4 needed",
    ),
    "more granted than needed": (
        lambda made: with_part(made, granted=5, counts=np.array([3, 2])),
        "Job/a/j: places 5 of 5 granted and 4 needed",
    ),
    "more placed than the queue admits": (
        lambda made: replace(made, paths=(replace(made.paths[0], job=replace(made.paths[0].job, admitted=3)),)),
        "Job/a/j: places 4, more than the queue admits",
    ),
    "a replica placed twice": (
        lambda made: replace(made, paths=(replace(made.paths[0], replicas=3),)),
        "Job/a/j: has 0 running and 4 placed of 3 asked for",
    ),
    "half a gang": (
        lambda made: with_part(made, counts=np.array([1, 1])),
        "Job/a/j: has 2 of a gang of 3",
    ),
    "nodes that do not add up": (
        lambda made: replace(made, after=made.before),
        "the nodes after the plan are not the nodes before it plus what it places",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plan_is_caught(name: str) -> None:
    """Each promise has a plan that breaks it alone, and the error says which."""
    broken, sentence = BROKEN[name]
    with pytest.raises(InvariantError) as caught:
        invariants.check(broken(sound()))
    assert str(caught.value) == sentence


def test_a_node_over_its_room_is_caught() -> None:
    """More than a node has of a resource; a node that others over-committed before is no fault of the plan."""
    small = replace(NODES, allocatable=np.array([[1, 9], [4, 9]]))
    made = sound()
    with pytest.raises(InvariantError, match="node n1: cpu 2 used of 1"):
        invariants.check(replace(made, before=small, after=replace(small, used=made.after.used)))
    full = replace(small, used=np.array([[7, 0], [0, 0]]))
    moved = with_part(replace(made, before=full), counts=np.array([0, 4]))
    invariants.check(moved)


def test_every_plan_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect in placing ends as an error, not as a plan."""
    real = site.outcomes

    def twice(*given: Any) -> list[Outcome]:
        first, *_ = real(*given)
        (part,) = first.parts
        return [replace(first, parts=(replace(part, counts=part.counts * 2),))]

    monkeypatch.setattr(site, "outcomes", twice)
    with pytest.raises(InvariantError, match="Job/a/j: places 8 of 4 granted and 4 needed"):
        plan(Snapshot(sites=(HERE,)))
