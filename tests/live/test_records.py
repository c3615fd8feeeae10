"""The reader of what the store went through finds a slot too many, and only that."""

from dataclasses import replace

import pytest

from tests.cluster.records import Moment, excesses

DEPLOYED = Moment(1, "d", "web", target=2)
PODS = [Moment(2 + row, f"p{row}", "web", owner="rs", held=True) for row in range(3)]


def _gone(pod: Moment, version: int) -> Moment:
    return replace(pod, version=version, held=False)


STORIES: dict[str, tuple[list[Moment], list[int], int]] = {
    "as many as asked for": ([DEPLOYED, *PODS[:2]], [], 0),
    "one too many": ([DEPLOYED, *PODS], [], 1),
    "one went before": ([DEPLOYED, *PODS[:2], _gone(PODS[0], 4), replace(PODS[2], version=5)], [], 0),
    "one went after": ([DEPLOYED, *PODS, _gone(PODS[0], 9)], [], 1),
    "of another ReplicaSet": ([DEPLOYED, *PODS[:2], replace(PODS[2], owner="new")], [], 0),
    "the same pod again": ([DEPLOYED, *PODS[:2], replace(PODS[1], version=9)], [], 0),
    "granted before the target fell": ([DEPLOYED, PODS[0], replace(DEPLOYED, version=3, target=1), PODS[2]], [], 0),
    "granted after it was quiet": ([DEPLOYED, PODS[0], replace(DEPLOYED, version=3, target=1), PODS[2]], [3], 1),
}


@pytest.mark.parametrize(("moments", "quiet", "want"), STORIES.values(), ids=STORIES)
def test_slots_too_many_are_found(moments: list[Moment], quiet: list[int], want: int) -> None:
    """By ReplicaSet, against the highest target since it was last quiet."""
    assert len(excesses(moments, quiet)) == want
