"""Tier: which replicas must sit on on-demand nodes and which prefer spot. The verb is `split`.

Here belong the verdict and the minimum it rests on. Node labels, selector terms and patches do not: they are the
business of `kube`.
"""
