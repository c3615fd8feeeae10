"""Disk: which node and which disk gets a storage replica. The verb is `balance`."""
