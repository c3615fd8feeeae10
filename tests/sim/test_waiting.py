"""Those that wait: in order, by queue and namespace, without the needs that no node can meet."""

from fairlead.model.columns import ints
from fairlead.model.shape import Shape
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload
from fairlead.sim.events import Arrival
from fairlead.sim.jobs import SimJob
from fairlead.sim.policy import SimPolicy
from fairlead.sim.waiting import Waiting


def job(name: str, cpu: int, replicas: int, *, at: int = 0, tiered: bool = False, priority: int = 0) -> SimJob:
    """A job of the namespace shop that waits since `at`."""
    workload = Workload(
        kind="Deployment",
        namespace="shop",
        name=name,
        replicas=replicas,
        priority=priority,
        tiered=tiered,
        shape=Shape(namespace="shop", request=(("cpu", cpu),)),
    )
    made = SimJob(Arrival(at_ms=at, workload=workload), SimPolicy(name="p"), Tiers(), ints([cpu]), ((0, cpu),))
    made.asked = replicas
    made.wait(at, replicas)
    return made


def waiting(*jobs: SimJob) -> Waiting:
    """All of them wait."""
    found = Waiting()
    for each in jobs:
        found.lack(each, each.lacking)
        found.add(each)
    return found


def anything(needs: Shape) -> bool:
    """Nodes have room for whatever comes."""
    return True


def names(found: list[SimJob]) -> list[str]:
    """The names of the jobs."""
    return [each.workload.name for each in found]


def test_needs_that_no_node_takes_are_passed_over_where_more_wait_than_are_shown() -> None:
    """Two of three are shown: with the large ones in front nobody small would be seen. Where all are shown, all are."""
    large, other, small = job("large", 2, 2), job("other", 2, 1), job("small", 1, 2, at=5)
    found = waiting(large, other, small)
    assert names(found.first(2, (), lambda needs: needs != large.needs)) == ["small"]
    assert names(found.first(3, (), lambda needs: needs != large.needs)) == ["large", "other", "small"]


def test_tiered_jobs_have_no_single_need_and_are_always_shown() -> None:
    """They may go to nodes of either tier, so no need of theirs is full."""
    tiered, small = job("tiered", 2, 2, tiered=True), job("small", 1, 2)
    assert tiered.needs is None
    assert names(waiting(tiered, small).first(1, (), lambda needs: False)) == ["tiered"]


def test_first_come_first_by_priority_then_time_then_name() -> None:
    """The first two of four, and not those that were tried already."""
    jobs = [job("late", 1, 1, at=9), job("b", 1, 1), job("a", 1, 1), job("urgent", 2, 1, at=9, priority=1)]
    found = waiting(*jobs)
    assert names(found.first(9, (), anything)) == ["urgent", "a", "b", "late"]
    assert names(found.first(2, (), anything)) == ["urgent", "a"]
    assert names(found.first(2, {jobs[3].key, jobs[2].key}, anything)) == ["b", "late"]


def test_a_job_counts_once_however_often_it_begins_to_wait() -> None:
    """Added twice it is one; gone twice it is none."""
    one, two = job("one", 1, 3), job("two", 1, 1)
    found = waiting(one, two)
    found.add(one)
    assert (len(found), len(list(found)), found.by_namespace) == (2, 2, {"shop": 4})
    found.discard(one)
    found.discard(one)
    assert (len(found), [each.key for each in found]) == (1, [two.key])


def test_replicas_that_start_are_those_that_waited_longest() -> None:
    """And those that are given up are the ones that waited shortest."""
    each = job("a", 1, 2, at=10)
    each.wait(20, 3)
    assert each.start(30, 3) == [(20, 2), (10, 1)]
    each.wait(40, 2)
    each.give_up(3)
    assert each.since == 20
    assert each.start(50, 9) == [(30, 1)]
