"""Pods as jobs, queues and weights, kept by watches. What did not change is not put together again.

Which job a pod belongs to is written on the pod; what that job may ask for is written on its PodGroup, which may come
before or after its pods. Where the API server has no such kind, its names mean nothing: one queue, no gangs.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec

from fairlead.kube.changes import Change, Key, deliver
from fairlead.kube.codec.queues import DEFAULT, ROOT, check_weight, namespace_weights, queue_row, rooted
from fairlead.kube.objects.policy import ResourceQuota
from fairlead.kube.objects.volcano import VolcanoQueue
from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, QUEUES, RESOURCE_QUOTAS, Resource
from fairlead.levels.queue import reasons
from fairlead.levels.queue.tree import MOST_WEIGHT
from fairlead.live.cluster.cache import PodEvent, compare
from fairlead.live.cluster.identity import GroupKey, JobKey, JobSource, PodKey, group_job, group_key, pod_job
from fairlead.live.cluster.records import PodRecord, Request
from fairlead.live.cluster.rules import DisruptionRules
from fairlead.live.cluster.turn_types import IdleCounts, LiveJob, Promise
from fairlead.live.queue.announced import Announcements
from fairlead.live.queue.intents import RESOURCES, promised
from fairlead.live.queue.job_entry import JobEntry
from fairlead.live.queue.pod_groups import GangSpec, group_of, native_group_of
from fairlead.model.amounts import LARGEST
from fairlead.model.errors import InputError
from fairlead.model.queuestate import QueueEntry
from fairlead.model.reasons import Finding, because

What = tuple[str, str, str, str]
"""API group, kind, namespace and name of an object."""
NO_FAULTS: Mapping[What, str] = MappingProxyType({})


class JobCache:
    """`on_change` is called when a queue, a weight or a group was edited; `served` tells which kinds the server has,
    `faults` which objects cannot be read. `clock` never goes back; the deadlines of gangs go by it.
    """

    def __init__(
        self,
        rules: DisruptionRules,
        *,
        scheduler: str = "fairlead",
        on_change: Callable[[], None] = lambda: None,
        served: Callable[[Resource[Any]], bool] = lambda resource: True,
        faults: Mapping[What, str] = NO_FAULTS,
        clock: Callable[[], float] = time.monotonic,
        announced: Announcements | None = None,
    ) -> None:
        self.clock = clock
        self.entries: dict[JobKey, JobEntry] = {}
        self.groups: dict[GroupKey, GangSpec] = {}
        self.intents: dict[JobKey, Promise] = {}
        """Gangs that are being started, by job."""
        self.weights: dict[str, int] = {}
        self.leaving: dict[PodKey, PodRecord] = {}
        """Pods that are members of nothing any more and still hold their room."""
        self.generation = 0
        self._queues: dict[str, QueueEntry] = {}
        self._quotas: dict[Key, ResourceQuota] = {}
        self._at: dict[PodKey, JobKey] = {}
        self._rules = rules
        self._name = scheduler
        self._on_change = on_change
        self.served = served
        self._faults = faults
        self.announced = announced or Announcements(
            served=lambda resource: False, synced=lambda: False, on_change=lambda: None, clock=clock
        )

    def watched(self) -> Iterator[tuple[Resource[Any], Callable[[Change[Any]], None]]]:
        """Every resource to follow, with its sink."""
        yield QUEUES, self._on_queue
        yield RESOURCE_QUOTAS, self._on_quota
        yield POD_GROUPS, lambda change: self._on_group(JobSource.GROUP, group_of, change)
        yield NATIVE_POD_GROUPS, lambda change: self._on_group(JobSource.NATIVE, native_group_of, change)

    @property
    def queues(self) -> list[QueueEntry]:
        """The queues there are, those among them that cannot be read; `default` is always there."""
        bad = {name: why for (*kind, _, name), why in self._faults.items() if kind == [QUEUES.group, QUEUES.kind]}
        rows = {name: QueueEntry(name=name, fault=why) for name, why in bad.items()} if self.served(QUEUES) else {}
        rows |= self._queues if self.served(QUEUES) else {}
        rows.setdefault(DEFAULT, QueueEntry(name=DEFAULT))
        return rooted(list(rows.values()))

    def knows(self, queue: str) -> bool:
        """Whether there is such a queue; where the server has no queues every name means the one there is."""
        return queue == DEFAULT or queue in self._queues or not self.served(QUEUES)

    @property
    def impatient(self) -> bool:
        """Whether some PodGroup says how long it may wait."""
        return any(group.may_wait is not None for group in self.groups.values())

    @property
    def bounded(self) -> bool:
        """Whether some queue may refuse a job although there is room."""
        return any(
            row.capability
            or row.guarantee
            or row.parent not in ("", ROOT)
            or not row.open
            or not 1 <= row.weight <= MOST_WEIGHT
            for row in self._queues.values()
        )

    def jobs(self, leave_out: Collection[str] = ()) -> list[LiveJob]:
        """Every job but these, as it is now; one that did not change is the same object as before."""
        groups, rules, served = self.groups, self._rules, self.served(QUEUES)
        made = []
        for entry in self.entries.values():
            if entry.key not in leave_out:
                group = groups.get(entry.group_key)
                queue = (entry.queue if group is None else group.queue) if served else DEFAULT
                made.append(entry.live(group, queue, rules))
        return made

    def jobs_and_idle(self, leave_out: Collection[str] = ()) -> tuple[list[LiveJob], IdleCounts]:
        """As `jobs`, but of jobs that are idle and have no PodGroup only how many pods they run.

        Most jobs of a cluster are bare pods and controllers that run. They ask for nothing, and what others get
        depends on what they hold in sum.
        """
        served, idle = self.served(QUEUES), dict[tuple[str, str], Counter[Request]]()
        others = set(leave_out)
        for key, entry in self.entries.items():
            if key not in others and entry.idle_counts:
                counts = idle.setdefault((entry.queue if served else DEFAULT, entry.namespace), Counter())
                counts.update(entry.idle_counts)
                others.add(key)
        return self.jobs(others), idle

    def held_on(self, nodes: Collection[str]) -> dict[str, Counter[str]]:
        """What our own pods hold on these nodes, those that are leaving too."""
        found: dict[str, Counter[str]] = {node: Counter() for node in nodes}
        running = (place for entry in self.entries.values() for place in entry.running)
        for pod, node in (*running, *((pod, pod.node) for pod in self.leaving.values())):
            if node in found:
                found[node].update(dict(pod.request))
        return found

    def podless(self) -> list[LiveJob]:
        """A job for each of Volcano's PodGroups of which no pod is known."""
        groups = (group for group in self.groups if group[0] is JobSource.GROUP)
        made = (JobEntry(group_job(group), *group) for group in groups if group_job(group) not in self.entries)
        return [entry.live(self._group(entry), self._queue(entry), self._rules) for entry in made]

    def job(self, key: JobKey) -> LiveJob | None:
        """One job as it is now."""
        entry = self.entries.get(key)
        return None if entry is None else entry.live(self._group(entry), self._queue(entry), self._rules)

    def job_of(self, pod: PodRecord) -> JobKey:
        """The key of the job that a pod belongs to."""
        return pod_job(pod.controller, pod.metadata.namespace, pod.queue_fields)

    def astray(self, key: JobKey) -> str:
        """The PodGroup that the pods of a job name, or their owner announces, and that does not exist; empty where all
        is well.

        It is not missed where the server knows no PodGroups.
        """
        entry = self.entries[key]
        if entry.source == JobSource.CONTROLLER:
            waiting = entry.any_waiting
            return entry.name if waiting is not None and self.announced.awaits(waiting) else ""
        if entry.group_key in self.groups:
            return ""
        resource = RESOURCES[entry.source]
        return f"{entry.namespace}/{entry.name}" if self.served(resource) else ""

    def why_astray(self, key: JobKey) -> Finding | None:
        """What stops a job whose PodGroup is not there or cannot be read; None where all is well."""
        group = self.astray(key)
        if not group:
            return None
        entry = self.entries[key]
        if entry.source == JobSource.CONTROLLER and entry.any_waiting is not None:
            return self.announced.why(entry.any_waiting)
        resource = RESOURCES[entry.source]
        why = self._faults.get((resource.group, resource.kind, entry.namespace, entry.name))
        if why:
            return because(reasons.GROUP_UNREADABLE, group=group, why=why)
        return because(reasons.UNKNOWN_GROUP, group=group)

    def uid(self, job: LiveJob) -> str:
        """The uid of the PodGroup of a job; empty where there is none."""
        group = self.groups.get((job.source, job.namespace, job.name))
        return "" if group is None else group.uid

    def recall(self) -> None:
        """Count every intent that is written on a group: this instance begins to lead."""
        for key, group in self.groups.items():
            job = group_job(key)
            if group.intent and job not in self.intents:
                with suppress(InputError):  # the watch has told of one that cannot be read
                    self._intend(job, key[1], group)

    def on_pod(self, event: PodEvent) -> None:
        """A pod came, changed or went."""
        if event.deleted:
            self.gone(event.pod.key)
            self.announced.forget(event.pod.metadata.uid)
        else:
            self.see(event.pod, event.assumed)

    def see(self, pod: PodRecord, assumed: str) -> None:
        """A pod as it is now, with the node it is about to be bound to.

        One that cannot be read any more asks for nothing; what it holds on a node, or is about to, it still holds.
        """
        if pod.scheduler != self._name:
            return
        if pod.broken:
            if not (pod.holds_room or assumed):
                self.gone(pod.key)
                return
            # An amount beyond every node fills its node, and tells nothing of what the job holds.
            held = tuple((name, amount) for name, amount in pod.request if amount <= LARGEST)
            pod = msgspec.structs.replace(pod, request=held)
        key = self.job_of(pod)
        if self._at.get(pod.key, key) != key:
            self.gone(pod.key)
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = self._entry(key, pod)
        self._at[pod.key] = key
        if pod.leaving and pod.holds_room:
            self.leaving[pod.key] = pod
        else:
            self.leaving.pop(pod.key, None)
        if entry.put(pod, pod.node or assumed):
            self.generation += 1

    def gone(self, key: PodKey) -> None:
        """A pod is no more."""
        self.leaving.pop(key, None)
        job = self._at.pop(key, None)
        if job is None:
            return
        entry = self.entries[job]
        entry.drop(key)
        self.generation += 1
        if entry.empty:
            del self.entries[job]

    def rules_changed(self) -> None:
        """Priority classes or disruption budgets are others now."""
        for entry in self.entries.values():
            entry.forget()

    def differences(
        self,
        objects: Mapping[Resource[Any], Iterable[Any]],
        pods: Iterable[PodRecord],
        assumed: Mapping[PodKey, str],
    ) -> list[str]:
        """How the cache differs from one made afresh of lists; empty where it does not. Assumed pods are kept."""
        fresh = JobCache(self._rules, scheduler=self._name, served=self.served, faults=self._faults)
        for resource, sink in fresh.watched():
            for each in objects[resource]:
                deliver(sink, Change("added", each))
        for pod in pods:
            fresh.see(pod, assumed.get(pod.key, ""))
        return compare(self.summary(), fresh.summary())

    def summary(self) -> dict[str, object]:
        """Everything they hold, by name."""
        facts: dict[str, object] = {f"queue {row.name}": row for row in self.queues}
        facts |= {f"weight of {namespace}": weight for namespace, weight in self.weights.items() if weight != 1}
        facts |= {f"group {'/'.join(key)}": group for key, group in self.groups.items()}
        facts |= {f"pod {'/'.join(key)} leaves": pod.node for key, pod in self.leaving.items()}
        for job in self.jobs():
            facts[f"job {job.key}"] = replace(job, roles=())
            for role in job.roles:
                for pod, node in (*((pod, "") for pod in role.waiting), *role.running):
                    facts[f"pod {'/'.join(pod.key)}"] = job.key, role.task, node
        return facts

    def _entry(self, key: JobKey, pod: PodRecord) -> JobEntry:
        fields, namespace = pod.queue_fields, pod.metadata.namespace
        group = group_key(namespace, fields)
        if group is not None:
            return JobEntry(key, *group)
        return JobEntry(
            key, JobSource.CONTROLLER, namespace, pod.controller.rpartition("/")[2], queue=fields.queue or DEFAULT
        )

    def _group(self, entry: JobEntry) -> GangSpec | None:
        return self.groups.get(entry.group_key)

    def _queue(self, entry: JobEntry) -> str:
        if not self.served(QUEUES):
            return DEFAULT
        group = self._group(entry)
        return entry.queue if group is None else group.queue

    def _on_queue(self, change: Change[VolcanoQueue]) -> None:
        name = change.object.metadata.name
        before = self._queues.get(name)
        try:
            if change.kind == "deleted":
                self._queues.pop(name, None)
            else:
                # What was known of a queue stays where it cannot be read any more.
                self._queues[name] = queue_row(change.object)
        finally:
            if self._queues.get(name) != before or before is None:
                self._edited()

    def _on_quota(self, change: Change[ResourceQuota]) -> None:
        meta = change.object.metadata
        if change.kind == "deleted":
            self._quotas.pop((meta.namespace, meta.name), None)
        else:
            self._quotas[meta.namespace, meta.name] = change.object
        own = [quota for (namespace, _), quota in self._quotas.items() if namespace == meta.namespace]
        weight = namespace_weights(own).get(meta.namespace, 1)
        if self.weights.get(meta.namespace, 1) != weight:
            if weight == 1:
                del self.weights[meta.namespace]
            else:
                self.weights[meta.namespace] = weight
            self._edited()
        if change.kind != "deleted":
            check_weight(change.object)

    def _on_group(self, source: JobSource, read: Callable[[Any], GangSpec], change: Change[Any]) -> None:
        meta = change.object.metadata
        key = source, meta.namespace, meta.name
        before = self.groups.get(key)
        if change.kind == "deleted":
            self.groups.pop(key, None)
        else:
            self.groups[key] = read(change.object)
        job = group_job(key)
        if self.groups.get(key) == before:
            if before is not None and before.intent:
                promised(job, meta.namespace, before.intent, self.clock())  # one that cannot be read stays named
            return
        entry = self.entries.get(job)
        if entry is not None:
            entry.forget()
        try:
            self._intend(job, meta.namespace, self.groups.get(key))
        finally:
            self._edited()

    def _intend(self, job: JobKey, namespace: str, group: GangSpec | None) -> None:
        known = self.intents.pop(job, None)
        if group is None or not group.intent:
            return
        promise = promised(job, namespace, group.intent, self.clock())
        # A gang of which a part is bound keeps its first moment through new intents (docs/decisions/0208).
        self.intents[job] = replace(promise, at=known.at) if known and self._bound_without(promise) else promise

    def _bound_without(self, promise: Promise) -> bool:
        """Whether members of the gang run that the intent does not name: those were bound before it."""
        job = self.job(promise.job)
        return job is not None and any(pod.key not in promise.places for role in job.roles for pod, _ in role.running)

    def _edited(self) -> None:
        self.generation += 1
        self._on_change()
