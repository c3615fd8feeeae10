"""The scheduler: pods that name it are grouped by controller, placed as whole groups and bound.

`component` is the cycle; `pending` holds the pods that wait and what wakes them; `decide` places groups; `delivery`
brings pods to their nodes with `volume_binder`, `binder` and, where the server did not answer, `resolver`; `notifier`
reports to users; `dump` and `explain_pod` show what is known; `watches` feeds the caches; `wiring` connects the queue
level. What is known of the cluster is in `live.cluster`, fair share in `live.queue`, deciding in `engine` and `levels`.
"""
