"""Node: how many fit each node, with which cores and volumes, and which nodes get how many. The verb is `place`."""
