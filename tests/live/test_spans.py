"""A decision as spans: from the watch event over the cycle to the bind, kept in memory by OpenTelemetry's own SDK."""

import asyncio
from typing import Any

import msgspec
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.objects.node import Node
from fairlead.kube.resources import PODS
from fairlead.live.cluster.records import Records
from fairlead.live.runtime.elected import Instance
from fairlead.live.runtime.otel_spans import RecordedObjectSpans
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi
from tests.live.test_scheduler_cycle import pod

RECORDS = Records()


class Collected:
    """Everything that ended so far."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def named(self, name: str) -> list[ReadableSpan]:
        """The spans of a name, in the order of their end."""
        return [each for each in self.exporter.get_finished_spans() if each.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only one of a name."""
        (found,) = self.named(name)
        return found


@pytest.fixture
def collected() -> Collected:
    return Collected()


def scheduler_of(collected: Collected, cpu: str) -> tuple[Scheduler, FakeApi]:
    """A scheduler on one node."""
    clock, api = asyncio.get_running_loop().time, FakeApi()
    found = Scheduler(Instance(Client(api), monotonic=clock, wall=clock, tracer=collected.tracer), Options())
    offer = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": cpu, "pods": "9"}}}
    found.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    found.job_cache.served = lambda resource: False
    return found, api


async def test_way_of_a_pod_leads_from_its_event_to_its_bind(collected: Collected) -> None:
    """One trace: wait, decide and bind below the pod, without a gap; a link leads to the group of the cycle."""
    scheduler, api = scheduler_of(collected, "9")
    one = pod("web", "uid-web")
    api.put(PODS, {"metadata": {"name": "web-0", "uid": "uid-web"}, "spec": {}}, namespace="shop")
    scheduler.events.on_pod(Change("added", one))
    await scheduler.cycle.run()
    assert not collected.named("pod")
    await scheduler.delivery.binder._bind(one, "n1")
    way, group, cycle = (collected.one(name) for name in ("pod", "group", "cycle"))
    parts = [collected.one(name) for name in ("wait", "decide", "bind")]
    assert (way.parent, cycle.parent) == (None, None)
    assert {each.context.trace_id for each in parts} == {way.context.trace_id} != {cycle.context.trace_id}
    assert {each.parent.span_id for each in parts if each.parent} == {way.context.span_id}
    assert [each.start_time for each in parts] == [way.start_time, parts[0].end_time, parts[1].end_time]
    assert parts[-1].end_time == way.end_time
    assert [each.context.span_id for each in way.links] == [group.context.span_id]
    assert [each and each.span_id for each in (group.parent,)] == [cycle.context.span_id]
    assert way.status.status_code is StatusCode.UNSET
    assert dict(way.attributes or {}) == {
        "k8s.namespace.name": "shop",
        "k8s.pod.name": "web-0",
        "k8s.pod.uid": "uid-web",
        "k8s.node.name": "n1",
        "fairlead.controller": one.controller,
        "fairlead.job": scheduler.job_cache.job_of(one),
    }
    counted = {"fairlead.groups": 1, "fairlead.placed": 1, "fairlead.waiting": 0, "fairlead.queue_turn": False}
    assert dict(cycle.attributes or {}) == counted


async def test_group_that_waits_tells_its_reasons(collected: Collected) -> None:
    """No span of a pod that waits; the group has the codes, and a cycle without anything to decide is not exported."""
    scheduler, _ = scheduler_of(collected, "0")
    scheduler.events.on_pod(Change("added", pod("web", "uid-web")))
    await scheduler.cycle.run()
    group = collected.named("group")[-1]
    assert (group.attributes or {})["fairlead.reasons"] == ("InsufficientRoom",)
    assert ((group.attributes or {})["fairlead.placed"], (group.attributes or {})["fairlead.waiting"]) == (0, 1)
    assert not collected.named("pod")
    cycles = len(collected.named("cycle"))
    assert (collected.named("cycle")[-1].attributes or {})["fairlead.queue_turn"] is True
    await scheduler.cycle.run()
    assert len(collected.named("cycle")) == cycles


async def test_refused_bind_is_an_error_and_the_next_way_links_to_it(collected: Collected) -> None:
    """The server does not know the pod: the span tells what it said."""
    scheduler, _ = scheduler_of(collected, "9")
    one = pod("web", "uid-web")
    scheduler.events.on_pod(Change("added", one))
    await scheduler.cycle.run()
    await scheduler.delivery.binder._bind(one, "n1")
    first = collected.one("pod")
    assert first.status.status_code is StatusCode.ERROR
    assert "web-0" in (first.status.description or "")
    scheduler.pending._resting.clear()
    await scheduler.cycle.run()
    scheduler.events.on_pod(Change("deleted", one))
    second = collected.named("pod")[-1]
    assert first.context.span_id in [each.context.span_id for each in second.links]
    assert second.start_time == first.end_time
    assert second.status.description == "deleted before an answer came"


def test_object_that_needs_no_write_leaves_nothing(collected: Collected) -> None:
    """Settled, or gone: its next way begins anew; a second decision ends the first way."""
    times = iter(range(100))
    spans = RecordedObjectSpans(collected.tracer, "binding", "write", now=lambda: next(times))
    told: dict[str, Any] = {"fairlead.binding": "web"}
    spans.came("u")
    spans.settled("u")
    spans.came("u")  # at 2
    spans.came("u")
    spans.round()
    spans.decided("u", lambda: told)
    spans.round()
    spans.decided("u", lambda: told)
    spans.written("u")
    spans.written("u")
    first, second = collected.named("binding")
    assert first.start_time == 2
    assert first.status.description == "decided anew before an answer came"
    assert [each.context.span_id for each in second.links] == [first.context.span_id]
    assert second.status.status_code is StatusCode.UNSET
    spans.gone("u")
    assert (spans._came, spans._open, spans._before) == ({}, {}, {})
