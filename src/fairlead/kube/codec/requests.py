"""What a pod asks for, as the API defines it: containers, init containers, sidecars, overhead, pod-level resources."""

from collections.abc import Mapping

from fairlead.kube.objects.meta import Quantities
from fairlead.kube.objects.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus, Resources
from fairlead.model.amounts import BEYOND, bounded

PODS = "pods"
POD_LEVEL = ("cpu", "memory")
"""Resources that may be set for the pod as a whole (huge pages too, by prefix); they replace the containers' sum."""
RESIZE_PENDING, INFEASIBLE = "PodResizePending", "Infeasible"
NO_STATUS = PodStatus()

Amounts = dict[str, int]


def request(spec: PodSpec, status: PodStatus = NO_STATUS) -> Amounts:
    """The amounts that placing one such pod takes on a node, one of `pods` among them; sums saturate at BEYOND.

    With the status of a running pod a resize in place counts as kube-scheduler counts it (decisions/0228): the largest
    of what is asked for, allocated and in force, because the kubelet frees the old amount only when the new one is in
    force; without what is asked for where the kubelet has refused the resize as infeasible.
    """
    held = {each.name: each for each in (*status.container_statuses, *status.init_container_statuses)}
    refused = infeasible(status)
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, _container(container, held, refused))
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _sum(sidecars, _asked(container.resources)))
    total = sidecars
    for container in spec.containers:
        total = _sum(total, _container(container, held, refused))
    total = _most(total, peak)
    if spec.resources is not None:
        total |= _of_pod(spec.resources, total, status, refused)
    total = _sum(total, bounded(spec.overhead, BEYOND, "overhead"))
    return {PODS: 1, **{name: value for name, value in total.items() if value > 0}}


def request_of_pod(pod: Pod) -> Amounts:
    """`request` of a pod that exists."""
    return request(pod.spec, pod.status)


def resized(status: PodStatus) -> bool:
    """Whether the status says what is in force, so that the spec alone does not tell the request."""
    if status.resources is not None:
        return True
    for statuses in (status.container_statuses, status.init_container_statuses):
        for each in statuses:
            if each.resources is not None:
                return True
    return False


def infeasible(status: PodStatus) -> bool:
    """Whether the kubelet has refused the resize that the spec asks for."""
    pending = next((each for each in status.conditions if each.type == RESIZE_PENDING), None)
    return pending is not None and pending.reason == INFEASIBLE


def _container(container: Container, held: Mapping[str, ContainerStatus], refused: bool) -> Amounts:
    asked, status = _asked(container.resources), held.get(container.name)
    if status is None or status.resources is None:
        return asked
    return _in_force(asked, status.resources, status.allocated_resources, refused)


def _of_pod(resources: Resources, containers: Amounts, status: PodStatus, refused: bool) -> Amounts:
    """What the pod as a whole asks for; amounts that no pod can ask for as a whole are left out.

    A limit stands in for a missing request only where no container requests the resource.
    """
    given = {*resources.requests, *(resources.limits.keys() - containers.keys())}
    asked = {name: value for name, value in _asked(resources).items() if _pod_level(name) and name in given}
    if status.resources is None:
        return asked
    effective = _in_force(asked, status.resources, status.allocated_resources, refused)
    return {name: effective.get(name, 0) for name in asked}


def _in_force(asked: Amounts, current: Resources, allocated: Quantities, refused: bool) -> Amounts:
    held = bounded(current.requests, BEYOND, "resources"), bounded(allocated, BEYOND, "allocatedResources")
    return _most(*held) if refused else _most(asked, *held)


def _asked(resources: Resources) -> Amounts:
    """Requests; where one is missing its limit stands in, as the API server would fill it in."""
    return bounded({**resources.limits, **resources.requests}, BEYOND, "requests")


def _pod_level(name: str) -> bool:
    return name in POD_LEVEL or name.startswith("hugepages-")


def _sum(left: Amounts, right: Amounts) -> Amounts:
    return {name: min(left.get(name, 0) + right.get(name, 0), BEYOND) for name in (*left, *right)}


def _most(*lists: Amounts) -> Amounts:
    names = {name for each in lists for name in each}
    return {name: max(each.get(name, 0) for each in lists) for name in sorted(names)}
