"""Sentences of reasons: their numbers, and the words that go with one or with several."""

import pytest

from fairlead.levels.disk.reasons import NOT_EMPTIED, UNKNOWN_DISK
from fairlead.levels.fleet.reasons import INSUFFICIENT_ROOM, MAXIMUMS_TOO_LOW, NO_CLUSTERS
from fairlead.levels.node.reasons import ALREADY_FILLED
from fairlead.levels.queue.reasons import UNFINISHED
from fairlead.model.reasons import Detail, Reason, because

ONE: dict[str, tuple[Reason, dict[str, Detail], str]] = {
    "no cluster for one": (NO_CLUSTERS, {"replicas": 1}, "there is no cluster to divide 1 replica over"),
    "one without room": (
        INSUFFICIENT_ROOM,
        {"room": 4, "replicas": 5, "missing": 1},
        "the clusters have room for 4 of 5 replicas, 1 is missing",
    ),
    "one above the maximums": (
        MAXIMUMS_TOO_LOW,
        {"room": 4, "replicas": 5, "missing": 1},
        "the maximums of the clusters allow 4 of 5 replicas, 1 is left",
    ),
    "one node is filled": (ALREADY_FILLED, {"nodes": 1, "each": 1}, "1 node already holds 1 replica or more"),
    "one job waits with several": (
        UNFINISHED,
        {"jobs": 1, "pending": 5, "code": "QueueShare"},
        "1 job waits, 5 replicas in all; most often: QueueShare",
    ),
    "one cannot leave": (NOT_EMPTIED, {"left": 1, "why": "NoDisk"}, "1 storage replica cannot leave: NoDisk"),
    "one without its disk": (
        UNKNOWN_DISK,
        {"count": 1, "names": "r1 on a/d"},
        "1 storage replica names a disk that is not there: r1 on a/d",
    ),
}


@pytest.mark.parametrize("name", ONE)
def test_sentence_of_one_is_in_the_singular(name: str) -> None:
    """A first problem is often one of one: its answer reads as a sentence."""
    reason, details, want = ONE[name]
    assert because(reason, **details).sentence == want
