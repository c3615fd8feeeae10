"""Which jobs and guarantees can be used at all. Bad ones get a reason of their own and the rest goes on."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.levels.queue import reasons
from fairlead.levels.queue.grants.gang import Members
from fairlead.levels.queue.tree import QueueTree
from fairlead.model.amounts import quantity
from fairlead.model.columns import Bool, Int
from fairlead.model.jobs import UNSET, JobTable, QueueTable
from fairlead.model.reasons import Finding, because


def refused_jobs(jobs: JobTable, queues: QueueTable, tree: QueueTree, members: Members) -> dict[int, Finding]:
    """Jobs with pending replicas that can get none: their queue cannot be used, or their gang is impossible."""
    shut = {row: finding for row in range(len(queues)) if (finding := _shut(row, queues, tree)) is not None}
    refused: dict[int, Finding] = {}
    for job, queue in enumerate(jobs.queue.tolist()):
        if not members.pending(job) and members.possible(job):
            continue
        if queue == UNSET:
            refused[job] = because(reasons.UNKNOWN_QUEUE, queue=jobs.queue_names[job])
        elif queue in shut:
            refused[job] = shut[queue]
        elif job in jobs.unmet:
            refused[job] = because(reasons.FIELD_NOT_OBEYED, field=jobs.unmet[job])
        elif not members.possible(job):
            refused[job] = because(
                reasons.GANG_ABOVE_REPLICAS,
                job=jobs.names[job],
                minimum=members.minimum(job),
                replicas=members.count(job) + members.pending(job),
            )
    return refused


def _shut(queue: int, queues: QueueTable, tree: QueueTree) -> Finding | None:
    """Why the queue gives nothing to its jobs."""
    if queue in tree.refused:
        return tree.refused[queue]
    for row in tree.path(queue)[:-1]:
        if not queues.open[row]:
            return because(reasons.QUEUE_CLOSED, queue=queues.names[row])
    if tree.children[queue]:
        return because(reasons.QUEUE_NOT_LEAF, queue=queues.names[queue])
    return None


def demands(jobs: JobTable, refused: Mapping[int, Finding]) -> Int:
    """[job, resource]: what it holds and asks for; of a refused job only what it holds."""
    wanted = np.array(jobs.role_replicas)
    if refused:
        stopped = np.isin(jobs.role_job, list(refused))
        wanted[stopped] = jobs.role_running[stopped]
    return jobs.per_job(jobs.role_request * wanted[:, None])


def by_queue(jobs: JobTable, queues: QueueTable, amounts: Int) -> Int:
    """Amounts of the jobs summed by queue, [queue, resource]."""
    sums = np.zeros((len(queues), amounts.shape[1]), dtype=np.int64)
    known = jobs.queue != UNSET
    np.add.at(sums, jobs.queue[known], amounts[known])
    return sums


def active(jobs: JobTable, queues: QueueTable, tree: QueueTree) -> Bool:
    """[queue]: open up to the whole, with a job in it or below it."""
    result = np.zeros(len(queues), dtype=np.bool_)
    for queue in sorted(set(jobs.queue.tolist())):
        if queue != UNSET and queue not in tree.refused:
            path = list(tree.path(queue)[:-1])
            if queues.open[path].all():
                result[path] = True
    return result


def guarantees(
    queues: QueueTable, tree: QueueTree, whole: Int, resources: Sequence[str]
) -> tuple[Int, dict[int, Finding]]:
    """The guarantees that are kept, [queue, resource], those of queues below included, and findings on the others.

    A closed or refused queue is guaranteed nothing; nor is one that asks for more than the whole has. Where all
    together ask for more than there is, the last in natural order go without.
    """
    kept = np.where(queues.open[:, None], queues.guarantee, 0)
    findings: dict[int, Finding] = {}
    for queue in tree.top_down:
        if tree.parent[queue] != tree.whole and not queues.open[tree.parent[queue]]:
            kept[queue] = 0
        over = np.flatnonzero(kept[queue] > whole)
        if len(over):
            findings[queue] = _above(queues.names[queue], resources, int(over[0]), kept[queue], whole)
            kept[queue] = 0
    for queue in reversed(tree.top_down):
        kept[queue] = np.maximum(kept[queue], kept[list(tree.children[queue])].sum(axis=0))
    left = np.array(whole)
    for queue in tree.children[tree.whole]:
        over = np.flatnonzero(kept[queue] > left)
        if len(over):
            findings[queue] = _above(queues.names[queue], resources, int(over[0]), kept[queue], left)
            kept[tree.below(queue)] = 0
        left -= kept[queue]
    return kept, findings


def _above(name: str, resources: Sequence[str], resource: int, asked: Int, whole: Int) -> Finding:
    kind = resources[resource]
    return because(
        reasons.GUARANTEE_ABOVE_WHOLE,
        queue=name,
        asked=quantity(kind, int(asked[resource])),
        resource=kind,
        whole=quantity(kind, int(whole[resource])),
    )
