"""Evenness of nodes and fairness of namespaces, before and after a plan."""

import numpy as np
import pytest

from fairlead.engine.evenness import evenness, fairness, node_use
from fairlead.model.nodestate import NodeRecord, NodeState, node_state


def nodes(*used: dict[str, int], cordoned: int = 0) -> NodeState:
    """Nodes of ten cores and four devices each; the last `cordoned` take nothing."""
    return node_state(
        [
            NodeRecord(
                name=f"n{row}",
                allocatable={"cpu": 10, "example.com/gpu": 4, "pods": 100},
                used=each,
                unschedulable=row >= len(used) - cordoned,
            )
            for row, each in enumerate(used)
        ]
    )


def test_use_is_that_of_the_fullest_resource_but_pods() -> None:
    """A node whose devices are all taken is full, however many cores are left; pods alone do not fill it."""
    assert node_use(nodes({"cpu": 5, "example.com/gpu": 4}, {"cpu": 5}, {"pods": 100})).tolist() == [1.0, 0.5, 0.0]


def test_evenness_is_of_the_nodes_that_take_replicas() -> None:
    """A cordoned node does not count."""
    assert evenness(nodes({"cpu": 5}, {"cpu": 5})) == 1.0
    assert evenness(nodes({"cpu": 5}, {})) == 0.5
    assert evenness(nodes({"cpu": 5}, {}, cordoned=1)) == 1.0


FAIR = {
    "nobody waits": ({"a": 9, "b": 1}, {}, set(), 1.0),
    "one has all while the other waits": ({"a": 10}, {}, {"b"}, 0.5),
    "by weight": ({"a": 6, "b": 2}, {"a": 3}, {"a", "b"}, 1.0),
    "who has all it wants and holds less is not compared": ({"a": 4, "b": 4, "c": 1}, {}, {"a", "b"}, 1.0),
}


@pytest.mark.parametrize("name", FAIR)
def test_fairness(name: str) -> None:
    """Shares of ten cores, per weight."""
    held, weights, waiting, want = FAIR[name]
    amounts = {space: np.array([count, 0]) for space, count in held.items()}
    assert fairness(amounts, np.array([10, 0]), ("cpu", "pods"), weights, waiting) == want
