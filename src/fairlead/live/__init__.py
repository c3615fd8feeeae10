"""The components that act on a cluster, one package each, and what they share (`runtime`).

A component watches, calls the same pure functions as `fairlead plan`, and writes through `kube`.
"""
