"""The verb: whose turn it is, and how much every job gets.

Phases: 1 which objects can be used, 2 what each queue deserves, 3 the reservation, 4 the loop of grants, 5 preemption
and reclaim, 6 what stops each job that waits, 7 the answer with its distance from the fluid share.
"""

from collections.abc import Collection

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue import reasons
from fairlead.levels.queue.deserved import QueueClaims, contended, deserved
from fairlead.levels.queue.fits import Fits
from fairlead.levels.queue.fluid import Amounts, namespace_fluid, queue_fluid
from fairlead.levels.queue.grants import admit
from fairlead.levels.queue.grants.gang import Members
from fairlead.levels.queue.grants.grant import Block, run
from fairlead.levels.queue.grants.ledger import QueueLedger
from fairlead.levels.queue.grants.reservation import Reservation, overdue, release, reserve
from fairlead.levels.queue.preemption.potential import Gain
from fairlead.levels.queue.preemption.preempt import Eviction, Preemption
from fairlead.levels.queue.preemption.victim_search import PATIENCE
from fairlead.levels.queue.preemption.why_no_victims import WhyNoVictims
from fairlead.levels.queue.result import ShareFindings, Sharing, sharing
from fairlead.levels.queue.state import State, World
from fairlead.levels.queue.tree import QueueTree, build
from fairlead.levels.queue.why import Why, evicted, next_step
from fairlead.model.columns import Int
from fairlead.model.jobs import JobTable, NamespaceTable, QueueTable, RunningTable, running_of
from fairlead.model.reasons import Finding, because

NOT_SHARED = ("pods",)
"""Resources that limit but do not count in shares: every replica takes one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePolicy:
    """Settings: whether room may be taken from others, and after how many seconds a waiting gang gets a reservation.

    `patience` bounds the search for the fewest victims, see `victim_search.PATIENCE`. `budget` is how many candidates
    may be looked at for all jobs that wait, None for as many as there are (docs/decisions/0247). `elastic` is how many
    replicas may be evicted for others that are above a gang, None for as many as it takes (docs/decisions/0281). `bulk`
    grants thousands of turns at once also where the order of placing matters (docs/decisions/0380). Without `reasons`
    nobody is told why a job waits, and there are no rows of queues and namespaces (docs/decisions/0430).
    """

    preempt: bool = False
    reserve_after: int | None = None
    patience: int = PATIENCE
    budget: int | None = None
    elastic: int | None = None
    bulk: bool = False
    reasons: bool = True


def share(
    jobs: JobTable,
    queues: QueueTable,
    namespaces: NamespaceTable,
    whole: Int,
    fits: Fits | None = None,
    *,
    running: RunningTable | None = None,
    policy: SharePolicy | None = None,
    now: int = 0,
    tried: Collection[str] = (),
) -> Sharing:
    """Who may start how many replicas, given everything there is (`whole`, amounts by resource).

    `fits` is asked whether a gang fits nodes and is changed by what is granted; without it only sums count. `running`
    tells the running replicas apart for eviction. `now` is in seconds, as `since` of the jobs. `tried` is the cursor
    that the last answer within a budget returned: the search for victims goes on without those jobs.
    """
    policy = policy or SharePolicy()
    state, refused, notes, requested = _begin(jobs, queues, namespaces, whole)
    waiting = [job for job in range(len(jobs)) if job not in refused]
    reservation = _reservation(state, waiting, fits, policy, now)
    blocks = run(state, waiting, fits, policy.bulk)
    queue_fair, pair_fair = _fluid(state, requested) if policy.reasons else ([], [])
    why = Why(state, pair_fair, reservation, fits)
    findings = why.findings(blocks) if policy.reasons else {}
    if reservation is not None:
        release(state, reservation, fits)
    evictions: list[Eviction] = []
    gains: dict[int, Gain | None] = {}
    unsearched: tuple[int, ...] = ()
    cursor: frozenset[str] = frozenset()
    if policy.preempt:
        table = running if running is not None else running_of(jobs)
        held = findings | why.held_room(findings, blocks)
        preemption = Preemption(state, fits, table, policy.patience, policy.budget, policy.elastic)
        started = preemption.run(blocks, tried)
        cursor = preemption.cursor
        evictions, gains, unsearched = preemption.evictions, preemption.gains, tuple(preemption.unsearched)
        findings |= WhyNoVictims(preemption).findings(held, started)
        findings = {job: found for job, found in findings.items() if job not in started or state.members.pending(job)}
        if policy.reasons:
            findings |= _after(state, Why(state, pair_fair, None, fits), started, evictions)
    return sharing(
        state,
        ShareFindings(
            findings={**findings, **refused},
            notes=notes,
            evictions=tuple(evictions),
            gains=gains,
            unsearched=unsearched,
            cursor=cursor,
            reserved=reservation.job if reservation is not None else None,
            requested=requested,
            queue_fair=queue_fair,
            pair_fair=pair_fair,
        ),
    )


def _begin(
    jobs: JobTable, queues: QueueTable, namespaces: NamespaceTable, whole: Int
) -> tuple[State, dict[int, Finding], dict[int, Finding], Int]:
    """What is there before the first grant, with the jobs that are refused, notes on queues, and what jobs ask for."""
    tree = build(queues)
    members = Members(jobs)
    refused = admit.refused_jobs(jobs, queues, tree, members)
    guarantee, notes = admit.guarantees(queues, tree, whole, jobs.resources)
    requested = admit.demands(jobs, refused)
    world = _world(jobs, queues, namespaces, tree, whole, guarantee, requested)
    return State(world, members, _ledger(world, guarantee)), refused, notes, requested


def _world(
    jobs: JobTable,
    queues: QueueTable,
    namespaces: NamespaceTable,
    tree: QueueTree,
    whole: Int,
    guarantee: Int,
    requested: Int,
) -> World:
    """The tables together with what every queue deserves."""
    claims = QueueClaims(
        request=tree.upward(admit.by_queue(jobs, queues, requested))[:-1],
        guarantee=guarantee,
        capability=queues.capability,
        active=admit.active(jobs, queues, tree),
    )
    keys = zip(jobs.queue.tolist(), jobs.namespace.tolist(), strict=True)
    rights = deserved(tree, queues, claims, whole)
    counted = tuple(r for r, name in enumerate(jobs.resources) if name not in NOT_SHARED)
    return World(
        jobs=jobs,
        queues=queues,
        namespaces=namespaces,
        tree=tree,
        deserved=rights,
        whole=tuple(whole.tolist()),
        counted=counted,
        contended=contended(tree, claims, rights, counted),
        pairs={pair: row for row, pair in enumerate(dict.fromkeys(keys))},
    )


def _ledger(world: World, guarantee: Int) -> QueueLedger:
    """What is used before the first grant; what runs in unusable queues is used by nobody but the whole."""
    jobs, tree = world.jobs, world.tree
    used = np.zeros((len(world.queues) + 1, len(world.whole)), dtype=np.int64)
    held = jobs.per_job(jobs.role_request * jobs.role_running[:, None])
    usable = np.zeros(len(world.queues) + 1, dtype=np.bool_)  # the last for jobs of no known queue
    usable[list(tree.top_down)] = True
    np.add.at(used, np.where(usable[jobs.queue], jobs.queue, tree.whole), held)
    most = [*world.queues.capability.tolist(), list(world.whole)]
    return QueueLedger(tree, most, [*guarantee.tolist(), [0] * len(world.whole)], used.tolist())


def _reservation(
    state: State, waiting: list[int], fits: Fits | None, policy: SharePolicy, now: int
) -> Reservation | None:
    """The gang that is next after waiting long enough: started if it fits, else with a reservation."""
    if policy.reserve_after is None and not state.world.jobs.may_wait:
        return None
    job = overdue(state, waiting, now, policy.reserve_after)
    return reserve(state, job, fits) if job is not None else None


def _fluid(state: State, requested: Int) -> tuple[list[Amounts], list[Amounts]]:
    """The fluid shares of queues, and of namespaces in them."""
    world = state.world
    queue_fair = queue_fluid(world, world.tree.upward(admit.by_queue(world.jobs, world.queues, requested)))
    return queue_fair, namespace_fluid(world, queue_fair, state.by_pair(requested))


def _after(state: State, why: Why, started: list[int], evictions: list[Eviction]) -> dict[int, Finding]:
    """What is to be said of jobs that evictions touched: those that lost replicas, those that gained and wait on."""
    lost: dict[int, tuple[int, int]] = {}
    for eviction in evictions:
        before = lost.get(eviction.job, (0, eviction.beneficiary))
        lost[eviction.job] = before[0] + eviction.count, before[1]
    findings = evicted(state, lost)
    blocks: dict[int, Block] = {}
    for job in started:
        if state.members.pending(job):
            block = next_step(state, job)
            if block is not None:
                blocks[job] = block
            else:
                findings[job] = because(reasons.NEXT_CYCLE)
    return findings | why.findings(blocks)
