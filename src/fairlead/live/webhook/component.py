"""The webhook as a component: watches in, answers, ledgers and gates out.

reviews ──► server ──► mutator ──► (owners' cache) ──► verdict
                          │
                          └──► counter ──► ledger, list, compare-and-swap
watches ──► owners, memory
elected  ──► janitor; assigner (gated mode); repair. What these write passes the fence of the lease.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from fairlead.kube.admission.review import ReviewRequest
from fairlead.kube.admission.rules import MARKER
from fairlead.kube.admission.validate import validate
from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.lease import own_identity, steady_clock
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.objects.tier import MarkedPod, TierLedger
from fairlead.kube.resources import TIER_LEDGERS
from fairlead.kube.retry import Backoff, Retry
from fairlead.kube.watch import Reflector
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Split
from fairlead.live.runtime.aside import DECIDING, WRITING, Aside
from fairlead.live.runtime.event_metrics import EventCollector
from fairlead.live.runtime.evictions import Evictions
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.runtime.reconcile_loop import Work, every, follow_progress
from fairlead.live.runtime.watch_metrics import WatchCollector
from fairlead.live.webhook.assigner import Assigner
from fairlead.live.webhook.counting import Counter
from fairlead.live.webhook.janitor import Janitor
from fairlead.live.webhook.listing import MARKED_PODS
from fairlead.live.webhook.live_tiers import LiveTiers, TierWatch
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.metrics import WebhookMetrics
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.repair import Repair
from fairlead.live.webhook.server import AdmissionServer
from fairlead.live.webhook.service import Mutator
from fairlead.live.webhook.store import LedgerStore
from fairlead.live.webhook.tls import Certificate, Files, SelfMade
from fairlead.model.errors import FairleadError
from fairlead.settings import Configuration

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

COUNT_RETRY = Retry(attempts=3, backoff=Backoff(first=0.05, cap=0.5), patience=1.0)
COUNT_TIMEOUT = 4.0
"""A consistent list may wait three seconds inside the API server."""
CERTIFICATE_SECONDS = 30.0

log = structlog.get_logger("webhook")


class Webhook:
    """One replica. `run` serves until a signal says stop, then drains. Without a `tracer` there are no spans."""

    def __init__(self, client: Client, configuration: Configuration, tracer: "Tracer | None" = None) -> None:
        settings, tiers = configuration.webhook, LiveTiers(configuration.tier.choice())
        self.settings = settings
        self.measures = WebhookMetrics()
        self._client = client
        quick = Client(client.transport, retry=COUNT_RETRY, timeout=COUNT_TIMEOUT)
        gated = settings.mode == "gated"
        recorder = Recorder(client, component="fairlead-webhook", instance=own_identity())
        # An Event is a write, too.
        self._recorder = None if settings.shadow else recorder
        self._pulse = Pulse(steady_clock)
        recorder.on_progress = partial(self._pulse.beat, "events", CALL_SECONDS)
        self._process = Process(
            listen=settings.health, lease_namespace=settings.namespace, lease_name="fairlead-webhook"
        )
        self._leads = leads = Leadership(client, self._process, self._pulse)
        elected = client.fenced(leads.fence)
        self.aside = Aside(self.measures.registry, self._recorder)
        aside = self.aside.watched
        leads.on_lost = partial(self.aside.lost, DECIDING, WRITING)
        self._owners = Owners(client, aside)
        self._tiers = TierWatch(client, tiers, namespace=settings.namespace, writes=not settings.shadow, aside=aside)
        self._detects = tiers.choice.detects
        memory = Memory(steady_clock, lapse=settings.lapse_seconds)
        store = LedgerStore(quick, settings.namespace)
        self._counter = Counter(quick, store, self._owners, memory, tiers, clock=steady_clock)
        self._pods = Reflector(client, MARKED_PODS, self._saw(memory.saw), labels=MARKER, aside=aside)
        self._ledgers = Reflector(client, TIER_LEDGERS, _ignore, namespace=settings.namespace, aside=aside)
        kept = LedgerStore(quick.fenced(leads.fence), settings.namespace)

        def acts() -> bool:
            return leads() and not settings.shadow

        self._assigner = Assigner(
            elected,
            kept,
            self._owners,
            tiers,
            pods=self._marked,
            leads=acts,
            clock=steady_clock,
            pulse=self._pulse,
            aside=self.aside,
        )
        self._janitor = Janitor(
            elected,
            kept,
            self._owners,
            memory,
            ledgers=lambda: self._ledgers.objects.values(),
            pods=self._marked,
            leads=acts,
            counts=not gated,
            aside=self.aside,
            pulse=self._pulse,
        )
        mutator = Mutator(
            self._owners,
            self._counter,
            tiers,
            clock=steady_clock,
            patience=settings.patience_seconds,
            gated=gated,
            shadow=settings.shadow,
            report=self._report,
        )
        evictions = Evictions(
            elected,
            namespace=configuration.evictions.namespace,
            switch=configuration.evictions.switch,
            allowed=configuration.evictions.allowed and not settings.shadow,
            per_minute=configuration.evictions.per_minute,
            clock=time.time,
        )
        self._repair = Repair(
            elected,
            evictions,
            recorder,
            tiers,
            leads=leads,
            clock=steady_clock,
            configuration=settings.configuration,
            period=configuration.repair.period_seconds,
            back=configuration.repair.back,
            aside=self.aside,
            pulse=self._pulse,
        )
        self._repairs = configuration.evictions.allowed and not settings.shadow
        endpoints = {"/mutate": mutator.answer, "/validate": _validated}
        self._server = AdmissionServer(
            endpoints,
            self.measures,
            budget=settings.budget_seconds,
            clients=settings.client_names,
            tracer=tracer,
        )
        self._certificate = Certificate(self._source(), settings.client_authority)
        self._gated = gated
        self.measures.conflicts.set_function(lambda: self._counter.conflicts)
        self.measures.writes.set_function(lambda: self._counter.writes)
        self.measures.leading.set_function(lambda: float(leads()))
        self.measures.certificate_end.set_function(lambda: self._certificate.end)
        WatchCollector(self.measures.registry, self._caches)
        EventCollector(self.measures.registry, self._recorder)

    async def run(self) -> None:
        """Serve until a signal says stop; then go on for the time of the drain, with `Connection: close`."""
        await self._certificate.refresh()
        if self._detects:
            await self._tiers.recall()
        follow_progress(self._caches, self._pulse)
        await serve(
            self._process, self.measures.registry, lambda: self.ready, self._work, self._pulse, until=self._serve
        )

    @property
    def _work(self) -> list[Work]:
        """In the order of their end: what writes as the elected one stops before the lease is released."""
        work: list[Work] = [self._janitor.run]
        if self._gated:
            work.append(self._assigner.run)
        if self._repairs:
            work.append(self._repair.run)
        if self._detects:
            work += [self._tiers.run, self._tiers.nodes.run]
        work += [
            self._leads.run,
            partial(every, CERTIFICATE_SECONDS, self._renew, name="certificate", pulse=self._pulse),
        ]
        if self._recorder is not None:
            work.append(self._recorder.run)
        return [*work, *(each.run for each in self._caches)]

    async def _serve(self, stop: asyncio.Event, health: int) -> None:
        async with self._server.listening(self.settings.listen, self._certificate.context) as port:
            log.info("serving reviews", port=port, health=health, mode=self.settings.mode)
            await stop.wait()
            self._server.draining = True
            log.info("draining", seconds=self.settings.drain_seconds)
            await asyncio.sleep(self.settings.drain_seconds)

    @property
    def ready(self) -> bool:
        """Caches are synced, the ledger's kind is served, and it was not asked to stop."""
        synced = all(each.synced.is_set() for each in self._caches)
        known = self._tiers.ready or not self._detects
        return synced and known and self._ledgers.served and not self._server.draining

    @property
    def _caches(self) -> tuple[Reflector[Any], ...]:
        return (*self._owners.reflectors, self._pods, self._ledgers)

    def _source(self) -> Files | SelfMade:
        settings = self.settings
        if settings.certificate_folder:
            return Files(Path(settings.certificate_folder))
        host = f"{settings.service}.{settings.namespace}.svc"
        return SelfMade(
            self._client,
            namespace=settings.namespace,
            secret=settings.secret,
            configuration=settings.configuration,
            names=(host, f"{host}.cluster.local", *settings.names),
        )

    async def _renew(self) -> None:
        """Use a new certificate where there is one; a bad one is logged and not used."""
        try:
            if await self._certificate.refresh():
                log.info("a new certificate is in use")
        except FairleadError as error:
            log.error("the certificate could not be renewed", error=error)

    def _marked(self) -> list[MarkedPod]:
        return list(self._pods.objects.values())

    def _saw(self, remember: Callable[[Change[MarkedPod]], None]) -> Callable[[Change[MarkedPod]], None]:
        def saw(change: Change[MarkedPod]) -> None:
            remember(change)
            self._assigner.saw(change.object)

        return saw

    def _report(self, decision: Split, workload: ObjectReference | None) -> None:
        """Count the verdict; a minimum that cannot be read is also said at the workload."""
        self.measures.answers.labels(decision.verdict.value, decision.rule.code).inc()
        if workload is None or self._recorder is None:
            return
        for warning in decision.warnings:
            if warning.reason is reasons.INVALID_MINIMUM:
                self._recorder.record(
                    workload, reason=warning.code, action="Admitting", note=warning.sentence, kind="Warning"
                )


def _ignore(change: Change[TierLedger]) -> None:
    """The cache itself is all that is needed."""


async def _validated(request: ReviewRequest) -> dict[str, Any]:
    return validate(request)
