"""Bindings to verdicts: what each shall look like. Pure; nothing is written here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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
from fairlead.model.reasons import Cure

SCHEDULED = "Scheduled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a binding shall look like. `counts` None: its clusters stay as they are.

    `stored` is the last schedule result; `mark` the text of what was decided; `group` the affinity group taken.
    `settled`: its clusters and what is stored with them are right already, only the status is not.
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
        try:
            whole = binding_ask(binding, clusters, knobs_of(binding))
            settled = _settled(binding, whole)
            if not (settled and says_so(binding)):
                waiting.append(_Open(place=place, whole=whole, ask=narrowed(whole), settled=settled))
        except InputError as error:
            verdicts[place] = Verdict(binding=binding, reason=words.SCHEDULER_ERROR, message=str(error))
    for each, division in zip(waiting, _divided(waiting), strict=True):
        binding = bindings[each.place]
        if isinstance(division, Division):
            verdicts[each.place] = _verdict(binding, each, division)
        else:
            message = f"the division failed: {division}"
            verdicts[each.place] = Verdict(binding=binding, reason=words.SCHEDULER_ERROR, message=message)
    return verdicts


def _divided(waiting: Iterable[_Open]) -> list[Division | Exception]:
    """All at once; if that fails, one by one, so that only the culprit fails."""
    asks = [each.ask for each in waiting]
    try:
        return list(divide_all(asks))
    except Exception:
        return [_alone(ask) for ask in asks]


def _alone(ask: DivisionAsk) -> Division | Exception:
    try:
        return divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
    except Exception as error:
        return error


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
