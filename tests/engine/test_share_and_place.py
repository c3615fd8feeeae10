"""Queue and node composed: what sums grant where it fits nodes, turn by turn where it does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine.site import plan_site
from fairlead.engine.site_plan import SitePlan
from fairlead.levels.queue.grants import grant
from fairlead.levels.queue.share import SharePolicy
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.selectors import LabelSelector, Operator, Requirement
from fairlead.model.shape import Neighbour, Shape
from fairlead.model.snapshot import Site
from fairlead.model.workload import Workload
from tests.live.queue_world import World

QUEUES: dict[str, object] = {"queues": (QueueEntry(name="large"), QueueEntry(name="small"))}


def workload(name: str, replicas: int, cpu: int = 1, **more: object) -> Workload:
    """A workload in a namespace of its own name."""
    shape = Shape(namespace=name, labels=(("app", name),), request=(("cpu", cpu), ("pods", 1)))
    fields: dict[str, object] = {"kind": "Job", "namespace": name, "name": name, "replicas": replicas, "shape": shape}
    return Workload(**(fields | more))  # type: ignore[arg-type]  # fields of the class


def planned(cpus: list[int], *workloads: Workload, **more: object) -> SitePlan:
    """The plan for nodes of so many cores."""
    nodes = node_state(
        [
            NodeRecord(name=f"n{row}", allocatable={"cpu": each, "pods": 99}, labels={"host": f"n{row}"})
            for row, each in enumerate(cpus)
        ]
    )
    here = Site(name="", nodes=nodes, population=Population(), **more)  # type: ignore[arg-type]
    return plan_site(here, [(each, each.replicas) for each in workloads])


def counts(made: SitePlan) -> dict[str, int]:
    """New replicas by workload."""
    return {path.workload.name: sum(part.placed for part in path.parts) for path in made.paths}


def test_what_sums_grant_is_kept_where_it_fits_nodes() -> None:
    """Equal queues: four large and eight small ones, for the large are placed before the gaps are too small."""
    queues = (QueueEntry(name="large"), QueueEntry(name="small"))
    made = planned(
        [4, 4, 4, 4], workload("large", 9, 2, queue="large"), workload("small", 20, queue="small"), queues=queues
    )
    assert counts(made) == {"large": 4, "small": 8}


def test_nodes_that_refuse_leave_the_turn_to_the_next() -> None:
    """By sums half each; no node takes the large ones, so everything is for the small ones."""
    queues = (QueueEntry(name="large"), QueueEntry(name="small"))
    made = planned(
        [2, 2, 2], workload("large", 2, 3, queue="large"), workload("small", 9, queue="small"), queues=queues
    )
    assert counts(made) == {"large": 0, "small": 6}
    large = next(path for path in made.paths if path.workload.name == "large")
    assert large.findings[0].sentence == "2 of 2 found no node: 3 nodes InsufficientRoom (3m cpu short)"


def test_a_queue_deserves_what_it_asks_for_though_nodes_refuse_it() -> None:
    """The demand of a workload that finds no node stays a demand, as in the live scheduler."""
    queues = (QueueEntry(name="large"), QueueEntry(name="small"))
    made = planned(
        [2, 2, 2], workload("large", 2, 3, queue="large"), workload("small", 9, queue="small"), queues=queues
    )
    assert {row.name: row.deserved["cpu"] for row in made.sharing.queues} == {"default": 0, "large": 3, "small": 3}


def test_gang_of_several_workloads_is_one_job() -> None:
    """Two roles that start together: with room for one of them neither is started, and both are told why."""
    roles = [workload(name, 2, 2, namespace="g", gang="g/both", least_together=4) for name in ("a", "b")]
    made = planned([4, 2], *roles, workload("web", 3))
    assert counts(made) == {"a": 0, "b": 0, "web": 3}
    for path in made.paths[:2]:
        assert path.findings[0].code in ("GangDoesNotFit", "GangAboveWhole")
    whole = planned([4, 4], *roles)
    assert counts(whole) == {"a": 2, "b": 2}
    assert [path.job.admitted for path in whole.paths] == [2, 2]


def test_those_that_want_neighbours_come_after_their_neighbours() -> None:
    """`a` comes first by name and wants to be near `z`: both are placed in one plan."""
    alike = LabelSelector((Requirement("app", Operator.IN, ("z",)),))
    near = Neighbour(key="host", selector=alike, namespaces=("z",))
    shape = Shape(namespace="a", request=(("cpu", 1), ("pods", 1)), near=(near,))
    assert counts(planned([4, 4], workload("a", 2, shape=shape), workload("z", 1))) == {"a": 2, "z": 1}


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=6),
)
def test_leaps_keep_gangs_whole_and_leave_nobody_who_fits(cpus: list[int], asked: list[tuple[int, int, int]]) -> None:
    """With leaps however little they save: no node is full beyond its room (invariants), no gang is half, and a
    workload that starts alone waits only where no node has room for one more."""
    workloads = [
        workload(f"w{row}", replicas, cpu, least_together=min(least, replicas))
        for row, (replicas, cpu, least) in enumerate(asked)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grant, "LEAP_COST", 0)
        patch.setattr(grant, "LEAP_COST_EACH", 0)
        made = planned(cpus, *workloads)
    left = made.after.free[:, made.after.resources.index("cpu")].tolist()
    for path in made.paths:
        new = sum(part.placed for part in path.parts)
        assert new == 0 or new >= path.workload.least_together
        alone = new >= path.workload.least_together or path.workload.least_together == 1
        if alone and path.unplaced:
            assert max(left) < dict(path.workload.shape.request)["cpu"]


def test_where_nodes_refuse_what_sums_grant_room_is_taken_as_before() -> None:
    """There is room for all in sum, but not on the node of the urgent one: with evictions it gets a victim."""
    world = World(2, 2, policy=SharePolicy(preempt=True))
    world.pod("low", on="n1", owner="low", cpu="1")
    world.pod("high", owner="high", cpu="2", priority=9, nodeSelector={"kubernetes.io/hostname": "n1"})
    turn, _ = world.turn()
    assert [(each.pod.metadata.name, each.beneficiary) for each in turn.evictions] == [("low", "ReplicaSet/ns/high")]
