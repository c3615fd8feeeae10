"""Node: how many fit each node, with which cores and volumes, and which nodes get how many. The verb is `place`.

Here belong capacities by resource (`capacity` and the modules it calls), pins, resizes, the strategies, and the
constraints of a replica's shape. Reading problems and manifests does not, nor printing.
"""
