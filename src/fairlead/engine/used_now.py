"""A sharing with what pods hold now in place of what they would hold after it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.levels.queue.grants.admit import by_queue
from fairlead.levels.queue.result import Amounts, Sharing
from fairlead.levels.queue.tree import build
from fairlead.model.queuestate import QueueState


def used_now(decision: Sharing, state: QueueState) -> Sharing:
    """The decision about this state with what its queues and namespaces hold before it as `allocated`.

    What a queue holds is counted in those above it too.
    """
    jobs, queues, names = state.jobs, state.queues, state.namespaces.names
    held = jobs.per_job(jobs.role_request * jobs.role_running[:, None])
    queue_rows = {queue: row for row, queue in enumerate(queues.names)}
    namespace_rows = {namespace: row for row, namespace in enumerate(names)}
    by_row = build(queues).upward(by_queue(jobs, queues, held)).tolist()
    pairs, rows = np.unique(jobs.queue * len(names) + jobs.namespace, return_inverse=True)
    sums = np.zeros((len(pairs), held.shape[1]), dtype=np.int64)
    np.add.at(sums, rows, held)
    by_pair = dict(zip(pairs.tolist(), sums.tolist(), strict=True))

    def named(amounts: Sequence[int]) -> Amounts:
        return dict(zip(jobs.resources, amounts, strict=True))

    return replace(
        decision,
        queues=tuple(replace(row, allocated=named(by_row[queue_rows[row.name]])) for row in decision.queues),
        namespaces=tuple(
            replace(row, allocated=named(by_pair[queue_rows[row.queue] * len(names) + namespace_rows[row.namespace]]))
            for row in decision.namespaces
        ),
    )
