"""Fair share in the live scheduler: which jobs are next among the pods that wait, and gangs that start as a whole.

`job_cache` keeps jobs, queues and weights from watches; `promises` holds the places kept for jobs; `contested_turn`
decides with `node_fits`, which asks the node level on the snapshot of the cycle. `intents` records a gang before it is
bound and `gangs` follows it to its end. `evictor` carries out evictions, `pod_status` writes them on pods,
`status_loop` renews promises, status and metrics. The fair share itself is computed in `levels/queue`.
"""
