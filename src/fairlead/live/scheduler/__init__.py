"""The scheduler: pods that name it are grouped by workload, placed as whole groups and bound.

`cache` holds the cluster as columns, `pending` what waits and what would wake it, `cycle` decides, `binder` writes,
`status` tells people, `component` wires it all. Deciding itself is in `engine` and `levels`.
"""
