"""Who is looked at again, and when."""

import pytest

from fairlead.levels.node.constraints.reasons import NO_ROOM, NOT_NEAR
from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.live.scheduler.decide import Group, Outcome
from fairlead.live.scheduler.pending import BOUND, EDIT, FIRST_WAIT, NODE, POD, QUEUE, Pending
from fairlead.model.decision import Rejection
from fairlead.model.reasons import Finding, Reason, because
from tests.live.test_scheduler_cache import pod

POD_THAT_WAITS = pod("p1")


def waiting(*refused: Reason, finding: Finding | None = None) -> Outcome:
    """One pod that found no node."""
    return Outcome(
        group=Group(workload="ReplicaSet/shop/web", shape=POD_THAT_WAITS.shape, pods=(POD_THAT_WAITS,)),
        placed=(),
        waiting=(POD_THAT_WAITS,),
        considered=1,
        rejected=tuple(Rejection(reason=reason, count=1, names=("n1",)) for reason in refused),
        finding=finding,
    )


@pytest.mark.parametrize(
    ("outcome", "wakers"),
    [
        (waiting(NO_ROOM), {NODE, POD}),
        (waiting(NOT_NEAR), {NODE, BOUND, EDIT}),
        (waiting(NO_ROOM, finding=because(NODES_FULL, fits=0, count=1, detail="")), {NODE, POD, QUEUE}),
        (waiting(finding=because(NODES_FULL, fits=0, count=1, detail="")), {NODE, POD, QUEUE, BOUND}),
    ],
    ids=["no room", "no neighbour", "the queue level's word", "a node would take it by now"],
)
def test_parked_group_is_woken_by_what_could_help_it(outcome: Outcome, wakers: set[str]) -> None:
    """Every other event leaves it asleep."""
    for what in (NODE, POD, BOUND, EDIT, QUEUE):
        pending = Pending()
        pending.park(outcome, 0.0)
        assert pending.wake(what) == (what in wakers), what
        due = pending.due([POD_THAT_WAITS], FIRST_WAIT)
        assert bool(due) == (what in wakers), what


def test_woken_group_waits_its_time() -> None:
    """Longer after each failure."""
    pending = Pending()
    for wait in (FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT):
        pending.park(waiting(NO_ROOM), 100.0)
        pending.wake(POD)
        assert pending.next_due() == 100.0 + wait
        assert pending.due([POD_THAT_WAITS], 100.0 + wait * 0.9) == []
        assert pending.due([POD_THAT_WAITS], 100.0 + wait) == [POD_THAT_WAITS]
