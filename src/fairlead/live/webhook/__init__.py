"""The webhook that gives new pods their tier, and what keeps its count exact.

`admit` is the flow from a review to an answer, without I/O: `fairlead split` runs it on files, the server on a
cluster.
"""
