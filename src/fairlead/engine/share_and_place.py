"""Queue and node composed, over one working copy of the nodes: whose turn it is, and where replicas go.

A plan, the simulation and the live scheduler ask here, so that they give the same answer (docs/decisions/0380, 0430).

1. sums      the queue level without nodes: how many replicas of each job may start
2. in order  nodes take of that what fits, job by job, a gang as a whole or not at all; if that is all, it is the answer
3. by turns  otherwise the queue level goes on from there, and asks the nodes at every step

Where room may be taken from others or is kept for a gang, the last does it all unless the first two leave no job out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairlead.engine.site_fits import SiteFits
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.grants.gang import Members
from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.jobs import RunningTable
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.queuestate import QueueState
from fairlead.model.reasons import Cure
from fairlead.model.shape import Shape

PlacingTurn = tuple[int, bool, bool, float]

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
    """How many replicas each job may start, and on which nodes; `fits` has them there afterwards.

    The roles of `fits` are those of the job table. `running`, `policy`, `now` and `tried` are as for `share`.
    """
    policy = replace(policy or SharePolicy(), bulk=True)
    calm = not (policy.preempt or policy.reserve_after is not None or state.jobs.may_wait)
    granted = None if fits.resting else _by_sums(state, calm, SharePolicy(reasons=policy.reasons))
    if granted is not None:
        members, before = Members(state.jobs), fits.mark()
        spots = _in_order(state, granted, members, fits, on_progress)
        if all(members.count(job) == row.admitted for job, row in enumerate(granted.jobs)):
            return replace(granted, spots=spots)
        on_progress("sharing what is left", 0, None)
        if calm and not policy.reasons and not _takes_more(members, fits):
            return _as_placed(granted, members, spots)
        if calm:
            jobs = replace(state.jobs, role_running=np.array(members.held))
            more = share(jobs, state.queues, state.namespaces, state.whole, fits, policy=policy)
            return _together(granted, spots, more)
        fits.undo(before)
    tables = state.jobs, state.queues, state.namespaces, state.whole
    return share(*tables, fits, running=running, policy=policy, now=now, tried=tried)


def _by_sums(state: QueueState, calm: bool, policy: SharePolicy) -> Sharing | None:
    """How many each job may start by sums; None where room is to be taken or kept (not `calm`) and a job lacks it."""
    if not calm and not _enough(state):
        return None
    shared = share(state.jobs, state.queues, state.namespaces, state.whole, policy=policy)
    return shared if calm or not any(map(_lacks_room, shared.jobs)) else None


def _enough(state: QueueState) -> bool:
    """Whether everything that is there has room for all that is asked for, in sum."""
    jobs = state.jobs
    wanted = (jobs.role_request * np.maximum(jobs.role_replicas, jobs.role_running)[:, None]).sum(axis=0)
    return bool((wanted <= state.whole).all())


def _lacks_room(row: JobRow) -> bool:
    """Whether a job waits for something else than an edit of its own objects."""
    return row.pending > 0 and (row.finding is None or row.finding.reason.cure is not Cure.EDIT)


def _in_order(
    state: QueueState, granted: Sharing, members: Members, fits: SiteFits, on_progress: OnProgress
) -> dict[int, Spots]:
    """Where nodes take what is granted, by role; `members` has counted it afterwards."""
    counts = {job: row.admitted - row.running for job, row in enumerate(granted.jobs) if row.admitted > row.running}
    turns = _turns(state, fits, members, counts)
    spots: dict[int, Spots] = {}
    for done, job in enumerate(turns):
        if done % _OFTEN == 0:
            on_progress("placing", done, len(turns))
        wanted = members.take(job, counts[job])
        room = fits.room(wanted)
        members.lose({role: count - room[role] for role, count in wanted.items()})
        if members.ready(job):
            spots |= {role: fits.take(role, count) for role, count in room.items() if count}
        else:
            members.lose(room)
    return spots


def _turns(state: QueueState, fits: SiteFits, members: Members, jobs: Iterable[int]) -> list[int]:
    """The jobs in an order in which all of them are likely to find a place."""
    table = state.jobs
    sizes = (table.role_request / np.maximum(state.whole, 1)).max(axis=1, initial=0.0).tolist()
    priority, age = table.priority.tolist(), table.age.tolist()

    def key(job: int) -> tuple[PlacingTurn, int, int]:
        roles = [role for role in members.roles(job) if members.replicas[role] > members.held[role]]
        size = max(sizes[role] for role in roles)
        return placing_turn(priority[job], [fits.shape(role) for role in roles], size), age[job], job

    return sorted(jobs, key=key)


def placing_turn(priority: int, shapes: Sequence[Shape], size: float) -> PlacingTurn:
    """The place of a job among those that take their nodes; those with equal places go by age.

    Higher priority first; those that want neighbours after those that may be their neighbours; those that name their
    nodes before those that can go anywhere; larger replicas first, for smaller gaps do for the others.
    """
    return -priority, any(each.near for each in shapes), not any(each.selective for each in shapes), -size


def _takes_more(members: Members, fits: SiteFits) -> bool:
    """Whether nodes might take one more replica of a role that waits; otherwise single turns would give nothing."""
    waiting = (role for role, count in enumerate(members.replicas) if count > members.held[role])
    return any(map(fits.takes, waiting))


def _as_placed(granted: Sharing, members: Members, spots: Mapping[int, Spots]) -> Sharing:
    """The answer where nodes took no more than this, without reasons."""
    rows = tuple(
        row
        if row.admitted == members.count(job)
        else replace(row, admitted=members.count(job), pending=members.pending(job))
        for job, row in enumerate(granted.jobs)
    )
    return replace(
        granted, jobs=rows, spots=spots, placements=_placements(rows), unplaced=sum(row.pending for row in rows)
    )


def _together(granted: Sharing, spots: Mapping[int, Spots], more: Sharing) -> Sharing:
    """The answer of the turns after what was placed in order, as one."""
    rows = tuple(
        row if row.running == first.running else replace(row, running=first.running)
        for first, row in zip(granted.jobs, more.jobs, strict=True)
    )
    both = {role: dict(there) for role, there in spots.items()}
    for role, there in more.spots.items():
        own = both.setdefault(role, {})
        for node, count in there.items():
            own[node] = own.get(node, 0) + count
    return replace(more, jobs=rows, spots=both, placements=_placements(rows))


def _placements(rows: Iterable[JobRow]) -> dict[str, int]:
    """How many replicas of each job start."""
    return {row.name: row.admitted - row.running for row in rows if row.admitted > row.running}
