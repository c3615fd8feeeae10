"""What the scheduler does for fairness besides deciding, put together: evictions, status, metrics, reservation."""

import asyncio
from dataclasses import replace

from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, QUEUES
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.turn_types import QueueTurn, TurnTerms
from fairlead.live.queue.contested_turn import take_turn
from fairlead.live.queue.evictor import Evictor
from fairlead.live.queue.gate import at_the_gate
from fairlead.live.queue.gate_loop import GateLoop, GateSight
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.pod_status import PodStatusWriter
from fairlead.live.queue.promise_ends import PodSight, PromiseEnds
from fairlead.live.queue.search_budget import SearchBudget
from fairlead.live.queue.standard_queues import StandardQueues
from fairlead.live.queue.status_loop import Sight, StatusLoop
from fairlead.live.runtime.evictions import Evictions
from fairlead.live.scheduler.component import Scheduler
from fairlead.settings import Configuration


class QueueWiring:
    """Follows the turns of a scheduler. While `evictions.allowed` is not set, evictions are only told of."""

    def __init__(
        self,
        scheduler: Scheduler,
        configuration: Configuration,
    ) -> None:
        instance = scheduler.instance
        client, recorder, leads, pulse = instance.client, instance.recorder, instance.leads, instance.pulse
        monotonic, wall = instance.monotonic, instance.wall
        settings, shadow = configuration.queue, scheduler.options.shadow
        allowed = configuration.evictions.allowed
        self._scheduler = scheduler
        self._wall = wall
        self._now = monotonic
        self._policy = SharePolicy(
            preempt=settings.preempt and (allowed or shadow),
            reserve_after=settings.reserve_after_seconds,
            # A part of what may go in a minute, so that they can be paid for together (docs/decisions/0281).
            elastic=max(1, configuration.evictions.per_minute // 4),
        )
        self._search = SearchBudget(lambda: scheduler.job_cache.generation)
        measures = QueueMetrics(scheduler.measures.registry)
        evictions = Evictions(
            client,
            namespace=configuration.evictions.namespace,
            switch=configuration.evictions.switch,
            allowed=allowed and not shadow,
            per_minute=configuration.evictions.per_minute,
            clock=wall,
        )
        pod_status = PodStatusWriter(client, recorder, scheduler.cache.pods.get, wall)
        self._evictor = Evictor(
            scheduler.promises,
            evictions,
            pod_status,
            measures,
            clock=monotonic,
            nudge=scheduler.stir,
            leads=leads,
            shadow=shadow,
            pulse=pulse,
        )
        self._gate = GateLoop(
            client,
            GateSight(
                groups=lambda: scheduler.objects(POD_GROUPS),
                generation=lambda: scheduler.job_cache.generation,
                ask=lambda *, burst, let_in: at_the_gate(
                    scheduler.promises,
                    scheduler.cache.view().nodes,
                    scheduler.objects(POD_GROUPS),
                    wall(),
                    gated=settings.admit == "gated",
                    reclaims=settings.preempt and allowed,
                    burst=burst,
                    let_in=let_in,
                ),
            ),
            wall=wall,
            monotonic=monotonic,
            leads=lambda: leads() and scheduler.knows_promises,
            writes=not shadow,
            pulse=pulse,
            aside=scheduler.aside,
        )
        ends = PromiseEnds(
            scheduler.promises,
            PodSight(
                pod=scheduler.cache.pods.get,
                leaving=lambda: len(scheduler.job_cache.leaving),
                nominated=lambda: [pod.key for pod in scheduler.nominated()],
            ),
            self._evictor,
            pod_status,
            measures,
            monotonic=monotonic,
            nudge=scheduler.stir,
            hold_seconds=settings.hold_seconds,
            writes=not shadow,
        )
        self._status_loop = StatusLoop(
            client,
            Sight(
                groups=lambda: scheduler.objects(POD_GROUPS),
                native=lambda: scheduler.objects(NATIVE_POD_GROUPS),
                queues=lambda: scheduler.objects(QUEUES),
                pod=scheduler.cache.pods.get,
                generation=lambda: scheduler.job_cache.generation + self._gate.looks,
                look=lambda: scheduler.promises.look(scheduler.cache.view().nodes, wall()),
                would=self._would,
                gate=lambda: self._gate.answers,
            ),
            ends,
            self._evictor,
            measures,
            wall=wall,
            monotonic=monotonic,
            nudge=scheduler.stir,
            leads=lambda: leads() and scheduler.knows_promises,
            period=settings.status_seconds,
            writes=not shadow,
            tells_evictions=settings.preempt and not allowed,
            aside=scheduler.aside,
            pulse=pulse,
        )
        self._standard = StandardQueues(
            client,
            lambda: scheduler.objects(QUEUES) if scheduler.job_cache.served(QUEUES) else None,
            clock=monotonic,
            acts=lambda: settings.create_queues and not shadow and leads() and scheduler.synced,
            period=settings.status_seconds,
            pulse=pulse,
        )
        scheduler.promises.terms = self._terms
        scheduler.cycle.on_turn = self._took_turn
        scheduler.companions.append(self)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._evictor.run())
            group.create_task(self._gate.run())
            group.create_task(self._status_loop.run())
            group.create_task(self._standard.run())

    def lost(self) -> None:
        """This instance leads no longer: evictions that have not begun are given up, and nothing is told of queues."""
        self._evictor.lost()
        self._status_loop.lost()

    def _terms(self) -> TurnTerms:
        """What the next turn goes by: the settings, as far as evictor and search allow (docs/decisions/0455)."""
        evictor, search = self._evictor, self._search
        preempts = self._policy.preempt and evictor.able
        return TurnTerms(
            policy=replace(self._policy, preempt=preempts, budget=search.budget),
            tried=search.tried,
            spared=evictor.spared,
            barred=evictor.barred,
            yielding=evictor.yielding,
        )

    def _took_turn(self, turn: QueueTurn) -> None:
        preempts = self._policy.preempt and self._evictor.able
        if self._search.took_turn(turn.sharing.cursor, self._now() - turn.at, preempts=preempts):
            self._scheduler.stir()
        self._status_loop.took_turn(turn)
        for promise in self._evictor.took_turn(turn):
            self._scheduler.promises.promise(promise)

    def _would(self) -> QueueTurn:
        """What a turn with evictions would be; nothing is done about it."""
        terms = self._terms()
        terms = replace(terms, policy=replace(terms.policy, preempt=True))
        return take_turn(self._scheduler.promises, self._scheduler.cycle.site(), None, self._wall(), terms)[0]
