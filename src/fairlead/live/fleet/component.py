"""The fleet scheduler as a component: watches in, clusters of bindings out.

watches ──► changed bindings ──► decide (together) ──► write spec, then status (many in flight)
                ▲                                          │
                └──── refused by the server, or short ◄────┘
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change, Key
from fairlead.kube.codec.fleet import policy_key
from fairlead.kube.codec.groups import GroupMembers, groups_of
from fairlead.kube.codec.placement import ANNOTATION as KNOBS
from fairlead.kube.codec.placement import Knobs, knobs_of
from fairlead.kube.errors import ApiError, KubeError, NotLeadingError
from fairlead.kube.events import EventType
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.kube.objects.meta import Bare
from fairlead.kube.resources import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    CUSTOM_RESOURCES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from fairlead.kube.watch import Reflector
from fairlead.live.fleet import report
from fairlead.live.fleet.decide import BindingVerdict, decide
from fairlead.live.fleet.estimator import Estimators
from fairlead.live.fleet.known_clusters import KnownClusters, same_but_room
from fairlead.live.fleet.metrics import FleetMetrics
from fairlead.live.fleet.shadow import Comparison
from fairlead.live.fleet.turns import BACKOFF, BindingTurns
from fairlead.live.fleet.versions import newer, same
from fairlead.live.fleet.writer import BindingWriter, resource_of, result_fields
from fairlead.live.runtime.aside import Aside
from fairlead.live.runtime.elected import ElectedComponent, Instance
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pages import Page
from fairlead.live.runtime.spans import object_spans
from fairlead.model.division import Sticky
from fairlead.model.faults import way_to
from fairlead.settings import EstimatorSettings

GATHER = 0.02
"""Seconds to wait after a change, so that a burst becomes one batch."""
BATCH = 1000
"""Bindings decided in a row before other tasks get their turn."""
HELD = 60.0
"""Seconds for which our own write is believed over a watch that has not shown it yet."""

log = structlog.get_logger("fleet")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """Bindings whose schedulerName is `name` are scheduled; `shadow` decides and reports but writes nothing.

    `sticky` says how the last division is kept where no knob does; `estimator` tells where room is asked for besides
    (None: nowhere).
    """

    name: str = "fairlead"
    shadow: bool = False
    sticky: Sticky = Sticky.MOST
    estimator: EstimatorSettings | None = None


class Fleet(ElectedComponent):
    """Decides bindings and writes the clusters of each."""

    def __init__(self, instance: Instance, options: FleetOptions) -> None:
        self.options = options
        self.measures = FleetMetrics()
        self.measures.leading.set_function(lambda: float(instance.leads()))
        self.measures.bindings.set_function(lambda: float(self._total if instance.leads() else 0))
        self.measures.waiting.set_function(lambda: float(self._waiting if instance.leads() else 0))
        self._total = self._waiting = 0
        self.verdicts: dict[Key, BindingVerdict] = {}
        client = self._client = instance.client
        self._recorder = instance.recorder
        self._now = instance.monotonic
        self._spans = object_spans(instance.tracer, "binding", "write")
        self._turns = BindingTurns(instance.monotonic, client.jitter)
        goes_on = partial(instance.pulse.beat, "rounds")
        self._estimators = None if options.estimator is None else Estimators(options.estimator, goes_on)
        self._groups = GroupMembers()
        self.comparison = Comparison()
        self._seen: list[ResourceBinding] = []
        self._own: dict[Key, tuple[ResourceBinding, float]] = {}
        self.writer = BindingWriter(instance, self.measures, self._written)
        self.aside = Aside(self.measures.registry, None if options.shadow else instance.recorder)
        self._known = KnownClusters(self.aside)
        aside = self.aside.watched
        self._clusters = Reflector[KarmadaCluster](client, CLUSTERS, self._on_cluster, aside=aside)
        self._bindings = (
            Reflector[ResourceBinding](client, RESOURCE_BINDINGS, self._on_binding, aside=aside),
            Reflector[ResourceBinding](client, CLUSTER_RESOURCE_BINDINGS, self._on_binding, aside=aside),
        )
        self._policies = (
            Reflector[Bare](client, PROPAGATION_POLICIES.of(Bare), self._on_policy, aside=aside),
            Reflector[Bare](client, CLUSTER_PROPAGATION_POLICIES.of(Bare), self._on_policy, aside=aside),
        )
        reflectors = (self._clusters, *self._policies, *self._bindings)
        super().__init__(instance, self.measures.registry, reflectors, gather=GATHER)

    @property
    def outboxes(self) -> Sequence[Outbox[Any]]:
        """Verdicts."""
        return (self.writer.outbox,)

    @property
    def pages(self) -> Mapping[str, Page]:
        """The last verdicts, and in shadow where another scheduler decided otherwise."""
        shown = {"/decisions": lambda query: partial(msgspec.json.encode, self.decisions())}
        if self.options.shadow:
            shown["/differences"] = lambda query: partial(msgspec.json.encode, self.comparison.as_record())
        return shown

    def nudge(self) -> None:
        """Look at everything now: this instance has just begun to lead."""
        self._turns.rest()
        self._all()

    def decisions(self) -> dict[str, Any]:
        """The last verdict on every binding that was decided, as a record."""
        written = not self.options.shadow
        return {"decisions": [report.record_of(self.verdicts[key], written=written) for key in sorted(self.verdicts)]}

    async def run(self) -> None:
        """Until cancelled; then the connections to estimators end too."""
        try:
            await super().run()
        finally:
            if self._estimators is not None:
                self._estimators.close()

    async def begin(self) -> None:
        """Learn which fields the server has, then look at every binding."""
        await self._learn_fields()
        self._all()

    def idle(self) -> None:
        """The instance that leads looks at everything when its time begins."""
        self._turns.rest()

    def due(self) -> float | None:
        """When a binding may be tried again."""
        return self._turns.next()

    async def _learn_fields(self) -> None:
        failures = 0
        while True:
            try:
                self.writer.has_field = await result_fields(self._client, CUSTOM_RESOURCES)
                return
            except KubeError as error:
                failures += 1
                log.warning("the definitions of bindings cannot be read yet", why=error)
                await asyncio.sleep(BACKOFF.wait(failures, self._client.jitter))

    async def round(self) -> None:
        """Decide every changed binding that is not being written right now."""
        if not self._clusters.served:
            # Nothing is known of any cluster: that is no reason to take anything away (docs/decisions/0215).
            self._seen.clear()
            return
        await self._compare()
        due = sorted(self._turns.ready(), key=self._turn)
        for start in range(0, len(due), BATCH):
            batch = due[start : start + BATCH]
            self._turns.taken(batch)
            mine = [found for key in batch if (found := self._mine(key)) is not None]
            answers = await self._estimated(mine)
            if not self._clusters.served:
                self._turns.add(batch)  # they ceased to be known while estimators were asked
                return
            self._decide([each for each in zip(mine, answers, strict=True) if self._there(each[0])])
            await asyncio.sleep(0)
        self._total = sum(map(self._ours, self._both()))
        self._waiting = sum(not each.success for each in self.verdicts.values())

    async def _estimated(self, bindings: Sequence[ResourceBinding]) -> list[Mapping[str, int]]:
        """What estimators say of each binding that is about to change and that room has a say in."""
        if self._estimators is None:
            return [{} for _ in bindings]
        return await self._estimators.about(
            self._verdicts(bindings, {}), [each.metadata.name for each in self._known.all()]
        )

    def _verdicts(
        self, bindings: Sequence[ResourceBinding], estimates: Mapping[Key, Mapping[str, int]]
    ) -> list[BindingVerdict]:
        """A verdict for each binding on the clusters as they are, with what estimators told."""
        return decide(
            bindings,
            self._known.all(),
            self._knobs,
            self._groups.of,
            lambda each: estimates.get(_key(each), {}),
            self.options.sticky,
        )

    async def _compare(self) -> None:
        """In shadow: every version that was seen, in order, so that none between question and answer is missed."""
        seen, self._seen = self._seen, []
        answers = await self._estimated(seen)
        for binding, answer in zip(seen, answers, strict=True):
            if not (self._there(binding) and self._clusters.served):
                continue
            for verdict in self._verdicts([binding], {_key(binding): answer}):
                self._look(verdict)

    def _look(self, verdict: BindingVerdict) -> None:
        """In shadow: compare with what the other scheduler wrote, where it has."""
        if (found := self.comparison.look(verdict)) is not None:
            log.info("another scheduler decided otherwise", **found.as_record())

    def _turn(self, key: Key) -> tuple[int, Key]:
        """The higher schedule priority first."""
        found = self._latest(key)
        priority = found.spec.schedule_priority if found is not None else None
        return (-priority.priority if priority else 0, key)

    def _decide(self, asked: Sequence[tuple[ResourceBinding, Mapping[str, int]]]) -> None:
        began = self._now()
        self._spans.round()
        bindings = [binding for binding, _ in asked]
        estimates = {_key(binding): answer for binding, answer in asked}
        grouped = [each for each in bindings if any(groups_of(each))]
        alone = [each for each in bindings if not any(groups_of(each))]
        # Those of a group see what was decided for the others a moment ago, so they are decided one by one.
        for batch in (alone, *([each] for each in grouped)):
            for verdict in self._verdicts(batch, estimates):
                if verdict.counts is not None:
                    self._groups.put(verdict.binding, verdict.counts)
                self._act(verdict)
        self.measures.seconds.observe(self._now() - began)

    def _act(self, verdict: BindingVerdict) -> None:
        known = self.verdicts.get(verdict.key)
        self.verdicts[verdict.key] = verdict
        if verdict.defect is not None:
            self.measures.defects.inc()
            log.error("a defect", binding="/".join(verdict.key), what=verdict.message, way=way_to(verdict.defect))
        write = self.writer.write_of(verdict)
        if write is None:
            self._spans.settled(verdict.binding.metadata.uid)
            return
        if self.options.shadow:
            self._look(verdict)
            if known is None or (known.reason, known.counts) != (verdict.reason, verdict.counts):
                self.measures.decisions.labels(verdict.reason).inc()
                log.info("would write", binding="/".join(verdict.key), reason=verdict.reason, why=verdict.note)
            return
        self.measures.decisions.labels(verdict.reason).inc()
        self._turns.writing(verdict.key)
        self._spans.decided(verdict.binding.metadata.uid, lambda: report.attributes(verdict))
        self.writer.outbox.put(write)

    def _written(self, verdict: BindingVerdict, newest: ResourceBinding | None, error: KubeError | None) -> None:
        key = verdict.key
        self._spans.written(verdict.binding.metadata.uid, "" if newest is not None else str(error or "given up"))
        if newest is not None:
            self._say(verdict)
        found, known = self._latest(key), newest or verdict.binding
        if found is not None and not same(found, known) and not newer(known, found):
            # It changed while it was being written, when what was decided counted.
            self._regroup(found, verdict.binding)
        gone = not self._there(verdict.binding) or (isinstance(error, ApiError) and error.not_found)
        if newest is not None or gone:
            if newest is not None and not gone:
                self._own[key] = (newest, self._now() + HELD)
            # What was seen while it was being written has had no turn yet.
            if self._turns.written(key):
                self._rounds.wake()
            return
        if error is None or isinstance(error, NotLeadingError):
            self._turns.given_up(key)
            self._rounds.wake()
            return
        conflict = isinstance(error, ApiError) and error.conflict
        if not conflict:
            log.warning("not written, tried again later", binding="/".join(key), why=error)
        self._turns.failed(key, verdict.binding.metadata.generation, conflict=conflict)
        self._rounds.wake()

    def _say(self, verdict: BindingVerdict) -> None:
        if self._recorder is None:
            return
        meta, resource = verdict.binding.metadata, resource_of(verdict.binding)
        about = resource.refer(meta.name, namespace=meta.namespace, uid=meta.uid)
        reason = "ScheduleBindingSucceed" if verdict.success else "ScheduleBindingFailed"
        kind: EventType = "Normal" if verdict.success else "Warning"
        self._recorder.record(about, reason=reason, action="Scheduling", note=verdict.note, kind=kind)

    def _latest(self, key: Key) -> ResourceBinding | None:
        """The binding as the watch showed it last."""
        return self._bindings[0 if key[0] else 1].objects.get(key)

    def _there(self, binding: ResourceBinding) -> bool:
        """Whether the binding was not deleted since it was read: while estimators were asked, or it was written."""
        found = self._latest(_key(binding))
        return found is not None and found.metadata.uid == binding.metadata.uid

    def _mine(self, key: Key) -> ResourceBinding | None:
        """The newest state of a binding that is ours to schedule now; what was decided of any other counts no more."""
        found = self._latest(key)
        if found is None:
            return None
        own, until = self._own.get(key, (None, 0.0))
        if own is not None and until > self._now() and newer(own, found):
            found = own
        else:
            self._own.pop(key, None)
        if not self._ours(found):
            self.verdicts.pop(key, None)
            return None
        return found

    def _ours(self, found: ResourceBinding) -> bool:
        """Whether a binding is ours to decide. A shadow looks at those of other schedulers too."""
        spec = found.spec
        suspended = spec.suspension is not None and spec.suspension.scheduling
        named = spec.scheduler_name == self.options.name or (self.options.shadow and bool(spec.scheduler_name))
        return named and not suspended and found.metadata.deletion_timestamp is None

    def _knobs(self, binding: ResourceBinding) -> Knobs | None:
        """What the policy of a binding says beyond Karmada's fields; `InputError` where it cannot be read."""
        key = policy_key(binding)
        policy = None if key is None else self._policies[0 if key[0] else 1].objects.get(key)
        return None if policy is None or key is None else knobs_of(policy.metadata.annotations, f"policy {key[1]}")

    def _on_binding(self, change: Change[ResourceBinding]) -> None:
        meta, key = change.object.metadata, _key(change.object)
        if change.kind == "deleted":
            self._spans.gone(meta.uid)
            self.verdicts.pop(key, None)
            self._own.pop(key, None)
            self._turns.add(self._groups.drop(key))
            self._turns.forget(key)
            self.comparison.forget(key)
            self._rounds.wake()
            return
        if not self._turns.is_writing(key):
            self._regroup(change.object, change.previous)
        if self.options.shadow and self._ours(change.object):
            self._seen.append(change.object)
        self._turns.changed(key, meta.generation)
        self._spans.came(meta.uid)
        self._rounds.wake()

    def _regroup(self, found: ResourceBinding, before: ResourceBinding | None) -> None:
        """Note where the binding is and in which groups; all that are or were in one with it are looked at."""
        if any(groups_of(found)) or (before is not None and any(groups_of(before))):
            self._turns.add(self._groups.seen(found))

    def _on_cluster(self, change: Change[KarmadaCluster]) -> None:
        """Room wakes bindings that wait for it; anything else may matter to all."""
        error = self._known.take(change)
        if change.kind == "modified" and change.previous and same_but_room(change.object, change.previous):
            self._turns.add(key for key, each in self.verdicts.items() if each.waits_for_room)
            self._rounds.wake()
        else:
            self._all()
        if error is not None:
            raise error

    def _on_policy(self, change: Change[Bare]) -> None:
        before = change.previous.metadata.annotations.get(KNOBS) if change.previous else None
        if change.object.metadata.annotations.get(KNOBS) != before or change.kind == "deleted":
            self._all()

    def _both(self) -> list[ResourceBinding]:
        return [each for reflector in self._bindings for each in reflector.objects.values()]

    def _all(self) -> None:
        self._turns.add(key for reflector in self._bindings for key in reflector.objects)
        self._rounds.wake()


def _key(binding: ResourceBinding) -> Key:
    return (binding.metadata.namespace, binding.metadata.name)
