"""kube-scheduler's own filters as the oracle of which nodes are feasible, held against Fairlead's on random clusters."""
