"""The workload of a new replica, and how many of its kind already hold a slot on on-demand nodes."""

from enum import StrEnum

from fairlead.dataclass import dataclass


class OwnerKind(StrEnum):
    """The workloads whose replicas are split between tiers."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class Exempt(StrEnum):
    """Why a workload takes no part in tiers, whatever it asks for."""

    NONE = ""
    SYSTEM = "system"
    """Its priority class is one of the system's own."""
    OPTED_OUT = "opted-out"
    """A label of it says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A workload as its user wrote it.

    `replicas` is the number asked for (an absent field means 1 and is already filled in). `min_available` is the
    text of the annotation, None where there is none. `first_ordinal` matters to StatefulSets only.
    """

    kind: OwnerKind
    name: str
    replicas: int
    min_available: str | None = None
    first_ordinal: int = 0
    exempt: Exempt = Exempt.NONE


class TierPin(StrEnum):
    """What the user's own node rules already say about the tier."""

    NONE = "none"
    """On-demand nodes are among those allowed, and so are others."""
    ON_DEMAND = "on-demand"
    """Only on-demand nodes are allowed."""
    ELSEWHERE = "elsewhere"
    """No on-demand node is allowed."""
    NAMED = "named"
    """One node is named, of whatever tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """A replica about to be created. `name` is empty where the server will make one up."""

    name: str = ""
    pin: TierPin = TierPin.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSlots:
    """Slots taken within one ReplicaSet.

    `stored` are held by replicas that exist and are active; `reserved` were granted to replicas that have not been
    seen yet: they may still come, or have been refused after the grant.
    """

    stored: int = 0
    reserved: int = 0
