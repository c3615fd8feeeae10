"""Disk: which node and which disk gets a storage replica. The verb is `balance`.

Here belong the filters of a disk, the score of a placement, the choice, and the advice on moves. What a manifest
looks like does not (`kube`), nor when a replica is written (`live`).
"""
