"""The recorder of events: aggregated, bounded, and never in the caller's way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.events import NOTE_BYTES, Rate, Recorder, clip
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import EVENTS
from tests.fake import FakeApi
from tests.kube import virtual

POD = ObjectReference(api_version="v1", kind="Pod", namespace="shop", name="web-0", uid="u-0")


@asynccontextmanager
async def recording(api: FakeApi, **rate: Any) -> AsyncIterator[Recorder]:
    loop = asyncio.get_running_loop()
    recorder = Recorder(
        Client(api), component="fairlead", instance="pod-1", rate=Rate(**rate), clock=loop.time, now=loop.time
    )
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def say(recorder: Recorder, note: str = "on n1", about: ObjectReference = POD, **words: Any) -> None:
    recorder.record(about, **{"reason": "Scheduled", "action": "Binding", "note": note, **words})


def stored(api: FakeApi) -> list[dict[str, Any]]:
    return api.store.listed("/apis/events.k8s.io/v1/events", "", "", "")


def test_event_says_what_about_whom_and_by_whom() -> None:
    """One event with all that the API asks for."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api) as recorder:
            say(recorder, kind="Warning", related=ObjectReference(kind="Node", name="n1", uid="u-n1"))
            await asyncio.sleep(1)
        (event,) = stored(api)
        assert event["regarding"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "shop",
            "name": "web-0",
            "uid": "u-0",
        }
        assert tuple(
            event[name] for name in ("reason", "action", "note", "type", "reportingController", "reportingInstance")
        ) == ("Scheduled", "Binding", "on n1", "Warning", "fairlead", "pod-1")
        assert (event["metadata"]["namespace"], event["related"]["name"]) == ("shop", "n1")
        assert event["eventTime"] == "1970-01-01T00:16:40.000000Z"
        assert "series" not in event

    virtual.run(main())


def test_repeated_event_becomes_a_series() -> None:
    """A thousand times the same is one event, one early repetition and then a write now and then."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, refresh=30.0) as recorder:
            for _ in range(1000):
                say(recorder)
                await asyncio.sleep(0.1)
            await asyncio.sleep(40)
        (event,) = stored(api)
        assert event["series"]["count"] == 1000
        assert event["series"]["lastObservedTime"].startswith("1970-01-01T00:18:1")
        assert len(api.calls) <= 7

    virtual.run(main())


def test_other_words_become_a_new_event_but_not_too_often() -> None:
    """A note cannot be changed, so a new wording is a new event, at most one for each refresh."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, refresh=30.0) as recorder:
            for number in range(90):
                say(recorder, note=f"{number} nodes are full")
                await asyncio.sleep(1)
            await asyncio.sleep(40)
        notes = [event["note"] for event in stored(api)]
        assert "89 nodes are full" in notes
        assert 3 <= len(notes) <= 5

    virtual.run(main())


def test_event_said_in_other_words_before_it_is_written_has_the_last_ones() -> None:
    """What is said twice while others are written is stored as it was said last."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api) as recorder:
            say(recorder, note="1 node is full")
            say(recorder, note="2 nodes are full")
            await asyncio.sleep(1)
        (event,) = stored(api)
        assert (event["note"], event["series"]["count"]) == ("2 nodes are full", 2)

    virtual.run(main())


@pytest.mark.parametrize(
    ("after", "notes"), [(False, ["2 nodes are full"]), (True, ["1 node is full", "2 nodes are full"])]
)
def test_event_said_in_other_words_after_a_failed_write_is_written(after: bool, notes: list[str]) -> None:
    """Whether the server has the first wording, of which the answer was lost, or not."""

    async def main() -> None:
        api = FakeApi()
        api.cut(method="POST", path="/events", after=after)
        async with recording(api, refresh=30.0) as recorder:
            say(recorder, note="1 node is full")
            await asyncio.sleep(1)
            say(recorder, note="2 nodes are full")
            await asyncio.sleep(40)
        assert sorted(event["note"] for event in stored(api)) == notes

    virtual.run(main())


def test_new_event_does_not_wait_for_a_repetition() -> None:
    """While a series waits for its next write, what is said for the first time is written at once."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, refresh=30.0) as recorder:
            for _ in range(3):
                say(recorder)
                await asyncio.sleep(1)
            say(recorder, reason="Evicted")
            await asyncio.sleep(1)
            assert {event["reason"] for event in stored(api)} == {"Scheduled", "Evicted"}

    virtual.run(main())


def test_silence_ends_a_series() -> None:
    """The same thing after a long silence is news again."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, series=360.0) as recorder:
            say(recorder)
            await asyncio.sleep(400)
            say(recorder)
            await asyncio.sleep(1)
        assert len(stored(api)) == 2

    virtual.run(main())


def test_event_that_the_server_forgot_is_written_anew() -> None:
    """Events live an hour at the server; a series that goes on gets a new one."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api) as recorder:
            say(recorder)
            await asyncio.sleep(1)
            api.remove(EVENTS, stored(api)[0]["metadata"]["name"], namespace="shop")
            say(recorder)
            await asyncio.sleep(1)
        assert [event["note"] for event in stored(api)] == ["on n1"]

    virtual.run(main())


def test_writes_are_bounded_by_the_rate() -> None:
    """A burst goes out at once, the rest evenly."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, burst=10, per_second=5.0) as recorder:
            for number in range(50):
                say(recorder, about=ObjectReference(namespace="shop", name=f"p{number}", uid=str(number)))
            await asyncio.sleep(0.01)
            assert len(stored(api)) == 10
            await asyncio.sleep(4)
            assert 29 <= len(stored(api)) <= 31
            await asyncio.sleep(10)
            assert len(stored(api)) == 50

    virtual.run(main())


def test_too_many_waiting_are_dropped_and_counted() -> None:
    """Memory is bounded whatever is recorded, also while the server is down."""

    async def main() -> None:
        api = FakeApi()
        api.faults.down = True
        recorder = Recorder(Client(api), component="fairlead", instance="x", rate=Rate(kept=100))
        for number in range(1000):
            say(recorder, about=ObjectReference(name=f"n{number}", uid=str(number)))
        assert recorder.dropped == 900
        assert len(recorder._recorded) == 100

    virtual.run(main())


def test_memory_of_what_was_written_is_bounded() -> None:
    """Old things that were said are forgotten."""

    async def main() -> None:
        api = FakeApi()
        async with recording(api, kept=10) as recorder:
            for number in range(200):
                say(recorder, about=ObjectReference(name=f"n{number}", uid=str(number)))
                await asyncio.sleep(0.1)
            assert len(recorder._recorded) <= 21
        assert len(stored(api)) == 200

    virtual.run(main())


def test_server_that_refuses_does_not_stop_the_recorder() -> None:
    """What cannot be written is given up, and the next event is written."""

    async def main() -> None:
        api = FakeApi()
        api.fail(403, method="POST")
        async with recording(api) as recorder:
            say(recorder)
            await asyncio.sleep(1)
            say(recorder, reason="Other")
            await asyncio.sleep(1)
        assert [event["reason"] for event in stored(api)] == ["Other"]

    virtual.run(main())


def test_event_whose_answer_was_lost_goes_on_as_a_series() -> None:
    """The server has it: what is said again is counted there, and is not refused as a second one for ever."""

    async def main() -> None:
        api = FakeApi()
        api.cut(method="POST", path="/events", after=True)
        async with recording(api, refresh=30.0) as recorder:
            for _ in range(3):
                say(recorder)
                await asyncio.sleep(40)
        (event,) = stored(api)
        assert event["series"]["count"] == 3

    virtual.run(main())


def test_event_that_the_server_took_and_forgot_unanswered_is_written_anew() -> None:
    """It was said twice by then, which the server does not know; what is said after that is a series all the same."""

    async def main() -> None:
        api = FakeApi()
        api.cut(method="POST", path="/events", after=True)
        async with recording(api, refresh=30.0) as recorder:
            say(recorder)
            await asyncio.sleep(1)

            def forget() -> None:
                api.remove(EVENTS, stored(api)[0]["metadata"]["name"], namespace="shop")

            api.before(forget, method="PATCH", path="/events")
            for _ in range(2):
                say(recorder)
                await asyncio.sleep(40)
        (event,) = stored(api)
        assert event["series"]["count"] == 2

    virtual.run(main())


def test_flush_writes_what_waits() -> None:
    """At the end of a process nothing is left behind."""

    async def main() -> None:
        api = FakeApi()
        recorder = Recorder(Client(api), component="fairlead", instance="x", rate=Rate(burst=1))
        for number in range(5):
            say(recorder, about=ObjectReference(name=f"n{number}", uid=str(number)))
        await recorder.flush()
        assert [event["metadata"]["namespace"] for event in stored(api)] == ["default"] * 5

    virtual.run(main())


def test_long_words_are_cut_where_the_api_demands_it() -> None:
    """Notes are limited in bytes, and cut between characters."""
    assert clip("short") == "short"
    for text in ("x" * 5000, "ä" * 5000, "€" * 1000):
        cut = clip(text)
        assert len(cut.encode()) <= NOTE_BYTES
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
