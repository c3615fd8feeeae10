"""The problem of `fairlead balance`: read into a disk table and volumes, answered with placements and scores."""

from fractions import Fraction
from typing import Annotated, Any, Literal

import msgspec

from fairlead.levels.disk.balance import Balance, Charge, balance
from fairlead.levels.disk.policy import BalancePolicy, Rule
from fairlead.model.amounts import Quantity, amount
from fairlead.model.decision import decision_record
from fairlead.model.disks import UNKNOWN, Closed, Disk, DiskTable, disk_table
from fairlead.model.errors import InputError
from fairlead.model.storage import AntiAffinity, Domain, Held, Locality, Volume

Count = Annotated[int, msgspec.Meta(ge=0)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Level = Literal["node", "zone", "disk", "none"]


class _Part(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """The manner of every object of a problem."""


class DiskPart(_Part, kw_only=True, frozen=True):
    """A disk: `usable` directly, or what it is worked out from."""

    name: Name
    usable: Quantity | None = None
    available: Quantity | None = None
    reserved: Quantity = 0
    scheduled: Quantity | None = None
    maximum: Quantity | None = None
    total: Quantity | None = None
    ready: bool = True
    allow_scheduling: bool = True
    eviction_requested: bool = False
    tags: tuple[str, ...] = ()
    type: Literal["filesystem", "block"] = "filesystem"


class NodePart(_Part, kw_only=True, frozen=True):
    """A node and its disks."""

    name: Name
    disks: tuple[DiskPart, ...] = ()
    zone: str = ""
    region: str = ""
    ready: bool = True
    allow_scheduling: bool = True
    eviction_requested: bool = False
    engine_deployed: bool = True
    tags: tuple[str, ...] = ()


class HeldPart(_Part, kw_only=True, frozen=True):
    """A replica that the volume has already."""

    name: str = ""
    node: Name
    disk: str = ""
    failed: bool = False
    rebuild_retries: Count = 0
    eviction_requested: bool = False


class DomainPart(_Part, kw_only=True, frozen=True):
    """A zone, a region, or both, that replicas may sit in."""

    zone: str = ""
    region: str = ""


class _Ask(_Part, kw_only=True, frozen=True):
    """What a volume may ask for; at the top of a problem with one volume, or in each of `volumes`."""

    replicas: Count = 1
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
    soft_anti_affinity: tuple[Literal["node", "zone", "disk"], ...] = ()


class VolumePart(_Ask, kw_only=True, frozen=True):
    """One of several volumes."""

    name: Name
    size: Quantity
    anti_affinity: Level | None = None


class PendingPart(_Part, kw_only=True, frozen=True):
    """A placement on its way, not yet in the figures of its disk."""

    node: Name
    disk: Name
    size: Quantity


class SettingsPart(_Part, kw_only=True, frozen=True):
    """Cluster-wide limits; a percentage that is absent is not checked."""

    over_provisioning_percentage: Count | None = None
    minimal_available_percentage: Annotated[int, msgspec.Meta(ge=0, le=100)] | None = None
    allow_empty_node_selector: bool = True
    allow_empty_disk_selector: bool = True


class Problem(_Ask, kw_only=True, frozen=True):
    """Either one volume (`size`, `replicas` …) or several (`volumes`), and the nodes with their disks."""

    nodes: tuple[NodePart, ...]
    size: Quantity | None = None
    volumes: tuple[VolumePart, ...] | None = None
    alpha: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1
    scope: Literal["node", "all"] = "node"
    anti_affinity: Level = "node"
    rule: Rule = Rule.BALANCE
    usable_as: Literal["available", "maximum"] = "available"
    pending: tuple[PendingPart, ...] = ()
    settings: SettingsPart = SettingsPart()


REUSE_RETRIES = 5
"""A failed replica that was rebuilt in vain this often is given up."""


def solve(problem: Problem) -> Balance:
    """Decide; bad values are `InputError` with their place."""
    disks = _table(problem)
    policy = _policy(problem)
    if policy.alpha < 1:
        _need_totals(problem)
    return balance(_volumes(problem), disks, policy, pending=_pending(problem))


def answer(problem: Problem, decision: Balance) -> dict[str, Any]:
    """The answer as JSON values: placements in the order they were decided, scores of the first replica."""
    record = decision_record(decision)
    record["placements"] = [
        {
            **({"volume": each.volume} if problem.volumes is not None else {}),
            "node": each.node,
            "disk": each.disk,
            **({"reuses": each.reuses} if each.reuses else {}),
        }
        for each in decision.placed
    ]
    record["scores"] = _scores(decision)
    trace = record.pop("trace")
    if problem.volumes is not None:
        record["volumes"] = [_outcome(each) for each in decision.outcomes if each.finding]
    record["trace"] = trace
    return record


def _outcome(outcome: Any) -> dict[str, Any]:
    finding = outcome.finding
    return {
        "volume": outcome.volume.name,
        "unplaced": outcome.unplaced,
        "reason": finding.code,
        "message": finding.sentence,
        "cure": finding.reason.cure.value,
    }


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


def _policy(problem: Problem) -> BalancePolicy:
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


def _volumes(problem: Problem) -> list[Volume]:
    if problem.volumes is None:
        if problem.size is None:
            raise InputError("$.size", "is missing; expected the size of a storage replica, or `volumes`")
        return [_volume(problem, "", problem.size, None, "$")]
    if problem.size is not None:
        raise InputError("$.size", "is given beside `volumes`; expected one of the two")
    volumes = []
    seen: set[str] = set()
    for row, part in enumerate(problem.volumes):
        path = f"$.volumes[{row}]"
        if part.name in seen:
            raise InputError(f"{path}.name", f"{part.name!r} is there twice; expected distinct names")
        seen.add(part.name)
        hard = part.anti_affinity or problem.anti_affinity
        own = None
        if part.anti_affinity or part.soft_anti_affinity:
            own = AntiAffinity.of(hard, part.soft_anti_affinity, f"{path}.softAntiAffinity")
        volumes.append(_volume(part, part.name, part.size, own, path))
    return volumes


def _volume(ask: _Ask, name: str, size: Quantity, own: AntiAffinity | None, path: str) -> Volume:
    size_bytes = amount("storage", size, f"{path}.size")
    if size_bytes == 0:
        raise InputError(f"{path}.size", "is 0; expected the size of a storage replica, more than 0")
    localities = {"disabled": Locality.OFF, "best-effort": Locality.PREFER, "strict-local": Locality.REQUIRE}
    return Volume(
        name=name,
        size_bytes=size_bytes,
        replicas=ask.replicas,
        written_bytes=amount("storage", ask.actual_size, f"{path}.actualSize"),
        node_tags=frozenset(ask.node_selector),
        disk_tags=frozenset(ask.disk_selector),
        block=None if ask.data_engine is None else ask.data_engine == "v2",
        anti_affinity=own,
        held=tuple(_held(part, number) for number, part in enumerate(ask.existing)),
        attached_to=ask.attached_to,
        locality=localities[ask.data_locality],
        only_node=ask.hard_node_affinity,
        topology=tuple(Domain(zone=part.zone, region=part.region) for part in ask.topology),
        awaits_reuse=ask.awaits_reuse,
    )


def _held(part: HeldPart, number: int) -> Held:
    return Held(
        name=part.name or f"{part.node}/{part.disk or number}",
        node=part.node,
        disk=part.disk,
        failed=part.failed,
        reusable=part.failed and part.rebuild_retries < REUSE_RETRIES,
        evicting=part.eviction_requested,
    )


def _pending(problem: Problem) -> list[Charge]:
    return [
        Charge(node=part.node, disk=part.disk, size_bytes=amount("storage", part.size, f"$.pending[{row}].size"))
        for row, part in enumerate(problem.pending)
    ]


def _table(problem: Problem) -> DiskTable:
    disks = []
    nodes: set[str] = set()
    for node_row, node in enumerate(problem.nodes):
        path = f"$.nodes[{node_row}]"
        if node.name in nodes:
            raise InputError(f"{path}.name", f"{node.name!r} is there twice; expected distinct names")
        nodes.add(node.name)
        names: set[str] = set()
        for row, part in enumerate(node.disks):
            place = f"{path}.disks[{row}]"
            if part.name in names:
                raise InputError(f"{place}.name", f"{part.name!r} is there twice; expected distinct names")
            names.add(part.name)
            disks.append(_disk(node, part, place, by_maximum=problem.usable_as == "maximum"))
    return disk_table(disks)


def _disk(node: NodePart, part: DiskPart, path: str, *, by_maximum: bool) -> Disk:
    def read(field: str, default: int) -> int:
        value = getattr(part, field)
        return default if value is None else amount("storage", value, f"{path}.{field}")

    reserved, scheduled = read("reserved", 0), read("scheduled", 0)
    maximum, available = read("maximum", UNKNOWN), read("available", UNKNOWN)
    if part.usable is not None:
        for field in ("available", "scheduled"):
            if getattr(part, field) is not None:
                raise InputError(f"{path}.usable", f"is given together with `{field}`; expected one of the two")
        usable = free = read("usable", 0)
    else:
        base = maximum if by_maximum or available == UNKNOWN else available
        if base == UNKNOWN:
            missing = "maximum" if by_maximum else "usable"
            raise InputError(f"{path}.{missing}", "is missing; expected `usable`, or `available`, or `maximum`")
        usable = max(base - reserved - scheduled, 0)
        free = (maximum if available == UNKNOWN else available) - reserved
    return Disk(
        node=node.name,
        name=part.name,
        usable_bytes=usable,
        total_bytes=read("total", max(maximum - reserved, 0) if maximum != UNKNOWN else 0),
        free_bytes=free,
        scheduled_bytes=scheduled,
        reserved_bytes=reserved,
        available_bytes=available,
        maximum_bytes=maximum,
        zone=node.zone,
        region=node.region,
        node_tags=frozenset(node.tags),
        tags=frozenset(part.tags),
        block=part.type == "block",
        closed=_closed(node, part, maximum),
    )


def _closed(node: NodePart, part: DiskPart, maximum: int) -> Closed:
    checks = (
        (not node.ready, Closed.NODE_NOT_READY),
        (not node.allow_scheduling, Closed.NODE_DISABLED),
        (node.eviction_requested, Closed.NODE_EVICTING),
        (not node.engine_deployed, Closed.ENGINE_MISSING),
        (not part.ready, Closed.DISK_NOT_READY),
        (not part.allow_scheduling, Closed.DISK_DISABLED),
        (part.eviction_requested, Closed.DISK_EVICTING),
        (maximum == 0, Closed.NO_CAPACITY),
    )
    return next((closed for holds, closed in checks if holds), Closed.OPEN)


def _need_totals(problem: Problem) -> None:
    for node_row, node in enumerate(problem.nodes):
        for row, part in enumerate(node.disks):
            if part.total is None and part.maximum is None:
                raise InputError(
                    f"$.nodes[{node_row}].disks[{row}].total",
                    "is missing; an alpha below 1 compares usable/total, so expected `total` or `maximum`",
                )
