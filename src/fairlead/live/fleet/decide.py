"""Bindings to verdicts: what each shall look like. Pure; nothing is written here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, ParamSpec, TypeVar

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.codec import last_result
from fairlead.kube.codec.decided import ANNOTATION, is_applied, is_workload, mark, running
from fairlead.kube.codec.fleet import binding_ask, components_of, is_set, knobs_for, wants_fresh
from fairlead.kube.codec.groups import ALONE, Neighbours
from fairlead.kube.codec.members import MemberClusters
from fairlead.kube.codec.placement import Knobs
from fairlead.kube.codec.unread import unread
from fairlead.kube.objects.karmada import KarmadaCluster, KarmadaPlacement, ResourceBinding, TargetComponent
from fairlead.kube.objects.meta import Condition
from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.batch import divide_all, narrowed
from fairlead.levels.fleet.divide import Division, divide
from fairlead.live.fleet import messages
from fairlead.model.division import DivisionAsk, Sticky
from fairlead.model.errors import InputError
from fairlead.model.faults import place_of, way_to
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Cure, Finding

SCHEDULED = "Scheduled"
P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger("fleet")

TOGETHER = 1000
"""So many bindings are divided at once: what each asks of every cluster is kept only as long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingVerdict:
    """What a binding shall look like. `counts` None: its clusters stay as they are.

    `message` is what the condition says, in Karmada's words; `note` a sentence for events and pages. `stored` is the
    last schedule result; `mark` that of the decision; `group` the affinity group taken; `components` what each target
    says of the parts of a workload with several pod templates; `by_room`: room had a say; `estimates`: what estimators
    said of it. `kept`: clusters and records are right already, only the status may not be. `defect`: what our own code
    raised on it, where it did.
    """

    binding: ResourceBinding
    reason: str
    message: str
    note: str = ""
    counts: Mapping[str, int] | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    mark: str = ""
    group: str = ""
    components: tuple[TargetComponent, ...] = ()
    by_room: bool = False
    estimates: Mapping[str, int] = field(default_factory=dict)
    waits_for_room: bool = False
    kept: bool = False
    defect: Exception | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace ('' for a binding of the whole fleet) and name."""
        return (self.binding.metadata.namespace, self.binding.metadata.name)

    @property
    def success(self) -> bool:
        """Whether everything is placed."""
        return self.reason == messages.SUCCESS

    @property
    def placed(self) -> bool:
        """Whether clusters were decided, if only in part; a refusal decides none."""
        return self.counts is not None and self.reason != messages.NO_CLUSTER_FIT


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A binding that is divided: the whole question, and the one that is put to the level."""

    place: int
    knobs: Knobs
    whole: DivisionAsk
    ask: DivisionAsk
    estimates: Mapping[str, int]


EstimatesOf = Callable[[ResourceBinding], Mapping[str, int]]
KnobsOf = Callable[[ResourceBinding], Knobs | None]
NeighboursOf = Callable[[ResourceBinding], Neighbours]


def decide(
    bindings: Sequence[ResourceBinding],
    clusters: Sequence[KarmadaCluster],
    knobs_of: KnobsOf = lambda binding: None,
    neighbours_of: NeighboursOf = lambda binding: ALONE,
    estimates_of: EstimatesOf = lambda binding: {},
    sticky: Sticky = Sticky.MOST,
) -> list[BindingVerdict]:
    """A verdict for each binding, in order. `estimates_of` is the room by cluster that estimators told; `sticky` says
    how the last division is kept where no knob does.

    One that cannot be decided has a verdict that says why; the others do not suffer from it.
    """
    members = MemberClusters.of(clusters)
    open_one = partial(_opened, members, knobs_of, neighbours_of, estimates_of, sticky)
    verdicts: list[BindingVerdict] = []
    for start in range(0, len(bindings), TOGETHER):
        verdicts += _decided(bindings[start : start + TOGETHER], open_one)
    return verdicts


def _decided(
    bindings: Sequence[ResourceBinding], open_one: Callable[[int, ResourceBinding], _Open]
) -> list[BindingVerdict]:
    """Divided together."""
    verdicts: list[BindingVerdict | None] = [None] * len(bindings)
    waiting: list[_Open] = []
    for place, binding in enumerate(bindings):
        opened = _tried(open_one, place, binding)
        if isinstance(opened, Exception):
            verdicts[place] = _failed(binding, opened)
        else:
            waiting.append(opened)
    for each, division in zip(waiting, _divided([each.ask for each in waiting]), strict=True):
        binding = bindings[each.place]
        verdict = _tried(_verdict, binding, each, division) if isinstance(division, Division) else division
        verdicts[each.place] = verdict if isinstance(verdict, BindingVerdict) else _failed(binding, verdict)
    return [each for each in verdicts if each is not None]


def _tried(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | Exception:
    """The result, or what was raised instead.

    Anybody may write a binding, and they are decided together, so what one of them raises must end with it and not
    with the process: whatever it is. `InputError` is the binding's fault; anything else is a defect of ours, goes
    into the verdict, and from there into the log, a metric and the binding's condition.
    """
    try:
        return work(*arguments, **named)
    except Exception as error:
        return error


def _failed(binding: ResourceBinding, error: Exception) -> BindingVerdict:
    if isinstance(error, InputError):
        return BindingVerdict(binding=binding, reason=messages.SCHEDULER_ERROR, message=str(error), note=str(error))
    message = f"a defect of the scheduler, not of this binding: {place_of(error)}; nothing was changed"
    return BindingVerdict(binding=binding, reason=messages.SCHEDULER_ERROR, message=message, note=message, defect=error)


def _opened(
    clusters: MemberClusters,
    knobs_of: KnobsOf,
    neighbours_of: NeighboursOf,
    estimates_of: EstimatesOf,
    sticky: Sticky,
    place: int,
    binding: ResourceBinding,
) -> _Open:
    knobs = knobs_for(binding, knobs_of(binding))
    estimates = estimates_of(binding)
    whole = binding_ask(binding, clusters, knobs, neighbours_of(binding), estimates, sticky)
    return _Open(place=place, knobs=knobs, whole=whole, ask=narrowed(whole), estimates=estimates)


def _divided(asks: Sequence[DivisionAsk]) -> Sequence[Division | Exception]:
    """All at once; if that fails, one by one, so that only the culprit fails."""
    together = _tried(divide_all, asks)
    if not isinstance(together, Exception):
        return together
    log.error("a defect: not divided together but one by one", what=place_of(together), way=way_to(together))
    return [_tried(divide, ask.workload, ask.clusters, ask.policy, prior=ask.prior) for ask in asks]


def condition_of(binding: ResourceBinding) -> Condition | None:
    """The Scheduled condition."""
    return next((each for each in binding.status.conditions if each.type == SCHEDULED), None)


def _verdict(binding: ResourceBinding, each: _Open, division: Division) -> BindingVerdict:
    finding = division.finding
    if finding is not None and division.rule == "refused":
        return _refused(binding, each, division, finding)
    workload = is_workload(binding)
    counts = running(binding) if division.rule == "kept" else _counts(division, each.whole, workload=workload)
    note = messages.placed(counts, workload=workload, note=division.trace.notes[-1] if division.trace.notes else "")
    if finding is not None:
        note = f"{note}; {messages.refused(division, finding)}"
    if ignored := unread(binding.spec.placement or {}, KarmadaPlacement):
        note = f"{note}; fields of the placement that are not known here: {', '.join(ignored)}"
    written = mark(each.knobs, each.whole, counts, short=finding is not None)
    return BindingVerdict(
        binding=binding,
        reason=messages.reason_of(finding),
        message=messages.message_of(finding, each.whole, division),
        note=note,
        counts=counts,
        stored=last_result.record(division, binding.spec.replicas, each.ask.clusters),
        mark=written,
        group=division.group,
        components=components_of(binding),
        by_room=each.whole.policy.needs_room or is_set(binding),
        estimates=each.estimates,
        waits_for_room=finding is not None and finding.reason.cure is Cure.ROOM,
        kept=division.rule == "kept" or _as_it_is(binding, counts, written),
    )


def _counts(division: Division, ask: DivisionAsk, *, workload: bool) -> dict[str, int]:
    """Clusters with replicas, or for an object without replicas every cluster that was chosen.

    In natural order; where an affinity may spill over, the preferred clusters come first.
    """
    found = {name: n for name, n in division.placements.items() if n or (not workload and name in division.chosen)}
    order = division.chosen if messages.spills(ask) else natural_sorted(found)
    return {name: found[name] for name in order if name in found}


def _as_it_is(binding: ResourceBinding, counts: Mapping[str, int], written: str) -> bool:
    """Whether a decision changes nothing, neither the clusters nor what is recorded of it."""
    alike = all(each.components == components_of(binding) for each in binding.spec.clusters)
    same = counts == running(binding) and alike and is_applied(binding) and not wants_fresh(binding)
    return same and written == binding.metadata.annotations.get(ANNOTATION, "")


def _refused(binding: ResourceBinding, each: _Open, division: Division, finding: Finding) -> BindingVerdict:
    """Nothing new is placed. What runs stays, unless no cluster is left that it may run on (docs/decisions/0217)."""
    nowhere = finding.reason is reasons.NO_CLUSTER_FITS
    message = messages.message_of(finding, each.whole, division)
    if nowhere:
        message = messages.no_cluster_fits(each.whole, division)
    return BindingVerdict(
        binding=binding,
        reason=messages.reason_of(finding),
        message=message,
        note=messages.refused(division, finding),
        counts={} if nowhere else None,
        mark=binding.metadata.annotations.get(ANNOTATION, "") if nowhere else "",
        by_room=each.whole.policy.needs_room or is_set(binding),
        estimates=each.estimates,
        waits_for_room=finding.reason.cure is Cure.ROOM or reasons.SET_WITHOUT_ROOM in division.removed.values(),
        kept=nowhere and not binding.spec.clusters and is_applied(binding),
    )
