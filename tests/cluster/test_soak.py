"""A few faults of the campaign in every test run; `make soak` does many."""

from tests.campaign.soak import soak


def test_components_come_to_rest_after_faults() -> None:
    """Six faults under load on a control plane of its own: afterwards all that is asked for is there, and exact."""
    found = soak(minutes=0, seed=4, faults=6)
    assert found.found == []
    assert (found.faults.total(), found.quiet_points) == (6, 1)
    assert found.admissions > 32
