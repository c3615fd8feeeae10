"""Volcano's Job: its tasks are one gang in the queue that it names."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.adapters.cluster import answer, counts, explained, made, template
from tests.cli.test_reading import node, saved

API = "batch.volcano.sh/v1alpha1"


def job(least: int | None = None, **more: Any) -> dict[str, Any]:
    """One server of two cores and three workers of one."""
    tasks = [
        {"name": "ps", "replicas": 1, "template": template("2")},
        {"name": "worker", "replicas": 3, "template": template(), "dependsOn": {"name": ["ps"]}},
    ]
    return made(API, "Job", {"tasks": tasks, **({} if least is None else {"minAvailable": least}), **more})


def test_tasks_start_together_or_not_at_all(tmp_path: Path) -> None:
    """Five cores are enough for all; with four, without minAvailable, none of the tasks starts."""
    assert counts(answer(tmp_path, job(), cpus=5)) == {"lab/train-ps": (1, 0), "lab/train-worker": (3, 0)}
    assert counts(answer(tmp_path, job(), cpus=4)) == {"lab/train-ps": (1, 1), "lab/train-worker": (3, 3)}


def test_the_minimum_is_enough(tmp_path: Path) -> None:
    """Three of four pods start where minAvailable is three."""
    record = answer(tmp_path, job(least=3), cpus=4)
    assert sum(waits for _, waits in counts(record).values()) == 1


def test_the_queue_is_the_jobs_and_share_agrees(tmp_path: Path) -> None:
    """A queue whose capability is too small holds the whole gang back, in both answers."""
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "small"},
        "spec": {"capability": {"cpu": "4"}}, "status": {"state": "Open"},
    }  # fmt: skip
    assert answer(tmp_path, job(queue="small"), queue)["unplaced"] == 4
    assert answer(tmp_path, job(queue="small"), queue, command="share")["jobs"]["lab/train"]["pending"] == 4


def test_what_is_not_obeyed_is_said_and_an_ended_job_is_idle(tmp_path: Path) -> None:
    """dependsOn is named; a completed job asks for nothing."""
    assert answer(tmp_path, job())["notCounted"] == {"Job.batch.volcano.sh: dependsOn of task worker": 1}
    ended = {**job(), "status": {"state": {"phase": "Completed"}}}
    assert counts(answer(tmp_path, ended)) == {"lab/train-ps": (0, 0), "lab/train-worker": (0, 0)}
    assert explained(tmp_path, "train-ps").strip() == "Job lab/train-ps: it is Completed."


def test_a_job_whose_pods_exist_is_not_counted_twice(tmp_path: Path) -> None:
    """What its controller has made counts as it is."""
    owner = {"apiVersion": API, "kind": "Job", "name": "train", "controller": True}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "spec": {**template()["spec"], "nodeName": "a"},
        "metadata": {"name": "train-ps-0", "namespace": "lab", "ownerReferences": [owner]},
    }  # fmt: skip
    assert counts(answer(tmp_path, job(), pod)) == {"lab/train": (1, 0)}


@pytest.mark.parametrize("owners", [1, "train", {"name": "train"}, ["train"], [None]])
def test_a_pod_whose_owners_are_none_is_named_and_the_rest_is_planned(tmp_path: Path, owners: Any) -> None:
    """A defect ends with its object, also where jobs are asked which pods they have made already."""
    meta = {"name": "stray", "namespace": "lab", "ownerReferences": owners}
    given = saved(
        tmp_path / "cluster.json",
        node("a", "8"),
        job(),
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, **template()},
    )
    done = CliRunner().invoke(cli, ["plan", "-f", given, "-o", "json"], standalone_mode=False)
    assert done.exception is None, done.exception
    assert "Pod stray: metadata.ownerReferences" in done.stderr
    assert counts(json.loads(done.stdout)) == {"lab/train-ps": (1, 0), "lab/train-worker": (3, 0)}
