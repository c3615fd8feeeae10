"""The answer of the level, as rows with names."""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairlead.dataclass import dataclass
from fairlead.levels.queue import reasons
from fairlead.levels.queue.fluid import distance
from fairlead.levels.queue.grants.admit import by_queue
from fairlead.levels.queue.preemption.potential import Gain
from fairlead.levels.queue.preemption.preempt import Eviction
from fairlead.levels.queue.preemption.victims import FRESH
from fairlead.levels.queue.state import State
from fairlead.model.columns import Int
from fairlead.model.decision import Decision, Rejection, Trace
from fairlead.model.jobs import UNSET
from fairlead.model.reasons import Finding, because

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareFindings:
    """What the phases found, by row."""

    findings: Mapping[int, Finding]
    notes: Mapping[int, Finding]
    evictions: tuple[Eviction, ...]
    gains: Mapping[int, Gain | None]
    unsearched: tuple[int, ...]
    """Jobs whose victims may not be the fewest."""
    cursor: frozenset[str]
    reserved: int | None
    requested: Int
    """[job, resource]"""
    queue_fair: Sequence[Sequence[Fraction]]
    pair_fair: Sequence[Sequence[Fraction]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue after the decision; amounts by resource. `share` is allocated over deserved."""

    name: str
    deserved: Amounts
    allocated: Amounts
    requested: Amounts
    share: Fraction
    distance: Fraction
    finding: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceRow:
    """One namespace in one queue. `share` is its dominant share of the whole, not yet divided by its weight."""

    queue: str
    namespace: str
    weight: int
    fair: Amounts
    allocated: Amounts
    requested: Amounts
    share: Fraction
    distance: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """One job: `admitted` replicas may run (those `running` before included), `pending` ones wait."""

    name: str
    queue: str
    namespace: str
    running: int
    admitted: int
    pending: int
    finding: Finding | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Victim:
    """Running replicas of a job that are evicted for another job."""

    job: str
    role: int
    row: int
    """Row in the table of running replicas."""
    count: int
    beneficiary: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing(Decision):
    """How much each job gets. `placements` are the replicas newly admitted, by job."""

    resources: tuple[str, ...]
    queues: tuple[QueueRow, ...]
    namespaces: tuple[NamespaceRow, ...]
    jobs: tuple[JobRow, ...]
    victims: tuple[Victim, ...]
    gains: Mapping[str, Gain | None]
    """By what evictions make the allocation better, for each job that they make room for."""
    cursor: frozenset[str]
    """Jobs that victims were searched for before the budget was spent; empty where the search came to its end."""
    reserved: str | None
    """The gang that room is kept for."""
    spots: Mapping[int, Mapping[int, int]]
    """Row of a role → row of a node → replicas granted there; empty without nodes."""
    exact_deserved: tuple[tuple[Fraction, ...], ...]
    """[queue][resource], as a fraction; `queues` show it cut to whole units."""


def sharing(state: State, outcome: ShareFindings) -> Sharing:
    """The rows, what waits in sum and why, and what was found how often."""
    jobs = state.world.jobs
    rows = _jobs(state, outcome.findings)
    pending = sum(row.pending for row in rows)
    waits = [row for row in rows if row.pending and row.finding is not None]
    counts = Counter(row.finding.reason for row in waits if row.finding is not None)
    rejected = tuple(
        Rejection(reason=reason, count=count, names=_first(waits, reason.code))
        for reason, count in counts.most_common()
    )
    common = rejected[0].reason.code if rejected else ""
    finding = because(reasons.UNFINISHED, pending=pending, jobs=len(waits), code=common) if pending else None
    return Sharing(
        placements={row.name: row.admitted - row.running for row in rows if row.admitted > row.running},
        unplaced=pending,
        finding=finding,
        resources=jobs.resources,
        queues=_queues(state, outcome) if outcome.queue_fair else (),
        namespaces=_namespaces(state, outcome) if outcome.queue_fair else (),
        jobs=rows,
        victims=tuple(
            Victim(
                job=jobs.names[each.job],
                role=each.role,
                row=each.row,
                count=each.count,
                beneficiary=jobs.names[each.beneficiary],
                action=each.action,
            )
            for each in outcome.evictions
            if each.row != FRESH
        ),
        gains={jobs.names[job]: gain for job, gain in outcome.gains.items()},
        cursor=outcome.cursor,
        reserved=jobs.names[outcome.reserved] if outcome.reserved is not None else None,
        spots={role: {n: c for n, c in spots.items() if c and n != UNSET} for role, spots in state.spots.items()},
        exact_deserved=state.world.deserved[:-1],
        trace=Trace(
            considered=len(jobs),
            rejected=rejected,
            notes=tuple(
                f"there may be fewer victims for {jobs.names[job]}: the search for them was too long"
                for job in outcome.unsearched
            ),
        ),
    )


def _first(rows: Sequence[JobRow], code: str, most: int = 3) -> tuple[str, ...]:
    names: list[str] = []
    for row in rows:
        if row.finding is not None and row.finding.code == code:
            names.append(row.name)
            if len(names) == most:
                break
    return tuple(names)


def _jobs(state: State, findings: Mapping[int, Finding]) -> tuple[JobRow, ...]:
    """One row a job, in the order of the table."""
    world, members = state.world, state.members
    running, namespaces = world.jobs.running.tolist(), world.jobs.namespace.tolist()
    return tuple(
        JobRow(
            name=name,
            queue=world.jobs.queue_names[job],
            namespace=world.namespaces.names[namespaces[job]],
            running=running[job],
            admitted=members.count(job),
            pending=members.pending(job),
            finding=findings.get(job),
        )
        for job, name in enumerate(world.jobs.names)
    )


def _queues(state: State, outcome: ShareFindings) -> tuple[QueueRow, ...]:
    """One row a queue, in the order of the table."""
    world, resources = state.world, state.world.jobs.resources
    asked = world.tree.upward(by_queue(world.jobs, world.queues, outcome.requested)).tolist()
    return tuple(
        QueueRow(
            name=name,
            deserved={resources[r]: int(world.deserved[row][r]) for r in world.counted},
            allocated=_named(resources, state.ledger.used[row]),
            requested=_named(resources, asked[row]),
            share=state.queue_measures[row].share(state.ledger.used[row]),
            distance=distance(world, state.ledger.used[row], tuple(outcome.queue_fair[row])),
            finding=world.tree.refused.get(row, outcome.notes.get(row)),
        )
        for row, name in enumerate(world.queues.names)
    )


def _namespaces(state: State, outcome: ShareFindings) -> tuple[NamespaceRow, ...]:
    """One row a namespace and queue that it has a job in, in the order in which the jobs name them."""
    world, resources = state.world, state.world.jobs.resources
    asked = state.by_pair(outcome.requested).tolist()
    return tuple(
        NamespaceRow(
            queue=world.queues.names[queue],
            namespace=world.namespaces.names[namespace],
            weight=int(world.namespaces.weight[namespace]),
            fair={resources[r]: int(outcome.pair_fair[pair][r]) for r in world.counted},
            allocated=_named(resources, state.pair_used[pair]),
            requested=_named(resources, asked[pair]),
            share=state.pair_measures[pair].share(state.pair_used[pair]) * int(world.namespaces.weight[namespace]),
            distance=distance(world, state.pair_used[pair], tuple(outcome.pair_fair[pair])),
        )
        for (queue, namespace), pair in world.pairs.items()
        if queue != UNSET
    )


def _named(resources: Sequence[str], amounts: Sequence[int]) -> Amounts:
    return dict(zip(resources, amounts, strict=True))
