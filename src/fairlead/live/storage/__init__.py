"""`fairlead storage`: advice on Longhorn's storage replicas, and where it is told to act, a disk for those that wait.

How a disk is chosen does not belong here (`fairlead.levels.disk`), nor how Longhorn's objects are read
(`fairlead.kube.codec`).
"""
