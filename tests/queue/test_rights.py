"""What queues may have whoever else comes."""

from typing import Any

import numpy as np
import pytest

from fairlead.levels.queue.rights import within_rights
from fairlead.model.queuestate import QueuedJob, QueueEntry, QueueState, Role, RunningReplicas, queue_state


def state(queues: list[QueueEntry], *jobs: tuple[str, str, int, bool], **whole: int) -> QueueState:
    """Jobs are name, queue, cpu and whether they run."""
    rows = [
        QueuedJob(
            name=name,
            queue=queue,
            namespace="ns",
            roles=(
                Role(
                    name="",
                    replicas=1,
                    request={"cpu": cpu, "pods": 1},
                    held=(RunningReplicas(count=1),) if runs else (),
                ),
            ),
        )
        for name, queue, cpu, runs in jobs
    ]
    return queue_state(jobs=rows, queues=queues, weights={}, past={}, whole={"cpu": 12, "pods": 2, **whole})


def found(made: QueueState, counted: tuple[str, ...], wanted: tuple[str, ...]) -> set[str]:
    """The names of those within rights."""
    names = made.jobs.names
    rows = within_rights(
        made.jobs, made.queues, made.whole, [names.index(each) for each in counted], map(names.index, wanted)
    )
    return {names[row] for row in rows}


A, B = QueueEntry(name="a", weight=1), QueueEntry(name="b", weight=2)
CASES: dict[str, tuple[list[QueueEntry], set[str]]] = {
    "a third of twelve, though nobody else asks": ([A, B], {"x"}),
    "alone it may have everything": ([A], {"x", "y", "z"}),
    "a closed queue claims nothing": ([A, QueueEntry(name="b", weight=2, open=False)], {"x", "y", "z"}),
    "what it is guaranteed counts": ([QueueEntry(name="a", guarantee={"cpu": 8}), B], {"x", "y"}),
    "no more than its capability": ([QueueEntry(name="a", capability={"cpu": 3})], set()),
    "a parent's right binds those below": (
        [QueueEntry(name="top", weight=1), QueueEntry(name="a", parent="top"), B],
        {"x"},
    ),
}


@pytest.mark.parametrize(("queues", "want"), CASES.values(), ids=CASES)
def test_right_is_what_it_deserves_if_all_open_queues_ask(queues: list[QueueEntry], want: set[str]) -> None:
    """Three jobs of 4 cpu, in this order; that there are too few pods for them is no matter of shares."""
    made = state(queues, ("x", "a", 4, False), ("y", "a", 4, False), ("z", "a", 4, False))
    assert found(made, (), ("x", "y", "z")) == want


def test_what_runs_and_what_was_let_in_counts() -> None:
    """Of a right of 4 one holds 1 and another was promised 2: there is 1 left, which the second asks for."""
    made = state([A, B], ("r", "a", 1, True), ("p", "a", 2, False), ("x", "a", 2, False), ("y", "a", 1, False))
    assert found(made, ("r", "p"), ("x", "y")) == {"y"}
    assert found(made, ("r",), ("x", "y")) == {"x", "y"}


def test_unknown_and_unusable_queues_have_no_right() -> None:
    """They are passed over."""
    made = state([QueueEntry(name="a", weight=0)], ("x", "a", 1, False), ("y", "nowhere", 1, False))
    assert found(made, (), ("x", "y")) == set()


def test_resource_that_a_job_does_not_ask_for_does_not_stop_it() -> None:
    """A queue that is above its right in one resource may have another."""
    jobs: list[Any] = [("r", "a", 9, True), ("x", "a", 0, False)]
    made = state([A, B], *jobs)
    assert found(made, ("r",), ("x",)) == {"x"}
    assert np.all(made.whole >= 0)
