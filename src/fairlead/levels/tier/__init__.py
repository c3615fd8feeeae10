"""Tier: which replicas must sit on on-demand nodes and which prefer spot. The verb is `split`."""
