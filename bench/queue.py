"""Sharing 10,000 jobs of 100 replicas: growth with jobs and replicas, and one turn a replica for comparison.

The reference is the same order of turns without leaps: queue, namespace, job, one replica, then all put back in order.
Both are run on the same cluster in the same run and must admit the same number of replicas of every job.
"""

from functools import partial
from random import Random
from unittest.mock import patch

import numpy as np

from bench.measure import CPU, Report, best, milliseconds, ratio
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import share
from fairlead.model.amounts import Quantity, amounts
from fairlead.model.queuestate import QueuedJob, QueueEntry, QueueState, Role, RunningReplicas, queue_state

QUEUES, NAMESPACES = 100, 1000
SIZES = ((1_000, 100), (2_500, 100), (5_000, 100), (10_000, 10), (10_000, 100), (10_000, 1_000))
REFERENCE = (10_000, 100)
SHAPES = ("flat", "tree", "roles")
"""Queues side by side; ten to a department, two departments to a division; jobs with a leader that asks for more."""


def cluster(jobs: int, replicas: int, shape: str = "flat", seed: int = 1) -> QueueState:
    """Jobs of mixed size, priority and minimum over 100 queues and 1,000 namespaces; room for about half of it."""
    random = Random(seed)
    rows = []
    for number in range(jobs):
        namespace = random.randrange(NAMESPACES)
        asked: dict[str, Quantity] = {
            "cpu": random.choice(["250m", "500m", "1", "2"]),
            "memory": random.choice(["256Mi", "512Mi", "1Gi", "2Gi"]),
        }
        rows.append(
            QueuedJob(
                name=f"job-{number}",
                queue=f"queue-{namespace % QUEUES}",
                namespace=f"team-{namespace}",
                roles=_roles(replicas, asked, shape),
                min_member=min(replicas, random.choice([1, 1, 4, 8])),
                priority=random.choice([0, 0, 0, 10]),
            )
        )
    whole = amounts({"cpu": str(jobs * replicas * 47 // 100), "memory": f"{jobs * replicas * 55 // 100}Gi"})
    return queue_state(
        jobs=rows,
        queues=_queues(random, shape),
        weights={f"team-{number}": random.randint(1, 4) for number in range(NAMESPACES)},
        past={},
        whole=whole,
    )


def _roles(replicas: int, asked: dict[str, Quantity], shape: str) -> tuple[Role, ...]:
    workers = Role(replicas=replicas - (shape == "roles"), request=amounts(asked), held=(RunningReplicas(count=0),))
    leader = Role(replicas=1, request=amounts({"cpu": "3", "memory": "1Gi"}), held=(RunningReplicas(count=0),))
    return (leader, workers) if shape == "roles" else (workers,)


def _queues(random: Random, shape: str) -> list[QueueEntry]:
    """The queues that jobs name, and those above them."""
    tree = shape == "tree"
    leaves = [
        QueueEntry(name=f"queue-{row}", weight=random.randint(1, 9), parent=f"department-{row // 10}" if tree else "")
        for row in range(QUEUES)
    ]
    above = [
        QueueEntry(name=f"department-{row}", weight=1 + row % 3, parent=f"division-{row // 2}") for row in range(10)
    ]
    return [*leaves, *above, *(QueueEntry(name=f"division-{row}") for row in range(5))] if tree else leaves


class Stays:
    """A leap that goes nowhere: every turn is taken singly."""

    def __init__(self, *_: object) -> None:
        pass

    def counts(self) -> dict[int, int]:
        """Nothing for anybody."""
        return {}


def decide(state: QueueState) -> Sharing:
    """The decision that is measured."""
    return share(state.jobs, state.queues, state.namespaces, state.whole)


def singly(state: QueueState) -> Sharing:
    """The same, one turn a replica."""
    with patch("fairlead.levels.queue.grants.grant.Leap", Stays):
        return decide(state)


def run(report: Report) -> None:
    """Print the growth, then the comparison."""
    rows = []
    for shape in SHAPES:
        for jobs, replicas in SIZES if shape == "flat" else SIZES[-3:]:
            state = cluster(jobs, replicas, shape)
            seconds = best(partial(decide, state), repeats=3, clock=CPU)
            rows.append([shape, f"{jobs:,}", f"{replicas:,}", milliseconds(seconds), f"{seconds / jobs * 1e6:.0f} µs"])
    report.table("share, seconds of one core", ["queues", "jobs", "replicas each", "time", "a job"], rows)
    for shape in SHAPES:
        compare(report, shape)


def compare(report: Report, shape: str) -> None:
    """Leaps beside one turn a replica."""
    state = cluster(*REFERENCE, shape)
    fast = best(lambda: decide(state), repeats=3, clock=CPU)
    turns: list[Sharing] = []

    def one_by_one() -> None:
        turns.append(singly(state))

    slow = best(one_by_one, repeats=1, clock=CPU)
    ours = np.array([row.admitted for row in decide(state).jobs])
    theirs = np.array([row.admitted for row in turns[0].jobs])
    assert (ours == theirs).all(), "leaps and single turns disagree"
    report.table(
        f"{shape}, {REFERENCE[0]:,} jobs of {REFERENCE[1]}: {int(ours.sum()):,} admitted, the same of every job",
        ["rule", "time", "ratio"],
        [["leaps", milliseconds(fast), "1×"], ["one turn a replica", milliseconds(slow), ratio(slow, fast)]],
    )
