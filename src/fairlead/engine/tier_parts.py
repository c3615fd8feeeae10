"""Tiers at work: a workload's replicas on one site as at most two parts, each of one shape.

`required` must run on on-demand nodes; `rest` prefers spot, or has no wish where the workload is not tiered.
"""

from dataclasses import replace

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.node.constraints.labels import requirement_holds
from fairlead.levels.tier.split import policy_of, target_of
from fairlead.model.columns import Bool
from fairlead.model.nodestate import NodeState
from fairlead.model.owners import Owner, OwnerKind
from fairlead.model.reasons import Finding
from fairlead.model.selectors import Preference, Term
from fairlead.model.shape import Shape
from fairlead.model.tiers import ON_DEMAND, OTHER, SPOT, Tiers
from fairlead.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPart:
    """`need` more replicas of one shape; `running` are there already. `tier` is empty where there is no wish."""

    workload: Workload
    tier: str
    shape: Shape
    running: int
    need: int

    @property
    def key(self) -> str:
        """What identifies the part within its site."""
        return f"{self.workload.key}#{self.tier}" if self.tier else self.workload.key


@dataclass(frozen=True, slots=True, kw_only=True)
class TierSplit:
    """The parts of one workload; `target` is how many belong on on-demand nodes, None where tiers have no say."""

    parts: tuple[TierPart, ...]
    target: int | None = None
    finding: Finding | None = None
    warnings: tuple[Finding, ...] = ()


def parts(workload: Workload, replicas: int, running: int, required: int, tiers: Tiers) -> TierSplit:
    """Split `replicas` of a workload, of which `running` exist and `required` of those must stay on demand.

    Running replicas beyond what is asked for are not part of the need: the controller scales down.
    """
    if not workload.tiered:
        return TierSplit(parts=(_part(workload, "", workload.shape, running, replicas - running),))
    target = target_of(_owner(workload, replicas), policy_of(tiers))
    if target.count is None:
        whole = _part(workload, "", workload.shape, running, replicas - running)
        return TierSplit(parts=(whole,), finding=target.finding, warnings=target.warnings)
    held = min(required, target.count)
    others = running - required
    wanted = target.count - held
    # A replica that runs without the requirement takes a place of the rest; what exists already is never moved here.
    free = max(replicas - running, 0)
    first = min(wanted, free)
    return TierSplit(
        parts=(
            _part(workload, "on-demand", workload.shape.requiring(*tiers.on_demand), required, first),
            _part(workload, "spot", preferring(workload.shape, tiers), others, free - first),
        ),
        target=target.count,
        warnings=target.warnings,
    )


def preferring(shape: Shape, tiers: Tiers) -> Shape:
    """The shape with the wish for spot, and leave to use spot nodes, each added once."""
    preferences = (Preference(tiers.weight, Term((each,))) for each in tiers.spot)
    return replace(
        shape,
        preferred=tuple(dict.fromkeys((*shape.preferred, *preferences))),
        tolerations=tuple(dict.fromkeys((*shape.tolerations, *tiers.tolerations))),
    )


def on_demand_nodes(nodes: NodeState, tiers: Tiers) -> Bool:
    """Which nodes are on demand; none where there are no tiers."""
    mask = np.full(len(nodes.names), tiers.present)
    for each in tiers.on_demand:
        mask &= requirement_holds(nodes, each)
    return mask


def spot_nodes(nodes: NodeState, tiers: Tiers) -> Bool:
    """Which nodes are spot."""
    mask = np.zeros(len(nodes.names), dtype=np.bool_)
    for each in tiers.spot:
        mask |= requirement_holds(nodes, each)
    return mask


def tier_names(nodes: NodeState, tiers: Tiers) -> list[str]:
    """The tier of each node."""
    by_mask = np.where(on_demand_nodes(nodes, tiers), ON_DEMAND, np.where(spot_nodes(nodes, tiers), SPOT, OTHER))
    names: list[str] = by_mask.tolist()
    return names


def _part(workload: Workload, tier: str, shape: Shape, running: int, need: int) -> TierPart:
    return TierPart(workload=workload, tier=tier, shape=shape, running=running, need=max(need, 0))


def _owner(workload: Workload, replicas: int) -> Owner:
    return Owner(
        kind=OwnerKind(workload.kind),
        name=workload.name,
        replicas=replicas,
        min_available=workload.min_available,
        first_ordinal=workload.first_ordinal,
        exempt=workload.exempt,
    )
