"""The one configuration of components and commands: a versioned file, decoded strictly, with a default for everything.

Each component has a section of its own; a file names only what differs from the defaults.
"""

import copy
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fairlead.engine.plan_settings import PlanSettings
from fairlead.levels.tier.presets import TierChoice
from fairlead.model.amounts import amount
from fairlead.model.division import Sticky
from fairlead.model.errors import InputError
from fairlead.model.selectors import Operator, Requirement, Toleration
from fairlead.model.tiers import Tiers
from fairlead.text.documents import documents, strict
from fairlead.text.lines import Lines, lines_of, steps_of
from fairlead.text.mistakes import unknown_field

API_VERSION = "fairlead.io/v1alpha1"
KIND = "Configuration"
MOST_MISTAKES = 100


class Section(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of all sections: what it does not know, it refuses."""


class NodeRule(Section, frozen=True):
    """One expression over node labels."""

    key: Annotated[str, Meta(min_length=1)]
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = "In"
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.operator in ("In", "NotIn")) != bool(self.values):
            raise ValueError(f"operator {self.operator} with {len(self.values)} values; In and NotIn need values")

    def requirement(self) -> Requirement:
        """The expression as a condition."""
        return Requirement(self.key, Operator(self.operator), self.values)


class TolerationRule(Section, frozen=True):
    """One toleration to inject."""

    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: int | None = None

    def __post_init__(self) -> None:
        if self.operator == "Exists" and self.value:
            raise ValueError("operator Exists takes no value")
        if self.operator == "Equal" and not self.key:
            raise ValueError("operator Equal needs a key")

    def toleration(self) -> Toleration:
        """The toleration as the levels know it."""
        return Toleration(self.key, self.operator, self.value, self.effect, self.toleration_seconds)


PresetName = Literal["fairlead", "gke-spot", "gke-preemptible", "gke-provisioning", "eks", "aks", "karpenter"]


class TierSettings(Section, frozen=True):
    """How on-demand and spot nodes are told apart, and which rules apply.

    Without a word the labels of the nodes decide (`levels/tier/presets.py`). `presets` names those to go by, none of
    them for no tiers. `onDemandRequirement` and `spotRequirement` are conditions of your own; one of them alone
    leaves the other at the seed's label. Tolerations are injected into pods that prefer spot.
    """

    presets: tuple[PresetName, ...] | None = None
    on_demand_requirement: NodeRule | None = None
    spot_requirement: NodeRule | None = None
    spot_weight: Annotated[int, Meta(ge=1, le=100)] = 100
    spot_tolerations: tuple[TolerationRule, ...] = ()
    single_replica: bool = True

    def __post_init__(self) -> None:
        if self.presets is not None and self._given() is not None:
            raise ValueError("presets beside onDemandRequirement or spotRequirement; expected one or the other")

    def choice(self) -> TierChoice:
        """What is set, for whoever knows the nodes."""
        return TierChoice(
            given=self._given(),
            presets=self.presets,
            tolerations=tuple(each.toleration() for each in self.spot_tolerations),
            weight=self.spot_weight,
            single_replica=self.single_replica,
        )

    def _given(self) -> Tiers | None:
        if self.on_demand_requirement is None and self.spot_requirement is None:
            return None
        seed = Tiers()
        return Tiers(
            on_demand=_conditions(self.on_demand_requirement, seed.on_demand),
            spot=_conditions(self.spot_requirement, seed.spot),
        )


def _conditions(rule: NodeRule | None, default: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    return default if rule is None else (rule.requirement(),)


class WebhookSettings(Section, frozen=True):
    """How the webhook runs.

    `mode` is `webhook` (the count is made at admission) or `gated` (pods are held back by a scheduling gate until
    one elected replica has counted them). Without `certificateFolder` it makes its certificates itself and keeps them
    in `secret`. `patienceSeconds` is how long a request waits before it is asked to come back, `budgetSeconds`
    bounds any request, `lapseSeconds` is when a grant whose pod never came is free again. In `shadow` it decides and
    reports, but changes no pod and writes no ledger.

    With `clientAuthority`, a file of PEM certificates, only clients with a certificate signed by one of them are
    answered; with `clientNames` only those whose certificate has one of these names.
    """

    namespace: str = "fairlead-system"
    mode: Literal["webhook", "gated"] = "webhook"
    listen: str = "0.0.0.0:8443"
    health: str = "0.0.0.0:8080"
    configuration: str = "fairlead-webhook"
    service: str = "fairlead-webhook"
    secret: str = "fairlead-webhook-tls"
    certificate_folder: str = ""
    client_authority: str = ""
    client_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    patience_seconds: Annotated[float, Meta(ge=0, le=25)] = 3.0
    budget_seconds: Annotated[float, Meta(gt=0, le=30)] = 9.0
    lapse_seconds: Annotated[float, Meta(ge=45)] = 45.0
    drain_seconds: Annotated[float, Meta(ge=0)] = 8.0
    shadow: bool = False

    def __post_init__(self) -> None:
        if self.client_names and not self.client_authority:
            raise ValueError("clientNames need a clientAuthority that signs their certificates")


class EvictionSettings(Section, frozen=True):
    """Whether pods may be evicted at all, and how many a minute, by whatever component.

    `switch` names a ConfigMap in `namespace` that all components share: with `stop: "true"` in its data nothing is
    evicted, from one moment to the next. The evictions of the last minute are counted there too.
    """

    allowed: bool = False
    namespace: str = "fairlead-system"
    per_minute: Annotated[int, Meta(ge=1, le=6000)] = 6
    switch: str = "fairlead-evictions"


class RepairSettings(Section, frozen=True):
    """Bringing workloads to their minimum after the fact; it works through evictions, so these must be allowed.

    `back` also moves replicas above the minimum from on-demand nodes back to spot.
    """

    back: bool = False
    period_seconds: Annotated[float, Meta(ge=1)] = 30.0


class EstimatorSettings(Section, frozen=True):
    """Where Karmada's accurate scheduler estimators are: `address` is HOST:PORT with `{cluster}` for a cluster's name.

    An empty address: none are asked. `authority`, `certificate` and `key` are files; without an authority connections
    are not encrypted.
    """

    address: Annotated[str, Meta(pattern=r"^$|^[^ ]+:[0-9]+$")] = ""
    seconds: Annotated[float, Meta(gt=0, le=60)] = 3.0
    authority: str = ""
    certificate: str = ""
    key: str = ""


class FleetSettings(Section, frozen=True):
    """How the fleet scheduler runs. Bindings whose schedulerName is `name` are scheduled; `namespace` has the lease.

    In `shadow` it decides and reports, but writes nothing. A leader that dies is followed after `leaseSeconds`.
    `sticky` says how the last division is kept where neither policy nor binding does: `most` moves as few replicas as
    can be, `seed` draws anew when the floors change, `none` always.
    """

    name: Annotated[str, Meta(min_length=1)] = "fairlead"
    namespace: str = "fairlead-system"
    health: str = "0.0.0.0:8080"
    shadow: bool = False
    sticky: Sticky = Sticky.MOST
    lease_seconds: Annotated[int, Meta(ge=3, le=60)] = 6
    estimator: EstimatorSettings = EstimatorSettings()


class SchedulerSettings(Section, frozen=True):
    """How the node scheduler decides for workloads that say nothing themselves.

    `volumeSeconds` is how long a pod's room is kept for volumes that do not come. On SIGUSR2 what is known is written
    to `snapshotFile`.
    """

    strategy: Literal["auto", "communism", "global-greedy"] = "auto"
    volume_seconds: Annotated[float, Meta(gt=0)] = 600.0
    snapshot_file: Annotated[str, Meta(min_length=1)] = "/tmp/fairlead-scheduler.json"


class QueueSettings(Section, frozen=True):
    """How the scheduler shares between queues, namespaces and jobs.

    With `preempt` jobs that may take room from others do so, where `evictions.allowed`; otherwise the log says what
    would be evicted. Room that was made is kept for `holdSeconds`. A gang that waits for `reserveAfterSeconds` gets a
    reservation (absent: none does). One that was begun and is not complete after `gangSeconds` is released. Status and
    metrics are looked at every `statusSeconds`. With `createQueues` the queues `root` and `default` are created where
    Queues are served. `admit` is the gate before the queue: `open` lets pods of every PodGroup be created at once,
    `gated` only of those whose `minResources` their queue may hold or reclaim.
    """

    gang_seconds: Annotated[float, Meta(gt=0)] = 300.0
    preempt: bool = True
    hold_seconds: Annotated[float, Meta(gt=0)] = 300.0
    reserve_after_seconds: Annotated[int, Meta(ge=0)] | None = None
    status_seconds: Annotated[float, Meta(ge=0.1)] = 2.0
    create_queues: bool = True
    admit: Literal["open", "gated"] = "open"


class StorageSettings(Section, frozen=True):
    """How the storage component runs: `longhornNamespace` is watched, `namespace` has the lease.

    It advises; with `act` it also gives waiting Replicas their disk; in `shadow` it writes nothing at all. `alpha` and
    `usableAs` are those of the disk level. Moves are advised down to an imbalance of `target`, at most `maxMoves` that
    copy at most `maxBytes`, and not more often than every `adviseSeconds`.
    """

    namespace: str = "fairlead-system"
    longhorn_namespace: Annotated[str, Meta(min_length=1)] = "longhorn-system"
    health: str = "0.0.0.0:8080"
    act: bool = False
    shadow: bool = False
    alpha: Annotated[float, Meta(ge=0, le=1)] = 1
    usable_as: Literal["available", "maximum"] = "available"
    target: Annotated[float, Meta(ge=0)] = 0.2
    max_moves: Annotated[int, Meta(ge=0)] = 5
    max_bytes: str | int = "1Ti"
    advise_seconds: Annotated[float, Meta(ge=1)] = 60.0

    def __post_init__(self) -> None:
        try:
            self.move_bytes()
        except InputError as error:
            raise ValueError(f"maxBytes {error.message}") from None

    def move_bytes(self) -> int:
        """`maxBytes` as a number."""
        return amount("storage", self.max_bytes, "maxBytes")


class Configuration(Section, frozen=True):
    """The whole file."""

    api_version: Literal["fairlead.io/v1alpha1"]
    kind: Literal["Configuration"]
    tier: TierSettings = TierSettings()
    webhook: WebhookSettings = WebhookSettings()
    evictions: EvictionSettings = EvictionSettings()
    repair: RepairSettings = RepairSettings()
    fleet: FleetSettings = FleetSettings()
    scheduler: SchedulerSettings = SchedulerSettings()
    queue: QueueSettings = QueueSettings()
    storage: StorageSettings = StorageSettings()

    def plan_settings(self) -> PlanSettings:
        """What a plan goes by, so that it decides as the live components do."""
        return PlanSettings(tiers=self.tier.choice(), strategy=self.scheduler.strategy, sticky=self.fleet.sticky)


DEFAULTS = Configuration(api_version="fairlead.io/v1alpha1", kind="Configuration")


def read_configuration(raw: bytes, source: str) -> Configuration:
    """The configuration in a text of JSON or YAML; `InputError` tells the line of the first mistake."""
    try:
        return strict(_only(raw, source)[1], Configuration)
    except InputError as error:
        raise next(iter(mistakes(raw, source)), error) from None


def mistakes(raw: bytes, source: str) -> list[InputError]:
    """Every mistake of a configuration, each with its line, in the order of the text; none where it is valid."""
    place, value = _only(raw, source)
    found: list[InputError] = []
    while isinstance(value, dict) and len(found) < MOST_MISTAKES:
        try:
            strict(value, Configuration)
            break
        except InputError as error:
            found.append(error)
            value = _without(value, error)
    else:
        if not found:
            return [InputError(place, f"is not a mapping; expected a {KIND} of {API_VERSION}")]
    lines = lines_of(raw)
    return [placed for _, placed in sorted((_placed(each, lines, source) for each in found), key=lambda each: each[0])]


def _placed(error: InputError, lines: Lines, source: str) -> tuple[int, InputError]:
    """The error with its line."""
    line = lines.at(error.path, error.message)
    return line, InputError(f"{source}:{line}: {error.path}", error.message)


def _without(value: dict[str, Any], error: InputError) -> Any:
    """The configuration without what the error is about; None where that is the whole."""
    steps = steps_of(error.path)
    if unknown := unknown_field(error.message):
        steps = (*steps, unknown)
    required = {"apiVersion": API_VERSION, "kind": KIND}
    if not steps:
        return {**required, **value} if not required.keys() <= value.keys() else None
    kept: Any = copy.deepcopy(value)
    inner = kept
    for step in steps[:-1]:
        inner = inner[step]
    if len(steps) == 1 and steps[0] in required:
        inner[steps[0]] = required[str(steps[0])]
    else:
        try:
            del inner[steps[-1]]
        except LookupError:
            return None  # what the error names cannot be left out: mistakes after it are not looked for
    return kept


def read_tier(raw: bytes, source: str) -> TierSettings:
    """The tier section of a configuration; a text that holds nothing but that section will do."""
    value = _only(raw, source)[1]
    if not isinstance(value, dict) or value.keys() & {"apiVersion", "kind", "tier", "webhook"}:
        return read_configuration(raw, source).tier
    try:
        return strict(value, TierSettings)
    except InputError as error:
        raise _placed(error, lines_of(raw), source)[1] from None


def _only(raw: bytes, source: str) -> tuple[str, Any]:
    """The one document of the text, with its place."""
    found = list(documents(raw, source))
    if not found:
        raise InputError(source, f"is empty; expected a {KIND} of {API_VERSION}")
    if isinstance(found[0], InputError):
        raise found[0]
    if len(found) > 1:
        raise InputError(source, f"has {len(found)} documents; expected one {KIND} of {API_VERSION}")
    return found[0].place, found[0].value
