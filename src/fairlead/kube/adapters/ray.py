"""RayCluster and RayJob (ray.io): a head and groups of workers that start together."""

from collections.abc import Iterator

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """The head, and a role a group of workers; a RayJob has the spec of its cluster inside."""
    spec, is_job = spec_of(value), value["kind"] == "RayJob"
    cluster = (spec.get("rayClusterSpec") or {}) if is_job else spec
    roles = list(_roles(cluster, bool(spec.get("suspend"))))
    least = sum(each.replicas for each in roles)
    return Adapted(roles_of(value, roles, least=max(least, 1)), ("the pod that submits the job",) if is_job else ())


def _roles(cluster: Value, suspended: bool) -> Iterator[PodRole]:
    idle = "it is suspended" if suspended else ""
    head = cluster.get("headGroupSpec") or {}
    yield PodRole(name="head", replicas=0 if idle else 1, template=head.get("template") or {}, idle=idle)
    for group in cluster.get("workerGroupSpecs") or ():
        rest = idle or ("it is suspended" if group.get("suspend") else "")
        most = number(group.get("maxReplicas"), 2**31)
        wanted = min(max(number(group.get("replicas"), 0), number(group.get("minReplicas"), 0)), most)
        yield PodRole(
            name=str(group.get("groupName", "")),
            replicas=0 if rest else wanted * max(number(group.get("numOfHosts"), 1), 1),
            template=group.get("template") or {},
            idle=rest,
        )
