"""Room taken from running replicas: who may be a victim, which victims are tried first, the search for the fewest,
and the potential that every preemption has to improve (docs/decisions/0062, 0161).
"""
