"""PyTorchJob and TrainJob."""

from pathlib import Path

from tests.adapters.cluster import answer, counts, made, template


def test_master_and_workers_start_together(tmp_path: Path) -> None:
    """All of them by default; minAvailable of the scheduling policy makes do with fewer."""
    kinds = {"Master": {"replicas": 1, "template": template()}, "Worker": {"replicas": 3, "template": template()}}
    whole = made("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": kinds})
    assert counts(answer(tmp_path, whole, cpus=4)) == {"lab/train-master": (1, 0), "lab/train-worker": (3, 0)}
    assert counts(answer(tmp_path, whole, cpus=3)) == {"lab/train-master": (1, 1), "lab/train-worker": (3, 3)}
    policy = {"schedulingPolicy": {"minAvailable": 3}}
    part = made("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": kinds, "runPolicy": policy})
    assert answer(tmp_path, part, cpus=3)["unplaced"] == 1


def test_a_train_job_counts_what_it_says_itself(tmp_path: Path) -> None:
    """Nodes and what each asks for; the runtime's template is named as not counted."""
    trainer = {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "2"}}}
    job = made("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "torch"}, "trainer": trainer})
    record = answer(tmp_path, job, cpus=6)
    assert counts(record) == {"lab/train-node": (3, 0)}
    assert record["notCounted"] == {"TrainJob.trainer.kubeflow.org: the pod template of runtime torch": 1}
    assert answer(tmp_path, job, cpus=5)["unplaced"] == 3
