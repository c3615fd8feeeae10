"""Fleet: how many replicas each cluster gets. The verb is `divide`."""
