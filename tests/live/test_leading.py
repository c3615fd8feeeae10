"""A leader that does not work must not lead: drains end, failures end the process, what is stuck is named."""

import asyncio
import re
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from fairlead.kube.client import Client
from fairlead.kube.lease import Elector
from fairlead.kube.resources import LEASES, NODES, PODS
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.runtime.elected import Instance
from fairlead.live.runtime.health import health_server
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.process import EndedError, Leadership, Process, run_until
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.test_rounds import Stage


class DefectError(Exception):
    """Something that nobody expected."""


def outbox(send: Any, **more: Any) -> Outbox[int]:
    """An outbox on the clock of the loop."""
    return Outbox(send, in_flight=2, name="sends", pulse=Pulse(asyncio.get_running_loop().time), **more)


def test_drain_is_bounded_and_gives_up_what_has_not_begun() -> None:
    """Two calls never end: the drain does, after the seconds it was given, and tells of the three that never began."""

    async def act() -> None:
        given_up: list[int] = []
        box = outbox(lambda what: asyncio.Event().wait(), given_up=given_up.append)
        task = asyncio.create_task(box.run())
        for number in range(5):
            box.put(number)
        await asyncio.sleep(1)
        start = asyncio.get_running_loop().time()
        await box.drain(7.0)
        assert asyncio.get_running_loop().time() - start == 7.0
        assert given_up == [2, 3, 4]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(act())


def test_drain_ends_at_once_when_the_senders_are_gone() -> None:
    """A sender fails and takes the others with it while things wait: nothing is waited for."""

    async def act() -> None:
        async def send(what: int) -> None:
            await asyncio.sleep(1)
            raise DefectError

        box = outbox(send)
        task = asyncio.create_task(box.run())
        for number in range(5):
            box.put(number)
        await asyncio.gather(task, return_exceptions=True)
        start = asyncio.get_running_loop().time()
        await box.drain(60.0)
        assert asyncio.get_running_loop().time() == start
        assert box.waiting == 0

    run(act())


class Elected:
    """A scheduler and its elector on one server, as a process has them."""

    def __init__(self, api: FakeApi) -> None:
        clock = asyncio.get_running_loop().time
        self.api = api
        self.fails = asyncio.Event()
        self.elector = Elector(
            Client(api), namespace="ns", name="l", identity="me", clock=clock, now=clock, on_won=lambda: self.nudge()
        )
        client = Client(api).fenced(self.elector.fence)
        self.scheduler = Scheduler(
            Instance(client, monotonic=clock, wall=clock, leads=lambda: self.elector.leading), Options()
        )
        self.task = asyncio.create_task(
            run_until(asyncio.Event().wait, [self._fail, self.scheduler.run, self.elector.run])
        )

    def nudge(self) -> None:
        self.scheduler.nudge()

    async def queued(self) -> None:
        """Until it leads and binds are under way, with more of them waiting."""
        self.api.faults.seconds = 0.2
        for _ in range(1000):
            if self.holder == "me" and self.scheduler.delivery.binder.waiting:
                return
            await asyncio.sleep(0.05)
        raise AssertionError("no binds are queued")

    async def _fail(self) -> None:
        await self.fails.wait()
        raise DefectError("a defect")

    @property
    def holder(self) -> str:
        """Who holds the lease."""
        found = self.api.find(LEASES, "l", namespace="ns")
        return str(found["spec"]["holderIdentity"]) if found else ""


def crowded(pods: int) -> FakeApi:
    """A node with room for all of so many pods."""
    api = FakeApi(now=lambda: "1970-01-01T00:16:40Z")
    status = {"allocatable": {"cpu": "800", "memory": "16Gi", "pods": "500"}}
    api.put(NODES, {"metadata": {"name": "n1"}, "status": status})
    for number in range(pods):
        waiting(api, f"p{number}")
    return api


def waiting(api: FakeApi, name: str) -> None:
    """A pod that waits."""
    spec = {"schedulerName": "fairlead", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    api.put(PODS, {"metadata": {"name": name, "namespace": "ns", "uid": f"u-{name}"}, "spec": spec}, namespace="ns")


def test_defect_while_binds_are_queued_ends_the_process_and_frees_the_lease() -> None:
    """Some binds are under way, most are queued, one task fails: all ends within seconds, the cause is raised."""

    async def act() -> None:
        elected = Elected(crowded(400))
        await elected.queued()
        elected.fails.set()
        start = asyncio.get_running_loop().time()
        with capture_logs() as logs, pytest.raises(DefectError):
            await elected.task
        assert asyncio.get_running_loop().time() - start < 30
        (cause,) = [each["cause"] for each in logs if "cause" in each]
        assert re.fullmatch(r"DefectError at test_leading\.py:\d+: a defect", cause)
        elected.api.faults.seconds = 0.0
        assert elected.holder == ""

    run(act())


def test_failure_inside_the_scheduler_ends_its_run() -> None:
    """A cycle fails in a way that no object explains while binds are queued: `run` ends, and says so."""

    async def act() -> None:
        elected = Elected(crowded(400))
        await elected.queued()

        async def broken() -> list[PodSetOutcome]:
            raise DefectError

        elected.scheduler.cycle = broken  # type: ignore[method-assign]
        waiting(elected.api, "late")
        with pytest.raises(BaseExceptionGroup):
            await elected.task
        assert elected.scheduler.delivery.binder.waiting == 0

    run(act())


def test_work_that_ends_by_itself_is_a_failure() -> None:
    """Nothing that a process runs ends before it is asked to."""

    async def act() -> None:
        async def short() -> None:
            return None

        with pytest.raises(EndedError):
            await run_until(asyncio.Event().wait, [short])

    run(act())


def test_work_that_does_not_end_is_not_waited_for() -> None:
    """Three pieces ignore that they are cancelled: the lease after them still ends within a grace period."""

    async def act() -> None:
        told: list[str] = []
        forever = asyncio.Event()

        async def stubborn() -> None:
            while not forever.is_set():
                try:
                    await forever.wait()
                except asyncio.CancelledError:
                    told.append("cancelled")

        async def lease() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.5)
                told.append("released")

        began = asyncio.get_running_loop().time()
        await run_until(lambda: asyncio.sleep(0), [stubborn, stubborn, stubborn, lease])
        assert told == ["cancelled", "cancelled", "cancelled", "released"]
        assert 20 <= asyncio.get_running_loop().time() - began <= 25
        forever.set()

    run(act())


def test_idle_loop_is_alive_and_one_that_hangs_is_named() -> None:
    """An hour without news is no failure; a round that does not end is, by name."""

    async def act() -> None:
        clock = asyncio.get_running_loop().time
        stage = Stage()
        await asyncio.sleep(3600)
        assert stage.pulse.stuck() == []
        stage.hangs = True
        stage.rounds.wake()
        await asyncio.sleep(100)
        assert stage.pulse.stuck() == []
        await asyncio.sleep(100)
        assert stage.pulse.stuck() == ["rounds"]
        assert clock() > 0
        await stage.stop()

    run(act())


def test_call_that_never_ends_is_stuck() -> None:
    """A sender that waits for ever is named once its time is over."""

    async def act() -> None:
        pulse = Pulse(asyncio.get_running_loop().time)
        box = Outbox[int](lambda what: asyncio.Event().wait(), in_flight=1, name="binds", pulse=pulse)  # type: ignore[arg-type, return-value]
        task = asyncio.create_task(box.run())
        box.put(1)
        await asyncio.sleep(500)
        assert pulse.stuck() == []
        await asyncio.sleep(200)
        assert pulse.stuck() == ["binds"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert pulse.stuck() == []

    run(act())


def test_what_is_stuck_is_named_by_healthz_and_not_ready() -> None:
    """Over HTTP, as a kubelet asks."""
    now = [0.0]
    pulse = Pulse(lambda: now[0])

    async def asked() -> list[tuple[int, str]]:
        answers = []
        async with (
            health_server("127.0.0.1:0", CollectorRegistry(), lambda: True, pulse) as port,
            aiohttp.ClientSession() as session,
        ):
            for moment in (0.0, 121.0):
                pulse.beat("rounds") if not moment else None
                now[0] = moment
                for page in ("healthz", "readyz"):
                    async with session.get(f"http://127.0.0.1:{port}/{page}") as answer:
                        answers.append((answer.status, await answer.text()))
        return answers

    assert asyncio.run(asked()) == [(200, "ok\n"), (200, "ok\n"), (500, "stuck: rounds\n"), (503, "stuck: rounds\n")]


def test_stuck_leader_gives_the_lease_back() -> None:
    """What does not work does not lead; it says why."""

    async def act() -> None:
        api, now = FakeApi(), [0.0]
        pulse = Pulse(lambda: now[0])
        process = Process(listen="", lease_namespace="ns", lease_name="l")
        leadership = Leadership(Client(api), process, pulse)
        lost: list[str] = []
        leadership.on_lost = lambda: lost.append("lost")
        task = asyncio.create_task(leadership.run())
        pulse.beat("rounds")
        await asyncio.sleep(5)
        assert leadership()
        now[0] = 121.0
        with capture_logs() as logs:
            await asyncio.sleep(5)
        assert not leadership()
        assert lost == ["lost"]
        assert [each["stuck"] for each in logs if "stuck" in each] == [["rounds"]]
        found = api.find(LEASES, "l", namespace="ns")
        assert found is not None
        assert found["spec"]["holderIdentity"] == ""
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(act())
