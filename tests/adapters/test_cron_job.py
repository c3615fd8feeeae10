"""CronJob: a demand that comes."""

from pathlib import Path

from tests.adapters.cluster import answer, counts, explained, made, template


def test_its_pods_are_named_and_not_placed(tmp_path: Path) -> None:
    """How many come, and when; no more than complete."""
    job = {"parallelism": 4, "completions": 3, "template": template()}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job}}
    assert counts(answer(tmp_path, made("batch/v1", "CronJob", spec, "night"), cpus=1)) == {"lab/night": (0, 0)}
    assert explained(tmp_path, "night").strip() == (
        "CronJob lab/night: 3 pods come at each time of its schedule, '0 3 * * *'."
    )
    answer(tmp_path, made("batch/v1", "CronJob", {**spec, "suspend": True}, "night"))
    assert "it is suspended" in explained(tmp_path, "night")


def test_a_job_that_says_nothing_about_its_pods_has_one(tmp_path: Path) -> None:
    """As Kubernetes fills it in."""
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template()}}}
    answer(tmp_path, made("batch/v1", "CronJob", spec, "night"))
    assert explained(tmp_path, "night").strip().endswith("1 pod comes at each time of its schedule, '0 3 * * *'.")
