"""Which labels mean on-demand and spot: those of the clouds, Karpenter's, and the seed's (docs/decisions/0260).

With one of the clouds' labels a node is on demand where it is not spot: on-demand nodes of GKE and AKS carry no label,
and nodes that Karpenter did not make carry none of its. A cluster may carry several labels; then a node is on demand
where none of them says spot.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError
from fairlead.model.selectors import Effect, Operator, Requirement, Toleration
from fairlead.model.tiers import CAPACITY, NO_TIERS, Tiers


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One label with its values. `taint` is on every spot node, so replicas that prefer spot must tolerate it.

    `strict` asks for the label: a node without it is neither on demand nor spot.
    """

    name: str
    key: str
    on_demand: tuple[str, ...] = ()
    spot: tuple[str, ...]
    taint: Toleration | None = None
    strict: bool = False

    @property
    def is_spot(self) -> Requirement:
        """The condition that holds on spot nodes."""
        return Requirement(self.key, Operator.IN, self.spot)

    @property
    def not_spot(self) -> Requirement:
        """The condition that holds on all others."""
        return Requirement(self.key, Operator.NOT_IN, self.spot)

    @property
    def is_on_demand(self) -> Requirement:
        """The condition that holds on nodes marked as on demand."""
        return Requirement(self.key, Operator.IN, self.on_demand)


_AZURE = "kubernetes.azure.com/scalesetpriority"
PRESETS: tuple[Preset, ...] = (
    Preset(name="fairlead", key=CAPACITY, on_demand=("on-demand",), spot=("spot",), strict=True),
    Preset(name="gke-spot", key="cloud.google.com/gke-spot", on_demand=("false",), spot=("true",)),
    Preset(name="gke-preemptible", key="cloud.google.com/gke-preemptible", on_demand=("false",), spot=("true",)),
    Preset(
        name="gke-provisioning",
        key="cloud.google.com/gke-provisioning",
        on_demand=("standard",),
        spot=("spot", "preemptible"),
    ),
    Preset(name="eks", key="eks.amazonaws.com/capacityType", on_demand=("ON_DEMAND",), spot=("SPOT",)),
    Preset(
        name="aks",
        key=_AZURE,
        on_demand=("regular",),
        spot=("spot",),
        taint=Toleration(_AZURE, "Equal", "spot", Effect.NO_SCHEDULE),
    ),
    Preset(name="karpenter", key="karpenter.sh/capacity-type", on_demand=("on-demand", "reserved"), spot=("spot",)),
)
"""In the order in which they are told and written into pods."""
NAMES = tuple(each.name for each in PRESETS)


def detected(keys: Collection[str]) -> tuple[str, ...]:
    """The names of the presets whose label is among those that nodes carry."""
    return tuple(each.name for each in PRESETS if each.key in keys)


def combined(names: Iterable[str]) -> Tiers:
    """The tiers by the presets of these names; no name is no tiers, one that is not known is `InputError`."""
    asked = set(names)
    unknown = sorted(asked - set(NAMES))
    if unknown:
        raise InputError("presets", f"{unknown[0]!r} is not known; expected some of {', '.join(NAMES)}")
    chosen = tuple(each for each in PRESETS if each.name in asked)
    if not chosen:
        return NO_TIERS
    alone = len(chosen) == 1 and chosen[0].strict
    return Tiers(
        on_demand=tuple(each.is_on_demand if alone else each.not_spot for each in chosen),
        spot=tuple(each.is_spot for each in chosen),
        marked=tuple(each.is_on_demand for each in chosen),
        tolerations=tuple(each.taint for each in chosen if each.taint is not None),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TierChoice:
    """What a configuration says about tiers.

    `given` are the tiers in full and win over everything; `presets` are names, where None asks for those that the
    nodes show. `tolerations` come on top of those of the presets.
    """

    given: Tiers | None = None
    presets: tuple[str, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    weight: int = 100
    single_replica: bool = True

    @property
    def detects(self) -> bool:
        """Whether the nodes have a say."""
        return self.given is None and self.presets is None

    def tiers(self, keys: Collection[str] | None, known: Iterable[str] = ()) -> Tiers:
        """The tiers of a cluster whose nodes carry these labels; `known` are presets that it showed before.

        `keys` is None where no nodes are at hand: then the seed's label holds.
        """
        found = self.given or self._by_presets(keys, known)
        return replace(
            found,
            weight=self.weight,
            single_replica=self.single_replica,
            tolerations=(*found.tolerations, *self.tolerations),
        )

    def _by_presets(self, keys: Collection[str] | None, known: Iterable[str]) -> Tiers:
        if self.presets is not None:
            return combined(self.presets)
        seen = {*known, *detected(keys or ())}
        return Tiers() if keys is None and not seen else combined(seen)


DETECTED = TierChoice()
"""Nothing is set: the nodes decide."""
