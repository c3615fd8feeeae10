"""Nodes and requests as `fairlead place` reads them: JSON fields to rooms and amounts, each mistake with its place."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

import msgspec

from fairlead.levels.node.constraints.reasons import FILTERS
from fairlead.levels.node.realloc import Current
from fairlead.levels.node.request import SHARE_BASE, NodeRequest, pieces_of
from fairlead.levels.node.usage import Share
from fairlead.model.amounts import CPU, MEMORY, Quantity, amount, amounts
from fairlead.model.errors import InputError
from fairlead.model.mounts import mount, mounts
from fairlead.model.nodes import UNLIMITED, NodeVolume, Room
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Reason

_SMALLEST, _LARGEST = Decimal("1e-60"), Decimal("1e9")

MOST_SHARED = 2**31 - 1
"""More cores than any node has: a higher `maxShare` says the same."""


class VolumeSpec(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A volume that is partly used: what is free of how much."""

    free: Quantity
    total: Quantity


class NodeInput(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """One node: by `capacity`, or by what is free on it. Everything but the name may be left out."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    count: int = 0
    capacity: int | msgspec.UnsetType | None = msgspec.UNSET
    usage: str | int | float | None = None
    rate: str | int | float | None = None
    cpu: dict[str, int] | str | int | float | None = None
    memory: Quantity | None = None
    storage: Quantity | None = None
    pods: int | None = None
    extended: dict[str, Quantity] = {}
    volumes: dict[str, VolumeSpec | str | int | float] = {}
    numa: dict[str, str | int] = {}
    numa_memory: dict[str, Quantity] = {}
    total: dict[str, Quantity] = {}
    excluded: str | None = None
    """The code of a filter that has ruled the node out."""


class RequestSpec(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """What one replica asks for; 0 is unlimited."""

    cpu: Quantity = 0
    memory: Quantity = 0
    storage: Quantity = 0
    extended: dict[str, Quantity] = {}
    bind_cpu: bool = False
    share_base: int = SHARE_BASE
    max_share: int | None = None
    volumes: list[str] = []


class CurrentSpec(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """What a replica that is to be resized holds on `node`; the node's free amounts do not include it."""

    node: str
    cpu: dict[str, int] = {}
    numa: str | int | None = None
    memory: Quantity = 0
    storage: Quantity = 0
    extended: dict[str, Quantity] = {}
    volumes: dict[str, dict[str, Quantity]] = {}


def share_of(value: str | int | float, path: str) -> Share:
    """A fraction of 1 as the decimal it was written as."""
    text = value if isinstance(value, str) else repr(value)
    try:
        share = Decimal(text)
    except InvalidOperation:
        raise InputError(path, f"{text!r} is not a number; expected a fraction of 1 such as 0.25") from None
    if len(text) > 64 or not share.is_finite() or not (share == 0 or _SMALLEST < share < _LARGEST):
        raise InputError(path, f"{text!r}; expected a fraction of 1, 0 or more")
    return share.as_integer_ratio()


def _capacity(capacity: int | msgspec.UnsetType | None, path: str) -> int | None:
    """The capacity that is given; null is unlimited."""
    if capacity is None or capacity is msgspec.UNSET:
        return None if capacity is not None else UNLIMITED
    if not 0 <= capacity < UNLIMITED:
        raise InputError(f"{path}.capacity", f"{capacity}; expected 0 or more, or null for unlimited")
    return capacity


def barred_by(code: str | None, path: str) -> Reason | None:
    """The reason behind `excluded`."""
    if code is None:
        return None
    for reason in FILTERS:
        if reason.code == code:
            return reason
    raise InputError(path, f"{code!r}; expected one of {', '.join(reason.code for reason in FILTERS)}")


def request_of(spec: RequestSpec) -> NodeRequest:
    if not 1 <= spec.share_base <= 10**6:
        raise InputError("$.request.shareBase", f"{spec.share_base}; expected from 1 to 1000000")
    if spec.max_share is not None and spec.max_share < -1:
        raise InputError("$.request.maxShare", f"{spec.max_share}; expected 0 or more, or -1 for no limit")
    needed = {
        MEMORY: amount(MEMORY, spec.memory, "$.request.memory"),
        "storage": amount("storage", spec.storage, "$.request.storage"),
        CPU: amount(CPU, spec.cpu, "$.request.cpu"),
    }
    needed |= amounts(spec.extended, "$.request.extended")
    pieces = 0
    if spec.bind_cpu:
        pieces = pieces_of(spec.cpu, spec.share_base, "$.request.cpu")
        del needed[CPU]
    return NodeRequest(
        amounts={name: value for name, value in needed.items() if value},
        pieces=pieces,
        share_base=spec.share_base,
        max_share=None if spec.max_share in (None, -1) else min(spec.max_share, MOST_SHARED),
        mounts=mounts(spec.volumes, "$.request.volumes"),
    )


def room_of(node: NodeInput, path: str, request: NodeRequest) -> Room:
    """What the node has left. A node given by its capacity has nothing to read."""
    if node.cpu is node.memory is node.storage is node.pods is None and not (
        node.extended or node.volumes or node.numa or node.numa_memory or node.total
    ):
        return Room(name=node.name, count=node.count, capacity=_capacity(node.capacity, path))
    free = amounts(node.extended, f"{path}.extended")
    for name, value in ((MEMORY, node.memory), ("storage", node.storage), ("pods", node.pods)):
        if value is not None:
            free[name] = amount(name, value, f"{path}.{name}")
    cores = None
    if isinstance(node.cpu, dict):
        cores = _cores(node.cpu, path)
    elif node.cpu is not None:
        if request.pieces:
            raise InputError(f"{path}.cpu", 'expected free pieces by core, such as {"0": 100}, where bindCpu is true')
        free[CPU] = amount(CPU, node.cpu, f"{path}.cpu")
    return Room(
        name=node.name,
        count=node.count,
        capacity=_capacity(node.capacity, path),
        free=free,
        total=amounts(node.total, f"{path}.total"),
        cores=cores,
        volumes={name: _volume(value, f"{path}.volumes.{name}") for name, value in node.volumes.items()},
        numa=_numa(node, cores or {}, path),
        numa_memory_bytes=_numa_memory(node, free.get(MEMORY), path),
    )


def _cores(cores: dict[str, int], path: str) -> dict[str, int]:
    for name, pieces in cores.items():
        if not 0 <= pieces <= 2**40:
            raise InputError(f"{path}.cpu.{name}", f"{pieces} free pieces; expected 0 or more")
    return {name: cores[name] for name in natural_sorted(cores)}


def _volume(value: VolumeSpec | Quantity, path: str) -> NodeVolume:
    if not isinstance(value, VolumeSpec):
        size = amount("storage", value, path)
        return NodeVolume(free_bytes=size, total_bytes=size)
    free, total = amount("storage", value.free, f"{path}.free"), amount("storage", value.total, f"{path}.total")
    if free > total:
        raise InputError(path, f"{free} bytes free of {total}; expected no more than the total")
    return NodeVolume(free_bytes=free, total_bytes=total)


def _numa(node: NodeInput, cores: dict[str, int], path: str) -> dict[str, str]:
    for core in node.numa:
        if core not in cores:
            raise InputError(f"{path}.numa.{core}", "no such core; expected a core of cpu")
    return {core: str(zone) for core, zone in node.numa.items()}


def _numa_memory(node: NodeInput, memory: int | None, path: str) -> dict[str, int]:
    held = {zone: amount(MEMORY, value, f"{path}.numaMemory.{zone}") for zone, value in node.numa_memory.items()}
    zones = {str(zone) for zone in node.numa.values()}
    for zone in held:
        if zone not in zones:
            raise InputError(f"{path}.numaMemory.{zone}", "no core is in this NUMA node; expected one named in numa")
    if memory is not None and sum(held.values()) > memory:
        raise InputError(f"{path}.numaMemory", f"{sum(held.values())} bytes in sum; expected at most memory, {memory}")
    return held


def current_of(spec: CurrentSpec) -> Current:
    """What the replica holds, as amounts."""
    path = "$.current"
    held = {
        MEMORY: amount(MEMORY, spec.memory, f"{path}.memory"),
        "storage": amount("storage", spec.storage, f"{path}.storage"),
    }
    volumes = {}
    for text, on in spec.volumes.items():
        mount(text, f"{path}.volumes")
        volumes[text] = {name: amount("storage", size, f"{path}.volumes.{text}.{name}") for name, size in on.items()}
    return Current(
        cores=_cores(spec.cpu, path),
        numa=None if spec.numa is None else str(spec.numa),
        amounts=held | amounts(spec.extended, f"{path}.extended"),
        mounts=volumes,
    )
