"""ReplicationController: what ReplicaSets were before there were Deployments."""

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """One role."""
    spec = spec_of(value)
    role = PodRole(name="", replicas=number(spec.get("replicas"), 1), template=spec.get("template") or {})
    return Adapted(roles_of(value, [role]))
