"""How even the nodes of a site are and how fairly its namespaces are served: Jain's index, 1 being even."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.imbalance import jain
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState

MILLION = 10**6
NOT_USE = ("pods", "ephemeral-storage")
"""Resources that say little about how full a node is."""


def node_use(nodes: NodeState) -> NDArray[np.float64]:
    """Per node its fullest resource as a fraction of what it offers; nodes that offer nothing count as 0."""
    use = np.zeros(len(nodes.names))
    for column, name in enumerate(nodes.resources):
        if name not in NOT_USE:
            offered = nodes.allocatable[:, column]
            use = np.maximum(use, np.where(offered > 0, nodes.used[:, column] / np.maximum(offered, 1), 0))
    return use


def evenness(nodes: NodeState) -> float:
    """Of the use of the nodes that take replicas."""
    use = node_use(nodes)[~nodes.unschedulable]
    return round(jain((use * MILLION).astype(np.int64)), 4)


def fairness(
    held: Mapping[str, Int],
    whole: Int,
    resources: Sequence[str],
    weights: Mapping[str, int],
    waiting: Collection[str],
) -> float:
    """Of dominant share per weight, over the namespaces that wait and those that hold more than one of them.

    `held` are amounts by namespace, `waiting` the namespaces that want more. A namespace that has all it asks for and
    holds no more than those that wait takes nothing from anybody.
    """
    counted = [place for place, name in enumerate(resources) if name != "pods" and whole[place] > 0]
    shares = {
        name: max((int(amounts[place]) * MILLION // int(whole[place]) for place in counted), default=0)
        for name, amounts in held.items()
    }
    names = sorted({*shares, *waiting})
    per_weight = {name: shares.get(name, 0) / max(weights.get(name, 1), 1) for name in names}
    least = min((per_weight[name] for name in waiting), default=0.0)
    compared = [name for name in names if name in waiting or (waiting and per_weight[name] > least)]
    if not compared:
        return 1.0
    values = np.array([shares.get(name, 0) for name in compared], dtype=np.int64)
    return jain(values, np.array([max(weights.get(name, 1), 1) for name in compared], dtype=np.int64))
