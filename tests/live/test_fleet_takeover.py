"""An instance that begins to lead, for the first time or again: nothing of an earlier lead holds it up."""

import asyncio

from fairlead.kube.client import Client
from fairlead.kube.resources import RESOURCE_BINDINGS
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.fleet.turns import BindingTurns
from fairlead.live.runtime.elected import Instance
from tests.fake import FakeApi
from tests.live.test_fleet import binding, play

KEY = ("shop", "web")


class Led:
    """One instance whose lead is given and taken as the lease does it."""

    def __init__(self, api: FakeApi) -> None:
        self.leads = False
        self.api = api
        loop = asyncio.get_running_loop()
        self.fleet = Fleet(Instance(Client(api), monotonic=loop.time, leads=lambda: self.leads), FleetOptions())
        self.task = asyncio.create_task(self.fleet.run())

    def win(self) -> None:
        self.leads = True
        self.fleet.nudge()

    def lose(self) -> None:
        self.leads = False
        self.fleet.lost()

    def placed(self) -> bool:
        found = self.api.find(RESOURCE_BINDINGS, "web", namespace="shop")
        return found is not None and sum(each["replicas"] for each in found["spec"].get("clusters", [])) == 6

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def test_pauses_of_an_earlier_lead_do_not_delay_the_next() -> None:
    """A leader whose writes fail loses the lease as well; when it leads again it writes at once, not after a pause."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.fail(503, method="PATCH", times=10**6)
        led = Led(api)
        await asyncio.sleep(5)
        led.win()
        await asyncio.sleep(300)
        led.lose()
        api.faults.rules.clear()
        led.win()
        await asyncio.sleep(1)
        assert led.placed()
        await led.stop()

    play(act)


def test_turn_that_was_given_up_is_due_and_counts_as_no_failure() -> None:
    """The first failure after it has the first pause."""
    now = 0.0
    turns = BindingTurns(lambda: now, lambda: 1.0)
    for _ in range(5):
        turns.writing(KEY)
        turns.given_up(KEY)
    assert turns.ready() == [KEY]
    turns.taken([KEY])
    turns.failed(KEY, 1, conflict=False)
    assert (turns.ready(), turns.next()) == ([], 0.5)
