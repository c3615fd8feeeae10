"""The problem of `fairlead balance`: read into a disk table and volumes, answered with placements and scores."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec

from fairlead.engine.records_disk import imbalance_record, move_record, outcome_record, placement_record
from fairlead.levels.disk.balance import Balance, Charge, balance
from fairlead.levels.disk.rebalance import Goal, Rebalance, rebalance
from fairlead.model.amounts import Quantity, amount
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.columns import distinct
from fairlead.model.decision import decision_record
from fairlead.model.disks import DiskTable
from fairlead.model.errors import InputError
from fairlead.model.order import natural_sorted
from fairlead.model.storage import AntiAffinity, Domain, HeldReplica, Locality, StorageVolume
from fairlead.problems.storage import Name, NodePart, StorageInput, table

Count = Annotated[int, msgspec.Meta(ge=0)]
Level = Literal["node", "zone", "disk", "none"]


class HeldPart(StorageInput, kw_only=True, frozen=True):
    """A replica that the volume has already."""

    name: str = ""
    node: Name
    disk: str = ""
    failed: bool = False
    rebuild_retries: Count = 0
    eviction_requested: bool = False


class DomainPart(StorageInput, kw_only=True, frozen=True):
    """A zone, a region, or both, that replicas may sit in."""

    zone: str = ""
    region: str = ""


class _Ask(StorageInput, kw_only=True, frozen=True):
    """What a volume may ask for; at the top of a problem with one volume, or in each of `volumes`."""

    replicas: Count | None = None
    actual_size: Quantity = 0
    node_selector: tuple[str, ...] = ()
    disk_selector: tuple[str, ...] = ()
    data_engine: Literal["v1", "v2"] | None = None
    data_locality: Literal["disabled", "best-effort", "strict-local"] = "disabled"
    attached_to: str = ""
    hard_node_affinity: str = ""
    topology: tuple[DomainPart, ...] = ()
    existing: tuple[HeldPart, ...] = ()
    awaits_reuse: bool = False
    healthy: bool = True
    soft_anti_affinity: tuple[Literal["node", "zone", "disk"], ...] = ()


class VolumePart(_Ask, kw_only=True, frozen=True):
    """One of several volumes."""

    name: Name
    size: Quantity
    anti_affinity: Level | None = None


class PendingPart(StorageInput, kw_only=True, frozen=True):
    """A placement on its way, not yet in the figures of its disk."""

    node: Name
    disk: Name
    size: Quantity


class SettingsPart(StorageInput, kw_only=True, frozen=True):
    """Cluster-wide limits; a percentage that is absent is not checked."""

    over_provisioning_percentage: Count | None = None
    minimal_available_percentage: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True


class EmptyPart(StorageInput, kw_only=True, frozen=True):
    """A node to be emptied, or one disk of it."""

    node: Name
    disk: str = ""


class RebalancePart(StorageInput, kw_only=True, frozen=True):
    """Ask for moves of `existing` replicas instead of placements, and what they may cost."""

    target: Annotated[float, msgspec.Meta(ge=0)] | None = None
    max_moves: Count | None = None
    max_bytes: Quantity | None = None
    evacuate: tuple[EmptyPart, ...] = ()


class BalanceProblem(_Ask, kw_only=True, frozen=True):
    """Either one volume (`size`, `replicas` …) or several (`volumes`), and the nodes with their disks."""

    nodes: tuple[NodePart, ...]
    size: Quantity | None = None
    volumes: tuple[VolumePart, ...] | None = None
    alpha: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1
    scope: Literal["node", "all"] = "node"
    anti_affinity: Level = "node"
    rule: DiskRule = DiskRule.BALANCE
    usable_as: Literal["available", "maximum"] = "available"
    pending: tuple[PendingPart, ...] = ()
    settings: SettingsPart = SettingsPart()
    rebalance: RebalancePart | None = None


REUSE_RETRIES = 5
"""A failed replica that was rebuilt in vain this often is given up."""


PROBLEM = BalanceProblem
"""What `cli.verb` decodes."""


def solve(problem: BalanceProblem) -> Balance | Rebalance:
    """Placements, or moves where the problem asks to rebalance; bad values are `InputError` with their place."""
    policy = _policy(problem)
    disks = table(problem.nodes, by_maximum=problem.usable_as == "maximum", ratios=policy.alpha < 1)
    volumes = _volumes(problem)
    if problem.rebalance is not None:
        return rebalance(volumes, disks, policy, _goal(problem.rebalance, disks))
    decision = balance(volumes, disks, policy, pending=_pending(problem))
    notes = (*decision.trace.notes, *_strangers(problem.nodes, volumes))
    return replace(decision, trace=replace(decision.trace, notes=notes))


def _strangers(nodes: Sequence[NodePart], volumes: Sequence[StorageVolume]) -> list[str]:
    """What is said of existing replicas without a disk whose node is not there: its name may be wrong."""
    known = {node.name for node in nodes}
    lost = {held.node for volume in volumes for held in volume.held if not held.disk} - known
    return [f"an existing replica is on {name}, which is not among the nodes" for name in natural_sorted(lost)]


def answer(problem: BalanceProblem, decision: Balance | Rebalance) -> dict[str, Any]:
    """The answer as JSON values."""
    return record(decision, by_volume=problem.volumes is not None)


def record(decision: Balance | Rebalance, *, by_volume: bool) -> dict[str, Any]:
    """Placements in the order they were decided and the scores of the first replica; or moves.

    `by_volume`: there are several volumes, so placements and what is unplaced are told with their names.
    """
    if isinstance(decision, Rebalance):
        return _advice(decision)
    result = decision_record(decision)
    trace = result.pop("trace")
    result["placements"] = [placement_record(each, by_volume=by_volume) for each in decision.placed]
    result["scores"] = _scores(decision)
    if by_volume:
        result["volumes"] = [outcome_record(each) for each in decision.outcomes if each.finding]
    return {**result, "trace": trace}


def _advice(decision: Rebalance) -> dict[str, Any]:
    result = decision_record(decision)
    trace = result.pop("trace")
    result["placements"] = []
    result["moves"] = [move_record(move, decision.disks) for move in decision.moves]
    result["imbalance"] = imbalance_record(decision)
    return {**result, "trace": trace}


def _goal(part: RebalancePart, disks: DiskTable) -> Goal:
    if part.target is None and not part.evacuate:
        raise InputError("$.rebalance", "asks for nothing; expected `target`, or `evacuate`, or both")
    rows: set[int] = set()
    for number, each in enumerate(part.evacuate):
        rows |= emptied(disks, each.node, each.disk, f"$.rebalance.evacuate[{number}]")
    return Goal(
        target=None if part.target is None else Fraction(repr(part.target)),
        moves=part.max_moves,
        bytes=None if part.max_bytes is None else amount("storage", part.max_bytes, "$.rebalance.maxBytes"),
        emptied=frozenset(rows),
    )


def emptied(disks: DiskTable, node: str, disk: str, path: str) -> set[int]:
    """The rows of a node's disks, or of one of them; none is bad input."""
    if node in disks.nodes:
        rows = {row for row in disks.rows_of(disks.nodes.index(node)) if disk in ("", disks.names[row])}
        if rows:
            return rows
    raise InputError(path, f"{node}/{disk or '*'} is not among the disks")


def _scores(decision: Balance) -> dict[str, dict[str, float]]:
    first, disks = decision.first, decision.disks
    if first is None:
        return {"nodes": {}, "disks": {}}
    nodes = zip(first.node_rows.tolist(), first.node_field.decimals(), strict=True)
    rows = zip(first.disk_rows.tolist(), first.disk_field.decimals(), strict=True)
    return {
        "nodes": {disks.nodes[row]: score for row, score in nodes},
        "disks": {disks.label(row): score for row, score in rows},
    }


def _policy(problem: BalanceProblem) -> BalancePolicy:
    settings = problem.settings
    return BalancePolicy(
        alpha=Fraction(repr(problem.alpha)),
        everywhere=problem.scope == "all",
        anti_affinity=AntiAffinity.of(problem.anti_affinity, problem.soft_anti_affinity, "$.softAntiAffinity"),
        rule=problem.rule,
        empty_node_selector=settings.allow_empty_node_selector,
        empty_disk_selector=settings.allow_empty_disk_selector,
        over_percent=settings.over_provisioning_percentage,
        minimal_percent=settings.minimal_available_percentage,
    )


def _volumes(problem: BalanceProblem) -> list[StorageVolume]:
    default = 1 if problem.rebalance is None else 0
    if problem.volumes is None:
        if problem.size is None:
            raise InputError("$.size", "is missing; expected the size of a storage replica, or `volumes`")
        return [_volume(problem, "", problem.size, None, "$", default)]
    if problem.size is not None:
        raise InputError("$.size", "is given beside `volumes`; expected one of the two")
    distinct([part.name for part in problem.volumes], "$.volumes")
    volumes = []
    for row, part in enumerate(problem.volumes):
        path = f"$.volumes[{row}]"
        hard = part.anti_affinity or problem.anti_affinity
        own = None
        if part.anti_affinity or part.soft_anti_affinity:
            own = AntiAffinity.of(hard, part.soft_anti_affinity, f"{path}.softAntiAffinity")
        volumes.append(_volume(part, part.name, part.size, own, path, default))
    return volumes


def _volume(ask: _Ask, name: str, size: Quantity, own: AntiAffinity | None, path: str, replicas: int) -> StorageVolume:
    size_bytes = amount("storage", size, f"{path}.size")
    if size_bytes == 0:
        raise InputError(f"{path}.size", "is 0; expected the size of a storage replica, more than 0")
    localities = {"disabled": Locality.OFF, "best-effort": Locality.PREFER, "strict-local": Locality.REQUIRE}
    return StorageVolume(
        name=name,
        size_bytes=size_bytes,
        replicas=replicas if ask.replicas is None else ask.replicas,
        written_bytes=amount("storage", ask.actual_size, f"{path}.actualSize"),
        node_tags=frozenset(ask.node_selector),
        disk_tags=frozenset(ask.disk_selector),
        block=None if ask.data_engine is None else ask.data_engine == "v2",
        anti_affinity=own,
        held=tuple(_held(part, f"{name or 'replica'}-{number}") for number, part in enumerate(ask.existing, 1)),
        attached_to=ask.attached_to,
        locality=localities[ask.data_locality],
        only_node=ask.hard_node_affinity,
        topology=tuple(Domain(zone=part.zone, region=part.region) for part in ask.topology),
        awaits_reuse=ask.awaits_reuse,
        healthy=ask.healthy,
    )


def _held(part: HeldPart, default: str) -> HeldReplica:
    return HeldReplica(
        name=part.name or default,
        node=part.node,
        disk=part.disk,
        failed=part.failed,
        reusable=part.failed and part.rebuild_retries < REUSE_RETRIES,
        evicting=part.eviction_requested,
    )


def _pending(problem: BalanceProblem) -> list[Charge]:
    return [
        Charge(node=part.node, disk=part.disk, size_bytes=amount("storage", part.size, f"$.pending[{row}].size"))
        for row, part in enumerate(problem.pending)
    ]
