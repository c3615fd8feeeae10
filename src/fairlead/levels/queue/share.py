"""The verb: whose turn it is, and how far everybody gets.

Phases: 1 the tree and which objects can be used, 2 what each queue deserves, 3 reservations, 4 the loop of grants,
5 preemption and reclaim, 6 what stops each job that waits, 7 the distance from the fluid share.
"""

from collections import Counter

import numpy as np

from fairlead.levels.queue import admit, reasons
from fairlead.levels.queue.deserved import Claims, deserved
from fairlead.levels.queue.fits import Fits
from fairlead.levels.queue.gang import Members
from fairlead.levels.queue.grant import run
from fairlead.levels.queue.ledger import Ledger
from fairlead.levels.queue.result import Sharing, job_rows, namespace_rows, queue_rows
from fairlead.levels.queue.state import State, World
from fairlead.levels.queue.tree import QueueTree, build
from fairlead.levels.queue.why import Why
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection, Trace
from fairlead.model.jobs import JobTable, NamespaceTable, QueueTable
from fairlead.model.reasons import Finding, because

NOT_SHARED = ("pods",)
"""Resources that limit but do not count in shares: every replica takes one."""


def share(
    jobs: JobTable, queues: QueueTable, namespaces: NamespaceTable, whole: Int, fits: Fits | None = None
) -> Sharing:
    """Who may start how many replicas, given everything there is (`whole`, amounts by resource)."""
    tree = build(queues)
    members = Members(jobs)
    refused = admit.refused_jobs(jobs, queues, tree, members)
    guarantee, notes = admit.guarantees(queues, tree, whole, jobs.resources)
    world = _world(jobs, queues, namespaces, tree, whole, guarantee, refused)
    state = State(world, members, _ledger(world, guarantee))
    blocks = run(state, [job for job in range(len(jobs)) if job not in refused], fits)
    why = Why(state, blocks)
    findings = {**refused, **{job: why.finding(job) for job in blocks}}
    return _sharing(state, findings, notes)


def _world(
    jobs: JobTable,
    queues: QueueTable,
    namespaces: NamespaceTable,
    tree: QueueTree,
    whole: Int,
    guarantee: Int,
    refused: dict[int, Finding],
) -> World:
    """The tables together with what every queue deserves."""
    claims = Claims(
        request=tree.upward(admit.requests(jobs, queues, refused))[:-1],
        guarantee=guarantee,
        capability=queues.capability,
        active=admit.active(jobs, queues, tree),
    )
    keys = zip(jobs.queue.tolist(), jobs.namespace.tolist(), strict=True)
    return World(
        jobs=jobs,
        queues=queues,
        namespaces=namespaces,
        tree=tree,
        deserved=deserved(tree, queues, claims, whole),
        whole=tuple(whole.tolist()),
        counted=tuple(r for r, name in enumerate(jobs.resources) if name not in NOT_SHARED),
        pairs={pair: row for row, pair in enumerate(dict.fromkeys(keys))},
    )


def _ledger(world: World, guarantee: Int) -> Ledger:
    """What is used before the first grant; what runs in unusable queues is used by nobody but the whole."""
    jobs, tree = world.jobs, world.tree
    used = np.zeros((len(world.queues) + 1, len(world.whole)), dtype=np.int64)
    held = jobs.per_job(jobs.role_request * jobs.role_running[:, None])
    usable = np.isin(jobs.queue, tree.top_down)
    np.add.at(used, np.where(usable, jobs.queue, tree.whole), held)
    most = [*world.queues.capability.tolist(), list(world.whole)]
    return Ledger(tree, most, [*guarantee.tolist(), [0] * len(world.whole)], used.tolist())


def _sharing(state: State, findings: dict[int, Finding], notes: dict[int, Finding]) -> Sharing:
    jobs = state.world.jobs
    rows = job_rows(state, findings)
    pending = sum(row.pending for row in rows)
    codes = Counter(finding.reason for finding in findings.values())
    names: dict[str, list[str]] = {}
    for job, finding in findings.items():
        kept = names.setdefault(finding.code, [])
        if len(kept) < 3:
            kept.append(jobs.names[job])
    waiting_finding: Finding | None = None
    if pending:
        common = codes.most_common(1)[0][0].code if codes else "none"
        waiting = sum(1 for row in rows if row.pending)
        waiting_finding = because(reasons.UNFINISHED, pending=pending, jobs=waiting, code=common)
    return Sharing(
        placements={row.name: row.admitted - row.running for row in rows if row.admitted > row.running},
        unplaced=pending,
        finding=waiting_finding,
        resources=jobs.resources,
        queues=queue_rows(state, notes),
        namespaces=namespace_rows(state),
        jobs=rows,
        exact_deserved=state.world.deserved[:-1],
        trace=Trace(
            considered=len(jobs),
            rejected=tuple(
                Rejection(reason=reason, count=count, names=tuple(names[reason.code]))
                for reason, count in codes.most_common()
            ),
        ),
    )
