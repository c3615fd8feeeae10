"""What queues may have whatever else comes: their deserved amounts if every open queue asked for everything."""

from collections.abc import Iterable

import numpy as np

from fairlead.levels.queue.deserved import QueueClaims, deserved
from fairlead.levels.queue.grants.admit import by_queue, guarantees
from fairlead.levels.queue.share import NOT_SHARED
from fairlead.levels.queue.tree import build
from fairlead.model.columns import Int
from fairlead.model.jobs import UNSET, JobTable, QueueTable


def within_rights(
    jobs: JobTable, queues: QueueTable, whole: Int, counted: Iterable[int], wanted: Iterable[int]
) -> set[int]:
    """Of the jobs `wanted`, in this order, those with which no queue up to the whole exceeds its right.

    `counted` are the jobs that hold or were let in, with all that they ask for.
    """
    tree = build(queues)
    shape = (len(queues), len(whole))
    claims = QueueClaims(
        request=np.broadcast_to(whole, shape),
        guarantee=guarantees(queues, tree, whole, jobs.resources)[0],
        capability=queues.capability,
        active=queues.open,
    )
    rights = deserved(tree, queues, claims, whole)
    shared = [r for r, name in enumerate(jobs.resources) if name not in NOT_SHARED]
    asks = jobs.per_job(jobs.role_request * jobs.role_replicas[:, None])
    held = np.zeros_like(asks)
    held[list(counted)] = asks[list(counted)]
    used = tree.upward(by_queue(jobs, queues, held))
    found = set()
    for job in wanted:
        queue = int(jobs.queue[job])
        if queue == UNSET or queue in tree.refused:
            continue
        line = tree.path(queue)[:-1]
        if all(int(used[row, r] + asks[job, r]) <= rights[row][r] for row in line for r in shared if asks[job, r]):
            used[list(line)] += asks[job]
            found.add(job)
    return found
