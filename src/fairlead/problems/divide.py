"""The JSON of `fairlead divide`."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import Division, divide
from fairlead.levels.fleet.match import OPERATORS
from fairlead.model.amounts import Quantity, amounts
from fairlead.model.clusters import NO_LIMIT, NO_TRAITS, UNKNOWN, ClusterTable, Traits, cluster_table
from fairlead.model.decision import decision_record
from fairlead.model.division import (
    DividePolicy,
    DivideWorkload,
    DivisionAsk,
    Expression,
    FleetAffinity,
    FleetSpread,
    Mode,
    PriorDivision,
    Reschedule,
    SpreadBy,
    Sticky,
    Ties,
)
from fairlead.model.errors import InputError
from fairlead.model.selectors import Taint, Toleration
from fairlead.problems.divide_room import MOST, Count, GradeIn, SummaryIn, room

Large = Annotated[int, Meta(ge=0)]
Weight = Annotated[int, Meta(ge=0, lt=2**62)]


class _Strict(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A part of a problem."""


class WorkloadInput(_Strict, kw_only=True, frozen=True):
    """What is divided. `uid` defaults to namespace/name."""

    name: str = "workload"
    namespace: str = ""
    uid: str | None = None
    replicas: Count
    request: dict[str, Quantity] | None = None


class ExpressionIn(_Strict, kw_only=True, frozen=True):
    """One requirement on a label or a field."""

    key: str
    operator: str
    values: list[str] = []


class SpilloverIn(_Strict, kw_only=True, frozen=True):
    """Further clusters, for what those before do not hold."""

    name: str = ""
    labels: dict[str, str] = {}
    expressions: list[ExpressionIn] = []
    fields: list[ExpressionIn] = []
    names: list[str] = []
    exclude: list[str] = []


class AffinityIn(SpilloverIn, kw_only=True, frozen=True):
    """Which clusters may be chosen; where they lack room, those of each overflow in order."""

    overflow: list[SpilloverIn] = []


class TolerationIn(_Strict, kw_only=True, frozen=True):
    """A taint that does not matter."""

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class SpreadIn(_Strict, kw_only=True, frozen=True):
    """How many groups of clusters to cover."""

    by: SpreadBy
    label: str = ""
    min: Count = 1
    max: Count | None = None


class PolicyIn(_Strict, kw_only=True, frozen=True):
    """How to divide."""

    mode: Mode = Mode.STATIC
    sticky: Sticky = Sticky.SEED
    capacity_coefficient: float | str | None = None
    reschedule: Literal["steady", "fresh"] = "steady"
    ties: Ties = Ties.UID
    respect_room: bool = False
    partial: bool = False
    packed: bool = False
    balance_residuals: bool = False
    affinity: AffinityIn | None = None
    affinity_groups: list[AffinityIn] = []
    tolerations: list[TolerationIn] = []
    spread: list[SpreadIn] = []


class TaintIn(_Strict, kw_only=True, frozen=True):
    """A mark on a cluster."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class ClusterIn(_Strict, kw_only=True, frozen=True):
    """A cluster."""

    name: str
    weight: Weight = 1
    capacity: Large | None = None
    min: Count = 0
    max: Large | None = None
    initial: Count = 0
    score: Annotated[int, Meta(ge=-MOST, le=MOST)] = 0
    labels: dict[str, str] = {}
    region: str = ""
    zone: str = ""
    zones: list[str] = []
    provider: str = ""
    taints: list[TaintIn] = []
    deleting: bool = False
    evicting: bool = False
    resource_summary: SummaryIn | None = None
    resource_models: list[GradeIn] = []


class PreviousClusterIn(_Strict, kw_only=True, frozen=True):
    """A cluster of the last result."""

    name: str
    weight: Weight = 1
    replicas: Count = 0


class PreviousIn(_Strict, kw_only=True, frozen=True):
    """The last accepted result. `replicas` defaults to the sum."""

    mode: str = Mode.STATIC.value
    replicas: Count | None = None
    clusters: list[PreviousClusterIn] = []


class DivideProblem(_Strict, kw_only=True, frozen=True):
    """One division."""

    workload: WorkloadInput
    policy: PolicyIn | None = None
    clusters: list[ClusterIn]
    previous: PreviousIn | None = None


PROBLEM = DivideProblem
"""What `cli.verb` decodes."""


def solve(problem: DivideProblem) -> Division:
    """Divide."""
    ask = _ask(problem)
    return divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)


def solve_many(problems: Sequence[DivideProblem]) -> list[Division | InputError]:
    """Divide all; a problem that is bad input yields its error and the others go on."""
    asks = [_asked(problem) for problem in problems]
    divisions = iter(divide_all([ask for ask in asks if isinstance(ask, DivisionAsk)]))
    return [next(divisions) if isinstance(ask, DivisionAsk) else ask for ask in asks]


def _ask(problem: DivideProblem) -> DivisionAsk:
    return DivisionAsk(
        workload=_workload(problem.workload),
        clusters=_clusters(problem),
        policy=_policy(problem.policy),
        prior=_prior(problem),
    )


def _asked(problem: DivideProblem) -> DivisionAsk | InputError:
    try:
        return _ask(problem)
    except InputError as error:
        return error


def answer(problem: DivideProblem, decision: Division) -> dict[str, Any]:
    """The answer to a problem."""
    return record(decision)


def record(decision: Division) -> dict[str, Any]:
    """A decision as JSON values."""
    shared = decision_record(decision)
    trace = shared.pop("trace")
    return {
        **shared,
        "floors": dict(decision.floors),
        "residual": decision.residual,
        "kept": decision.kept,
        "rule": decision.rule,
        **({"group": decision.group} if decision.group else {}),
        **({"removed": {name: reason.code for name, reason in decision.removed.items()}} if decision.removed else {}),
        "trace": trace,
    }


def _workload(given: WorkloadInput) -> DivideWorkload:
    full_name = f"{given.namespace}/{given.name}" if given.namespace else given.name
    return DivideWorkload(
        name=full_name,
        replicas=given.replicas,
        uid=full_name if given.uid is None else given.uid,
        tie_uid=given.uid or "",
    )


def _policy(given: PolicyIn | None) -> DividePolicy:
    if given is None:
        return DividePolicy()
    if given.affinity is not None and given.affinity_groups:
        raise InputError("$.policy.affinityGroups", "is there beside affinity; expected one of the two")
    single = () if given.affinity is None else (_affinity(given.affinity, "$.policy.affinity"),)
    groups = tuple(
        _affinity(each, f"$.policy.affinityGroups[{place}]") for place, each in enumerate(given.affinity_groups)
    )
    return DividePolicy(
        mode=given.mode,
        sticky=given.sticky,
        coefficient=_coefficient(given.capacity_coefficient),
        reschedule=Reschedule(given.reschedule),
        ties=given.ties,
        respect_room=given.respect_room,
        partial=given.partial,
        packed=given.packed,
        balance_residuals=given.balance_residuals,
        affinities=single or groups,
        tolerations=tuple(
            Toleration(key=each.key, operator=each.operator, value=each.value, effect=each.effect)
            for each in given.tolerations
        ),
        spread=tuple(_spread(each, f"$.policy.spread[{place}]") for place, each in enumerate(given.spread)),
    )


def _coefficient(given: float | str | None) -> Fraction | None:
    if given is None:
        return None
    try:
        value = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise InputError("$.policy.capacityCoefficient", f"{given!r}; expected a number from 0 to 1")
    return value


def _affinity(given: SpilloverIn, path: str) -> FleetAffinity:
    further = given.overflow if isinstance(given, AffinityIn) else ()
    return FleetAffinity(
        name=given.name,
        labels=given.labels,
        expressions=_expressions(given.expressions, f"{path}.expressions", None),
        fields=_expressions(given.fields, f"{path}.fields", ("region", "zone", "provider")),
        names=tuple(given.names),
        exclude=tuple(given.exclude),
        overflow=tuple(_affinity(each, f"{path}.overflow[{place}]") for place, each in enumerate(further)),
    )


def _expressions(given: Sequence[ExpressionIn], path: str, keys: tuple[str, ...] | None) -> tuple[Expression, ...]:
    for place, each in enumerate(given):
        if each.operator not in OPERATORS:
            raise InputError(f"{path}[{place}].operator", f"{each.operator!r}; expected one of {', '.join(OPERATORS)}")
        if keys and each.key not in keys:
            raise InputError(f"{path}[{place}].key", f"{each.key!r}; expected one of {', '.join(keys)}")
    return tuple(Expression(key=each.key, operator=each.operator, values=tuple(each.values)) for each in given)


def _spread(given: SpreadIn, path: str) -> FleetSpread:
    if (given.by is SpreadBy.LABEL) != bool(given.label):
        raise InputError(f"{path}.label", "expected a label key with by: label, and only there")
    if given.max is not None and (given.max < given.min or not given.max):
        raise InputError(f"{path}.max", f"{given.max}; expected at least 1 and at least min ({given.min})")
    return FleetSpread(by=given.by, label=given.label, least=given.min, most=given.max or 0)


def _clusters(problem: DivideProblem) -> ClusterTable:
    given = problem.clusters
    return cluster_table(
        [each.name for each in given],
        weights=[each.weight for each in given],
        capacity=[_capacity(problem, place) for place in range(len(given))],
        minimum=[each.min for each in given],
        maximum=[_maximum(each, place) for place, each in enumerate(given)],
        initial=[each.initial for each in given],
        score=[each.score for each in given],
        traits=_traits(given),
    )


def _capacity(problem: DivideProblem, place: int) -> int:
    """The room that was given, or what the summary leaves for the workload's request."""
    given = problem.clusters[place]
    if given.resource_summary is None:
        return UNKNOWN if given.capacity is None else min(given.capacity, MOST)
    path = f"$.clusters[{place}].resourceSummary"
    if given.capacity is not None:
        raise InputError(path, "is there beside capacity; expected one of the two")
    request = amounts(problem.workload.request or {}, "$.workload.request")
    return min(room(given.resource_summary, given.resource_models, request, f"$.clusters[{place}]"), MOST)


def _maximum(given: ClusterIn, place: int) -> int:
    if given.max is None:
        return NO_LIMIT
    if given.max < given.min:
        raise InputError(f"$.clusters[{place}].max", f"{given.max}; expected at least min ({given.min})")
    return min(given.max, MOST)


def _traits(given: Sequence[ClusterIn]) -> tuple[Traits, ...]:
    """The traits of every cluster, or none at all where no cluster has any."""
    traits = tuple(
        Traits(
            labels=each.labels,
            region=each.region,
            zones=tuple(each.zones) or ((each.zone,) if each.zone else ()),
            provider=each.provider,
            taints=tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in each.taints),
            deleting=each.deleting,
            evicting=each.evicting,
        )
        for each in given
    )
    return () if all(each == NO_TRAITS for each in traits) else traits


_MODES = {mode.value: mode for mode in Mode} | {"staticweight": Mode.STATIC, "dynamicweight": Mode.DYNAMIC}


def _prior(problem: DivideProblem) -> PriorDivision | None:
    given = problem.previous
    if given is None or not given.clusters:
        return None
    mode = _MODES.get(given.mode.lower())
    if mode is None:
        raise InputError("$.previous.mode", f"{given.mode!r}; expected one of {', '.join(Mode)}")
    counts: dict[str, int] = {}
    for place, each in enumerate(given.clusters):
        if each.name in counts:
            raise InputError(f"$.previous.clusters[{place}].name", f"{each.name!r} is there twice")
        counts[each.name] = each.replicas
    return PriorDivision(
        mode=mode,
        replicas=sum(counts.values()) if given.replicas is None else given.replicas,
        weights={each.name: each.weight for each in given.clusters},
        counts=counts,
    )
