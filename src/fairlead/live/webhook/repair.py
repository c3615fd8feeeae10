"""Repair (opt-in): what admission could not do, mended one eviction at a time.

A workload may be below its minimum because the webhook was away, pending pods were removed first on a scale-down, M was
raised, or its pods are older than the annotation. Evicting one pod that is not bound to on-demand nodes makes the
controller create another, and admission gives that one the free slot. The same way pods above the minimum can move back
to spot. Only a workload that is settled is touched; if an eviction did not help, it is left alone for a while. So are
all workloads of namespaces that the webhook is not asked about: their new pods would be given no slot.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, field, replace

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.events import EventType, Recorder
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.objects.tier import TieredController
from fairlead.live.runtime.aside import DECIDING, WRITING, Aside
from fairlead.live.runtime.evictions import Evictions, Refusal
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.runtime.reconcile_loop import every
from fairlead.live.webhook.census import Member, WorkloadTiers, census
from fairlead.live.webhook.census_objects import read_objects
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.owners import RESOURCES
from fairlead.live.webhook.served import served_namespaces
from fairlead.model.owners import OwnerKind

FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 30.0, 600.0
"""How long a workload is left alone after an eviction that did not help: twice as long each time in a row."""

ROLLOUT_WAITS = (
    "new replicas wait for on-demand nodes that its old replicas hold; more such nodes or maxUnavailable help"
)

log = structlog.get_logger("repair")


def candidate(standing: WorkloadTiers, *, back: bool) -> Member | None:
    """The pod whose replacement would bring the workload nearer to its minimum; None where there is none.

    Pods on spot nodes go before others, younger before older, so that the least is lost. One whose own rules settle the
    tier stays: its replacement would have the same rules.
    """
    if standing.target is None or not standing.settled:
        return None
    free = [member for member in standing.members if not member.pinned]
    below = [member for member in free if standing.belongs(member) and not member.required]
    if below and standing.held < standing.target:
        return max(below, key=_least_lost)
    above = [member for member in free if member.required and not _must(standing, member)]
    if back and above and (standing.kind is OwnerKind.STATEFUL_SET or standing.held > standing.target):
        return max(above, key=_least_lost)
    return None


def waits_for_itself(standing: WorkloadTiers) -> bool:
    """A rollout whose new pods wait for on-demand nodes while its own old pods are on such nodes."""
    waiting = any(each.current and each.required and each.place == "pending" for each in standing.members)
    return waiting and any(not each.current and each.place == "on-demand" for each in standing.members)


def _must(standing: WorkloadTiers, member: Member) -> bool:
    """Whether this pod has to be on demand, whatever the others do."""
    return standing.kind is OwnerKind.STATEFUL_SET and standing.belongs(member)


def _least_lost(member: Member) -> tuple[bool, int, str, str]:
    return member.place == "spot", -1 if member.index is None else member.index, member.created, member.name


@dataclass(frozen=True, slots=True)
class _Rest:
    """A workload left alone until then, after so many evictions in a row that did not help."""

    until: float
    failures: int


@dataclass(slots=True, eq=False)
class Repair:
    """Runs in every replica and acts in the elected one."""

    client: Client
    evictions: Evictions
    recorder: Recorder
    tiers: LiveTiers
    _: KW_ONLY
    leads: Callable[[], bool]
    clock: Callable[[], float]
    configuration: str
    period: float
    back: bool
    pulse: Pulse
    aside: Aside = field(default_factory=Aside)
    _tried: dict[str, WorkloadTiers] = field(default_factory=dict, init=False)
    """Workloads for which a pod was evicted, as they were before."""
    _resting: dict[str, _Rest] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Look for repairs until cancelled."""
        await every(self.period, self.round, name="repair", pulse=self.pulse, leads=self.leads)

    async def round(self) -> None:
        """Look at every workload that is served once, and evict at most one pod of each."""
        served = await served_namespaces(self.client, self.configuration)
        everything = census(await read_objects(self.client), self.tiers.now, self._failed)
        standings = [each for each in everything if each.namespace in served]
        for standing in standings:
            self.pulse.beat("repair", self.period + CALL_SECONDS)
            if not self.leads():
                return
            try:
                with self.aside.around(_reference(standing), WRITING, KubeError):
                    if waits_for_itself(standing):
                        self._say(standing, "RolloutWaits", ROLLOUT_WAITS, warning=True)
                    await self._mend(standing)
            except ApiError as error:
                log.warning("not repaired", workload=f"{standing.namespace}/{standing.name}", why=error)
        known = {each.uid for each in standings}
        self._tried = {uid: tried for uid, tried in self._tried.items() if uid in known}
        self._resting = {uid: rest for uid, rest in self._resting.items() if uid in known}

    def _failed(self, kind: OwnerKind, workload: TieredController, error: Exception | None) -> None:
        meta = workload.metadata
        about = RESOURCES[kind.value].refer(meta.name, namespace=meta.namespace, uid=meta.uid)
        self.aside.tell(about, error, DECIDING)

    async def _mend(self, standing: WorkloadTiers) -> None:
        tried = self._tried.get(standing.uid)
        if tried is not None and standing.settled:
            self._judge(standing, tried)
        member = candidate(standing, back=self.back)
        rest = self._resting.get(standing.uid)
        if member is None or (rest is not None and rest.until > self.clock()):
            return
        refusal = await self.evictions.evict(standing.namespace, member.name, member.uid)
        if refusal is None:
            self._tried[standing.uid] = standing
            state = f"{standing.held} of {standing.target} replicas are bound to on-demand nodes"
            if member.required:
                state = f"{standing.required} replicas are bound to on-demand nodes, {standing.target} belong there"
            self._say(standing, "Repairing", f"evicted {member.name}: {state}")
        elif refusal is not Refusal.OFF:
            log.info("not repaired", workload=f"{standing.namespace}/{standing.name}", why=refusal.value)

    def _judge(self, standing: WorkloadTiers, tried: WorkloadTiers) -> None:
        """Whether the last eviction brought the workload nearer to its target; if not, it gets a rest."""
        del self._tried[standing.uid]
        before = self._resting.pop(standing.uid, None)
        if _distance(standing) >= _distance(replace(tried, target=standing.target)):
            failures = 1 if before is None else before.failures + 1
            seconds = min(FIRST_REST_SECONDS * 2 ** min(failures - 1, 10), LONGEST_REST_SECONDS)
            self._resting[standing.uid] = _Rest(self.clock() + seconds, failures)
            note = f"its replacement was not given the slot; it is left alone for {seconds:.0f} seconds"
            self._say(standing, "RepairDidNotHelp", note, warning=True)

    def _say(self, standing: WorkloadTiers, reason: str, note: str, *, warning: bool = False) -> None:
        kind: EventType = "Warning" if warning else "Normal"
        self.recorder.record(_reference(standing), reason=reason, action="Repairing", note=note, kind=kind)


def _reference(standing: WorkloadTiers) -> ObjectReference:
    return RESOURCES[standing.kind.value].refer(standing.name, namespace=standing.namespace, uid=standing.uid)


def _distance(standing: WorkloadTiers) -> int:
    """How many pods are not where they belong."""
    target = standing.target or 0
    if standing.kind is OwnerKind.DEPLOYMENT:
        return abs(standing.held - target)
    return target - standing.held + standing.required - standing.held
