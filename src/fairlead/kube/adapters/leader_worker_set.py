"""LeaderWorkerSet (leaderworkerset.x-k8s.io): groups of a leader and its workers, each group a gang."""

from fairlead.kube.adapters.adapted import Adapted, PodRole, Value, number, roles_of, spec_of


def adapt(value: Value) -> Adapted:
    """For every group its leader and its workers, which start together."""
    spec = spec_of(value)
    template = spec.get("leaderWorkerTemplate") or {}
    workers = template.get("workerTemplate") or {}
    size = max(number(template.get("size"), 1), 1)
    made: list[Value] = []
    for group in range(number(spec.get("replicas"), 1)):
        meta = {**(value.get("metadata") or {}), "name": f"{(value.get('metadata') or {}).get('name', '')}-{group}"}
        roles = [PodRole(name="leader", replicas=1, template=template.get("leaderTemplate") or workers)]
        if size > 1:
            roles.append(PodRole(name="workers", replicas=size - 1, template=workers))
        made += roles_of({**value, "metadata": meta}, roles, least=size)
    return Adapted(tuple(made))
