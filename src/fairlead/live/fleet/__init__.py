"""`fairlead fleet`: Karmada's bindings that name this scheduler, divided over clusters.

How replicas are divided does not belong here (`fairlead.levels.fleet`), nor how Karmada's objects are read
(`fairlead.kube.codec`).
"""
