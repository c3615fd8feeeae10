"""What a lost lease ends, and what the next lead of the same instance begins with."""

import asyncio
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.resources import LONGHORN_REPLICAS, QUEUES, TIER_LEDGERS
from fairlead.live.queue import contested_turn
from fairlead.live.runtime.aside import DECIDING, READING, WRITING
from fairlead.live.webhook.component import Webhook
from fairlead.model.errors import InputError
from fairlead.settings import DEFAULTS
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.test_queue_wiring import Town, play
from tests.live.test_storage import Stage
from tests.live.test_storage import play as play_storage

AWAY = 40.0
"""Seconds for which another instance leads."""


def lose(town: Town) -> None:
    """As the elector does it."""
    town.leads = False
    town.scheduler.lost()


def win(town: Town) -> None:
    """As the elector does it."""
    town.leads = True
    town.scheduler.nudge()


def test_queue_that_fails_turns_is_told_by_the_instance_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A former leader takes no turns and would not learn that the queue is mended; when it leads again it tells."""
    composed = contested_turn.share_and_place

    def failing(state: Any, *rest: Any, **named: Any) -> Any:
        queues = state.queues
        if "bad" in queues.names and queues.names.index("bad") not in queues.faults:
            raise ZeroDivisionError("no good")
        return composed(state, *rest, **named)

    monkeypatch.setattr(contested_turn, "share_and_place", failing)

    async def story(town: Town) -> None:
        town.api.put(QUEUES, {"metadata": {"name": "bad"}, "spec": {"weight": 1, "capability": {"cpu": "1"}}})
        town.gang("waits", 1, 1, queue="bad")
        await asyncio.sleep(5)
        registry = town.scheduler.measures.registry

        def told() -> float | None:
            return registry.get_sample_value("fairlead_set_aside", {"kind": "Queue"})

        assert told() == 1
        lose(town)
        assert told() is None
        await asyncio.sleep(AWAY)
        win(town)
        town.gang("later", 1, 1, queue="bad")
        await asyncio.sleep(5)
        assert told() == 1

    play(story)


def test_storage_that_leads_no_longer_sets_aside_what_it_reads_and_decides() -> None:
    """Every instance looks, so that part stays; what could not be written is for the one that leads."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api)
        await stage.quiet(1)
        for number, stage_name in enumerate((READING, DECIDING, WRITING)):
            about = LONGHORN_REPLICAS.refer(f"r{number}", namespace="longhorn-system")
            stage.keeper.set_aside.tell(about, InputError("spec", "is odd"), stage_name)
        stage.keeper.lost()
        assert [name for *_, name in stage.keeper.set_aside.faults] == ["r0", "r1"]
        await stage.stop()

    play_storage(act)


def test_webhook_that_leads_no_longer_sets_aside_only_what_it_cannot_read() -> None:
    """Ledgers are kept in order, and workloads repaired, by the replica that leads."""

    async def main() -> None:
        webhook = Webhook(Client(FakeApi()), DEFAULTS)
        for number, stage in enumerate((READING, DECIDING, WRITING)):
            about = TIER_LEDGERS.refer(f"l{number}", namespace="fairlead-system")
            webhook.aside.tell(about, InputError("spec", "is odd"), stage)
        webhook._leads._lost()
        assert [name for *_, name in webhook.aside.faults] == ["l0"]

    run(main())
