"""What is given away and put back on trial counts for the workload that is levelled, and marks keep it."""

import numpy as np

from fairlead.engine.site_fits import FitsRole, SiteFits
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.shape import Shape

SHAPE = Shape(namespace="ns", labels=(("app", "a"),), request=(("cpu", 1),))


def levelled(*there: int) -> SiteFits:
    """Nodes of nine cores; one role, of which so many run on each."""
    nodes = node_state([NodeRecord(name=f"n{row}", allocatable={"cpu": 9}) for row in range(len(there))])
    made = WorkingNodes(nodes, Population())
    made.shift(SHAPE, (np.arange(len(there)), np.array(there)), 1)
    return SiteFits(made, [FitsRole(workload="ns/a", shape=SHAPE)], lambda workload: dict(enumerate(there)))


def taken(fits: SiteFits, count: int) -> dict[int, int]:
    """Where so many replicas go."""
    assert fits.room({0: count}) == {0: count}
    return dict(fits.take(0, count))


def test_replicas_go_where_others_of_the_workload_were_given_away() -> None:
    """Two on each node; where two are gone the next two go, and where they are back nobody is preferred."""
    fits = levelled(2, 2, 2)
    fits.give(0, {2: 2})
    assert taken(fits, 2) == {2: 2}
    fits = levelled(2, 2, 2)
    fits.give(0, {2: 2, 0: 1})
    fits.put(0, {0: 1, 2: 2})
    assert taken(fits, 3) == {0: 1, 1: 1, 2: 1}


def test_what_was_put_before_a_mark_counts_after_the_way_back() -> None:
    """Two are put on one node; after a placement that is taken back they are still there."""
    fits = levelled(0, 0)
    fits.put(0, {0: 2})
    mark = fits.mark()
    assert taken(fits, 2) == {1: 2}
    fits.undo(mark)
    assert taken(fits, 2) == {1: 2}
