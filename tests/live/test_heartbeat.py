"""Liveness knows of watches and of the recorder: what hangs is named, what is idle or fails and tries again is not."""

import asyncio
from functools import partial
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import NODES
from fairlead.kube.transport import Response
from fairlead.kube.watch import Reflector
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.runtime.reconcile_loop import follow_progress
from tests.fake import FakeApi
from tests.kube.virtual import run


class Hanging(FakeApi):
    """Never answers while it hangs, and heeds no limit of time."""

    hangs = False

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if self.hangs:
            await asyncio.Event().wait()
        return await super().request(method, path, **options)


@pytest.mark.parametrize("state", ["idle", "failing", "hanging"])
def test_watch_that_hangs_is_stuck_and_no_other(state: str) -> None:
    """An hour without an event, or of refusals, is no defect; ten minutes without any progress are."""

    async def act() -> list[str]:
        api, pulse = Hanging(), Pulse(asyncio.get_running_loop().time)
        api.hangs = state == "hanging"
        if state == "failing":
            api.stop_serving(NODES)
        nodes: Reflector[Any] = Reflector(Client(api), NODES, lambda change: None)
        follow_progress([nodes], pulse)
        task = asyncio.create_task(nodes.run())
        await asyncio.sleep(CALL_SECONDS - 1 if state == "hanging" else 3600)
        assert pulse.stuck() == []
        await asyncio.sleep(2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return pulse.stuck()

    assert run(act()) == (["watch of nodes"] if state == "hanging" else [])


@pytest.mark.parametrize("hangs", [False, True], ids=["idle", "hanging"])
def test_recorder_that_hangs_is_stuck(*, hangs: bool) -> None:
    """One that has nothing to write says so now and then."""

    async def act() -> list[str]:
        api, clock = Hanging(), asyncio.get_running_loop().time
        pulse = Pulse(clock)
        recorder = Recorder(Client(api), component="test", instance="one", clock=clock, now=clock)
        recorder.on_progress = partial(pulse.beat, "events", CALL_SECONDS)
        task = asyncio.create_task(recorder.run())
        await asyncio.sleep(3600)
        assert pulse.stuck() == []
        api.hangs = hangs
        recorder.record(NODES.refer("n1"), reason="Test", action="Testing", note="a word")
        await asyncio.sleep(CALL_SECONDS + 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return pulse.stuck()

    assert run(act()) == (["events"] if hangs else [])
