"""The loop of the gate: when it looks, whom it writes to, and what it makes of refusals."""

import asyncio
from dataclasses import replace

import msgspec

from fairlead.kube.client import Client
from fairlead.kube.objects.volcano import PodGroup
from fairlead.kube.resources import POD_GROUPS
from fairlead.live.cluster.identity import JobKey
from fairlead.live.queue.arrivals import SETTLE, Burst
from fairlead.live.queue.gate import Asking
from fairlead.live.queue.gate_loop import DUTY, GateLoop, GateSight
from fairlead.live.runtime.aside import Aside
from fairlead.live.runtime.pulse import Pulse
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.fair_turns import live_job


class Door:
    """The loop over the fake API, with answers that the test gives: who is held back."""

    def __init__(self, *, writes: bool = True) -> None:
        self.api = FakeApi()
        self.held_back: set[str] = set()
        self.generation = 0
        self.asked: list[tuple[Burst, frozenset[JobKey]]] = []
        self.cached: dict[tuple[str, str], PodGroup] = {}
        self.seconds_a_look = self._spent = 0.0
        self.waited_a_look = self._waited = 0.0
        clock = asyncio.get_running_loop().time
        self.loop = GateLoop(
            Client(self.api),
            GateSight(groups=lambda: self.cached, generation=lambda: self.generation, ask=self._ask),
            wall=clock,
            monotonic=lambda: clock() + self._waited + self._spent,
            processor=lambda: self._spent,
            leads=lambda: True,
            writes=writes,
            pulse=Pulse(clock),
            aside=Aside(),
        )

    def _ask(self, *, burst: Burst, let_in: frozenset[JobKey]) -> Asking:
        self.asked.append((burst, let_in))
        self._spent += self.seconds_a_look
        self._waited += self.waited_a_look
        jobs = [replace(live_job(min_member=1), namespace=key[0], name=key[1], queue="q") for key in self.cached]
        said = [replace(job, held_back=job.name in self.held_back) for job in jobs]
        return {f"PodGroup/ml/{job.name}": (job, None) for job in said} if burst.over else {}

    def group(self, *names: str) -> None:
        """PodGroups come."""
        for name in names:
            self.api.put(POD_GROUPS, {"metadata": {"name": name, "namespace": "ml"}, "spec": {"minMember": 1}})
        self.news()

    def runs(self, name: str) -> None:
        """A PodGroup is there whose pods run."""
        meta = {"name": name, "namespace": "ml"}
        self.api.put(POD_GROUPS, {"metadata": meta, "spec": {"minMember": 1}, "status": {"phase": "Running"}})
        self.news()

    def news(self) -> None:
        """What the server has is seen."""
        found = self.api.store.listed(f"{POD_GROUPS.root}/podgroups", "", "", "")
        self.cached = {("ml", each["metadata"]["name"]): msgspec.convert(each, PodGroup) for each in found}
        self.generation += 1

    def phases(self) -> dict[str, str]:
        """As the server has them."""
        found = self.api.store.listed(f"{POD_GROUPS.root}/podgroups", "", "", "")
        return {each["metadata"]["name"]: each.get("status", {}).get("phase", "") for each in found}


def test_groups_are_let_in_once_they_have_settled() -> None:
    """Nothing is written while others come; then all at once, and not a second time before the server tells of it."""

    async def story() -> None:
        door = Door()
        door.group("a")
        await door.loop.round()
        await asyncio.sleep(SETTLE / 2)
        door.group("b")
        await door.loop.round()
        await asyncio.sleep(SETTLE / 2)
        await door.loop.round()
        assert door.phases() == {"a": "", "b": ""}
        await asyncio.sleep(SETTLE)
        await door.loop.round()
        assert door.phases() == {"a": "Inqueue", "b": "Inqueue"}
        door.generation += 1
        await door.loop.round()
        assert door.asked[-1][1] == {"PodGroup/ml/a", "PodGroup/ml/b"}
        door.news()
        await door.loop.round()
        assert door.asked[-1][1] == frozenset()
        assert [method for method, _ in door.api.calls] == ["PATCH", "PATCH"]

    run(story())


def test_without_a_change_nobody_looks() -> None:
    """Once all is settled a look needs a change; one that took long is followed by a rest."""

    async def story() -> None:
        door = Door()
        door.runs("a")
        await door.loop.round()
        await door.loop.round()
        assert len(door.asked) == 1
        door.generation, door.seconds_a_look = 2, 1.0
        await door.loop.round()
        assert len(door.asked) == 2
        for pause, looks in ((DUTY - 1, 2), (2, 3)):
            await asyncio.sleep(pause)
            door.generation += 1
            await door.loop.round()
            assert len(door.asked) == looks

    run(story())


def test_where_no_group_is_or_was_the_gate_does_not_look() -> None:
    """Pods come and go without it. The first group is looked at, and so is the end of the last one."""

    async def story() -> None:
        door = Door()
        await door.loop.round()
        for _ in range(3):
            door.generation += 1
            await door.loop.round()
        assert (len(door.asked), door.loop.looks) == (1, 1)
        door.runs("a")
        await door.loop.round()
        assert (len(door.asked), len(door.loop.answers)) == (2, 1)
        door.cached = {}
        door.generation += 1
        await door.loop.round()
        assert (len(door.asked), door.loop.answers) == (3, {})
        door.generation += 1
        await door.loop.round()
        assert len(door.asked) == 3

    run(story())


def test_a_look_that_had_to_wait_for_the_processor_is_followed_by_no_rest() -> None:
    """What others take of a busy machine does not make the gate look more rarely."""

    async def story() -> None:
        door = Door()
        door.runs("a")
        door.waited_a_look = 5.0
        await door.loop.round()
        door.generation += 1
        await door.loop.round()
        assert len(door.asked) == 2

    run(story())


def test_who_is_held_back_and_who_was_let_in_is_not_written_to() -> None:
    """Nor anybody in shadow."""

    async def story() -> None:
        for writes, want in ((True, {"a": "", "b": "Inqueue"}), (False, {"a": "", "b": ""})):
            door = Door(writes=writes)
            door.held_back = {"a"}
            door.group("a", "b")
            await door.loop.round()
            await asyncio.sleep(SETTLE)
            await door.loop.round()
            assert door.phases() == want
            assert door.loop.looks == 2
            assert set(door.loop.answers) == {"PodGroup/ml/a", "PodGroup/ml/b"}

    run(story())


def test_group_that_changed_meanwhile_is_let_in_at_the_next_look() -> None:
    """The version is a precondition: the refusal is no failure, and the look is repeated without a change."""

    async def story() -> None:
        door = Door()
        door.group("a")
        await door.loop.round()
        await asyncio.sleep(SETTLE)
        door.api.put(POD_GROUPS, {"metadata": {"name": "a", "namespace": "ml"}, "spec": {"minMember": 2}})
        await door.loop.round()
        assert door.phases() == {"a": ""}
        door.news()
        door.generation -= 1
        await door.loop.round()
        assert door.phases() == {"a": "Inqueue"}

    run(story())
