"""A small cluster in memory for turns of the queue level: nodes, pods, groups, queues, quotas."""

from collections.abc import Mapping
from typing import Any

import msgspec

from fairlead.kube.changes import Change, deliver
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import PodDisruptionBudget, PriorityClass, ResourceQuota
from fairlead.kube.objects.volcano import NativePodGroup, PodGroup, VolcanoQueue
from fairlead.kube.resources import (
    DISRUPTION_BUDGETS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    PRIORITY_CLASSES,
    QUEUES,
    RESOURCE_QUOTAS,
    Resource,
)
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.cluster.turn_types import QueueTurn, TurnTerms
from fairlead.live.queue.contested_turn import take_turn
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.node_fits import TurnSite
from fairlead.live.queue.promises import Promises

NOW = 1_000_000.0
AT = "1970-01-12T13:46:40Z"
"""`NOW` as the API writes it."""


class World:
    """Objects go in as the API sends them; `turn` shares, and counts what it grants."""

    def __init__(self, *cpus: int, policy: SharePolicy | None = None, deadline: float = 300.0) -> None:
        self.cache = Cache()
        self.served = {QUEUES, POD_GROUPS, NATIVE_POD_GROUPS}
        self.changes = 0
        self.clock = NOW
        self.job_cache = JobCache(
            self.cache.rules,
            on_change=self._changed,
            served=lambda resource: resource in self.served,
            clock=lambda: self.clock,
        )
        rules, self.terms = self.cache.rules, TurnTerms(policy=policy or SharePolicy())
        self.promises = Promises(
            self.job_cache, lambda pod: rules.cover(pod.resident), lambda: self.terms, deadline=deadline
        )
        self.sinks = dict(self.job_cache.watched()) | dict(rules.watched())
        self.records = Records()
        for number, cpu in enumerate(cpus, start=1):
            self.node(f"n{number}", cpu)

    def _changed(self) -> None:
        self.changes += 1

    def node(self, name: str, cpu: int) -> None:
        """A node."""
        allocatable = {"cpu": str(cpu), "pods": "500"}
        meta = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        found = msgspec.convert({"metadata": meta, "status": {"allocatable": allocatable}}, Node)
        self.cache.on_node(Change("added", found))

    def pod(
        self,
        name: str,
        *,
        group: str = "",
        native: str = "",
        task: str = "",
        queue: str = "",
        on: str = "",
        owner: str = "",
        namespace: str = "ns",
        cpu: str = "1",
        created: str = AT,
        phase: str = "",
        priority: int = 0,
        leaving: bool = False,
        cools: str = "",
        in_force: str = "",
        **spec: Any,
    ) -> PodRecord:
        """A pod, new or changed; `in_force` is the cpu of its container while it is resized."""
        marks = {
            "scheduling.k8s.io/group-name": group,
            "volcano.sh/task-spec": task,
            "volcano.sh/queue-name": queue,
            "volcano.sh/cooldown-time": cools,
        }
        meta: dict[str, Any] = {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "labels": {"app": group or owner or name},
            "annotations": {key: value for key, value in marks.items() if value},
            "creationTimestamp": created,
        }
        if owner:
            meta["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "controller": True}]
        if leaving:
            meta["deletionTimestamp"] = AT
        body: dict[str, Any] = {
            "schedulerName": "fairlead",
            "nodeName": on,
            "priority": priority,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        }
        if native:
            body["schedulingGroup"] = {"podGroupName": native}
        status: dict[str, Any] = {"phase": phase}
        if in_force:
            status["containerStatuses"] = [{"name": "c", "resources": {"requests": {"cpu": in_force}}}]
        record = self.records.record(msgspec.convert({"metadata": meta, "spec": body, "status": status}, Pod))
        self.cache.on_pod(Change("added", record))
        self.job_cache.see(record, self.cache.assumed.get(record.key, ""))
        return record

    def pods(self, count: int, prefix: str, **like: Any) -> list[PodRecord]:
        """Several pods that are alike."""
        return [self.pod(f"{prefix}-{number}", **like) for number in range(count)]

    def gone(self, record: PodRecord) -> None:
        """A pod is no more."""
        self.cache.on_pod(Change("deleted", record))
        self.job_cache.gone(record.key)

    def group(
        self,
        name: str,
        least: int,
        *,
        intent: str = "",
        namespace: str = "ns",
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> None:
        """A PodGroup, new or changed."""
        meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": AT}
        marks = {**(annotations or {}), **({"fairlead.io/intent": intent} if intent else {})}
        body = {"metadata": {**meta, "annotations": marks}, "spec": {"minMember": least, **spec}}
        self._put(POD_GROUPS, msgspec.convert(body, PodGroup))

    def native(self, name: str, least: int, namespace: str = "ns") -> None:
        """A PodGroup of Kubernetes itself."""
        body = {
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": AT},
            "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
        }
        self._put(NATIVE_POD_GROUPS, msgspec.convert(body, NativePodGroup))

    def queue(self, name: str, state: str = "Open", **spec: Any) -> None:
        """A Queue, new or changed."""
        self._put(
            QUEUES,
            msgspec.convert({"metadata": {"name": name}, "spec": spec, "status": {"state": state}}, VolcanoQueue),
        )

    def weigh(self, namespace: str, weight: str, name: str = "weight") -> None:
        """A quota that gives a namespace its weight."""
        body = {
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"hard": {"volcano.sh/namespace.weight": weight}},
        }
        self._put(RESOURCE_QUOTAS, msgspec.convert(body, ResourceQuota))

    def priority_class(self, name: str, value: int, policy: str = "PreemptLowerPriority") -> None:
        """A PriorityClass."""
        body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
        self._put(PRIORITY_CLASSES, msgspec.convert(body, PriorityClass))
        self.job_cache.rules_changed()

    def budget(self, app: str, allowed: int) -> None:
        """A disruption budget over the pods of an app."""
        body = {
            "metadata": {"name": app, "namespace": "ns"},
            "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"disruptionsAllowed": allowed},
        }
        self._put(DISRUPTION_BUDGETS, msgspec.convert(body, PodDisruptionBudget))
        self.job_cache.rules_changed()

    def drop(self, resource: Resource[Any], name: str, namespace: str = "") -> None:
        """An object is deleted."""
        found = msgspec.convert({"metadata": {"name": name, "namespace": namespace}}, resource.shape)
        self.sinks[resource](Change("deleted", found))

    def _put(self, resource: Resource[Any], found: Any) -> None:
        deliver(self.sinks[resource], Change("modified", found))

    def turn(self, awake: set[str] | None = None, now: float = NOW) -> tuple[QueueTurn, list[PodSetOutcome]]:
        """One turn; what is granted is assumed."""
        site = TurnSite(view=self.cache.view(), present=self.cache.present, demand=self.cache.storage.demand)
        turn, outcomes = take_turn(self.promises, site, awake, now)
        self.promises.took_turn(turn)
        for grant in turn.grants:
            for pod, node in grant.places:
                self.cache.assume(pod.key, node)
                self.job_cache.see(pod, node)
        return turn, outcomes

    def held(self) -> dict[str, int]:
        """Pods on nodes, by job."""
        return {job.key: job.running for job in self.job_cache.jobs() if job.running}
