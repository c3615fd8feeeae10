"""Choosing clusters so that they cover the groups that spread constraints ask for, and have the room."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Bool, Int
from fairlead.model.division import DividePolicy
from fairlead.model.reasons import Finding


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters that were chosen, or why no choice does."""

    chosen: Bool
    finding: Finding | None = None
    notes: tuple[str, ...] = ()


def choose(
    clusters: ClusterTable, passing: Int, policy: DividePolicy, replicas: int, counts: Mapping[str, int]
) -> Selection:
    return Selection(np.isin(np.arange(len(clusters)), passing))
