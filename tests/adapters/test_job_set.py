"""JobSet: its replicated Jobs start together."""

from pathlib import Path

from tests.adapters.cluster import answer, counts, explained, made, template


def test_all_pods_of_all_jobs_start_together(tmp_path: Path) -> None:
    """Two Jobs of two pods and a leader: five cores hold them, four hold nothing."""
    jobs = [
        {"name": "leader", "template": {"spec": {"template": template()}}},
        {"name": "workers", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": template()}}},
    ]
    whole = made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})
    assert counts(answer(tmp_path, whole, cpus=5)) == {"lab/train-leader": (1, 0), "lab/train-workers": (4, 0)}
    assert counts(answer(tmp_path, whole, cpus=4)) == {"lab/train-leader": (1, 1), "lab/train-workers": (4, 4)}
    resting = made("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs, "suspend": True})
    assert answer(tmp_path, resting, cpus=4)["unplaced"] == 0
    assert "it is suspended" in explained(tmp_path, "train-leader")
