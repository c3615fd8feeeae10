"""What is asked of the fleet level: a workload, the policy that divides it, and the last accepted result."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from fairlead.dataclass import dataclass
from fairlead.model.clusters import ClusterTable
from fairlead.model.selectors import Toleration

_NONE: Mapping[str, int] = MappingProxyType({})
_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class Mode(StrEnum):
    """The ways to divide."""

    STATIC = "static"
    WEBSTER = "webster"
    DYNAMIC = "dynamic"
    AGGREGATED = "aggregated"
    DUPLICATED = "duplicated"


class Sticky(StrEnum):
    """How much of the prior a static division keeps."""

    SEED = "seed"
    """The rules of the proposal: reuse whole, else previous holders where the floors are the same, else draw."""
    MOST = "most"
    """Of all results within quota one with the fewest moves."""
    NONE = "none"
    """Draw, whatever was before."""


class Reschedule(StrEnum):
    """What a new division does to replicas already placed."""

    KEEP = "keep"
    """Nothing asks for a new division: the prior stands while all its clusters pass, else as steady."""
    STEADY = "steady"
    """The prior binds as far as the mode lets it."""
    FRESH = "fresh"
    """The prior is forgotten."""


class Ties(StrEnum):
    """Which of equal clusters comes first in every mode but static, once their replicas are equal too."""

    UID = "uid"
    """Names ascending or descending by one bit of the uid, as in Karmada; ascending where there is no uid."""
    ASCENDING = "ascending"
    DESCENDING = "descending"


class SpreadBy(StrEnum):
    """What makes a group of clusters."""

    CLUSTER = "cluster"
    REGION = "region"
    ZONE = "zone"
    PROVIDER = "provider"
    LABEL = "label"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """`key` is a label, or for fields `region`, `zone` or `provider`; operators are those of label selectors."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAffinity:
    """Which clusters may be chosen; every part that is given must hold. `name` is that of a group.

    `overflow` are further clusters, in order, for what the room of the group's own does not hold.
    """

    name: str = ""
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    expressions: tuple[Expression, ...] = ()
    fields: tuple[Expression, ...] = ()
    names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overflow: tuple["FleetAffinity", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSpread:
    """The chosen clusters cover at least `least` and at most `most` groups (`most` 0: no limit)."""

    by: SpreadBy
    label: str = ""
    least: int = 1
    most: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DividePolicy:
    """How to divide. `coefficient` is the c of rule 5, `None` the default (½ where every cluster reports room)."""

    mode: Mode = Mode.STATIC
    sticky: Sticky = Sticky.SEED
    coefficient: Fraction | None = None
    reschedule: Reschedule = Reschedule.STEADY
    ties: Ties = Ties.UID
    respect_room: bool = False
    partial: bool = False
    packed: bool = False
    balance_residuals: bool = False
    affinities: tuple[FleetAffinity, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[FleetSpread, ...] = ()

    @property
    def needs_room(self) -> bool:
        """Whether a cluster never gets more than its room."""
        return self.respect_room or self.mode in (Mode.DYNAMIC, Mode.AGGREGATED)


@dataclass(frozen=True, slots=True, kw_only=True)
class DivideWorkload:
    """What is divided. `uid` seeds the draw; `tie_uid` is the uid that was really given, for Karmada's tie rule."""

    name: str
    replicas: int
    uid: str = ""
    tie_uid: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorDivision:
    """The last accepted result: by which mode, of how many replicas, by which weights, with which counts.

    `counts` names every cluster that took part, those with 0 too. `replicas` need not be the sum of the counts.
    `targets` are clusters that hold the workload without replicas: a ConfigMap, a definition, a namespace.
    """

    mode: Mode = Mode.STATIC
    replicas: int = 0
    weights: Mapping[str, int] = field(default_factory=lambda: _NONE)
    counts: Mapping[str, int] = field(default_factory=lambda: _NONE)
    targets: frozenset[str] = frozenset()

    @property
    def running(self) -> frozenset[str]:
        """The clusters that hold the workload now, with replicas or without (docs/decisions/0215)."""
        return self.targets | {name for name, count in self.counts.items() if count > 0}


NO_PRIOR = PriorDivision()
"""Stands for a workload that was never divided: nothing runs anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivisionAsk:
    """A workload that a policy divides over clusters: the arguments of `fleet.divide`."""

    workload: DivideWorkload
    clusters: ClusterTable
    policy: DividePolicy
    prior: PriorDivision | None = None
