"""The gate before the queue: which PodGroups without pods may have their pods created (docs/decisions/0249).

Volcano's job controller creates the pods of a Job when its PodGroup is `Inqueue`. An open gate lets in every group
whose queue can be used. A gate that is kept lets in those whose `minResources` the queue level would grant now, from
free room or by reclaim; room that was given to a group whose pods are not all there yet is kept for it. Groups that
come together are weighed against each other first (docs/decisions/0340).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, replace

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.kube.objects.volcano import PodGroup
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.rights import within_rights
from fairlead.levels.queue.share import share
from fairlead.live.cluster.identity import JobKey, JobSource
from fairlead.live.cluster.turn_types import LiveJob
from fairlead.live.queue.arrivals import Burst
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.search_budget import FIRST
from fairlead.live.queue.status import INQUEUE, PENDING
from fairlead.live.queue.tables import Row
from fairlead.model.jobs import running_of
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import QueuedJob, QueueState, Role, RunningReplicas
from fairlead.model.reasons import Cure, Finding

Asking = Mapping[str, tuple[LiveJob, Finding | None]]
"""Groups without pods by their key: as jobs, held back or not, and what holds them back."""
ASKS = ("", PENDING)
"""The phases of a group that was not let in."""
NO_BURST = Burst()
COMPLETED_WITHIN = 30.0
"""Seconds after its first pod for which room is kept for the other pods of a group that was let in."""


def at_the_gate(
    promises: Promises,
    nodes: NodeState,
    groups: Mapping[Key, PodGroup],
    now: float,
    *,
    gated: bool,
    reclaims: bool,
    burst: Burst = NO_BURST,
    let_in: Collection[JobKey] = (),
) -> Asking:
    """Every PodGroup without pods. Those that are not held back may have their pods created.

    `reclaims`: whether room may be taken from others, also while earlier evictions are still carried out.
    Those of the `burst` whose time has not come are left out: nothing is said of them. `let_in` are those of which that
    is known before the server has told so.
    """
    asking = [job for job in promises.job_cache.podless() if (job.namespace, job.name) in groups]
    if not asking:
        return {}
    phases = {job.key: groups[job.namespace, job.name].status.phase for job in asking}
    phases |= {job.key: INQUEUE for job in asking if job.key in let_in and phases[job.key] in ASKS}
    look = _GateLook(promises, nodes, asking, phases, now, gated=gated, preempt=gated and reclaims)
    state, answers = look.weighed()
    if burst.over or not gated:
        return answers
    due = {key for key, phase in phases.items() if phase not in ASKS} | _by_right(state, answers, phases, burst)
    patient = answers.keys() - due - burst.young - burst.unsettled
    if patient:
        _, answers = look.weighed(burst.recent)
    return {key: answer for key, answer in answers.items() if key in due | patient}


@dataclass(frozen=True, slots=True)
class _GateLook:
    """One look: the groups without pods as jobs, their phases, and what they are weighed on."""

    promises: Promises
    nodes: NodeState
    asking: Sequence[LiveJob]
    phases: Mapping[JobKey, str]
    now: float
    _: KW_ONLY
    gated: bool
    preempt: bool

    def weighed(self, again: Collection[JobKey] = ()) -> tuple[QueueState, Asking]:
        """What the queue level says, by sums alone, if the groups of `again` are expected to come once more."""
        state, shared = self.promises.faulty.guarded(lambda: self._shared(again))
        findings = {row.name: row.finding if row.pending else None for row in shared.jobs}
        return state, {
            job.key: _answer(job, self.phases[job.key], findings[job.key], gated=self.gated) for job in self.asking
        }

    def _shared(self, again: Collection[JobKey]) -> tuple[QueueState, Sharing]:
        """All jobs, and the groups as jobs of one replica."""
        promises, now = self.promises, self.now
        jobs, terms = promises.faulty.jobs(), promises.terms()
        rows = [
            _row(job, INQUEUE) if _incomplete(job, now) else promises.row(job, None, (), terms.barred) for job in jobs
        ]
        rows += [_row(job, self.phases[job.key]) for job in self.asking]
        rows += [_row(_twin(job), PENDING) for job in (*jobs, *self.asking) if job.key in again]
        state = promises.tables(rows, self.nodes, jobs, None)
        shared = share(
            state.jobs,
            state.queues,
            state.namespaces,
            state.whole,
            running=running_of(state.jobs),
            policy=replace(terms.policy, preempt=self.preempt, budget=FIRST),
            now=int(now),
        )
        return state, shared


def _twin(job: LiveJob) -> LiveJob:
    """A group like this one that is expected; the youngest of all, under a name that no object can have."""
    return replace(job, key=JobKey(f"{job.key} again"), created=math.inf)


def _by_right(state: QueueState, answers: Asking, phases: Mapping[JobKey, str], burst: Burst) -> set[JobKey]:
    """Groups of a burst that their queues may have whatever else comes; the oldest first."""
    rows = {name: row for row, name in enumerate(state.jobs.names)}
    fits = [job for job, _ in answers.values() if not job.held_back and phases[job.key] in ASKS]
    order = sorted(fits, key=lambda job: (-job.priority, job.created, job.key))
    wanted = [rows[job.key] for job in order if job.key not in burst.young]
    asks = {rows[key] for key, phase in phases.items() if phase in ASKS}
    found = within_rights(
        state.jobs, state.queues, state.whole, [row for row in rows.values() if row not in asks], wanted
    )
    return {JobKey(state.jobs.names[row]) for row in found}


def _answer(job: LiveJob, phase: str, finding: Finding | None, *, gated: bool) -> tuple[LiveJob, Finding | None]:
    """An open gate heeds only what has to be edited; a group that was let in stays so while nothing has to be."""
    shut = finding is not None and finding.reason.cure is Cure.EDIT
    held_back = shut or (gated and finding is not None and phase in ASKS)
    return replace(job, held_back=held_back), finding if held_back else None


def _incomplete(job: LiveJob, now: float) -> bool:
    """Whether the job was let in and its pods are being created: it holds its minimum, as before the first of them."""
    if job.source is not JobSource.GROUP or job.running or not 0 < job.waiting < job.min_member:
        return False
    return now - job.since < COMPLETED_WITHIN


def _row(job: LiveJob, phase: str) -> Row:
    """A group as a job that asks for its minimum: held where it was let in, nothing where its pods have been."""
    held = (RunningReplicas(count=1),) if phase == INQUEUE else ()
    request = dict(job.min_resources) if phase in (*ASKS, INQUEUE) else {}
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
