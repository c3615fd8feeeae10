"""One question, three askers: a plan, the first instant of a simulation and a turn of the live scheduler agree.

Jobs ask for whole cores of nodes that have whole cores, so that what fits in sum fits nodes: there the three are bound
to the same answer (docs/decisions/0256 tells where a plan may differ).
"""

from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.engine.explain import workload_lines
from fairlead.engine.plan import plan
from fairlead.kube.objects.volcano import PodGroup
from fairlead.kube.resources import POD_GROUPS
from fairlead.model.nodestate import NodeRecord, NodeState, node_state
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload
from fairlead.sim.events import Arrival, Timeline
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import _Loop
from tests.live.queue_world import World


@dataclass(frozen=True)
class Asked:
    """A job: its name is its place, so that the older comes first by name too."""

    name: str
    namespace: str
    queue: str
    replicas: int
    gang: bool
    priority: int


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[int], list[Asked], dict[str, int], int]:
    """Cores of nodes, jobs, weights of namespaces, and the weight of the queue `q`."""
    cores = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    jobs = [
        Asked(
            name=f"j{place}",
            namespace=draw(st.sampled_from(["a", "b", "c"])),
            queue=draw(st.sampled_from(["", "q"])),
            replicas=draw(st.integers(1, 6)),
            gang=draw(st.booleans()),
            priority=draw(st.sampled_from([0, 0, 5])),
        )
        for place in range(draw(st.integers(1, 6)))
    ]
    weights = {name: draw(st.integers(1, 3)) for name in ("a", "b")}
    return cores, jobs, weights, draw(st.integers(1, 3))


def nodes_of(cores: list[int]) -> NodeState:
    """Nodes n1, n2 … as `World` has them."""
    return node_state(
        [
            NodeRecord(name=f"n{row}", allocatable={"cpu": 1000 * each, "pods": 500})
            for row, each in enumerate(cores, start=1)
        ]
    )


def workload_of(job: Asked) -> Workload:
    """The job as plan and simulation see it."""
    shape = Shape(namespace=job.namespace, labels=(("app", job.name),), request=(("cpu", 1000), ("pods", 1)))
    return Workload(
        kind="Job",
        namespace=job.namespace,
        name=job.name,
        replicas=job.replicas,
        shape=shape,
        queue=job.queue,
        priority=job.priority,
        least_together=job.replicas if job.gang else 1,
        created=job.name,
    )


def planned(
    cores: list[int], jobs: list[Asked], weights: dict[str, int], weight: int
) -> tuple[dict[str, int], dict[str, str]]:
    """Replicas of each job that a plan places, and what `explain` says of it."""
    site = Site(
        name="",
        nodes=nodes_of(cores),
        population=Population(),
        workloads=tuple(map(workload_of, jobs)),
        queues=(QueueEntry(name="q", weight=weight),),
        weights=weights,
    )
    made = plan(Snapshot(sites=(site,)))
    placed = {path.workload.name: sum(part.placed for part in path.parts) for path in made.sites[0].paths}
    return placed, {job.name: "\n".join(workload_lines(made, f"{job.namespace}/{job.name}")) for job in jobs}


def simulated(cores: list[int], jobs: list[Asked], weights: dict[str, int], weight: int) -> dict[str, int]:
    """Replicas of each job that run after the first instant of a simulation."""
    story = Timeline(
        name="one instant",
        seed=1,
        until_ms=1,
        cycle_ms=1000,
        nodes=nodes_of(cores),
        queues=(QueueEntry(name="q", weight=weight),),
        weights=weights,
        arrivals=tuple(Arrival(at_ms=0, workload=workload_of(job)) for job in jobs),
    )
    loop = _Loop(story, SimPolicy(name="fair"))
    loop.until_the_end(lambda now: None)
    return {job.workload.name: job.running for job in loop.jobs.values()}


def granted(cores: list[int], jobs: list[Asked], weights: dict[str, int], weight: int) -> dict[str, int]:
    """Replicas of each job that one turn of the live scheduler grants."""
    world = World(*cores)
    world.queue("q", weight=weight)
    world.queue("default", weight=1)
    for namespace, number in weights.items():
        world.weigh(namespace, str(number))
    for place, job in enumerate(jobs):
        like: dict[str, Any] = {
            "namespace": job.namespace,
            "priority": job.priority,
            "created": f"1970-01-12T13:46:{place:02d}Z",
        }
        if job.gang:
            spec = {"minMember": job.replicas, **({"queue": job.queue} if job.queue else {})}
            meta = {"name": job.name, "namespace": job.namespace, "uid": job.name, "creationTimestamp": like["created"]}
            world._put(POD_GROUPS, msgspec.convert({"metadata": meta, "spec": spec}, PodGroup))
            world.pods(job.replicas, job.name, group=job.name, **like)
        else:
            world.pods(job.replicas, job.name, owner=job.name, queue=job.queue, **like)
    turn, _ = world.turn()
    found = dict.fromkeys((job.name for job in jobs), 0)
    for grant in turn.grants:
        for pod, _ in grant.places:
            found[pod.metadata.name.partition("-")[0]] += 1
    return found


@settings(max_examples=80)
@given(questions())
def test_plan_simulation_and_live_turn_place_the_same(
    question: tuple[list[int], list[Asked], dict[str, int], int],
) -> None:
    """As many replicas of every job, whoever is asked; and `explain` tells the same number."""
    plan_says, told = planned(*question)
    assert plan_says == simulated(*question)
    assert plan_says == granted(*question)
    for job in question[1]:
        if plan_says[job.name]:
            assert f"{plan_says[job.name]} of" in told[job.name]
