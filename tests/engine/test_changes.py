"""What-ifs in the words of a person."""

import pytest

from fairlead.engine.changes import Changes, changed
from fairlead.engine.plan import plan
from fairlead.kube.manifests.view import viewed
from fairlead.model.errors import InputError
from tests.web.looks import SHOP

VIEW = viewed([SHOP])[1]


def test_no_change_is_the_same_snapshot() -> None:
    """Not a copy."""
    assert changed(VIEW, Changes()) is VIEW


def test_changes_are_made_together() -> None:
    """Each in its own words, prefixes of kinds allowed."""
    asked = Changes(
        drain=("node/west-od-1",),
        lose=("zone=eu-west-a",),
        add_nodes=2,
        like="node/west-od-2",
        scale=("deploy/shop/web=20",),
        weight=("ns/ml=5",),
    )
    then = changed(VIEW, asked)
    west = then.sites[1]
    assert len(west.nodes.names) == len(VIEW.sites[1].nodes.names) + 2
    assert west.nodes.unschedulable[west.nodes.rows["west-od-1"]]
    assert west.weights["ml"] == 5
    assert plan(then).divided[0].workload.replicas in (20, 9)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Changes(add_nodes=2), "goes together with --like"),
        (Changes(like="west-od-1"), "goes together with --like"),
        (Changes(lose=("zone",)), "expected NAME=VALUE"),
        (Changes(scale=("shop/web=many",)), "is not a whole number"),
        (Changes(weight=("=3",)), "expected NAME=VALUE"),
        (Changes(drain=("nowhere",)), "there is no node 'nowhere'"),
    ],
)
def test_words_that_mean_nothing_are_bad_input(asked: Changes, words: str) -> None:
    """With what was expected."""
    with pytest.raises(InputError, match=words):
        changed(VIEW, asked)
