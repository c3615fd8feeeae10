"""What a pod asks for, as the API defines it: containers, init containers, sidecars, overhead, pod-level resources."""

from collections.abc import Iterable, Mapping

from fairlead.kube.objects.meta import Quantities
from fairlead.kube.objects.pod import Container, ContainerStatus, Pod, PodSpec, Resources
from fairlead.model.amounts import BEYOND, bounded

PODS = "pods"
POD_LEVEL = ("cpu", "memory")
"""Resources that may be set for the pod as a whole (huge pages too, by prefix); they replace the containers' sum."""

Amounts = dict[str, int]


def request(spec: PodSpec, statuses: Iterable[ContainerStatus] = ()) -> Amounts:
    """The amounts that placing one such pod takes on a node, one of `pods` among them; sums saturate at BEYOND.

    With the statuses of a running pod a resize under way counts with the larger of old and new, because the kubelet
    frees the old amount only when the new one is in force.
    """
    held = {status.name: status for status in statuses}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        own = _container(container, held)
        if container.restart_policy == "Always":
            sidecars = _sum(sidecars, own)
            peak = _most(peak, sidecars)
        else:
            peak = _most(peak, _sum(sidecars, own))
    total = sidecars
    for container in spec.containers:
        total = _sum(total, _container(container, held))
    total = _most(total, peak)
    if spec.resources is not None:
        total |= {name: value for name, value in _asked(spec.resources).items() if _pod_level(name)}
    total = _sum(total, bounded(spec.overhead, BEYOND, "overhead"))
    return {PODS: 1, **{name: value for name, value in total.items() if value > 0}}


def request_of_pod(pod: Pod) -> Amounts:
    """`request` of a pod that exists."""
    return request(pod.spec, (*pod.status.init_container_statuses, *pod.status.container_statuses))


def _container(container: Container, held: Mapping[str, ContainerStatus]) -> Amounts:
    asked = _asked(container.resources)
    status = held.get(container.name)
    if status is None:
        return asked
    current: Quantities = status.resources.requests if status.resources else {}
    allocated = bounded(status.allocated_resources, BEYOND, "allocatedResources")
    return _most(asked, allocated, bounded(current, BEYOND, "resources"))


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
