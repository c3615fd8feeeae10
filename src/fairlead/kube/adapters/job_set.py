"""JobSet (jobset.x-k8s.io): replicated Jobs that start together."""

from collections.abc import Iterator

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """A role a replicated Job: the pods of all its Jobs."""
    spec = spec_of(value)
    roles = list(_roles(spec))
    least = sum(each.replicas for each in roles)
    later = [f"dependsOn of {each.get('name')}" for each in spec.get("replicatedJobs") or () if each.get("dependsOn")]
    return Adapted(roles_of(value, roles, least=max(least, 1)), tuple(later))


def _roles(spec: Value) -> Iterator[PodRole]:
    for each in spec.get("replicatedJobs") or ():
        job = spec_of(each.get("template") or {})
        pods = min(number(job.get("parallelism"), 1), number(job.get("completions"), 2**31))
        idle = "it is suspended" if spec.get("suspend") else ""
        yield PodRole(
            name=str(each.get("name", "")),
            replicas=0 if idle else number(each.get("replicas"), 1) * pods,
            template=job.get("template") or {},
            idle=idle,
        )
