"""What global-greedy levels: the use of the nodes."""

from fairlead.levels.node.heights import use
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.shape import Shape

TIB = 2**40


def test_use_is_the_highest_share_in_millionths() -> None:
    """By the resource in which the node is fullest; a resource that no node has is passed over."""
    state = node_state(
        [
            NodeRecord(name="n1", allocatable={"cpu": 4000, "memory": 100}, used={"cpu": 1000, "memory": 50}),
            NodeRecord(name="n2", allocatable={"cpu": 8000, "memory": 100}, used={"cpu": 4000}),
            NodeRecord(name="n3", allocatable={}),
        ]
    )
    base, step = use(state, Shape(request=(("cpu", 1000), ("device", 1), ("memory", 10))))
    assert base.tolist() == [500_000, 500_000, 0]
    assert step.tolist()[:2] == [250_000, 125_000]


def test_use_of_very_large_nodes_stays_in_range() -> None:
    """Tebibytes times a million would leave 64 bits."""
    state = node_state([NodeRecord(name="n1", allocatable={"memory": 64 * TIB}, used={"memory": 16 * TIB})])
    base, step = use(state, Shape(request=(("memory", TIB),)))
    assert abs(int(base[0]) - 250_000) <= 1
    assert abs(int(step[0]) - 15_625) <= 1
