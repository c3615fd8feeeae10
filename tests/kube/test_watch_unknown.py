"""A watch that does not know says so, keeps what it knew, and does not hammer the server."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from fairlead.kube.errors import ApiError
from fairlead.kube.resources import ALL, NATIVE_POD_GROUPS, NODES, PODS, QUEUES, STORAGE_CLASSES, TIER_LEDGERS
from fairlead.kube.transport import Query
from fairlead.kube.watch import Reflector
from tests.fake import FakeApi
from tests.kube import virtual
from tests.kube.test_watch import running
from tests.kube.things import client, pod, shop, until


class Deaf(FakeApi):
    """Streams are accepted; while `mute` is set they bring nothing, and do not end either."""

    mute = False

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        async for line in super().stream(path, query):
            if self.mute and line:
                await asyncio.sleep(10_000)
            yield line


def watched(api: FakeApi, resource: Any = PODS) -> Reflector[Any]:
    return Reflector(client(api), resource, lambda change: None, jitter=lambda: 1.0)


def test_watch_silent_for_two_minutes_is_opened_anew() -> None:
    """A connection that died without a word costs two minutes and a little, not the hours until TCP gives up."""

    async def main() -> tuple[float, int, str]:
        api = Deaf()
        api.put(PODS, pod("a"))
        follower, clock = watched(api), asyncio.get_running_loop().time
        async with running(follower):
            await follower.current.wait()
            api.mute, began = True, clock()
            api.put(PODS, pod("b"))
            await until(lambda: follower.trouble is not None, seconds=200)
            why, api.mute = str(follower.trouble), False
            assert not follower.current.is_set()
            await until(lambda: len(follower.objects) == 2)
            return clock() - began, follower.lists, why

    seconds, lists, why = virtual.run(main())
    assert 115 < seconds < 130
    assert lists == 1
    assert "neither an event nor a bookmark for 120 s" in why


def test_watch_with_bookmarks_is_not_opened_anew() -> None:
    """A quiet cluster sends a bookmark a minute, which is enough to be heard."""

    async def main() -> int:
        api = shop("a")
        follower = Reflector(client(api), PODS, lambda change: None, jitter=lambda: 1.0)
        async with running(follower):
            for _ in range(7):
                await asyncio.sleep(60)
                api.bookmark()
        return api.calls.count(("WATCH", "/api/v1/pods"))

    assert virtual.run(main()) == 1


@pytest.mark.parametrize("first", [False, True], ids=["as a code", "after the stream was accepted"])
def test_watch_whose_every_version_is_gone_backs_off(first: bool) -> None:
    """Ten minutes of 410 cost a few dozen lists, not thousands a second; then the watch goes on."""

    class Gone(FakeApi):
        gone = True

        async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
            if not self.gone or first:
                async for line in super().stream(path, query):
                    yield line
                    if self.gone:
                        break
            if self.gone:
                raise ApiError(410, "Expired", "too old resource version")

    async def main() -> tuple[int, bool]:
        api = Gone()
        follower = watched(api)
        async with running(follower):
            await asyncio.sleep(600)
            lists, api.gone = follower.lists, False
            api.put(PODS, pod("new"))
            await asyncio.sleep(40)
            return lists, bool(follower.objects) and follower.current.is_set()

    lists, right = virtual.run(main())
    assert 5 < lists < 40
    assert right


def test_watch_is_current_only_while_its_stream_is_open() -> None:
    """From the end of a stream until the next one is accepted, what is known may be old, and that is said."""

    async def main() -> list[bool]:
        api = shop("a")
        follower, seen = watched(api), []
        assert not follower.current.is_set()
        async with running(follower):
            await follower.current.wait()
            seen.append(follower.current.is_set())
            api.faults.down = True
            api.end_watches(cut=True)
            await asyncio.sleep(25)
            seen.append(follower.current.is_set())
            api.faults.down = False
            await follower.current.wait()
            seen.append(follower.current.is_set())
        return seen

    assert virtual.run(main()) == [True, False, True]


ANSWERS: dict[str, Callable[[FakeApi], None]] = {
    "discovery has the kind": lambda api: api.fail(404, method="GET", path="/queues", times=3),
    "discovery is not found either": lambda api: api.fail(404, times=12),
    "discovery fails": lambda api: (
        api.fail(404, path="/queues", times=3),
        api.fail(503, path="v1beta1", times=8),
    )[0],
}


@pytest.mark.parametrize("case", ANSWERS)
def test_404_of_a_list_alone_does_not_empty_what_is_known(case: str) -> None:
    """A proxy that lost its server answers 404 to everything; queues do not go because of that."""

    async def main() -> list[int]:
        api = FakeApi()
        api.put(QUEUES, {"metadata": {"name": "gold"}, "spec": {"weight": 3}})
        follower, sizes = watched(api, QUEUES), []
        async with running(follower):
            ANSWERS[case](api)
            api.compact()
            for _ in range(120):
                sizes.append(len(follower.objects))
                await asyncio.sleep(1)
            assert follower.current.is_set()
            assert follower.served
        return sizes

    assert set(virtual.run(main())) == {1}


def test_404_of_nodes_is_a_failure_like_any_other() -> None:
    """Nodes and pods are always served: whatever a server says, they are not gone."""

    async def main() -> tuple[int, bool]:
        api = FakeApi()
        api.put(NODES, {"metadata": {"name": "n1"}})
        follower = watched(api, NODES)
        async with running(follower):
            api.stop_serving(NODES)
            await asyncio.sleep(300)
            return len(follower.objects), follower.current.is_set()

    assert virtual.run(main()) == (1, False)


def test_list_that_is_no_list_does_not_empty_what_is_known() -> None:
    """`200 {}` of something in between is not an empty cluster."""

    class Hollow(FakeApi):
        hollow = False

        def _act(self, method: str, path: str, *rest: Any) -> Any:
            return {} if self.hollow else super()._act(method, path, *rest)

    async def main() -> tuple[int, bool]:
        api = Hollow()
        api.put(PODS, pod("a"))
        follower = watched(api)
        async with running(follower):
            api.hollow = True
            api.compact()
            await asyncio.sleep(60)
            return len(follower.objects), follower.current.is_set()

    assert virtual.run(main()) == (1, False)


def test_kinds_that_may_be_absent_are_those_that_are_installed_or_in_trial() -> None:
    """What every API server has is never taken for absent."""
    assert [each.optional for each in (QUEUES, TIER_LEDGERS, NATIVE_POD_GROUPS)] == [True] * 3
    assert [each.optional for each in (PODS, NODES, STORAGE_CLASSES)] == [False] * 3
    assert not any(each.optional for each in ALL if each.group in ("", "apps") or each.api_version == "policy/v1")
