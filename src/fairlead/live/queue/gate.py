"""The gate before the queue: which PodGroups without pods may have their pods created (docs/decisions/0249).

Volcano's job controller creates the pods of a Job when its PodGroup is `Inqueue`. An open gate lets in every group
whose queue can be used. A gate that is kept lets in those whose `minResources` the queue level would grant now, from
free room or by reclaim; room that was given to a group whose pods are not there yet is kept for it.
"""

from collections.abc import Mapping
from dataclasses import replace

from fairlead.kube.changes import Key
from fairlead.kube.objects.volcano import PodGroup
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import share
from fairlead.live.cluster.identity import JobKey
from fairlead.live.cluster.turn_types import LiveJob
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.status import INQUEUE, PENDING
from fairlead.live.queue.tables import Row
from fairlead.model.jobs import running_of
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import QueuedJob, Role, RunningReplicas
from fairlead.model.reasons import Cure, Finding

Asking = Mapping[str, tuple[LiveJob, Finding | None]]
"""Groups without pods by their key: as jobs, held back or not, and what holds them back."""


def at_the_gate(
    promises: Promises, nodes: NodeState, groups: Mapping[Key, PodGroup], now: float, *, gated: bool
) -> Asking:
    """Every PodGroup without pods. Those that are not held back may have their pods created."""
    asking = [job for job in promises.job_cache.podless() if (job.namespace, job.name) in groups]
    phases = {job.key: groups[job.namespace, job.name].status.phase for job in asking}
    if not asking:
        return {}
    shared = promises.faulty.guarded(lambda: _shared(promises, nodes, asking, phases, now, gated=gated))
    findings = {row.name: row.finding if row.pending else None for row in shared.jobs}
    return {job.key: _answer(job, phases[job.key], findings[job.key], gated=gated) for job in asking}


def _answer(job: LiveJob, phase: str, finding: Finding | None, *, gated: bool) -> tuple[LiveJob, Finding | None]:
    """An open gate heeds only what has to be edited; who was let in stays so while that is not the case."""
    shut = finding is not None and finding.reason.cure is Cure.EDIT
    held_back = shut or (gated and finding is not None and phase in ("", PENDING))
    return replace(job, held_back=held_back), finding if held_back else None


def _shared(
    promises: Promises,
    nodes: NodeState,
    asking: list[LiveJob],
    phases: Mapping[JobKey, str],
    now: float,
    *,
    gated: bool,
) -> Sharing:
    """What the queue level says, by sums alone, of all jobs and of the groups as jobs of one replica."""
    jobs = promises.faulty.jobs()
    rows = [promises.row(job, None, ()) for job in jobs]
    state = promises.tables([*rows, *(_row(job, phases[job.key]) for job in asking)], nodes, jobs, None)
    return share(
        state.jobs,
        state.queues,
        state.namespaces,
        state.whole,
        running=running_of(state.jobs),
        policy=replace(promises.policy, preempt=promises.policy.preempt and gated),
        now=int(now),
    )


def _row(job: LiveJob, phase: str) -> Row:
    """A group as a job that asks for its minimum: held where it was let in, nothing where its pods have been."""
    held = (RunningReplicas(count=1),) if phase == INQUEUE else ()
    request = dict(job.min_resources) if phase in ("", PENDING, INQUEUE) else {}
    wanted = QueuedJob(
        name=job.key,
        queue=job.queue,
        namespace=job.namespace,
        roles=(Role(name="", replicas=1, request=request, held=held),),
        priority=job.priority,
        created=job.created,
        unmet=job.unmet,
    )
    return Row(job=job, wanted=wanted, likes=())
