"""The rounds of a component: one after each burst of changes, while it leads, and an end that leaves nothing undone."""

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.resources import NODES
from fairlead.kube.watch import Reflector
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Rounds
from tests.fake import FakeApi
from tests.kube.virtual import run


class Stage:
    """Rounds that write down what happens to them."""

    def __init__(self, due: Callable[[], float | None] = lambda: None) -> None:
        self.api = FakeApi()
        self.told: list[str] = []
        self.leads = True
        self.hangs = False
        nodes: Reflector[Any] = Reflector(Client(self.api), NODES, lambda change: self.rounds.wake())
        clock = asyncio.get_running_loop().time
        self.pulse = Pulse(clock)
        self.rounds = Rounds([nodes], gather=0.1, leads=lambda: self.leads, monotonic=clock, pulse=self.pulse)
        self.task = asyncio.create_task(
            self.rounds.run(
                self._tell("round"),
                begin=self._tell("begin"),
                idle=lambda: self.told.append("idle"),
                due=due,
                beside=[self._beside],
                drain=self._drain,
            )
        )

    def _tell(self, word: str) -> Callable[[], Any]:
        async def tell() -> None:
            self.told.append(word)
            if self.hangs:
                await asyncio.Event().wait()

        return tell

    async def _beside(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("stopped")

    async def _drain(self) -> None:
        await asyncio.sleep(5)
        self.told.append("drained")

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def test_burst_is_one_round_and_followers_only_follow() -> None:
    """Three changes at once make one round; without the lead there is none."""

    async def act() -> None:
        stage = Stage()
        await asyncio.sleep(1)
        for number in range(3):
            stage.api.put(NODES, {"metadata": {"name": f"n{number}"}})
        await asyncio.sleep(1)
        assert stage.rounds.synced
        assert stage.told == ["begin", "round"]
        stage.leads = False
        stage.rounds.wake()
        await asyncio.sleep(1)
        assert stage.told == ["begin", "round", "idle"]
        await stage.stop()

    run(act())


def test_round_comes_when_one_is_due() -> None:
    """Nothing changes, but the clock says so."""

    async def act() -> None:
        start = asyncio.get_running_loop().time()
        times = [start + 10.0]
        stage = Stage(due=lambda: times[0] if stage.told.count("round") == 0 else None)
        await asyncio.sleep(9)
        assert stage.told == ["begin"]
        await asyncio.sleep(2)
        assert stage.told == ["begin", "round"]
        await stage.stop()

    run(act())


def test_end_completes_what_began_before_anything_is_stopped() -> None:
    """What works beside the rounds is still there while they drain."""

    async def act() -> None:
        stage = Stage()
        await asyncio.sleep(1)
        await stage.stop()
        assert stage.told == ["begin", "drained", "stopped"]

    run(act())


def test_outbox_completes_what_began_and_gives_up_the_rest() -> None:
    """Two in flight of five when it is drained: these two are sent, and no other."""

    async def act() -> None:
        begun, sent = [], []

        async def send(number: int) -> None:
            begun.append(number)
            await asyncio.sleep(1)
            sent.append(number)

        outbox = Outbox(send, in_flight=2, name="sends", pulse=Pulse(asyncio.get_running_loop().time))
        task = asyncio.create_task(outbox.run())
        for number in range(5):
            outbox.put(number)
        await asyncio.sleep(0.5)
        await outbox.drain()
        assert begun == sent == [0, 1]
        outbox.put(9)
        await asyncio.sleep(2)
        assert sent == [0, 1, 9]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(act())
