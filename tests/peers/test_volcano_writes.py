"""What vc-scheduler wrote in the recorded stories, and where Fairlead writes something else: each has its reason.

That Fairlead writes so is held on a real API server by tests/cluster/test_volcano_stories.py.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.volcano_writes import FIELDS, RECORDED

PAGE = (Path(__file__).parents[2] / "docs" / "fairness-live.md").read_text()
JOBS = RECORDED["jobs"]
OF_THE_STORY = {"told to the end"}
"""Reasons that lie in how the story was recorded, not in the scheduler."""


def job_id(job: dict[str, Any]) -> str:
    """A readable test id."""
    return f"{job['story']} {job['job']}"


@pytest.mark.parametrize("job", JOBS, ids=job_id)
def test_every_field_that_differs_names_its_reasons(job: dict[str, Any]) -> None:
    """All fields are recorded; what is listed as other is other, and only that has reasons."""
    assert tuple(job["recorded"]) == FIELDS
    assert job["ours"].keys() == job["why"].keys()
    assert all(job["ours"][field] != job["recorded"][field] for field in job["ours"])
    assert all(reasons for reasons in job["why"].values())


def test_every_reason_is_used_and_told_on_the_page() -> None:
    """No reason without a difference; people read the same sentences."""
    used = {reason for job in JOBS for reasons in job["why"].values() for reason in reasons}
    used |= {reason for each in RECORDED["objects"] for reason in each["why"]}
    assert used == set(RECORDED["differences"])
    assert all(each["ours"] != each["recorded"] for each in RECORDED["objects"])
    told = {name for name, sentence in RECORDED["differences"].items() if sentence in PAGE}
    assert used - told == OF_THE_STORY
