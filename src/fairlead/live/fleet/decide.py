"""Bindings to verdicts: what each shall look like. Pure; nothing is written here."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

import structlog

from fairlead.kube.manifests import last_result
from fairlead.kube.manifests.fleet import binding_ask
from fairlead.kube.manifests.placement import Knobs
from fairlead.kube.objects.karmada import Cluster, ResourceBinding
from fairlead.kube.objects.meta import Condition
from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import Division, divide
from fairlead.live.fleet import words
from fairlead.live.fleet.digest import ANNOTATION, SETTLED, SHORT, digest, narrowed
from fairlead.model.division import DivisionAsk
from fairlead.model.errors import InputError
from fairlead.model.faults import place_of, way_to
from fairlead.model.reasons import Cure

SCHEDULED = "Scheduled"
P = ParamSpec("P")
T = TypeVar("T")

log = structlog.get_logger("fleet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a binding shall look like. `counts` None: its clusters stay as they are.

    `stored` is the last schedule result; `mark` the text of what was decided; `group` the affinity group taken.
    `settled`: its clusters and what is stored with them are right already, only the status is not.
    `defect`: what our own code raised on it, where it did.
    """

    binding: ResourceBinding
    reason: str
    message: str
    counts: Mapping[str, int] | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)
    mark: str = ""
    group: str = ""
    waits_for_room: bool = False
    settled: bool = False
    defect: Exception | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace ('' for a binding of the whole fleet) and name."""
        return (self.binding.metadata.namespace, self.binding.metadata.name)

    @property
    def success(self) -> bool:
        """Whether everything is placed."""
        return self.reason == words.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Open:
    """A binding that has to be divided; `settled` where its clusters are right and only its status is not."""

    place: int
    whole: DivisionAsk
    ask: DivisionAsk
    settled: bool


KnobsOf = Callable[[ResourceBinding], Knobs | None]


def decide(
    bindings: Sequence[ResourceBinding], clusters: Sequence[Cluster], knobs_of: KnobsOf = lambda binding: None
) -> list[Verdict | None]:
    """A verdict for each binding, in order; None where it is settled and says so.

    One that cannot be decided has a verdict that says why; the others do not suffer from it.
    """
    verdicts: list[Verdict | None] = [None] * len(bindings)
    waiting: list[_Open] = []
    for place, binding in enumerate(bindings):
        opened = _tried(_opened, place, binding, clusters, knobs_of)
        if isinstance(opened, Exception):
            verdicts[place] = _failed(binding, opened)
        elif opened is not None:
            waiting.append(opened)
    for each, division in zip(waiting, _divided([each.ask for each in waiting]), strict=True):
        binding = bindings[each.place]
        told = _tried(_verdict, binding, each, division) if isinstance(division, Division) else division
        verdicts[each.place] = told if isinstance(told, Verdict) else _failed(binding, told)
    return verdicts


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


def _failed(binding: ResourceBinding, error: Exception) -> Verdict:
    if isinstance(error, InputError):
        return Verdict(binding=binding, reason=words.SCHEDULER_ERROR, message=str(error))
    message = f"a defect of the scheduler, not of this binding: {place_of(error)}; nothing was changed"
    return Verdict(binding=binding, reason=words.SCHEDULER_ERROR, message=message, defect=error)


def _opened(place: int, binding: ResourceBinding, clusters: Sequence[Cluster], knobs_of: KnobsOf) -> "_Open | None":
    """The question a binding asks; None where it is answered and says so."""
    whole = binding_ask(binding, clusters, knobs_of(binding))
    settled = _settled(binding, whole)
    if settled and says_so(binding):
        return None
    return _Open(place=place, whole=whole, ask=narrowed(whole), settled=settled)


def _divided(asks: Sequence[DivisionAsk]) -> Sequence[Division | Exception]:
    """All at once; if that fails, one by one, so that only the culprit fails."""
    together = _tried(divide_all, asks)
    if not isinstance(together, Exception):
        return together
    log.error("a defect: not divided together but one by one", what=place_of(together), way=way_to(together))
    return [_tried(divide, ask.workload, ask.clusters, ask.policy, prior=ask.prior) for ask in asks]


def running(binding: ResourceBinding) -> dict[str, int]:
    """What the binding's clusters are now."""
    return {each.name: each.replicas for each in binding.spec.clusters}


def is_workload(binding: ResourceBinding) -> bool:
    """Whether replicas mean anything: a ConfigMap goes whole to every chosen cluster."""
    return binding.spec.replicas > 0 or binding.spec.replica_requirements is not None


def condition_of(binding: ResourceBinding) -> Condition | None:
    """The Scheduled condition."""
    return next((each for each in binding.status.conditions if each.type == SCHEDULED), None)


def _settled(binding: ResourceBinding, ask: DivisionAsk) -> bool:
    """Whether the clusters of the binding are the answer to just this question."""
    mark = binding.metadata.annotations.get(ANNOTATION, "")
    kind = mark.partition(":")[0]
    return kind in (SETTLED, SHORT) and mark == digest(binding, ask, running(binding), kind)


def says_so(binding: ResourceBinding) -> bool:
    """Whether the status of a settled binding is of this generation and tells what its mark tells."""
    condition = condition_of(binding)
    short = binding.metadata.annotations.get(ANNOTATION, "").startswith(SHORT)
    wanted = words.UNSCHEDULABLE if short else words.SUCCESS
    observed = binding.status.scheduler_observed_generation == binding.metadata.generation
    return observed and condition is not None and condition.reason == wanted


def _verdict(binding: ResourceBinding, each: _Open, division: Division) -> Verdict:
    finding = division.finding
    waits = finding is not None and finding.reason.cure is Cure.ROOM
    reason = words.reason_of(finding)
    if each.settled:
        division = _as_running(binding, division)
        short = binding.metadata.annotations[ANNOTATION].startswith(SHORT)
        reason = words.UNSCHEDULABLE if short else words.SUCCESS
    elif finding is not None and division.rule == "refused":
        message = words.refused(division, finding)
        return Verdict(binding=binding, reason=reason, message=message, waits_for_room=waits)
    workload = is_workload(binding)
    counts = {name: n for name, n in division.placements.items() if n or (not workload and name in division.chosen)}
    note = "" if each.settled or not division.trace.notes else division.trace.notes[-1]
    message = words.placed(counts, workload=workload, note=note)
    if finding is not None and reason == words.UNSCHEDULABLE:
        message = f"{message}; {words.refused(division, finding)}"
    return Verdict(
        binding=binding,
        reason=reason,
        message=message,
        counts=counts,
        stored=last_result.record(division, binding.spec.replicas, each.ask.clusters),
        mark=digest(binding, each.whole, counts, SHORT if reason == words.UNSCHEDULABLE else SETTLED),
        group=division.group,
        waits_for_room=waits,
        settled=each.settled,
    )


def _as_running(binding: ResourceBinding, division: Division) -> Division:
    """The division with the counts that are there: it was decided before, and is not decided twice."""
    now = running(binding)
    return replace(
        division,
        placements={name: now.get(name, 0) for name in {**division.placements, **now}},
        chosen=tuple({**dict.fromkeys(division.chosen), **now}),
        removed={name: why for name, why in division.removed.items() if name not in now},
    )
