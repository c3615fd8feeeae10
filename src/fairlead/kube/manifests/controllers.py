"""What keeps pods, whatever its kind: how many it wants, their template, and those of them that are not there yet."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube.adapters.autoscaler import bounds_of, within
from fairlead.kube.codec.queues import LOCAL_QUEUE, QUEUES
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.objects.karmada import KarmadaCluster
from fairlead.kube.objects.meta import ObjectMeta, OwnerReference
from fairlead.kube.objects.pod import Pod, PodTemplate
from fairlead.kube.objects.workloads import (
    BatchJob,
    Deployment,
    HorizontalPodAutoscaler,
    LocalQueue,
    ReplicaSet,
    RoleController,
    StatefulSet,
)
from fairlead.kube.timestamps import stored

Owners = dict[tuple[str, str], OwnerReference | None]
REPLACED_AT_ONCE = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "Job"})
"""Kinds whose pods have names of their own, so that nothing waits for the end of one that is being deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """One object that keeps `replicas` pods like `template`. `first_ordinal` counts for a StatefulSet only."""

    kind: str
    meta: ObjectMeta
    replicas: int | None
    template: PodTemplate
    first_ordinal: int = 0
    idle: str = ""
    """Why it keeps no pods now."""

    @property
    def key(self) -> str:
        """As that of its workload: KIND/NAMESPACE/NAME."""
        return f"{self.kind}/{self.meta.namespace}/{self.meta.name}"


def controllers(found: Catalogue, cluster: str) -> Iterator[Controller]:
    """Those of one cluster, with no fewer and no more replicas than their autoscalers keep.

    A fleet's own templates are as written: where they are divided, each cluster's autoscaler is of its part alone.
    """
    scalers = found.at(HorizontalPodAutoscaler, cluster)
    if not cluster and bool(scalers) and bool(found.of(KarmadaCluster)):
        found.not_counted["HorizontalPodAutoscaler of a fleet's template"] = len(scalers)
        scalers = []
    bounds = bounds_of(scalers)
    for each in _as_written(found, cluster):
        replicas = within(bounds, each.key, each.replicas)
        yield each if replicas == each.replicas else replace(each, replicas=replicas)


def _as_written(found: Catalogue, cluster: str) -> Iterator[Controller]:
    """A ReplicaSet of a Deployment is the Deployment's own matter."""
    for each in found.at(Deployment, cluster):
        yield Controller(
            kind="Deployment", meta=each.metadata, replicas=each.spec.replicas, template=each.spec.template
        )
    for owned in found.at(StatefulSet, cluster):
        yield Controller(
            kind="StatefulSet",
            meta=owned.metadata,
            replicas=owned.spec.replicas,
            template=owned.spec.template,
            first_ordinal=owned.spec.ordinals.start,
        )
    for job in found.at(BatchJob, cluster):
        yield Controller(
            kind="Job", meta=job.metadata, replicas=_parallel(job), template=job.spec.template, idle=_idle(job)
        )
    for loose in found.at(ReplicaSet, cluster):
        if loose.metadata.controller is None:
            yield Controller(
                kind="ReplicaSet", meta=loose.metadata, replicas=loose.spec.replicas, template=loose.spec.template
            )

    for role in found.at(RoleController, cluster):
        yield Controller(
            kind=role.spec.origin,
            meta=role.metadata,
            replicas=role.spec.replicas,
            template=role.spec.template,
            idle=role.spec.idle,
        )


def local_queues(found: Catalogue) -> dict[tuple[str, str], str]:
    """(namespace, LocalQueue) → the ClusterQueue that it leads to."""
    return {(each.metadata.namespace, each.metadata.name): each.spec.cluster_queue for each in found.of(LocalQueue)}


def _parallel(job: BatchJob) -> int:
    """The pods of a Job at one time: none while it is suspended, no more than are still to complete."""
    wanted = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is not None:
        wanted = min(wanted, max(job.spec.completions - job.status.succeeded, 0))
    return 0 if job.spec.suspend else wanted


def _idle(job: BatchJob) -> str:
    if job.spec.suspend:
        return "it is suspended"
    done = job.spec.completions is not None and job.status.succeeded >= job.spec.completions
    return f"all its {job.spec.completions} completions are done" if done else ""


def missing_pods(found: Catalogue, cluster: str) -> Iterator[tuple[Pod, int]]:
    """For every controller that lacks pods one that waits, called as the controller is, and how many are lacking."""
    queues = local_queues(found)
    owned = pods_by_owner(found.at(Pod, cluster), replica_set_owners(found, cluster))
    there = Counter({key: sum(1 for _ in counted(key, pods)) for key, pods in owned.items()})
    for each in controllers(found, cluster):
        wanted = 1 if each.replicas is None else each.replicas
        if wanted > there[each.key]:
            meta = msgspec.structs.replace(
                each.template.metadata,
                name=each.meta.name,
                namespace=each.meta.namespace,
                creation_timestamp=oldest(owned.get(each.key, ())) or each.meta.creation_timestamp,
                owner_references=(OwnerReference(kind=each.kind, name=each.meta.name, controller=True),),
                annotations={**_queue(each, queues), **each.meta.annotations, **each.template.metadata.annotations},
            )
            yield Pod(metadata=meta, spec=each.template.spec), wanted - there[each.key]


def _queue(each: Controller, queues: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """The annotation that names the queue behind a LocalQueue, where there is one."""
    name = queues.get((each.meta.namespace, each.meta.labels.get(LOCAL_QUEUE, "")))
    return {QUEUES[0]: name} if name else {}


def replica_set_owners(found: Catalogue, cluster: str) -> Owners:
    """(namespace, name) of each ReplicaSet of a cluster → what controls it."""
    return {
        (each.metadata.namespace, each.metadata.name): each.metadata.controller
        for each in found.at(ReplicaSet, cluster)
    }


def pods_by_owner(pods: Iterable[Pod], replica_sets: Owners) -> dict[str, list[Pod]]:
    """The pods that have not ended, by the key of the workload that each belongs to."""
    known: dict[tuple[str, str, str], list[Pod]] = {}
    owned: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if pod.finished:
            continue
        meta = pod.metadata
        controller = meta.controller
        if controller is None:
            owned[owner_key(pod, replica_sets)].append(pod)
            continue
        same = meta.namespace, controller.kind, controller.name
        own = known.get(same)
        if own is None:
            own = known[same] = owned[owner_key(pod, replica_sets)]
        own.append(pod)
    return owned


def counted(key: str, pods: Iterable[Pod]) -> Iterator[Pod]:
    """Those of the pods of a workload that its controller counts.

    In place of a pod that is being deleted it makes another at once, unless that one gets the same name.
    """
    replaced = key.partition("/")[0] in REPLACED_AT_ONCE
    return (pod for pod in pods if not (replaced and pod.metadata.deletion_timestamp is not None))


def leaving(owned: Mapping[str, Iterable[Pod]], known: Container[str]) -> Iterator[Pod]:
    """Pods on nodes that are being deleted and that no workload counts: quotas are charged for them until they end."""
    for key, pods in owned.items():
        if key not in known or key.partition("/")[0] in REPLACED_AT_ONCE:
            yield from (pod for pod in pods if pod.spec.node_name and pod.metadata.deletion_timestamp is not None)


def oldest(pods: Iterable[Pod]) -> str | None:
    """When the first of the pods that stay was created, where that is known: a job is as old as that."""
    times = [pod.metadata.creation_timestamp for pod in pods if pod.metadata.deletion_timestamp is None]
    return min(map(stored, filter(None, times)), default=None)


def owner_key(pod: Pod, replica_sets: Owners) -> str:
    """The key of the workload that a pod belongs to: its controller, or that controller's own."""
    namespace = pod.metadata.namespace
    controller = pod.metadata.controller
    if controller is None:
        return f"Pod/{namespace}/{pod.metadata.name}"
    if controller.kind == "ReplicaSet":
        above = replica_sets.get((pod.metadata.namespace, controller.name))
        if above is not None:
            return f"Deployment/{namespace}/{above.name}"
    return f"{controller.kind}/{namespace}/{controller.name}"
