"""Fleet: how many replicas each cluster gets. The verb is `divide`, and `divide_all` for a whole batch.

Here belong the rules of dividing over clusters and of choosing clusters. Reading Karmada's objects does not
(`kube.codec`), nor writing results (`live.fleet`).
"""
