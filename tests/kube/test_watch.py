"""List and watch: nothing is missed, whatever breaks in between."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.changes import Change
from fairlead.kube.errors import KubeError
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS, QUEUES
from fairlead.kube.retry import Backoff
from fairlead.kube.transport import split_lines
from fairlead.kube.watch import Reflector
from fairlead.kube.watch_pace import WatchPace
from tests.fake import FakeApi
from tests.kube import virtual
from tests.kube.things import client, counting, pod, shop, uid_of, until

Told = list[tuple[str, str]]


def reflector(api: FakeApi, told: Told, **options: Any) -> Reflector[Pod]:
    def sink(change: Change[Pod]) -> None:
        told.append((change.kind, change.object.metadata.name))

    return Reflector(client(api), PODS, sink, sleep=counting(options.pop("waits", None)), jitter=lambda: 0.5, **options)


@asynccontextmanager
async def running(watched: Reflector[Any]) -> AsyncIterator[None]:
    task = asyncio.create_task(watched.run())
    try:
        await watched.synced.wait()
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def same(watched: Reflector[Pod], api: FakeApi) -> Callable[[], bool]:
    """Whether the reflector knows exactly what the fake has."""

    def check() -> bool:
        stored = api.store.collection("/api/v1/pods").objects
        have = {key: raw["metadata"]["resourceVersion"] for key, raw in stored.items()}
        return have == {key: seen.metadata.resource_version for key, seen in watched.objects.items()}

    return check


async def test_changes_are_told_in_order() -> None:
    """First what is there, then what happens."""
    api, told = shop("a"), []  # type: Any
    watched = reflector(api, told)
    async with running(watched):
        api.put(PODS, pod("b"))
        api.put(PODS, pod("a", labels={"x": "y"}))
        api.remove(PODS, "b", namespace="shop")
        await until(lambda: len(told) == 4)
    assert told == [("added", "a"), ("added", "b"), ("modified", "a"), ("deleted", "b")]
    assert watched.served


BREAKS: dict[str, Callable[[FakeApi], None]] = {
    "stream ends": lambda api: api.end_watches(),
    "connection cut": lambda api: api.end_watches(cut=True),
    "history gone": lambda api: api.compact(),
    "server down for five tries": lambda api: (api.cut(times=5), api.end_watches())[0],
    "server errors": lambda api: (api.fail(500, times=7), api.end_watches())[0],
    "gone as a code": lambda api: (api.fail(410, method="WATCH"), api.end_watches())[0],
    "too many requests": lambda api: (api.fail(429, method="WATCH", retry_after=2), api.end_watches())[0],
}


@pytest.mark.parametrize("case", BREAKS)
async def test_after_a_break_nothing_is_missed(case: str) -> None:
    """Changes made while the watch was down are told afterwards, deletions among them."""
    api, told = shop("kept", "changed", "removed", "again"), []  # type: Any
    watched = reflector(api, told, page=2)
    async with running(watched):
        BREAKS[case](api)
        api.remove(PODS, "removed", namespace="shop")
        api.remove(PODS, "again", namespace="shop")
        api.put(PODS, pod("again"))
        api.put(PODS, pod("changed", labels={"x": "y"}))
        api.put(PODS, pod("new"))
        await until(same(watched, api))
    later = told[4:]
    assert {("modified", "changed"), ("deleted", "removed"), ("deleted", "again"), ("added", "again")} <= set(later)
    assert ("added", "new") in later
    assert "kept" not in {name for _, name in later}
    assert later.index(("deleted", "again")) < later.index(("added", "again"))


async def test_resume_does_not_list_again() -> None:
    """After a plain disconnect the watch goes on from the last version, which a bookmark may have moved."""
    api, told = shop("a"), []  # type: Any
    watched = reflector(api, told)
    async with running(watched):
        await until(lambda: ("WATCH", "/api/v1/pods") in api.calls)
        api.put(QUEUES, {"metadata": {"name": "q"}})
        api.bookmark()
        await until(lambda: watched.version == str(api.store.version))
        for _ in range(3):
            api.end_watches(cut=True)
            api.put(PODS, pod("a", labels={"n": str(len(told))}))
            await until(same(watched, api))
    assert watched.lists == 1


async def test_resource_that_is_not_served_is_picked_up_later() -> None:
    """A missing custom resource counts as synced and empty, appears when served, and vanishes with its definition."""
    api, told = FakeApi(served=[PODS]), []  # type: Any
    watched = Reflector(
        client(api), QUEUES, lambda c: told.append((c.kind, c.object.metadata.name)), sleep=counting(None)
    )
    async with running(watched):
        assert not watched.served
        api.put(QUEUES, {"metadata": {"name": "gold"}, "spec": {"weight": 3}})
        api.serve(QUEUES)
        await until(lambda: watched.served)
        assert watched.objects["", "gold"].spec.weight == 3
        api.stop_serving(QUEUES)
        await until(lambda: not watched.served)
    assert told == [("added", "gold"), ("deleted", "gold")]


async def test_selection_by_field_tells_pods_that_leave_it() -> None:
    """A pod that gets a node leaves a watch on pods without one."""
    api, told = shop("a", "b"), []  # type: Any
    async with running(reflector(api, told, fields="spec.nodeName=", namespace="shop")):
        await until(lambda: ("WATCH", "/api/v1/namespaces/shop/pods") in api.calls)
        uid = uid_of(api, "a")
        await client(api).bind("shop", "a", "n1", uid=uid)
        await until(lambda: len(told) == 3)
    assert told[2] == ("deleted", "a")


async def test_pages_that_expire_are_read_in_one_piece() -> None:
    """An expired continue token does not keep the list from ending."""
    api, told = shop("a", "b", "c", "d", "e"), []  # type: Any
    hooks = [lambda: None, api.compact]
    api.before(lambda: hooks.pop(0)(), method="GET", times=2)
    async with running(reflector(api, told, page=2)):
        assert [name for _, name in told] == ["a", "b", "c", "d", "e"]


async def test_object_that_cannot_be_read_does_not_hide_the_others() -> None:
    """It is left out, once however often it is read; what was known of it stays until it is deleted."""
    api, told, why = shop("good", "bad"), [], []  # type: Any
    watched = reflector(api, told, aside=lambda resource, metadata, error: why.append(str(error)))
    async with running(watched):
        await until(lambda: ("WATCH", "/api/v1/pods") in api.calls)
        api.put(PODS, pod("bad") | {"spec": {"priority": "high"}})
        api.put(PODS, pod("other"))
        await until(lambda: ("added", "other") in told)
        assert (1, {"good", "bad", "other"}) == (len(watched.left_out.keys), {name for _, name in watched.objects})
        api.compact()
        await until(lambda: watched.lists == 2)
        assert (1, {"good", "bad", "other"}) == (len(watched.left_out.keys), {name for _, name in watched.objects})
        api.remove(PODS, "bad", namespace="shop")
        await until(lambda: ("deleted", "bad") in told)
        assert watched.left_out.keys == set()
    assert watched.lists == 2
    assert why == [*2 * ["Pod bad: cannot be read: spec.priority: expected int | null, got str"], "None"]


async def test_object_of_the_name_of_one_that_went_unseen_ends_that_one_even_unread() -> None:
    """While the watch was down a pod was deleted and created anew, in a state that cannot be read."""
    api, told = shop("good", "again"), []  # type: Any
    watched = reflector(api, told)
    async with running(watched):
        await until(lambda: ("WATCH", "/api/v1/pods") in api.calls)
        api.compact()
        api.remove(PODS, "again", namespace="shop")
        api.put(PODS, pod("again") | {"spec": {"priority": "high"}})
        await until(lambda: watched.lists == 2)
        assert {name for _, name in watched.objects} == {"good"}
        assert watched.left_out.keys == {("shop", "again")}
    assert told[2:] == [("deleted", "again")]


async def test_waits_begin_with_the_shortest_and_double() -> None:
    """Two failed lists in a row at the very start; a list that succeeds begins anew."""
    api, told, waits = shop("a"), [], []  # type: Any
    api.fail(403, method="GET", path="/api/v1/pods", times=2)
    watched = reflector(api, told, waits=waits, pace=WatchPace(backoff=Backoff(first=1.0, cap=30.0)))
    async with running(watched):
        assert waits == [0.75, 1.5]
        assert watched.trouble is None


async def test_a_version_that_is_too_old_is_listed_again_without_a_wait() -> None:
    """The first time; what is known is old news until then."""
    api, told, waits = shop("a"), [], []  # type: Any
    async with running(watched := reflector(api, told, waits=waits)):
        await until(lambda: ("WATCH", "/api/v1/pods") in api.calls)
        api.fail(410, method="WATCH")
        api.put(PODS, pod("b"))
        api.end_watches()
        await until(lambda: watched.lists == 2)
    assert waits == []


def test_server_that_ends_streams_at_once_is_not_hammered() -> None:
    """Streams that end without a word are followed by growing waits."""

    class Mute(FakeApi):
        async def stream(self, path: str, query: Any) -> Any:
            self.calls.append(("WATCH", path))
            for line in ():
                yield line

    async def main() -> int:
        api, told = Mute(), []  # type: Any
        watched = Reflector(client(api), PODS, told.append, jitter=lambda: 1.0)
        async with running(watched):
            await asyncio.sleep(600)
        return api.calls.count(("WATCH", "/api/v1/pods"))

    assert 20 <= virtual.run(main()) <= 40


def test_outage_is_waited_out_with_growing_waits() -> None:
    """Ten minutes without a server cost a few dozen tries, and the reflector is right afterwards."""

    async def main() -> tuple[int, bool]:
        api, told = shop("a", "b"), []  # type: Any
        watched = Reflector(client(api), PODS, told.append, jitter=lambda: 1.0)
        async with running(watched):
            api.faults.down = True
            api.end_watches(cut=True)
            await asyncio.sleep(600)
            tries = len(api.calls)
            assert "the fake is down" in str(watched.trouble)
            api.faults.down = False
            api.remove(PODS, "b", namespace="shop")
            await asyncio.sleep(60)
            return tries, same(watched, api)() and watched.trouble is None

    tries, right = virtual.run(main())
    assert right
    assert tries < 100


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["put", "remove", "end", "cut", "compact", "fail", "bookmark", "let"]),
            st.sampled_from("abc"),
        ),
        max_size=25,
    )
)
def test_any_history_ends_in_what_the_server_has(steps: list[tuple[str, str]]) -> None:
    """Whatever happens in whatever order, replaying what was told gives exactly what the server has."""

    async def main() -> None:
        api, replay = shop("a", "b"), {}  # type: Any

        def sink(change: Change[Pod]) -> None:
            metadata = change.object.metadata
            if change.kind == "added":
                assert metadata.name not in replay
                replay[metadata.name] = metadata
            elif change.kind == "modified":
                assert replay[metadata.name].uid == metadata.uid
                assert change.previous is not None
                assert change.previous.metadata == replay[metadata.name]
                replay[metadata.name] = metadata
            else:
                del replay[metadata.name]

        watched = Reflector(client(api), PODS, sink, page=1, jitter=lambda: 0.5)
        async with running(watched):
            for number, (step, name) in enumerate(steps):
                await _take_step(api, step, name, number)
            await asyncio.sleep(300)
            assert same(watched, api)()
            assert {name: m.resource_version for name, m in replay.items()} == {
                name: seen.metadata.resource_version for (_, name), seen in watched.objects.items()
            }

    virtual.run(main())


async def _take_step(api: FakeApi, step: str, name: str, number: int) -> None:
    if step == "put":
        api.put(PODS, pod(name, labels={"n": str(number)}))
    elif step == "remove" and api.find(PODS, name, namespace="shop"):
        api.remove(PODS, name, namespace="shop")
    elif step in ("end", "cut"):
        api.end_watches(cut=step == "cut")
    elif step == "compact":
        api.compact()
    elif step == "fail":
        api.fail(500, times=2)
    elif step == "bookmark":
        api.bookmark()
    else:
        await asyncio.sleep(0.3)


LINES = st.one_of(
    st.binary(max_size=60),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    ).map(msgspec.json.encode),
    st.builds(
        lambda kind, name, extra: msgspec.json.encode(
            {"type": kind, "object": {"metadata": {"name": name, "uid": name, "resourceVersion": "7"}, **extra}}
        ),
        st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "OTHER"]),
        st.sampled_from(["a", "b"]),
        st.dictionaries(
            st.sampled_from(["spec", "status", "code"]), st.none() | st.integers() | st.just({}), max_size=2
        ),
    ),
)


@given(LINES)
def test_any_line_of_a_watch_is_taken_or_is_our_error(line: bytes) -> None:
    """Nothing that a server can write into a watch brings out anything but our own errors."""

    async def main() -> None:
        watched = reflector(FakeApi(), [])
        with suppress(KubeError):
            watched._take(line)
        assert {name for _, name in watched.objects} <= {"a", "b"}

    virtual.run(main())


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")), max_size=8), st.data())
def test_lines_are_split_wherever_the_chunks_end(lines: list[bytes], data: st.DataObject) -> None:
    """Chunks may end anywhere; the lines come out whole, empty ones left out."""
    whole, rest, got = b"".join(line + b"\n" for line in lines), b"", []
    while whole:
        size = data.draw(st.integers(1, len(whole)))
        new, rest = split_lines(rest, whole[:size])
        got += new
        whole = whole[size:]
    assert [line for line in lines if line] == got
    assert rest == b""
