"""The queues `root` and `default`: created where Queues are served and nobody made them."""

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.resources import QUEUES
from fairlead.live.queue.standard_queues import REST, StandardQueues
from fairlead.live.runtime.pulse import Pulse
from tests.fake.api import FakeApi
from tests.kube.virtual import run


class Office:
    """A server, what a watch has seen of its queues, and the one who creates."""

    def __init__(self, *, acts: bool = True, served: bool = True) -> None:
        self.api = FakeApi()
        self.seen: dict[tuple[str, str], Any] | None = {} if served else None
        clock = asyncio.get_running_loop().time
        self.queues = StandardQueues(
            Client(self.api), lambda: self.seen, clock=clock, acts=lambda: acts, period=2.0, pulse=Pulse(clock)
        )

    def there(self) -> dict[str, dict[str, Any]]:
        """The queues on the server, by name."""
        found = self.api.store.listed(f"{QUEUES.root}/{QUEUES.plural}", "", "", "")
        return {each["metadata"]["name"]: each["spec"] for each in found}


def test_missing_queues_are_created_as_volcanos_scheduler_does() -> None:
    """Weight 1, no parent; only what hangs below root may be reclaimed from."""

    async def story() -> None:
        office = Office()
        await office.queues.round()
        assert office.there() == {
            "root": {"weight": 1, "reclaimable": False},
            "default": {"weight": 1, "reclaimable": True},
        }

    run(story())


def test_queue_that_exists_is_left_alone() -> None:
    """Whatever it says; the other one is made."""

    async def story() -> None:
        office = Office()
        body = {"metadata": {"name": "default"}, "spec": {"weight": 7}}
        assert office.seen is not None
        office.seen["", "default"] = msgspec.convert(body, QUEUES.shape)
        await office.queues.round()
        assert list(office.there()) == ["root"]

    run(story())


@pytest.mark.parametrize(("acts", "served"), [(False, True), (True, False)])
def test_nothing_is_created_by_a_follower_or_where_queues_are_not_served(acts: bool, served: bool) -> None:
    """Nor where the setting says no."""

    async def story() -> None:
        office = Office(acts=acts, served=served)
        await office.queues.round()
        assert office.there() == {}

    run(story())


def test_refusal_is_tried_again_later_and_does_not_stop_the_other_queue() -> None:
    """No right, or a webhook that says no: once a minute."""

    async def story() -> None:
        office = Office()
        office.api.fail(403, method="POST")
        await office.queues.round()
        assert list(office.there()) == ["default"]
        await office.queues.round()
        assert list(office.there()) == ["default"]
        await asyncio.sleep(REST)
        await office.queues.round()
        assert sorted(office.there()) == ["default", "root"]

    run(story())
