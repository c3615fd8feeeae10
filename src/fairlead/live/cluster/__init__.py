"""What the scheduler knows of the cluster, and the types that pass between deciding and acting.

`cache` holds nodes and running pods as columns, fed by watches and a step ahead of them for pods just placed;
`records`, `columns`, `cores`, `rules` and `storage` are its parts. `pod_sets` and `turn_types` are what a decision
takes and returns. Deciding, writing and waiting belong in `live.queue` and `live.scheduler`, which import this package.
"""
