"""Volumes and the storage replicas they hold: what the disk level is asked for."""

from collections.abc import Iterable
from enum import IntEnum

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError


class Strictness(IntEnum):
    """How much a volume minds two of its replicas sharing a zone, a node or a disk."""

    OFF = 0
    SOFT = 1
    HARD = 2


class Locality(IntEnum):
    """Whether a replica should sit on the node that the volume is attached to."""

    OFF = 0
    PREFER = 1
    REQUIRE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class AntiAffinity:
    """The strictness at each level. Hard at a level implies hard at the smaller ones."""

    zone: Strictness = Strictness.OFF
    node: Strictness = Strictness.HARD
    disk: Strictness = Strictness.HARD

    @staticmethod
    def of(hard: str, soft: Iterable[str] = (), path: str = "$.antiAffinity") -> "AntiAffinity":
        """From the words of a problem: the widest level that is hard, and the levels that are only preferred."""
        widest = ("none", "disk", "node", "zone").index(hard)
        levels = {"disk": 1, "node": 2, "zone": 3}
        wanted = {name: Strictness.HARD if place <= widest else Strictness.OFF for name, place in levels.items()}
        for name in soft:
            if wanted[name] is Strictness.HARD:
                raise InputError(path, f"{name} is hard here (it follows from {hard!r}); it cannot be soft as well")
            wanted[name] = Strictness.SOFT
        return AntiAffinity(zone=wanted["zone"], node=wanted["node"], disk=wanted["disk"])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldReplica:
    """A storage replica that a volume has already. `reusable`: failed, but its content may still serve."""

    name: str
    node: str
    disk: str = ""
    failed: bool = False
    reusable: bool = False
    evicting: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A zone and region that a replica may sit in; empty text means any."""

    zone: str = ""
    region: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageVolume:
    """A volume and how many of its storage replicas are still to be placed.

    `waiting` names the replicas that wait, where they have names. `written_bytes` is what a new replica will copy at
    once (the volume's actual size). `awaits_reuse`: the time to wait for a failed replica to come back is not over. A
    volume that is not `healthy` is degraded or rebuilding.
    """

    name: str
    size_bytes: int
    replicas: int = 1
    waiting: tuple[str, ...] = ()
    written_bytes: int = 0
    node_tags: frozenset[str] = frozenset()
    disk_tags: frozenset[str] = frozenset()
    block: bool | None = None
    anti_affinity: AntiAffinity | None = None
    held: tuple[HeldReplica, ...] = ()
    attached_to: str = ""
    locality: Locality = Locality.OFF
    only_node: str = ""
    topology: tuple[Domain, ...] = ()
    awaits_reuse: bool = False
    healthy: bool = True
