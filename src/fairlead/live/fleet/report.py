"""Verdicts as the API's parts: the patch of spec and annotations, and the status. Equal parts need no write."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.kube import moments
from fairlead.kube.manifests import last_result
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.meta import Raw
from fairlead.live.fleet.decide import SCHEDULED, Verdict, condition_of, running
from fairlead.live.fleet.digest import ANNOTATION
from fairlead.model.order import natural_sorted

RESULT = "lastScheduleResult"


def spec_patch(verdict: Verdict, *, field: bool) -> Raw | None:
    """The merge patch of the object; None where it is right already. `field`: the status holds the last result."""
    if verdict.counts is None or verdict.settled:
        return None
    binding = verdict.binding
    said = binding.metadata.annotations
    wanted: dict[str, str | None] = {ANNOTATION: verdict.mark}
    wanted[last_result.ANNOTATION] = None if field else last_result.text(verdict.stored)
    annotations = {name: value for name, value in wanted.items() if said.get(name) != value}
    patch: Raw = {}
    if verdict.counts != running(binding):
        clusters = [{"name": name, "replicas": n} if n else {"name": name} for name, n in _in_order(verdict.counts)]
        patch["spec"] = {"clusters": clusters}
    if not annotations and not patch:
        return None
    patch["metadata"] = {"uid": binding.metadata.uid, "resourceVersion": binding.metadata.resource_version}
    if annotations:
        patch["metadata"]["annotations"] = annotations
    return patch


def _in_order(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(name, counts[name]) for name in natural_sorted(counts)]


def status_is_right(verdict: Verdict, *, field: bool) -> bool:
    """Whether the binding says already what the verdict says."""
    binding = verdict.binding
    condition, status = condition_of(binding), binding.status
    told = condition is not None and (condition.reason, condition.message) == (verdict.reason, verdict.message)
    observed = status.scheduler_observed_generation == binding.metadata.generation
    kept = not field or verdict.counts is None or status.last_schedule_result == verdict.stored
    return told and observed and kept


def status_patch(verdict: Verdict, found: Raw, generation: int, now: float, *, field: bool) -> Raw:
    """The merge patch of the status of `found`, the object as it is; conditions of others stay."""
    moment = moments.whole(now)
    status: Raw = {
        "schedulerObservedGeneration": generation,
        "conditions": _conditions(verdict, found.get("status", {}).get("conditions") or [], generation, moment),
    }
    if verdict.counts is not None:
        status["lastScheduledTime"] = moment
        if verdict.group or verdict.binding.status.scheduler_observing_affinity_name:
            status["schedulerObservingAffinityName"] = verdict.group
        if field:
            status[RESULT] = dict(verdict.stored)
    meta = found["metadata"]
    return {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": status}


def _conditions(verdict: Verdict, there: Sequence[Raw], generation: int, moment: str) -> list[Raw]:
    value = "True" if verdict.success else "False"
    old: Raw = next((each for each in there if each.get("type") == SCHEDULED), {})
    changed = old.get("lastTransitionTime") if old.get("status") == value else None
    mine = {
        "type": SCHEDULED,
        "status": value,
        "reason": verdict.reason,
        "message": verdict.message,
        "lastTransitionTime": changed or moment,
        "observedGeneration": generation,
    }
    places = [place for place, each in enumerate(there) if each.get("type") == SCHEDULED]
    conditions = list(there)
    if places:
        conditions[places[0]] = mine
    else:
        conditions.append(mine)
    return conditions


def as_found(binding: ResourceBinding) -> Raw:
    """The parts of a binding that a status patch looks at, as the API writes them."""
    meta, status = binding.metadata, binding.status
    conditions: list[dict[str, Any]] = []
    for each in status.conditions:
        plain: Raw = {"type": each.type, "status": each.status, "reason": each.reason, "message": each.message}
        if each.last_transition_time is not None:
            plain["lastTransitionTime"] = each.last_transition_time
        if each.observed_generation:
            plain["observedGeneration"] = each.observed_generation
        conditions.append(plain)
    return {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "generation": meta.generation},
        "status": {"conditions": conditions},
    }
