"""Why nodes did not take all that the queue granted: how many refuse for which reason, what is short, what cures it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.engine import reasons
from fairlead.engine.site_plan import PartPath
from fairlead.levels.node.constraints.reasons import FILTERS, NO_ROOM, NOT_NEAR
from fairlead.model.amounts import quantity
from fairlead.model.columns import Codes, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Cure, Finding, because
from fairlead.model.shape import Shape

_ORDER = (Cure.ROOM, Cure.EVICTION, Cure.EDIT)
_FULL = FILTERS.index(NO_ROOM) + 1


def no_node(paths: Sequence[PartPath], unplaced: int, asked: int) -> Finding:
    """So many replicas found no node."""
    reason = replace(reasons.NO_NODE, cure=_cure(paths))
    return because(reason, unplaced=unplaced, asked=asked, why=_why(paths))


def gang_does_not_fit(paths: Sequence[PartPath], placeable: int, least: int) -> Finding:
    """Fewer than the gang needs found a node."""
    reason = replace(reasons.GANG_DOES_NOT_FIT, cure=_cure(paths))
    return because(reason, placeable=placeable, least=least, why=_why(paths))


def _cure(paths: Sequence[PartPath]) -> Cure:
    """The mildest of what lifts one of the refusals. Room alone brings no neighbour to be near to."""
    cures = {Cure.EDIT if each.reason is NOT_NEAR else each.reason.cure for path in paths for each in path.rejected}
    return next((cure for cure in _ORDER if cure in cures), Cure.ROOM)


def _why(paths: Sequence[PartPath]) -> str:
    """The rejections of all parts as a few words, most nodes first."""
    counts: dict[str, int] = {}
    for path in paths:
        for rejection in path.rejected:
            counts[rejection.reason.code] = max(counts.get(rejection.reason.code, 0), rejection.count)
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    short = {NO_ROOM.code: next((f" ({path.short})" for path in paths if path.short), "")}
    parts = (f"{'1 node' if count == 1 else f'{count} nodes'} {code}{short.get(code, '')}" for code, count in ordered)
    return ", ".join(parts) or "there are no nodes"


def shortage(shape: Shape, state: NodeState, codes: Codes) -> str:
    """The resource that most of the nodes without room lack, and the least that one of them lacks of it."""
    full = np.flatnonzero(codes == _FULL)
    missing: dict[str, Int] = {}
    for name, amount in shape.request:
        column = state.column(name)
        if column is None and amount:
            return f"no node has {name}"
        if column is not None:
            missing[name] = amount - state.free[full, column]
    name = max(missing, key=lambda each: int((missing[each] > 0).sum()), default="")
    if not name or not (missing[name] > 0).any():
        return ""
    return f"{quantity(name, int(missing[name][missing[name] > 0].min()))} {name} short"
