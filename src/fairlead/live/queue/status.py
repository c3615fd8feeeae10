"""What is written on PodGroups and Queues, as pure values: phases, conditions and counts that Volcano's tools know.

A PodGroup is `Inqueue` while it waits and its pods may be created (docs/decisions/0249), `Running` once its gang is on
nodes, `Unknown` while only a part of the gang is, `Completed` when nothing of it is left to run, and `Pending` where
the gate holds it back or it cannot start before an edit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from fairlead.kube.codec.volcano_fields import not_obeyed, queue_not_obeyed
from fairlead.kube.objects.meta import Condition
from fairlead.kube.objects.volcano import NativePodGroup, PodGroup, VolcanoQueue
from fairlead.levels.queue.reasons import GANG_ABOVE_REPLICAS
from fairlead.live.cluster.turn_types import IdleCounts, LiveJob
from fairlead.model.amounts import CPU, MEMORY, quantities
from fairlead.model.reasons import Cure, Finding

PENDING, INQUEUE, RUNNING, UNKNOWN, COMPLETED = "Pending", "Inqueue", "Running", "Unknown", "Completed"
UNSCHEDULABLE, SCHEDULED = "Unschedulable", "Scheduled"
NOT_ENOUGH_RESOURCES, NOT_ENOUGH_TASKS = "NotEnoughResources", "NotEnoughTasks"
READY = "tasks in gang are ready to be scheduled"
"""The reasons of Volcano's own conditions, letter by letter."""
NOT_OBEYED = "FieldsNotObeyed"
"""Our own condition: the message names the fields."""
POD_GROUP_SCHEDULED = "PodGroupScheduled"
"""The condition of Kubernetes' own PodGroups, with the reasons `Scheduled` and `Unschedulable`."""


def phase(job: LiveJob, finding: Finding | None) -> str:
    """Where the gang stands."""
    running = job.running
    if not running and not job.waiting and job.succeeded + job.failed:
        return COMPLETED
    if running and running >= job.min_member:
        return RUNNING
    if running:
        return UNKNOWN
    return PENDING if job.held_back or _shut(finding) else INQUEUE


def _shut(finding: Finding | None) -> bool:
    """Whether pods need not be created before an edit; members that are missing come only while the group is let in."""
    if finding is None or finding.reason is GANG_ABOVE_REPLICAS:
        return False
    return finding.reason.cure is Cure.EDIT


def group_patch(
    group: PodGroup, job: LiveJob, finding: Finding | None, now: str, queue: VolcanoQueue | None = None
) -> dict[str, Any] | None:
    """The merge patch that brings the object's status up to date; None where it is.

    Other people's conditions are kept. The version is a precondition, for the list of conditions is written whole.
    Fields of the group and of its queue that are not obeyed are named (docs/decisions/0283).
    """
    now_in = phase(job, finding)
    wanted: dict[str, Any] = {
        "phase": now_in,
        "running": job.running,
        "succeeded": job.succeeded,
        "failed": job.failed,
    }
    status = group.status
    changed = {key: value for key, value in wanted.items() if getattr(status, key) != value}
    scheduled, reason, message = _standing(job, finding, now_in)
    known = {each.type for each in status.conditions}
    # A group that was let in a moment ago has no pods yet, or its turn has not come: nothing is wrong with that.
    awaited = now_in == INQUEUE and (not job.waiting or finding is None)
    ours = [
        Condition(type=kind, status=str(holds), reason=reason, message=message)
        for kind, holds in ((SCHEDULED, scheduled), (UNSCHEDULABLE, not scheduled))
        if (holds and not awaited) or kind in known  # what was never so need not be denied
    ]
    fields = [
        *not_obeyed(group),
        *(f"queue {job.queue}: {each}" for each in (queue_not_obeyed(queue) if queue else ())),
    ]
    if fields or NOT_OBEYED in known:
        condition = Condition(
            type=NOT_OBEYED, status=str(bool(fields)), reason="NotImplemented", message=", ".join(fields)
        )
        ours.append(condition)
    conditions = _conditions(status.conditions, ours, now)
    if conditions is not None:
        changed["conditions"] = conditions
    return _versioned(group, changed) if changed else None


def native_patch(group: NativePodGroup, job: LiveJob, finding: Finding | None, now: str) -> dict[str, Any] | None:
    """The merge patch that tells of Kubernetes' own PodGroup what kube-scheduler would; None where that stands there.

    Nothing is told before as many pods exist as start together, and a gang that was scheduled once stays so.
    """
    scheduled, _, message = _standing(job, finding, phase(job, finding))
    before = group.status.conditions
    was = any(each.type == POD_GROUP_SCHEDULED and each.status == "True" for each in before)
    if not scheduled and (was or job.waiting + job.running < job.min_member):
        return None
    condition = Condition(
        type=POD_GROUP_SCHEDULED,
        status=str(scheduled),
        reason=SCHEDULED if scheduled else UNSCHEDULABLE,
        message=message,
        observed_generation=group.metadata.generation,
    )
    conditions = _conditions(before, [condition], now)
    return None if conditions is None else _versioned(group, {"conditions": conditions})


def _versioned(group: PodGroup | NativePodGroup | VolcanoQueue, status: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": group.metadata.resource_version}, "status": status}


def _standing(job: LiveJob, finding: Finding | None, now_in: str) -> tuple[bool, str, str]:
    """Whether the gang is scheduled, the reason and the message."""
    if now_in in (RUNNING, COMPLETED):
        more = f"{job.waiting} more wait: {finding.sentence}" if job.waiting and finding is not None else ""
        return True, READY, more
    there = job.waiting + job.running
    if job.held_back and finding is not None:
        return False, NOT_ENOUGH_RESOURCES, f"{finding.sentence} ({finding.code})"
    if there < job.min_member:
        return False, NOT_ENOUGH_TASKS, f"{there} pods exist, {job.min_member} start together"
    why = finding.sentence if finding is not None else "its turn has not come yet"
    code = f" ({finding.code})" if finding is not None else ""
    return False, NOT_ENOUGH_RESOURCES, f"{job.waiting}/{there} tasks in gang unschedulable: {why}{code}"


def _conditions(given: Iterable[Condition], ours: Iterable[Condition], now: str) -> list[dict[str, Any]] | None:
    """All conditions as they shall be; None where nothing of ours changes. Times change with the status only."""
    shall = {each.type: each for each in given}
    changed = False
    for condition in ours:
        old = shall.get(condition.type)
        if old is not None and _said(old) == _said(condition):
            continue
        changed = True
        kept = old.last_transition_time if old is not None and old.status == condition.status else None
        shall[condition.type] = msgspec.structs.replace(condition, last_transition_time=kept or now)
    return [msgspec.to_builtins(each) for each in shall.values()] if changed else None


def _said(condition: Condition) -> tuple[object, ...]:
    return condition.status, condition.reason, condition.message, condition.observed_generation


def allocated(
    jobs: Iterable[LiveJob], idle: IdleCounts, queues: Mapping[str, VolcanoQueue]
) -> dict[str, dict[str, int]]:
    """What the pods on nodes, or about to be bound, take by queue; a queue's own is counted in those above it too."""
    sums: dict[str, dict[str, int]] = {name: defaultdict(int, {CPU: 0, MEMORY: 0}) for name in queues}
    held = [(queue, counts) for (queue, _), counts in idle.items()]
    held += [
        (job.queue, Counter(pod.request for role in job.roles for pod, _ in role.running))
        for job in jobs
        if job.running
    ]
    for queue, counts in held:
        for name in _upward(queue, queues):
            for request, count in counts.items():
                for resource, amount in request:
                    sums[name][resource] += amount * count
    return sums


def _upward(name: str, queues: Mapping[str, VolcanoQueue]) -> list[str]:
    """The queue and those above it, as far as they are there."""
    line: list[str] = []
    while name in queues and name not in line:
        line.append(name)
        name = queues[name].spec.parent
    return line


def queue_patch(queue: VolcanoQueue, held: Mapping[str, int], phases: Counter[str]) -> dict[str, Any] | None:
    """The merge patch of a Queue's status; None where it is up to date. A state that is set already is left alone."""
    status = queue.status
    wanted: dict[str, Any] = {each.lower(): phases[each] for each in (PENDING, INQUEUE, RUNNING, UNKNOWN, COMPLETED)}
    changed = {key: value for key, value in wanted.items() if getattr(status, key) != value}
    if not status.state:
        changed["state"] = "Open"
    amounts = quantities({resource: held[resource] for resource in sorted(held)})
    if dict(status.allocated) != amounts:
        gone: dict[str, str | None] = dict.fromkeys(status.allocated.keys() - amounts.keys())
        changed["allocated"] = gone | amounts
    return _versioned(queue, changed) if changed else None
