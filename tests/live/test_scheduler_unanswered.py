"""Not knowing is a state: a bind without an answer keeps its room until the server tells; none is given twice."""

import asyncio
from typing import Any

import pytest

from fairlead.kube.errors import UnreachableError
from fairlead.kube.resources import NODES
from fairlead.kube.transport import Response
from tests.kube.things import until
from tests.kube.virtual import run
from tests.live.bad_network import BAD_GATEWAY, CPU, Balancer, scheduler


class Lossy(Balancer):
    """Binds of pod x are acted upon where `act` says so, the first time; their answers are lost while `lossy`."""

    def __init__(self, answer: str, *, act: bool) -> None:
        super().__init__()
        self.answer, self.act, self.lossy, self.posts = answer, act, True, 0
        self.hearing = asyncio.Event()
        self.hearing.set()

    async def request(self, method: str, path: str, **rest: Any) -> Response:
        if not (path.endswith("/x/binding") and self.lossy):
            return await super().request(method, path, **rest)
        self.posts += 1
        if self.act and self.posts == 1:
            await super().request(method, path, **rest)
        if self.answer == "502":
            return BAD_GATEWAY
        await asyncio.sleep(rest.get("within") or 30)
        raise UnreachableError(path, "no answer in time")

    async def stream(self, path: str, query: Any) -> Any:
        async for line in super().stream(path, query):
            if line and path.endswith("/pods"):
                await self.hearing.wait()
            yield line


@pytest.mark.parametrize("answer", ["502", "none"])
def test_bind_that_was_acted_upon_and_not_answered_keeps_its_room(answer: str) -> None:
    """Four failed tries and a watch that hears nothing: the room is not given to another pod; a GET tells."""

    async def main() -> tuple[str, str, int, int]:
        api = Lossy(answer, act=True)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("x")
            api.pod("y")
            await asyncio.sleep(0.005)
            api.hearing.clear()
            await asyncio.sleep(100)
            assert list(made.cache.assumed.items()) == [(("ns", "x"), "n1")]
            api.hearing.set()
            await asyncio.sleep(300)
            return api.on("x"), api.on("y"), api.most, len(made.delivery.resolver)

    assert run(main()) == ("n1", "", 6, 0)


@pytest.mark.parametrize("answer", ["502", "none"])
def test_bind_that_was_not_acted_upon_is_sent_again_to_the_same_node(answer: str) -> None:
    """The server is well again before it is given up: the pod needs no new decision."""

    async def main() -> tuple[str, int, int]:
        api = Lossy(answer, act=False)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("x")
            await until(lambda: len(made.delivery.resolver), seconds=200)
            assert list(made.cache.assumed.values()) == ["n1"]
            api.lossy = False
            await asyncio.sleep(60)
            return api.on("x"), api.most, len(made.delivery.resolver) + len(made.cache.assumed)

    assert run(main()) == ("n1", 6, 0)


def test_bind_that_is_never_answered_is_given_up_when_it_cannot_come_true_any_more() -> None:
    """The server refuses to say anything about x for good: after a while its room is for others."""

    async def main() -> tuple[str, str]:
        api = Lossy("502", act=False)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("x")
            await asyncio.sleep(1)
            api.pod("y")
            await asyncio.sleep(55)
            assert (api.on("y"), list(made.cache.assumed)) == ("", [("ns", "x")])
            await asyncio.sleep(600)
            return api.on("x"), api.on("y")

    assert run(main()) == ("", "n1")


@pytest.mark.parametrize("event", ["pod gone", "node gone", "bound elsewhere"])
def test_watch_may_tell_before_a_get_does(event: str) -> None:
    """Where the watch tells what became of the pod nothing is asked any more."""

    async def main() -> tuple[int, int]:
        api = Lossy("502", act=False)
        api.node("n1")
        async with scheduler(api) as made:
            api.pod("x")
            await until(lambda: len(made.delivery.resolver), seconds=200)
            if event == "pod gone":
                api.drop("x")
            elif event == "node gone":
                api.remove(NODES, "n1")
            else:
                api.pod("x", nodeName="n2")
            await asyncio.sleep(0.05)
            return len(made.delivery.resolver), len(made.cache.assumed)

    assert run(main()) == (0, 0)


def test_nothing_is_decided_while_the_watch_of_nodes_is_behind() -> None:
    """A node was cordoned during an outage of its watch alone: the pod that came meanwhile does not go there."""

    class Half(Balancer):
        cut = False

        async def stream(self, path: str, query: Any) -> Any:
            async for line in super().stream(path, query):
                if self.cut and path.endswith("/nodes"):
                    raise UnreachableError(path, "cut")
                yield line

    async def main() -> tuple[str, str]:
        api = Half()
        api.node("n1")
        async with scheduler(api):
            api.cut = True
            api.end_watches()
            await asyncio.sleep(5)
            api.put(NODES, {"metadata": {"name": "n1"}, "spec": {"unschedulable": True}, "status": {}})
            api.pod("x")
            await asyncio.sleep(60)
            behind = api.on("x")
            api.cut = False
            await asyncio.sleep(60)
            cordoned = api.on("x")
            api.node("n1")
            await asyncio.sleep(30)
            assert api.on("x") == "n1"
            return behind, cordoned

    assert run(main()) == ("", "")


@pytest.mark.parametrize("seed", range(20))
def test_outage_of_a_load_balancer_never_over_commits(seed: int) -> None:
    """25 s in which binds are acted upon and not answered, and watches are down; binds go through before them."""

    async def main() -> tuple[int, int]:
        api = Balancer(seed)
        api.node("n1")
        async with scheduler(api, seed):
            api.pod("x")
            api.pod("y")
            await asyncio.sleep(api.random.uniform(0, 0.02))
            await api.outage(25)
            await asyncio.sleep(300)
            return api.most, sum(api.used().values())

    assert run(main()) == (6, 6)


@pytest.mark.parametrize("seed", range(12))
def test_any_story_of_outages_never_over_commits_and_ends_well(seed: int) -> None:
    """Pods come, go and come again under their names, nodes go and come, the network breaks at random, requests are
    acted upon late: no node ever has more bound than it holds, and at rest everything that fits is bound.
    """

    async def main() -> None:
        api = Balancer(seed)
        api.late = 40.0
        for number in range(3):
            api.node(f"n{number}")
        async with scheduler(api, seed) as made:
            alive: dict[str, int] = {}
            for step in range(120):
                await _step(api, alive, step)
            await asyncio.sleep(900)
            assert api.most <= CPU
            assert sum(api.used().values()) == 2 * min(len(alive), len(api.nodes()) * CPU // 2)
            assert (made.cache.assumed, len(made.delivery.resolver)) == ({}, 0)

    run(main())


async def _step(api: Balancer, alive: dict[str, int], step: int) -> None:
    draw, name = api.random.random(), f"p{api.random.randrange(16)}"
    if draw < 0.45:
        if name in alive:
            api.drop(name)
        alive[name] = step
        api.pod(name, uid=f"{name}-{step}", cpu=2)
    elif draw < 0.6 and name in alive:
        del alive[name]
        api.drop(name)
    elif draw < 0.66:
        await api.outage(api.random.choice((0.3, 3.0, 30.0)))
    elif draw < 0.7:
        _swap_node(api, alive)
    else:
        await asyncio.sleep(api.random.choice((0.001, 0.02, 1.0, 10.0)))


def _swap_node(api: Balancer, alive: dict[str, int]) -> None:
    """A node goes, with its pods; or comes back."""
    name = f"n{api.random.randrange(3)}"
    if name in api.nodes():
        api.remove(NODES, name)
        for pod in [pod for pod in alive if api.on(pod) == name]:
            del alive[pod]
            api.drop(pod)
    else:
        api.node(name)
