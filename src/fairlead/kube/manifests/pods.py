"""One pod of a plan: what it belongs to, where it runs, or where it would go."""

from fairlead.engine.plan import Plan
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import owner_key, replica_set_owners
from fairlead.kube.manifests.export import written
from fairlead.kube.objects.pod import Pod
from fairlead.model.errors import InputError


def pod_lines(found: Catalogue, plan: Plan, name: str) -> tuple[tuple[str, ...], str]:
    """The pod (its name, or namespace/name) in sentences, and what its workload is called."""
    pods = [pod for pod in found.of(Pod) if name in (pod.metadata.name, _title(pod))]
    if len(pods) != 1:
        what = "no such pod" if not pods else f"{len(pods)} pods are called so"
        raise InputError(name, f"{what} among the manifests; expected NAMESPACE/NAME of one")
    pod = pods[0]
    key = owner_key(pod, replica_set_owners(found, cluster_of(pod)))
    return (f"Pod {_title(pod)}: {_where(found, plan, pod)}", f"  {_whose(key)}."), key


def _whose(key: str) -> str:
    kind, _, title = key.partition("/")
    if kind == "Node":
        return f"It is a static pod of node {title.partition('/')[2]}"
    return "No controller owns it" if kind == "Pod" else f"It belongs to {kind} {title}"


def _title(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _where(found: Catalogue, plan: Plan, pod: Pod) -> str:
    if pod.finished:
        return "it has ended, and takes no room."
    if pod.spec.node_name:
        if not any(pod.spec.node_name in site.site.nodes.rows for site in plan.sites):
            return f"it runs on {pod.spec.node_name}, which is not among the manifests; planned as if not running."
        leaving = " and is being deleted" if pod.metadata.deletion_timestamp is not None else ""
        return f"it runs on {pod.spec.node_name}{leaving}; a plan does not move it."
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted before it had a node, and gets none."
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return f"it waits behind the scheduling gate {gates}."
    for each in written(found, plan):
        meta = each["metadata"]
        if each["kind"] == "Binding" and (meta["namespace"], meta["name"]) == (
            pod.metadata.namespace,
            pod.metadata.name,
        ):
            return f"it waits, and would go to {each['target']['name']}."
    return "it waits, and the plan has no place for it."
