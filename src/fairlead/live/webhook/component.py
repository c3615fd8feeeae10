"""The webhook as a component: watches in, answers, ledgers and gates out.

reviews ──► server ──► mutator ──► (owners' cache) ──► verdict
                          │
                          └──► counter ──► ledger, list, compare-and-swap
watches ──► owners, memory
elected  ──► janitor; assigner (gated mode)
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import structlog

from fairlead.kube.admission.review import Request
from fairlead.kube.admission.rules import MARKER
from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.lease import Elector, own_identity, steady_clock
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.objects.tier import MarkedPod, TierLedger
from fairlead.kube.resources import TIER_LEDGERS
from fairlead.kube.retry import Backoff, Retry
from fairlead.kube.watch import Change, Reflector
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Split
from fairlead.live.runtime.evictions import Evictions
from fairlead.live.runtime.health import health_server
from fairlead.live.settings import Configuration
from fairlead.live.webhook.assigner import Assigner
from fairlead.live.webhook.counting import MARKED_PODS, Counter
from fairlead.live.webhook.janitor import Janitor
from fairlead.live.webhook.measures import Measures
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.repair import Repair
from fairlead.live.webhook.server import AdmissionServer
from fairlead.live.webhook.service import Mutator
from fairlead.live.webhook.store import LedgerStore
from fairlead.live.webhook.tls import Certificate, Files, SelfMade
from fairlead.live.webhook.validate import validate
from fairlead.model.errors import FairleadError

COUNT_RETRY = Retry(attempts=3, backoff=Backoff(first=0.05, cap=0.5), patience=1.0)
COUNT_TIMEOUT = 4.0
"""A consistent list may wait three seconds inside the API server."""
CERTIFICATE_SECONDS = 30.0

log = structlog.get_logger("webhook")


class Webhook:
    """One replica. `run` serves until `stop` is set, then drains."""

    def __init__(self, client: Client, configuration: Configuration) -> None:
        tier, settings = configuration.tier, configuration.webhook
        self.settings = settings
        self.measures = Measures()
        self._client = client
        quick = Client(client.transport, retry=COUNT_RETRY, timeout=COUNT_TIMEOUT)
        gated = settings.mode == "gated"
        identity = own_identity()
        self._recorder = Recorder(client, component="fairlead-webhook", instance=identity)
        self._elector = Elector(client, namespace=settings.namespace, name="fairlead-webhook", identity=identity)
        self._owners = Owners(client)
        memory = Memory(steady_clock, lapse=settings.lapse_seconds)
        store = LedgerStore(quick, settings.namespace)
        self._counter = Counter(quick, store, self._owners, memory, tier.policy(), clock=steady_clock)
        self._pods = Reflector(client, MARKED_PODS, self._saw(memory.saw), labels=MARKER)
        self._ledgers = Reflector(client, TIER_LEDGERS, _ignore, namespace=settings.namespace)
        self._assigner = Assigner(
            client, store, self._owners, tier.rules(), tier.policy(), pods=self._marked, leads=self._leads
        )
        self._janitor = Janitor(
            client,
            store,
            self._owners,
            memory,
            ledgers=lambda: self._ledgers.objects.values(),
            pods=self._marked,
            leads=self._leads,
            counts=not gated,
        )
        mutator = Mutator(
            self._owners,
            self._counter,
            tier.rules(),
            tier.policy(),
            clock=steady_clock,
            patience=settings.patience_seconds,
            gated=gated,
            shadow=settings.shadow,
            report=self._report,
        )
        evictions = Evictions(
            client,
            namespace=configuration.evictions.namespace,
            switch=configuration.evictions.switch,
            allowed=configuration.evictions.allowed and not settings.shadow,
            per_minute=configuration.evictions.per_minute,
            clock=time.time,
        )
        self._repair = Repair(
            client,
            evictions,
            self._recorder,
            tier.rules(),
            tier.policy(),
            leads=self._leads,
            clock=steady_clock,
            period=configuration.repair.period_seconds,
            back=configuration.repair.back,
        )
        self._repairs = configuration.evictions.allowed
        endpoints = {"/mutate": mutator.answer, "/validate": _validated}
        self._server = AdmissionServer(
            endpoints, self.measures, budget=settings.budget_seconds, clients=settings.client_names
        )
        self._certificate = Certificate(self._source(), settings.client_authority)
        self._gated = gated
        self.measures.conflicts.set_function(lambda: self._counter.conflicts)
        self.measures.writes.set_function(lambda: self._counter.writes)
        self.measures.leading.set_function(lambda: float(self._leads()))

    async def run(self, stop: asyncio.Event, started: Callable[[int, int], None] = lambda port, health: None) -> None:
        """Serve until `stop` is set; then go on for the time of the drain, telling everybody to leave."""
        await self._certificate.refresh()
        work: list[Coroutine[Any, Any, Any]] = [each.run() for each in self._caches]
        work += [self._recorder.run(), self._elector.run(), self._janitor.run(), self._renew()]
        if self._gated:
            work.append(self._assigner.run())
        if self._repairs:
            work.append(self._repair.run())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
            try:
                async with (
                    health_server(self.settings.health, self.measures.registry, lambda: self.ready) as health,
                    self._server.listening(self.settings.listen, self._certificate.context) as port,
                ):
                    started(port, health)
                    log.info("serving", port=port, mode=self.settings.mode)
                    await stop.wait()
                    self._server.draining = True
                    log.info("draining", seconds=self.settings.drain_seconds)
                    await asyncio.sleep(self.settings.drain_seconds)
            finally:
                for task in tasks:
                    task.cancel()

    @property
    def ready(self) -> bool:
        """Caches are synced, the ledger's kind is served, and nobody asked it to stop."""
        synced = all(each.synced.is_set() for each in self._caches)
        return synced and self._ledgers.served and not self._server.draining

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
        """Look for a new certificate now and then; a bad one is said and not used."""
        while True:
            await asyncio.sleep(CERTIFICATE_SECONDS)
            try:
                if await self._certificate.refresh():
                    log.info("a new certificate is in use")
            except FairleadError as error:
                log.error("the certificate could not be renewed", error=str(error))

    def _leads(self) -> bool:
        return self._elector.leading

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
        for warning in decision.warnings:
            if workload is not None and warning.reason is reasons.INVALID_MINIMUM:
                self._recorder.record(
                    workload, reason=warning.code, action="Admitting", note=warning.sentence, kind="Warning"
                )


def _ignore(change: Change[TierLedger]) -> None:
    """The cache itself is all that is needed."""


async def _validated(request: Request) -> dict[str, Any]:
    return validate(request)
