"""No starvation: a gang that has waited long enough is next, and what is free is kept for it.

Others may use only what lies beyond the reservation. So the room that running replicas give back piles up for the gang,
and it starts, at the latest, when everything that ran when the reservation began has ended.
"""

from fairlead.dataclass import dataclass
from fairlead.levels.queue.fits import Fits, Spots
from fairlead.levels.queue.grants.gang import GangStep
from fairlead.levels.queue.state import State
from fairlead.model.jobs import UNSET


@dataclass(frozen=True, slots=True)
class Reservation:
    """The job that is next, what is kept for it by queue (the whole included), and where on nodes."""

    job: int
    kept: dict[int, list[int]]
    spots: dict[int, Spots]


def overdue(state: State, jobs: list[int], now: int, after: int | None) -> int | None:
    """The gang that has waited longest, `after` seconds or as many as it may wait itself, and could start if room were
    there.
    """
    table, members = state.world.jobs, state.members
    due = [
        (-int(table.priority[job]), int(table.since[job]), int(table.age[job]), job)
        for job in jobs
        if table.since[job] != UNSET
        if (most := table.may_wait.get(job, after)) is not None and now - int(table.since[job]) >= most
        if members.pending(job) and not members.ready(job) and _startable(state, job)
    ]
    return min(due)[-1] if due else None


def _startable(state: State, job: int) -> bool:
    """Whether the gang is within every bound above it."""
    step = state.members.step(job)
    assert step is not None  # it has pending replicas
    held = state.job_used[job]
    return all(
        bound == UNSET or held[resource] + need <= bound
        for row in state.ledger.paths[state.queue_of[job]]
        for resource, (need, bound) in enumerate(zip(step.need, state.ledger.most[row], strict=True))
        if need
    )


def reserve(state: State, job: int, fits: Fits | None) -> Reservation | None:
    """Grant the gang if it fits now (None); else keep what there is of what it needs."""
    step = state.members.step(job)
    assert step is not None  # it has pending replicas
    queue = state.queue_of[job]
    roles = dict(step.roles)
    if state.ledger.lack(queue, step.need) is None and _placeable(fits, roles, step):
        state.place(job, step, fits)
        return None
    spots = {role: fits.take(role, count) for role, count in fits.room(roles).items() if count} if fits else {}
    return Reservation(job, state.ledger.keep(queue, step.need), spots)


def _placeable(fits: Fits | None, roles: dict[int, int], step: GangStep) -> bool:
    return fits is None or sum(fits.room(roles).values()) == step.size


def release(state: State, reservation: Reservation, fits: Fits | None) -> None:
    """End of the cycle: what was kept is free again (and kept anew in the next one)."""
    state.ledger.unkeep(reservation.kept)
    if fits is not None:
        for role, spots in reservation.spots.items():
            fits.give(role, spots)
