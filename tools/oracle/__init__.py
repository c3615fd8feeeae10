"""kube-scheduler's own filters as the oracle of feasible nodes, held against Fairlead's on random clusters."""
