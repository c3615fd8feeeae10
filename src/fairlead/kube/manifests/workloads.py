"""Deployments, StatefulSets, Jobs and loose pods to workloads, with what of them runs already and where."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.admission.rules import MINIMUM, exempt, requires_on_demand
from fairlead.kube.codec.queues import (
    GROUPS,
    LOCAL_QUEUE,
    QUEUES,
    SYSTEM,
    TASK,
    bounds_of,
    default_priority,
    named,
    succeeded_of,
)
from fairlead.kube.codec.shapes import shape
from fairlead.kube.codec.volcano_fields import REVOCABLE, unmet
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.controllers import controllers, counted, local_queues, oldest
from fairlead.kube.manifests.limits import LimitRanges
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.kube.objects.pod import Pod, PodSpec, PodTemplate
from fairlead.kube.objects.policy import LimitRange, PriorityClass
from fairlead.kube.objects.storage import PersistentVolumeClaim
from fairlead.kube.objects.volcano import PodGroup
from fairlead.kube.objects.workloads import StatefulSet
from fairlead.kube.timestamps import stored
from fairlead.model.errors import InputError
from fairlead.model.tiers import Tiers
from fairlead.model.workload import AUTO, Workload, odd_strategy, strategy_named

STRATEGY = "fairlead.io/strategy"
TOPOLOGY = tuple(
    f"kueue.x-k8s.io/podset-{each}" for each in ("required-topology", "preferred-topology", "slice-required-topology")
)
"""Annotations of a template by which Kueue keeps its pods close together; they are told, not obeyed."""


@dataclass(slots=True)
class Running:
    """The node of each bound pod of one workload, and of those that must stay on on-demand nodes."""

    nodes: list[str] = field(default_factory=list)
    required: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Workloads:
    """The workloads of one cluster and what runs of each, by key."""

    workloads: list[Workload] = field(default_factory=list)
    running: dict[str, Running] = field(default_factory=lambda: defaultdict(Running))


class Reader:
    """Reads workloads of a catalogue. Groups and priorities are looked up by name."""

    def __init__(self, found: Catalogue, strategy: str = AUTO) -> None:
        self._groups = {(each.metadata.namespace, each.metadata.name): each for each in found.of(PodGroup)}
        classes = found.of(PriorityClass)
        self._priorities = SYSTEM | {each.metadata.name: each.value for each in classes}
        self._default_priority = default_priority(classes)
        self._succeeded = succeeded_of(found.of(Pod))
        self._local = local_queues(found)
        self._strategy = strategy
        self._errors = found.errors
        self._not_counted = found.not_counted
        self._limits = LimitRanges(found.of(LimitRange), found.not_counted)
        self._templates = {
            (each.metadata.namespace, each.metadata.name): each.spec.volume_claim_templates
            for each in found.of(StatefulSet)
        }
        found.errors.extend(self._refused_claims(found))

    def controllers(self, found: Catalogue, cluster: str) -> Iterator[Workload]:
        """Workloads that a controller keeps, of one cluster."""
        for each in controllers(found, cluster):
            for workload in self.read(each.kind, each.meta, each.replicas, each.template, each.first_ordinal):
                yield replace(workload, idle=each.idle) if each.idle else workload

    def attach(self, owned: Mapping[str, Sequence[Pod]], known: Iterable[Workload], tiers: Tiers) -> Workloads:
        """The known workloads with the pods that they own; pods without a known workload are added."""
        result = Workloads([self._aged(each, owned.get(each.key, ())) for each in known])
        keys = {each.key for each in result.workloads}
        for key, pods in owned.items():
            if key in keys:
                _count(result.running[key], counted(key, pods), tiers)
            else:
                self._add_loose(result, key, pods, tiers)
        return result

    def _aged(self, workload: Workload, pods: Sequence[Pod]) -> Workload:
        """As old as its gang, else as the first of its pods, else as it is: by that age its turn comes live, too."""
        group = self._groups.get((workload.namespace, workload.gang.rpartition("/")[2]))
        created = None if group is not None and group.metadata.creation_timestamp else oldest(pods)
        return replace(workload, created=created) if created else workload

    def _add_loose(self, result: Workloads, key: str, pods: Sequence[Pod], tiers: Tiers) -> None:
        """Pods whose owner is not among the manifests: as many replicas as there are pods, shaped like the first by
        name of those that wait, and as old as the oldest.

        One that is being deleted is a member of nothing any more; it only takes room.
        """
        pods = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
        if not pods:
            return
        kind, namespace, name = key.split("/", 2)
        first = min((pod for pod in pods if not pod.spec.node_name), key=_name, default=None) or min(pods, key=_name)
        template = PodTemplate(metadata=first.metadata, spec=first.spec)
        meta = ObjectMeta(name=name, namespace=namespace, creation_timestamp=oldest(pods))
        for workload in self.read(kind, meta, len(pods), template):
            result.workloads.append(workload)
            _count(result.running[key], pods, tiers)

    def read(
        self, kind: str, meta: ObjectMeta, replicas: int | None, template: PodTemplate, first_ordinal: int = 0
    ) -> Iterator[Workload]:
        """One workload, or none where its template cannot be read: the error is recorded."""
        namespace = meta.namespace
        annotations = {**meta.annotations, **template.metadata.labels, **template.metadata.annotations}
        group = self._groups.get((namespace, named(annotations, GROUPS)))
        spec = template.spec if kind == "Pod" else self._limits.applied(namespace, template.spec)
        self._not_counted.update(f"{kind} with {each}" for each in (*TOPOLOGY, REVOCABLE) if each in annotations)
        try:
            formed = shape(namespace, template.metadata.labels, spec)
            gang = _gang(group, self._succeeded) if group else {}
            held = (
                held_back(spec)
                or odd_strategy(STRATEGY, annotations.get(STRATEGY, ""))
                or _unmet(group)
                or self._limits.broken(namespace, spec)
                or self._refused(kind, meta, spec)
            )
        except InputError as error:
            self._errors.append(error.within(f"{kind} {namespace}/{meta.name}: "))
            return
        yield Workload(
            kind=kind,
            namespace=namespace,
            name=meta.name,
            uid=meta.uid or f"{namespace}/{meta.name}",
            replicas=1 if replicas is None else max(replicas, 0),
            shape=formed,
            tiered=kind in ("Deployment", "StatefulSet"),
            min_available=meta.annotations.get(MINIMUM),
            first_ordinal=first_ordinal,
            held=held,
            exempt=exempt(template.spec.priority_class_name, template.metadata.labels, meta.labels),
            queue=self._queue(namespace, group, annotations, meta),
            gang=f"{namespace}/{group.metadata.name}" if group else "",
            priority=self._priority(template, group),
            task=annotations.get(TASK, ""),
            created=stored((group and group.metadata.creation_timestamp) or meta.creation_timestamp or ""),
            strategy=strategy_named(annotations.get(STRATEGY, self._strategy)),
            **gang,
        )

    def _refused(self, kind: str, meta: ObjectMeta, spec: PodSpec) -> str:
        """The bound that a claim which is made for each replica breaks."""
        namespace = meta.namespace
        own = self._templates.get((namespace, meta.name), ()) if kind == "StatefulSet" else ()
        made = [(each.metadata.name, each.spec) for each in own]
        for volume in spec.volumes:
            if volume.ephemeral is not None:
                made.append((volume.name, volume.ephemeral.volume_claim_template.spec))
        return next(filter(None, (self._limits.broken_claim(namespace, *each) for each in made)), "")

    def _refused_claims(self, found: Catalogue) -> Iterator[InputError]:
        """Claims that a server would not take; those that it has (they are in a phase) were there before the bound."""
        for claim in found.of(PersistentVolumeClaim):
            namespace, name = claim.metadata.namespace, claim.metadata.name
            try:
                sentence = "" if claim.status.phase else self._limits.broken_claim(namespace, name, claim.spec)
            except InputError as error:
                sentence = str(error)
            if sentence:
                yield InputError(f"PersistentVolumeClaim {namespace}/{name}", sentence)

    def _queue(self, namespace: str, group: PodGroup | None, annotations: Mapping[str, str], meta: ObjectMeta) -> str:
        """That of its gang, that it names itself, or that its LocalQueue leads to."""
        wanted = group.spec.queue if group else named(annotations, QUEUES)
        return wanted or self._local.get((namespace, {**annotations, **meta.labels}.get(LOCAL_QUEUE, "")), "")

    def _priority(self, template: PodTemplate, group: PodGroup | None) -> int:
        """That of the class its gang names; else its own, that of its class, or the default."""
        if group is not None and group.spec.priority_class_name in self._priorities:
            return self._priorities[group.spec.priority_class_name]
        if template.spec.priority is not None:
            return template.spec.priority
        return self._priorities.get(template.spec.priority_class_name, self._default_priority)


def held_back(spec: PodSpec) -> str:
    """Why pods of this spec wait whatever room there is; empty where they do not."""
    if spec.scheduling_gates:
        gates = ", ".join(each.name for each in spec.scheduling_gates)
        return f"it waits behind the scheduling gate {gates}"
    if spec.resource_claims or any(each.resources.claims for each in spec.containers):
        return "it asks for dynamic resource claims, which are not placed here"
    return ""


def _gang(group: PodGroup, succeeded: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """What a gang asks for before it starts."""
    meta, spec = group.metadata, group.spec
    floor = bounds_of(spec.min_resources, f"PodGroup {meta.namespace}/{meta.name}: spec.minResources")
    if done := succeeded.get((meta.namespace, meta.name)):
        return {"least_together": max((spec.min_member or 1) - done, 1)}
    return {
        "least_together": max(spec.min_member or 1, 1),
        "task_minimums": tuple(spec.min_task_member.items()),
        "min_resources": tuple(floor.items()),
    }


def _unmet(group: PodGroup | None) -> str:
    """The field of its gang that keeps it waiting in the live scheduler too; empty where none does."""
    field = unmet(group) if group else ""
    return field and f"it asks for {field}, which is not implemented"


def _name(pod: Pod) -> str:
    return pod.metadata.name


def _count(running: Running, pods: Iterable[Pod], tiers: Tiers) -> None:
    bound = [pod.spec for pod in pods if pod.spec.node_name]
    running.nodes.extend(spec.node_name for spec in bound)
    if tiers.present:
        running.required.extend(spec.node_name for spec in bound if requires_on_demand(spec, tiers))
