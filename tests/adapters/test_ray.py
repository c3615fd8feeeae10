"""RayCluster and RayJob: head and workers start together."""

from pathlib import Path
from typing import Any

from tests.adapters.cluster import answer, counts, made, template


def cluster(**group: Any) -> dict[str, Any]:
    """A head of one core, and workers."""
    workers = {"groupName": "gpu", "replicas": 2, "template": template(), **group}
    return {"headGroupSpec": {"template": template()}, "workerGroupSpecs": [workers]}


def test_the_head_does_not_start_without_its_workers(tmp_path: Path) -> None:
    """Three cores are enough, two are for nobody."""
    ray = made("ray.io/v1", "RayCluster", cluster())
    assert counts(answer(tmp_path, ray, cpus=3)) == {"lab/train-gpu": (2, 0), "lab/train-head": (1, 0)}
    assert counts(answer(tmp_path, ray, cpus=2)) == {"lab/train-gpu": (2, 2), "lab/train-head": (1, 1)}


def test_replicas_stay_within_their_bounds_and_count_hosts(tmp_path: Path) -> None:
    """At least minReplicas, at most maxReplicas, numOfHosts pods each."""
    few = made("ray.io/v1", "RayCluster", cluster(minReplicas=3, numOfHosts=2))
    assert counts(answer(tmp_path, few))["lab/train-gpu"] == (6, 0)
    most = made("ray.io/v1", "RayCluster", cluster(replicas=9, maxReplicas=4))
    assert counts(answer(tmp_path, most))["lab/train-gpu"] == (4, 0)


def test_a_job_has_its_cluster_inside(tmp_path: Path) -> None:
    """The pod that submits it does not count, and that is said."""
    record = answer(tmp_path, made("ray.io/v1", "RayJob", {"rayClusterSpec": cluster()}))
    assert counts(record) == {"lab/train-gpu": (2, 0), "lab/train-head": (1, 0)}
    assert record["notCounted"] == {"RayJob.ray.io: the pod that submits the job": 1}


def test_suspended_cluster_has_no_pods(tmp_path: Path) -> None:
    """Neither head nor workers take room."""
    ray = made("ray.io/v1", "RayCluster", {**cluster(), "suspend": True})
    assert counts(answer(tmp_path, ray)) == {"lab/train-gpu": (0, 0), "lab/train-head": (0, 0)}


def test_generated_names_tell_objects_of_foreign_kinds_apart(tmp_path: Path) -> None:
    """Two clusters with one prefix are two gangs, each with its own number."""
    ray = made("ray.io/v1", "RayCluster", cluster())
    ray["metadata"] = {"generateName": "sweep-", "namespace": "lab"}
    assert set(counts(answer(tmp_path, ray, ray, cpus=6))) == {
        "lab/sweep-1-gpu", "lab/sweep-1-head", "lab/sweep-2-gpu", "lab/sweep-2-head",
    }  # fmt: skip
