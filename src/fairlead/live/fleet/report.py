"""Verdicts as the API's parts: the patch of spec and annotations, and the status. Equal parts need no write."""

from collections.abc import Mapping, Sequence
from typing import Any

from fairlead.kube import timestamps
from fairlead.kube.codec import last_result
from fairlead.kube.codec.decided import ANNOTATION, APPLIED, applied_text, is_applied, running
from fairlead.kube.objects.karmada import ResourceBinding, TargetComponent
from fairlead.kube.objects.meta import Raw
from fairlead.live.fleet.decide import SCHEDULED, BindingVerdict

RESULT = "lastScheduleResult"


def spec_patch(verdict: BindingVerdict, *, field: bool) -> Raw | None:
    """The merge patch of the object; None where it is right already. `field`: the status holds the last result.

    The placement is recorded with every decision, also with that it fits nowhere (docs/decisions/0216).
    """
    if verdict.counts is None or verdict.kept:
        return None
    binding = verdict.binding
    said = binding.metadata.annotations
    wanted: dict[str, str | None] = {ANNOTATION: verdict.mark or None}
    if not is_applied(binding):
        wanted[APPLIED] = applied_text(binding.spec.placement or {})
    if verdict.placed:
        wanted[last_result.ANNOTATION] = None if field else last_result.text(verdict.stored)
    annotations = {name: value for name, value in wanted.items() if said.get(name) != value}
    patch: Raw = {}
    if verdict.counts != running(binding) or any(
        each.components != verdict.components for each in binding.spec.clusters
    ):
        patch["spec"] = {"clusters": _targets(verdict.counts, verdict.components) or None}
    if not annotations and not patch:
        return None
    patch["metadata"] = {"uid": binding.metadata.uid, "resourceVersion": binding.metadata.resource_version}
    if annotations:
        patch["metadata"]["annotations"] = annotations
    return patch


def _targets(counts: Mapping[str, int], components: Sequence[TargetComponent]) -> list[Raw]:
    """`spec.clusters`, without what is empty."""
    parts = {"components": [{"name": each.name, "replicas": each.replicas} for each in components]}
    return [
        {"name": name, **({"replicas": n} if n else {}), **(parts if components else {})} for name, n in counts.items()
    ]


def status_is_right(verdict: BindingVerdict, *, field: bool) -> bool:
    """Whether the binding says already what the verdict says."""
    return not _status(verdict, as_found(verdict.binding), verdict.binding.metadata.generation, 0.0, field=field)


def status_patch(verdict: BindingVerdict, found: Raw, generation: int, now: float, *, field: bool) -> Raw:
    """The merge patch of the status of `found`, the object as it is; conditions of others stay."""
    meta = found["metadata"]
    status = _status(verdict, found, generation, now, field=field)
    return {"metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}, "status": status}


def _status(verdict: BindingVerdict, found: Raw, generation: int, now: float, *, field: bool) -> Raw:
    """What has to change. A refusal writes the condition only, as karmada-scheduler does."""
    binding, status = verdict.binding, verdict.binding.status
    wanted: Raw = {}
    conditions = _conditions(verdict, found.get("status", {}).get("conditions") or [], timestamps.whole(now))
    if conditions is not None:
        wanted["conditions"] = conditions
    if not verdict.placed:
        return wanted
    if status.scheduler_observed_generation != generation:
        wanted["schedulerObservedGeneration"] = generation
    if not verdict.kept or status.last_scheduled_time is None:
        wanted["lastScheduledTime"] = timestamps.whole(_decided_at(binding, now))
    if not verdict.kept and verdict.group != status.scheduler_observing_affinity_name:
        wanted["schedulerObservingAffinityName"] = verdict.group
    if field and (status.last_schedule_result is None or not verdict.kept):
        wanted[RESULT] = dict(verdict.stored)
    return wanted


def _decided_at(binding: ResourceBinding, now: float) -> float:
    """Now, or the time of the trigger that was answered where the clock of its writer is ahead of ours."""
    triggered = binding.spec.reschedule_triggered_at
    return now if triggered is None else max(now, timestamps.seconds(triggered))


def _conditions(verdict: BindingVerdict, there: Sequence[Raw], moment: str) -> list[Raw] | None:
    """All conditions with ours in its place; None where ours is right."""
    value = "True" if verdict.success else "False"
    old: Raw = next((each for each in there if each.get("type") == SCHEDULED), {})
    mine = {"type": SCHEDULED, "status": value, "reason": verdict.reason, "message": verdict.message}
    if all(old.get(name) == wanted for name, wanted in mine.items()):
        return None
    changed = old.get("lastTransitionTime") if old.get("status") == value else None
    mine["lastTransitionTime"] = changed or moment
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


def attributes(verdict: BindingVerdict) -> dict[str, str | list[str]]:
    """A verdict as a span has it."""
    namespace, name = verdict.key
    clusters = [f"{cluster}={count}" for cluster, count in (verdict.counts or {}).items()]
    return {
        "k8s.namespace.name": namespace,
        "fairlead.binding": name,
        "fairlead.reason": verdict.reason,
        "fairlead.clusters": clusters,
    }


def record_of(verdict: BindingVerdict, *, written: bool) -> dict[str, Any]:
    """A verdict as the page of decisions has it."""
    return {
        "binding": "/".join(verdict.key).lstrip("/"),
        "reason": verdict.reason,
        "message": verdict.message,
        "why": verdict.note,
        "clusters": verdict.counts,
        **({"estimates": verdict.estimates} if verdict.estimates else {}),
        "written": written,
    }
