"""Queue and node composed, over one working copy of the nodes: whose turn it is, and where replicas go.

Plan, simulation and live scheduler all ask here, so that they give the same answer (docs/decisions/0380).

1. sums      the queue level without nodes: how many replicas of each job may start
2. in order  their roles are placed as groups, one after the other; where all find a place, that is the answer
3. contest   otherwise nothing of it stays, and the queue level asks the nodes at every step

Where room may be taken from others or is kept for somebody, the first two are for when nobody lacks room.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from fairlead.engine.site_fits import SiteFits
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.grants.gang import Members
from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.jobs import JobTable, RunningTable
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.queuestate import QueueState
from fairlead.model.reasons import Cure

_OFTEN = 50
"""Groups after which progress is told."""


def share_and_place(
    state: QueueState,
    fits: SiteFits,
    *,
    running: RunningTable | None = None,
    policy: SharePolicy | None = None,
    now: int = 0,
    tried: Collection[str] = (),
    on_progress: OnProgress = no_progress,
) -> Sharing:
    """Who may start how many replicas, and on which nodes; `fits` has them there afterwards.

    The roles of `fits` are those of the job table. `running`, `policy`, `now` and `tried` are as for `share`.
    """
    if not fits.resting:
        granted = _by_sums(state, policy or SharePolicy())
        spots = None if granted is None else _in_order(state, granted, fits, on_progress)
        if granted is not None and spots is not None:
            return replace(granted, spots=spots)
    on_progress("sharing", 0, None)
    return share(
        state.jobs,
        state.queues,
        state.namespaces,
        state.whole,
        fits,
        running=running,
        policy=policy,
        now=now,
        tried=tried,
    )


def _by_sums(state: QueueState, policy: SharePolicy) -> Sharing | None:
    """Who may start how many by sums; None where room is to be taken or kept for somebody."""
    calm = not (policy.preempt or policy.reserve_after is not None or state.jobs.may_wait)
    if not calm and not _enough(state):
        return None
    shared = share(state.jobs, state.queues, state.namespaces, state.whole)
    return shared if calm or not any(map(_lacks_room, shared.jobs)) else None


def _enough(state: QueueState) -> bool:
    """Whether everything that is there has room for all that is asked for, in sum."""
    jobs = state.jobs
    wanted = (jobs.role_request * np.maximum(jobs.role_replicas, jobs.role_running)[:, None]).sum(axis=0)
    return bool((wanted <= state.whole).all())


def _lacks_room(row: JobRow) -> bool:
    """Whether a job waits for something else than an edit of its own objects."""
    return row.pending > 0 and (row.finding is None or row.finding.reason.cure is not Cure.EDIT)


def _in_order(state: QueueState, granted: Sharing, fits: SiteFits, on_progress: OnProgress) -> dict[int, Spots] | None:
    """Where the granted replicas go; None, and nothing is placed, where one of them finds no place."""
    wanted = _by_role(state.jobs, granted.jobs)
    turns = _turns(state, fits, wanted)
    before = fits.mark()
    spots: dict[int, Spots] = {}
    for done, role in enumerate(turns):
        if done % _OFTEN == 0:
            on_progress("placing", done, len(turns))
        if fits.room({role: wanted[role]})[role] < wanted[role]:
            fits.undo(before)
            return None
        spots[role] = fits.take(role, wanted[role])
    return spots


def _by_role(jobs: JobTable, rows: Sequence[JobRow]) -> dict[int, int]:
    """What each role of the jobs gets: what the gang lacks first, then roles in order."""
    members = Members(jobs)
    wanted: dict[int, int] = {}
    for job, row in enumerate(rows):
        wanted.update(members.take(job, row.admitted - row.running))
    return {role: count for role, count in wanted.items() if count}


def _turns(state: QueueState, fits: SiteFits, roles: Iterable[int]) -> list[int]:
    """The roles in an order in which all of them are likely to find a place.

    Higher priority first; those that want neighbours after those that may be their neighbours; those that name their
    nodes before those that can go anywhere; larger replicas first, for smaller gaps do for the others; then the older.
    """
    jobs = state.jobs
    sizes = (jobs.role_request / np.maximum(state.whole, 1)).max(axis=1, initial=0.0).tolist()
    priority, age, owner = jobs.priority.tolist(), jobs.age.tolist(), jobs.role_job.tolist()

    def turn(role: int) -> tuple[int, bool, bool, float, int, int]:
        shape, job = fits.shape(role), owner[role]
        return -priority[job], bool(shape.near), not shape.selective, -sizes[role], age[job], role

    return sorted(roles, key=turn)
