"""The scheduler: pods that name it are grouped by workload, placed as whole groups and bound.

`cache` holds the cluster as columns, `storage`, `rules` and `cores` what is looked up beside them, `pending` what
waits and what would wake it; `watches` keeps them. `decide` places groups, `delivery` brings pods to their nodes with
`volumebinder`, `binder` and, where the server did not answer, `resolver`. `teller` tells people, `dump` and `look` show
what is known, `component` wires it all. Whose turn it is comes from `live.queue`; deciding itself is in `engine` and
`levels`.
"""
