"""Kueue's queues: quotas are guarantees, borrowing is bounded and weighted, LocalQueues lead to them."""

from pathlib import Path
from typing import Any

from tests.adapters.cluster import answer, counts, made, template

API = "kueue.x-k8s.io/v1beta1"


def queue(name: str, quota: str, cohort: str = "", **more: Any) -> dict[str, Any]:
    """A ClusterQueue with a quota of cores."""
    cpu = {"name": "cpu", "nominalQuota": quota, **more}
    flavors = [{"name": "default", "resources": [cpu]}]
    spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}], "cohort": cohort}
    return {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def local(name: str, target: str) -> dict[str, Any]:
    """A LocalQueue of the namespace `lab`."""
    return made(API, "LocalQueue", {"clusterQueue": target}, name)


def job(name: str, pods: int, queue_name: str) -> dict[str, Any]:
    """A Job whose label names a LocalQueue."""
    labels = {"kueue.x-k8s.io/queue-name": queue_name}
    return made("batch/v1", "Job", {"parallelism": pods, "template": template()}, name, labels=labels)


def test_a_queue_without_a_cohort_holds_its_quota_and_no_more(tmp_path: Path) -> None:
    """Six pods in a quota of four: two wait, though the node has room; share says the same."""
    objects = (queue("team", "4"), local("q", "team"), job("sum", 6, "q"))
    assert counts(answer(tmp_path, *objects)) == {"lab/sum": (6, 2)}
    assert answer(tmp_path, *objects, command="share")["unplaced"] == 2


def test_in_a_cohort_a_queue_borrows_up_to_its_limit(tmp_path: Path) -> None:
    """Four of its own and one borrowed; without a limit all that is free."""
    bounded = queue("team", "4", cohort="all", borrowingLimit="1")
    assert counts(answer(tmp_path, bounded, local("q", "team"), job("sum", 7, "q"))) == {"lab/sum": (7, 2)}
    free = queue("team", "4", cohort="all")
    assert counts(answer(tmp_path, free, local("q", "team"), job("sum", 7, "q"))) == {"lab/sum": (7, 0)}


def test_the_quota_of_another_queue_is_not_lent_away(tmp_path: Path) -> None:
    """Eight cores, four of them guaranteed to the other queue, which asks for them."""
    objects = (
        queue("one", "4", cohort="all"), queue("two", "4", cohort="all"), local("q1", "one"), local("q2", "two"),
        job("greedy", 8, "q1"), job("modest", 4, "q2"),
    )  # fmt: skip
    assert counts(answer(tmp_path, *objects)) == {"lab/greedy": (8, 4), "lab/modest": (4, 0)}


def test_what_does_not_map_is_said(tmp_path: Path) -> None:
    """Lending limits, and what a flavour asks of nodes; a flavour that asks for nothing leaves nothing out."""
    flavor = {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": "default"}, "spec": {}}
    spot = {**flavor, "metadata": {"name": "spot"}, "spec": {"nodeLabels": {"tier": "spot"}}}
    record = answer(tmp_path, queue("team", "4", cohort="all", lendingLimit="1"), flavor, spot, job("sum", 1, ""))
    assert record["notCounted"] == {
        "ClusterQueue.kueue.x-k8s.io: lendingLimit of cpu": 1,
        "ResourceFlavor.kueue.x-k8s.io: nodeLabels": 1,
    }


def test_a_workload_of_nobody_is_a_gang_of_its_pod_sets(tmp_path: Path) -> None:
    """In the queue that it names."""
    sets = [{"name": "main", "count": 3, "template": template()}]
    work = made(API, "Workload", {"queueName": "q", "podSets": sets}, "own")
    assert counts(answer(tmp_path, queue("team", "4"), local("q", "team"), work)) == {"lab/own-main": (3, 0)}
    assert counts(answer(tmp_path, queue("team", "2"), local("q", "team"), work)) == {"lab/own-main": (3, 3)}


def test_a_job_that_says_nothing_about_parallelism_has_one_pod(tmp_path: Path) -> None:
    """As Kubernetes fills it in."""
    assert counts(answer(tmp_path, made("batch/v1", "Job", {"template": template()}, "one"))) == {"lab/one": (1, 0)}


def test_weights_divide_what_no_quota_claims(tmp_path: Path) -> None:
    """Eight cores by one to three; a weight of one, or none, is one."""
    one, two = queue("one", "0", cohort="all"), queue("two", "0", cohort="all")
    two["spec"]["fairSharing"] = {"weight": 3}
    objects = (one, two, local("q1", "one"), local("q2", "two"), job("a", 8, "q1"), job("b", 8, "q2"))
    shared = answer(tmp_path, *objects, command="share")["queues"]
    assert [shared[name]["deserved"]["cpu"] for name in ("one", "two")] == ["2", "6"]
