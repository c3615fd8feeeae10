"""Objects that cannot be used: a reason for that object, and the rest goes on."""

from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.model.queuestate import weight_of
from fairlead.problems import share
from fairlead.text.documents import strict


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem."""
    asked = strict(value, share.PROBLEM)
    return share.answer(asked, share.solve(asked))


def job(name: str, queue: str = "good", **more: Any) -> dict[str, Any]:
    """A job of two 1-cpu replicas."""
    return {"name": name, "queue": queue, "replicas": 2, "request": {"cpu": 1}, **more}


QUEUES = {
    "UnknownQueue": ([], None),
    "WeightOutOfRange": ([{"name": "bad", "weight": 0}], "WeightOutOfRange"),
    "UnknownParent": ([{"name": "bad", "parent": "nobody"}], "UnknownParent"),
    "ParentCycle": ([{"name": "bad", "parent": "worse"}, {"name": "worse", "parent": "bad"}], "ParentCycle"),
    "ParentRefused": ([{"name": "top", "weight": -3}, {"name": "bad", "parent": "top"}], "ParentRefused"),
    "QueueClosed": ([{"name": "bad", "state": "Closed"}], None),
    "QueueNotLeaf": ([{"name": "bad"}, {"name": "leaf", "parent": "bad"}], None),
}


@pytest.mark.parametrize("code", QUEUES)
def test_job_in_a_bad_queue_waits_with_its_reason_and_the_rest_goes_on(code: str) -> None:
    """The queue says what is wrong with it, its job says so too, and the job beside it starts."""
    queues, told = QUEUES[code]
    answer = answered({"total": {"cpu": 4}, "queues": [{"name": "good"}, *queues], "jobs": [job("a", "bad"), job("b")]})
    assert answer["jobs"]["a"]["reason"] == code
    assert (answer["jobs"]["a"]["admitted"], answer["jobs"]["b"]["admitted"]) == (0, 2)
    if queues:
        assert answer["queues"]["bad"]["reason"] == told


@pytest.mark.parametrize(("weight", "said"), [(65536, 65536), (10**30, 2**31), (-7, -7), (-(10**30), -(2**31))])
def test_queue_weight_has_a_range(weight: int, said: int) -> None:
    """1 … 65535, whatever else is written; what is beyond 32 bits is told as their end."""
    answer = answered({"total": {"cpu": 4}, "queues": [{"name": "good"}, {"name": "bad", "weight": weight}]})
    assert answer["queues"]["bad"]["reason"] == "WeightOutOfRange"
    assert answer["queues"]["bad"]["message"] == f"queue bad has the weight {said}; expected 1 … 65535"


def test_gang_larger_than_its_job_never_starts_and_asks_for_nothing() -> None:
    """minMember above replicas: that job waits, and its request does not count in what the queue deserves."""
    queues = [{"name": "good"}, {"name": "other"}]
    answer = answered(
        {"total": {"cpu": 4}, "queues": queues, "jobs": [job("a", minMember=3), job("b", "other", replicas=9)]}
    )
    assert (answer["jobs"]["a"]["reason"], answer["jobs"]["b"]["admitted"]) == ("GangAboveReplicas", 4)
    assert answer["queues"]["good"]["deserved"] == {"cpu": "0"}


def test_guarantee_above_the_whole_is_not_kept_and_the_queue_says_so() -> None:
    """The guarantee is dropped, the queue shares like any other."""
    queues = [{"name": "good"}, {"name": "bad", "guarantee": {"cpu": 5}}]
    answer = answered({"total": {"cpu": 4}, "queues": queues, "jobs": [job("a", replicas=9), job("b", "bad")]})
    assert answer["queues"]["bad"]["reason"] == "GuaranteeAboveWhole"
    assert (answer["jobs"]["a"]["admitted"], answer["jobs"]["b"]["admitted"]) == (2, 2)


def test_guarantees_that_only_together_pass_the_whole_go_by_name() -> None:
    """The first in natural order keeps its own, the next has none."""
    queues = [{"name": "q10", "guarantee": {"cpu": 3}}, {"name": "q2", "guarantee": {"cpu": 3}}]
    answer = answered({"total": {"cpu": 4}, "queues": queues, "jobs": [job("a", "q2"), job("b", "q10")]})
    assert (answer["queues"]["q2"]["reason"], answer["queues"]["q10"]["reason"]) == (None, "GuaranteeAboveWhole")


@pytest.mark.parametrize("value", ["abc", 0, -3, 1.5, "1.5", None, True, [], {}, "", 2**40, "1e400"])
def test_invalid_weight_of_a_namespace_counts_as_1(value: Any) -> None:
    """Anything that is not a positive whole number."""
    assert weight_of([value]) == 1
    assert weight_of([value, 4]) == 4


@pytest.mark.parametrize(("value", "want"), [("3", 3), (3, 3), ("1k", 1000), ("3.0", 3), (2.0, 2)])
def test_valid_weight_of_a_namespace(value: Any, want: int) -> None:
    """Whole numbers, however they are written."""
    assert weight_of([value]) == want


def test_namespace_listed_twice_has_its_highest_weight() -> None:
    """As with several quotas in one namespace."""
    rows = [{"name": "n", "weight": "abc"}, {"name": "n", "weight": 3}, {"name": "n", "weight": 2}]
    answer = answered(
        {"total": {"cpu": 4}, "queues": [{"name": "good"}], "namespaces": rows, "jobs": [job("a", namespace="n")]}
    )
    assert answer["namespaces"][0]["weight"] == 3


BAD = {
    "$.jobs[0].running": {"total": {"cpu": 1}, "jobs": [job("a", running=3)]},
    "$.jobs[0].tasks[1].running": {
        "total": {"cpu": 1},
        "jobs": [{"name": "a", "tasks": [{"name": "x"}, {"name": "y", "running": 2}]}],
    },
    "$.jobs[0].tasks": {"total": {"cpu": 1}, "jobs": [job("a", tasks=[{"name": "x"}])]},
    "$.jobs[1].name": {"total": {"cpu": 1}, "jobs": [job("a"), job("a")]},
    "$.queues[1].name": {"total": {"cpu": 1}, "queues": [{"name": "q"}, {"name": "q"}]},
    "$.nodes[1].name": {"nodes": [{"name": "n", "allocatable": {}}, {"name": "n", "allocatable": {}}]},
    "$.total": {"jobs": []},
    "$.total.cpu": {"total": {"cpu": "many"}},
    "$.queues[0].capability.memory": {"total": {}, "queues": [{"name": "q", "capability": {"memory": "-1"}}]},
    "$.jobs[0].request.cpu": {"total": {}, "jobs": [job("a", request={"cpu": "x"})]},
    "$.jobs[0].created": {"total": {}, "jobs": [job("a", created="yesterday")]},
    "$.now": {"total": {}, "reserveAfter": 5},
    "$.jobs[0].replicas": {"total": {}, "jobs": [job("a", replicas=-1)]},
    "$.jobs[0]": {"total": {}, "jobs": [job("a", colour="red")]},
}


@pytest.mark.parametrize("path", BAD)
def test_impossible_values_are_refused_with_their_path(path: str) -> None:
    """The error names the place."""
    with pytest.raises(InputError) as caught:
        answered(BAD[path])
    assert caught.value.path == path
