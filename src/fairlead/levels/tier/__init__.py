"""Tier: which replicas must sit on on-demand nodes and which prefer spot. The verb is `split`.

Here belong the verdict, the minimum it rests on, and the labels by which clouds tell their nodes apart. Selector terms
and patches do not: they are the business of `kube`.
"""
