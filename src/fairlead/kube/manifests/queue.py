"""Volcano's Queues and PodGroups with their Pods, quotas, budgets and nodes as the tables of the queue level."""

from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from dataclasses import replace
from math import inf

from fairlead.dataclass import dataclass
from fairlead.engine.site_fits import FitsRole
from fairlead.kube.codec.memo import Shapes
from fairlead.kube.codec.nodes import node_records, taints_of
from fairlead.kube.codec.queues import (
    DEFAULT,
    SYSTEM,
    Like,
    bounds_of,
    default_class,
    default_priority,
    held_rows,
    namespace_weights,
    queue_fields,
    queue_rows,
    succeeded_of,
)
from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.codec.shapes import selector, shape
from fairlead.kube.codec.volcano_fields import may_wait, unmet
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.manifests.controllers import Owners, missing_pods, owner_key, replica_set_owners
from fairlead.kube.manifests.site_pods import site_pods
from fairlead.kube.manifests.volume_claims import NOTHING
from fairlead.kube.manifests.waiting_claims import WaitingClaims
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import Namespace, PodDisruptionBudget, PriorityClass, ResourceQuota
from fairlead.kube.objects.volcano import PodGroup, VolcanoQueue
from fairlead.kube.timestamps import seconds, stored
from fairlead.model.amounts import LARGEST, WHOLE, bounded
from fairlead.model.claims import ClaimDemand
from fairlead.model.errors import InputError
from fairlead.model.jobs import UNSET
from fairlead.model.nodestate import NodeState, node_state
from fairlead.model.order import natural_key
from fairlead.model.population import Population
from fairlead.model.queuestate import QueuedJob, QueueEntry, QueueState, Role, minimums, queue_state
from fairlead.model.selectors import Term, tolerated
from fairlead.model.shape import Shape

SCHEDULERS = ("volcano", "fairlead")
NEVER = "Never"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What makes pods of one group one role."""

    task: str
    request: tuple[tuple[str, int], ...]
    nodes: frozenset[str]
    shape: Shape | None
    """Where some pod of the cluster has rules about its neighbours, or claims."""
    claims: ClaimDemand


class _Reader:
    """The objects of one cluster, looked up while its jobs are put together."""

    def __init__(self, found: Catalogue) -> None:
        # In an order that does not depend on that of the objects.
        self.nodes = sorted(found.of(Node), key=lambda node: natural_key(node.metadata.name))
        self.pods = sorted((pod for pod in found.of(Pod) if not pod.finished), key=_by_name)
        self.succeeded = succeeded_of(found.of(Pod))
        self.classes = SYSTEM | {each.metadata.name: each.value for each in found.of(PriorityClass)}
        self.default_priority = default_priority(found.of(PriorityClass))
        self._default = default_class(found.of(PriorityClass))
        self._never = {each.metadata.name for each in found.of(PriorityClass) if each.preemption_policy == NEVER}
        self.budgets = found.of(PodDisruptionBudget)
        self.newest = max((_created(pod.metadata) or 0.0 for pod in self.pods), default=0.0)
        """The latest moment that the manifests tell of: it is no earlier than that."""
        self.namespaces = found.of(Namespace)
        self.shapes = Shapes()
        self.state = node_state(node_records(self.nodes, self.pods))
        self.claims = WaitingClaims(found, _clusters(found), self.state)
        self.asks_nodes = self.claims.any
        """Whether sums over nodes are no answer: some pod has rules about its neighbours, or claims."""
        self._nodes_of: dict[Shape, frozenset[str]] = {}

    def priority(self, pod: Pod) -> int:
        """The pod's own, else its class's, else the default."""
        if pod.spec.priority is not None:
            return pod.spec.priority
        return self.classes.get(pod.spec.priority_class_name, self.default_priority)

    def preempts(self, pod: Pod) -> bool:
        """Its own policy and its class's; a server has written both where the pod has a priority but no class."""
        name, default = pod.spec.priority_class_name, self._default
        if not name and pod.spec.priority is None and not pod.spec.preemption_policy and default is not None:
            name = default.metadata.name
        return pod.spec.preemption_policy != NEVER and name not in self._never

    def group_priority(self, name: str, pods: Sequence[Pod]) -> int:
        """That of the class a group names; else the highest of its pods."""
        if name in self.classes:
            return self.classes[name]
        return max((self.priority(pod) for pod in pods), default=self.default_priority)

    def budget(self, pod: Pod) -> int:
        """The tightest disruption budget that covers the pod, UNSET where none does."""
        covering = [
            row
            for row, budget in enumerate(self.budgets)
            if budget.metadata.namespace == pod.metadata.namespace
            if (chosen := selector(budget.spec.selector)) is not None and chosen.selects(pod.metadata.labels)
        ]
        return min(covering, key=lambda row: self.budgets[row].status.disruptions_allowed, default=UNSET)

    def nodes_of(self, pod: Pod) -> frozenset[str]:
        """The nodes a pod may run on by selector, affinity and taints."""
        wanted = shape(pod.metadata.namespace, {}, pod.spec)
        if wanted not in self._nodes_of:
            self._nodes_of[wanted] = frozenset(node.metadata.name for node in self.nodes if _suits(node, wanted))
        return self._nodes_of[wanted]

    def shape(self, pod: Pod) -> Shape:
        """Everything that decides where the pod may run."""
        return self.shapes.of(pod.metadata.namespace, pod.metadata.labels, pod.spec)[0]

    def roles(self, pods: Sequence[Pod], tasks: dict[str, int]) -> tuple[Role, ...]:
        """Pods that are alike, together."""
        kinds: dict[_Kind, list[Pod]] = defaultdict(list)
        for pod in pods:
            asked = tuple(sorted(request_of_pod(pod).items()))
            formed = self.shape(pod) if self.asks_nodes else None
            claims = self.claims.next_demand(pod)
            kinds[_Kind(queue_fields(pod).task, asked, self.nodes_of(pod), formed, claims)].append(pod)
        least, short = minimums(tasks, [(kind, kind.task, len(alike)) for kind, alike in kinds.items()])
        roles = [
            Role(
                name=kind.task,
                replicas=len(alike),
                request=dict(kind.request),
                minimum=least[kind],
                held=held_rows(self._running(pod) for pod in alike if pod.spec.node_name),
                nodes=kind.nodes,
                shape=kind.shape,
                claims=kind.claims,
            )
            for kind, alike in kinds.items()
        ]
        # A minimum that no pod can meet keeps the gang from starting, as it should.
        roles.extend(Role(name=task, replicas=0, request={}, minimum=number) for task, number in short.items())
        return tuple(roles)

    def fits_role(self, job: QueuedJob, role: Role) -> FitsRole | None:
        """The role as nodes see it; None for one without replicas."""
        if role.shape is None:
            return None
        demand, claims = role.claims or NOTHING, self.claims
        filters = None if demand == NOTHING else lambda: claims.filters(job.namespace, demand)
        return FitsRole(workload=job.name, shape=role.shape, filters=filters)

    def _running(self, pod: Pod) -> tuple[str, str, Like]:
        meta, fields = pod.metadata, queue_fields(pod)
        free_to_go = fields.preemptable and meta.deletion_timestamp is None and fields.cools_until <= self.newest
        like = pod.spec.node_name, self.priority(pod), free_to_go, fields.protected, self.budget(pod)
        return f"{meta.namespace}/{meta.name}", stored(meta.creation_timestamp or ""), like


def _by_name(pod: Pod) -> tuple[object, ...]:
    return natural_key(f"{pod.metadata.namespace}/{pod.metadata.name}"), owner_key(pod, {})


def _suits(node: Node, wanted: Shape) -> bool:
    """Whether a pod of this shape may run on the node at all."""
    if not tolerated(taints_of(node), wanted.tolerations):
        return False
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in wanted.node_selector):
        return False
    terms = wanted.required
    return terms is None or any(_term(term, labels, node.metadata.name) for term in terms)


def _term(term: Term, labels: dict[str, str], name: str) -> bool:
    return bool(term.labels or term.fields) and (
        all(each.holds(labels.get(each.key)) for each in term.labels)
        and all(each.holds(name if each.key == "metadata.name" else None) for each in term.fields)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueManifests:
    """The tables, and the node level's answer to what fits where pods have rules about their neighbours."""

    state: QueueState
    nodes: NodeState | None = None
    population: Population = Population()
    roles: tuple[FitsRole | None, ...] = ()


def queue_of(found: Catalogue, *, planned: bool = False) -> QueueManifests:
    """The cluster as the queue level sees it.

    A PodGroup is a job; pods of ours without one are a job by their controller, as in the live scheduler, and a bare
    pod is one of its own; other running pods only take room. Without any Queue there is one, `default`.
    `planned`: as in a plan, whatever waits is ours to place, pods that a controller has not created yet wait too, and
    `default` is there for those who name none whatever other queues there are.
    """
    reader = _Reader(found)
    grouped: dict[str, list[Pod]] = defaultdict(list)
    alone: dict[str, list[Pod]] = defaultdict(list)
    other: list[Pod] = []
    groups = groups_of(found)
    owners = owners_of(found)
    coming = [] if not planned else [each for name in _clusters(found) for each in missing_pods(found, name)]
    coming.sort(key=lambda each: _by_name(each[0]))
    for pod, count in (*((pod, 1) for pod in reader.pods), *coming):
        job = job_of(pod, groups, owners)
        # One that is being deleted is a member of nothing any more; what it holds is shared and not free yet.
        stays = pod.metadata.deletion_timestamp is None
        if job in groups:
            grouped[job] += [pod] * count if stays else ()
        elif _ours(pod) or (planned and not pod.spec.node_name):
            if stays and not pod.spec.scheduling_gates:
                alone[job] += [pod] * count
        else:
            other.append(pod)
    everybody = [*reader.pods, *(pod for pod, _ in coming)]
    reader.asks_nodes = reader.asks_nodes or any(_minds_neighbours(reader.shape(pod)) for pod in everybody)
    jobs = [_job(reader, group, grouped[key]) for key, group in groups.items()]
    called = Counter(map(short_name, (*groups, *alone)))
    for key, pods in alone.items():
        name = short_name(key)
        made = _ungrouped(reader, name if called[name] == 1 else key, pods)
        jobs.append(replace(made, sorts_as=natural_key(name)))
    jobs.sort(key=lambda each: natural_key(each.name))
    free, whole = _room(reader, other)
    state = queue_state(
        jobs=jobs,
        queues=_queues(found, jobs if planned else ()),
        weights=namespace_weights(found.of(ResourceQuota)),
        past={},
        whole=whole,
        free=free,
        allowed=[budget.status.disruptions_allowed for budget in reader.budgets],
    )
    if not reader.asks_nodes:
        return QueueManifests(state=state)
    return QueueManifests(
        state=state,
        nodes=reader.state,
        population=site_pods(reader.pods).population(reader.state, reader.namespaces),
        roles=tuple(reader.fits_role(job, role) for job in jobs for role in job.roles),
    )


def _queues(found: Catalogue, planned: Sequence[QueuedJob]) -> list[QueueEntry]:
    declared = queue_rows(found.of(VolcanoQueue))
    named = {DEFAULT} & {job.queue for job in planned} - {queue.name for queue in declared}
    return [*declared, QueueEntry(name=DEFAULT)] if named or not declared else declared


def _minds_neighbours(shape: Shape) -> bool:
    return bool(shape.near or shape.far or shape.spread or shape.ports)


def _clusters(found: Catalogue) -> list[str]:
    return sorted({"", *(cluster_of(each) for each in found.of(Node))})


def _group_of(pod: Pod) -> str:
    fields = queue_fields(pod)
    return fields.group or fields.native


def groups_of(found: Catalogue) -> dict[str, PodGroup]:
    """Every PodGroup by the name of its job."""
    return {f"{each.metadata.namespace}/{each.metadata.name}": each for each in found.of(PodGroup)}


def owners_of(found: Catalogue) -> Owners:
    """What controls each ReplicaSet, where they are known."""
    return {key: owner for name in _clusters(found) for key, owner in replica_set_owners(found, name).items()}


def job_of(pod: Pod, groups: Container[str], owners: Owners) -> str:
    """The key of the job that a pod belongs to: its group where there is one (`shop/g`), else its controller or itself
    (`ReplicaSet/shop/web-1`, `Pod/shop/p`), with `@queue` where the pod names one.
    """
    group = f"{pod.metadata.namespace}/{_group_of(pod)}"
    if group in groups:
        return group
    key, queue = owner_key(pod, owners), queue_fields(pod).queue
    return f"{key}@{queue}" if queue else key


def short_name(key: str) -> str:
    """What the job with this key is called, unless another is called so too: `shop/g`, `shop/web-1`, `shop/p`."""
    return "/".join(key.partition("@")[0].split("/")[-2:])


def _ours(pod: Pod) -> bool:
    """Whether a pod without a group waits for the queues, or runs by them."""
    return bool(_group_of(pod) or queue_fields(pod).queue) or pod.spec.scheduler_name in SCHEDULERS


def _job(reader: _Reader, group: PodGroup, pods: list[Pod]) -> QueuedJob:
    spec, meta = group.spec, group.metadata
    floor = bounds_of(spec.min_resources, f"PodGroup {meta.namespace}/{meta.name}: spec.minResources")
    done = reader.succeeded[meta.namespace, meta.name]
    alive = [pod for pod in pods if pod.spec.node_name or not pod.spec.scheduling_gates]
    return QueuedJob(
        name=f"{meta.namespace}/{meta.name}",
        queue=spec.queue or next((queue for pod in pods if (queue := queue_fields(pod).queue)), DEFAULT),
        namespace=meta.namespace,
        roles=reader.roles(alive, {} if done else spec.min_task_member),
        min_member=max(0, (1 if spec.min_member is None else spec.min_member) - done),
        min_resources={} if done else floor,
        priority=reader.group_priority(spec.priority_class_name, pods),
        created=_age(meta, *(pod.metadata for pod in pods)),
        since=int(_created(meta) or UNSET),
        preempts=all(reader.preempts(pod) for pod in pods if not pod.spec.node_name),
        unmet=unmet(group),
        may_wait=may_wait(meta.annotations),
    )


def _ungrouped(reader: _Reader, name: str, pods: Sequence[Pod]) -> QueuedJob:
    """Pods of one controller and queue, or a bare pod."""
    waiting = [pod for pod in pods if not pod.spec.node_name]
    created = [time for pod in pods if (time := _created(pod.metadata)) is not None]
    begun = [time for pod in waiting if (time := _created(pod.metadata)) is not None]
    return QueuedJob(
        name=name,
        queue=queue_fields(pods[0]).queue or DEFAULT,
        namespace=pods[0].metadata.namespace,
        roles=reader.roles(pods, {}),
        priority=max(map(reader.priority, pods)),
        created=min(created, default=inf),
        since=int(min(begun or created, default=UNSET)),
        preempts=all(reader.preempts(pod) for pod in waiting),
    )


def _age(meta: ObjectMeta, *members: ObjectMeta) -> float:
    """When it was created, else the first of its members; what has no time is younger than all that has one."""
    created = _created(meta)
    if created is None:
        return min((time for each in members if (time := _created(each)) is not None), default=inf)
    return created


def _created(meta: ObjectMeta) -> float | None:
    return None if meta.creation_timestamp is None else seconds(stored(meta.creation_timestamp))


def _room(reader: _Reader, other: Sequence[Pod]) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """What is free on each node, and the whole: what nodes may hold, less what pods of others hold there.

    A node that takes no new pods, be it cordoned or not ready, counts with what its pods hold, and one on which others
    hold too much offers nothing.
    """
    if not reader.nodes:
        raise InputError("", "there is no Node among the manifests; expected at least one")
    free = {
        node.metadata.name: bounded(node.status.allocatable, LARGEST, f"Node {node.metadata.name}: status.allocatable")
        for node in reader.nodes
    }
    names, shut = reader.state.names, reader.state.unschedulable.tolist()
    closed = {name for name, each in zip(names, shut, strict=True) if each}
    offered = {node.metadata.name: dict(free[node.metadata.name]) for node in reader.nodes}
    whole: dict[str, int] = defaultdict(int)
    strangers = {id(pod) for pod in other}
    for pod in reader.pods:
        node_name = pod.spec.node_name
        if node_name not in free:
            continue
        for name, amount in request_of_pod(pod).items():
            free[node_name][name] = max(free[node_name].get(name, 0) - amount, -WHOLE)
            if id(pod) in strangers:
                offered[node_name][name] = offered[node_name].get(name, 0) - amount
            elif node_name in closed and pod.metadata.deletion_timestamp is None:
                whole[name] += amount
    for node_name, amounts in offered.items():
        for name, amount in amounts.items():
            whole[name] += 0 if node_name in closed else max(0, amount)
    return free, dict(whole)
