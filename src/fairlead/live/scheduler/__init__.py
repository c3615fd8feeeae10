"""The scheduler: pods that name it are grouped by workload, placed as whole groups and bound.

`cache` holds the cluster as columns, `storage`, `rules` and `cores` what is looked up beside them, `pending` what
waits and what would wake it. `decide` places groups, `binder` and `volumebinder` write, `teller` tells people, `dump`
and `look` show what is known, `component` wires it all. Whose turn it is comes from `live.queue`; deciding itself is
in `engine` and `levels`.
"""
