"""Who is looked at again, and when."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.objects.pod import Pod
from fairlead.levels.node.constraints.reasons import CLAIM_MISSING, NO_ROOM, NOT_NEAR
from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome
from fairlead.live.cluster.records import PodRecord
from fairlead.live.scheduler.pending import FIRST_WAIT, LONGEST_WAIT, Pending
from fairlead.model.decision import Rejection
from fairlead.model.reasons import Finding, Reason, because
from tests.live.test_scheduler_cache import RECORDS, pod

POD_THAT_WAITS = pod("p1")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SELECTS_WEB = {"matchLabels": {"app": "web"}}


def waiting(*refused: Reason, finding: Finding | None = None) -> PodSetOutcome:
    """One pod that found no node."""
    return PodSetOutcome(
        group=PodSet(controller="ReplicaSet/shop/web", shape=POD_THAT_WAITS.shape, pods=(POD_THAT_WAITS,)),
        placed=(),
        waiting=(POD_THAT_WAITS,),
        considered=1,
        rejected=tuple(Rejection(reason=reason, count=1, names=("n1",)) for reason in refused),
        finding=finding,
    )


@pytest.mark.parametrize(
    ("outcome", "wakers"),
    [
        (waiting(NO_ROOM), {Wake.NODE, Wake.POD_LEFT}),
        (waiting(NOT_NEAR), {Wake.NODE, Wake.POD_BOUND, Wake.NAMESPACE}),
        (
            waiting(NO_ROOM, finding=because(NODES_FULL, fits=0, count=1, detail="")),
            {Wake.NODE, Wake.POD_LEFT, Wake.QUEUE},
        ),
        (
            waiting(finding=because(NODES_FULL, fits=0, count=1, detail="")),
            {Wake.NODE, Wake.POD_LEFT, Wake.QUEUE, Wake.POD_BOUND},
        ),
    ],
    ids=["no room", "no neighbour", "the queue level's word", "a node would take it by now"],
)
def test_parked_group_is_woken_by_what_could_help_it(outcome: PodSetOutcome, wakers: set[str]) -> None:
    """Every other event leaves it asleep."""
    for what in (Wake.NODE, Wake.POD_LEFT, Wake.POD_BOUND, Wake.NAMESPACE, Wake.QUEUE):
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
        pending.wake(Wake.POD_LEFT)
        assert pending.next_due() == 100.0 + wait
        assert pending.due([POD_THAT_WAITS], 100.0 + wait * 0.9) == []
        assert pending.due([POD_THAT_WAITS], 100.0 + wait) == [POD_THAT_WAITS]


def test_group_that_fails_for_hours_still_waits_its_longest_time() -> None:
    """A busy cluster wakes it every few seconds; the number of failures has no bound."""
    pending = Pending()
    for _ in range(1100):
        pending.park(waiting(NO_ROOM), 100.0)
        pending.wake(Wake.POD_LEFT)
    assert pending.next_due() == 100.0 + LONGEST_WAIT


def parked(name: str, *refused: Reason, **spec: Any) -> tuple[Pending, PodRecord]:
    """A pod of that name that waits, for these reasons."""
    given = {"metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name}}, "spec": spec}
    record = RECORDS.record(msgspec.convert(given, Pod))
    pending = Pending()
    outcome = PodSetOutcome(
        group=PodSet(controller=record.controller, shape=record.shape, pods=(record,)),
        placed=(),
        waiting=(record,),
        considered=1,
        rejected=tuple(Rejection(reason=reason, count=1, names=("n1",)) for reason in refused),
    )
    pending.park(outcome, 0.0)
    return pending, record


def test_claim_wakes_those_who_use_it() -> None:
    """Another claim is no help; a change that is about no claim in particular may be."""
    claimed = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "mine"}}]}
    for about, woken in ((("shop", "other"), False), (("else", "mine"), False), (("shop", "mine"), True), (None, True)):
        pending, _ = parked("p", CLAIM_MISSING, **claimed)
        assert pending.wake(Wake.VOLUME, about) == woken, about


@pytest.mark.parametrize(
    "wish",
    [
        {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": "zone", "labelSelector": SELECTS_WEB}]}}},
        {
            "topologySpreadConstraints": [
                {
                    "topologyKey": "zone",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": SELECTS_WEB,
                }
            ]
        },
    ],
    ids=["near", "even"],
)
def test_bound_pod_wakes_those_who_wait_for_it(wish: dict[str, Any]) -> None:
    """A pod that no wish of theirs is about leaves them asleep."""
    pending, record = parked("p", NOT_NEAR, **wish)
    assert not pending.wake(Wake.POD_BOUND, pod("q", on="n1", app="db").resident)
    assert pending.due([record], FIRST_WAIT) == []
    assert pending.wake(Wake.POD_BOUND, pod("q", on="n1", app="web").resident)
    assert pending.due([record], FIRST_WAIT) == [record]


def test_any_bound_pod_wakes_those_whom_no_node_refuses() -> None:
    """Others took the room in the same turn; what comes next may change what nodes say."""
    pending, _ = parked("p")
    assert pending.wake(Wake.POD_BOUND, pod("q", on="n1", app="db").resident)


def test_news_of_a_parked_pod_are_no_reason_to_look() -> None:
    """Its condition was written, say; another shape is another group."""
    pending, record = parked("p", NO_ROOM)
    assert not pending.changed(record)
    assert pending.changed(pod("p"))
    pending.due([], 0.0)
    assert pending.changed(record)
