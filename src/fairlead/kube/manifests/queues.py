"""Volcano queues and the weights of namespaces."""

from collections.abc import Mapping

from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.objects.meta import Quantities
from fairlead.kube.objects.policy import ResourceQuota
from fairlead.kube.objects.volcano import Queue
from fairlead.model.amounts import amounts
from fairlead.model.errors import InputError
from fairlead.model.selectors import integer
from fairlead.model.snapshot import QueueWish

WEIGHT = "volcano.sh/namespace.weight"


def queue_wishes(found: Catalogue, cluster: str) -> tuple[QueueWish, ...]:
    """The queues of one cluster and those that name none, which are in all of them.

    A queue whose amounts cannot be read is named among the errors and left out.
    """
    wishes = []
    for queue in found.of(Queue):
        if cluster_of(queue) not in ("", cluster):
            continue
        try:
            wishes.append(_wish(queue))
        except InputError as error:
            found.errors.append(error)
    return tuple(wishes)


def _wish(queue: Queue) -> QueueWish:
    name, spec = queue.metadata.name, queue.spec

    def read(field: str, values: Quantities) -> Mapping[str, int]:
        return amounts(values, f"Queue {name}: spec.{field}")

    return QueueWish(
        name=name,
        weight=1 if spec.weight is None else spec.weight,
        parent="" if spec.parent == "root" else spec.parent,
        priority=spec.priority,
        is_open=queue.status.state in ("", "Open"),
        reclaimable=spec.reclaimable is not False,
        capability=read("capability", spec.capability),
        guarantee=read("guarantee.resource", spec.guarantee.resource),
        deserved=read("deserved", spec.deserved),
    )


def namespace_weights(found: Catalogue, cluster: str) -> dict[str, int]:
    """For each namespace the highest valid weight of its quotas; a namespace without one is not listed (it weighs 1).

    A quota that names no cluster counts in all of them.
    """
    weights: dict[str, int] = {}
    for quota in found.of(ResourceQuota):
        given = quota.spec.hard.get(WEIGHT)
        if given is None or cluster_of(quota) not in ("", cluster):
            continue
        weight = integer(str(given)) or 0
        if weight > 0:
            namespace = quota.metadata.namespace or "default"
            weights[namespace] = max(weights.get(namespace, 0), weight)
    return weights
