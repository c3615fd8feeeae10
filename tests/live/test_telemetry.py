"""Spans leave the process as OTLP over HTTP where OpenTelemetry's own variables say so, and nowhere else."""

import os
import subprocess
import sys

import aiohttp
import pytest

from fairlead import __version__
from fairlead.kube.admission.review import ReviewRequest, allow
from fairlead.kube.resources import RESOURCE_BINDINGS
from fairlead.live.runtime import telemetry as module
from fairlead.live.runtime.otel_spans import RecordedObjectSpans
from fairlead.live.runtime.telemetry import telemetry, wanted
from fairlead.live.webhook.metrics import WebhookMetrics
from fairlead.live.webhook.server import AdmissionServer
from fairlead.model.errors import InputError
from tests.fake import FakeApi
from tests.live.otlp import collector
from tests.live.test_fleet import Stage, binding, play
from tests.live.test_spans import Collected
from tests.tier.pods import review, web_pod

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
ASKED: dict[str, tuple[dict[str, str], bool]] = {
    "nothing is set": ({}, False),
    "an endpoint": (ENDPOINT, True),
    "one of traces alone": ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
    "an empty one": ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
    "the SDK is disabled": ({**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, False),
    "no exporter": ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False),
    "the exporter by name": ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "otlp"}, True),
    "an exporter without an endpoint": ({"OTEL_TRACES_EXPORTER": "zipkin"}, False),
    "the protocol by name": ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, True),
    "an empty protocol": ({**ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": ""}, True),
}
REFUSED = {
    "OTEL_TRACES_EXPORTER": "zipkin",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json",
}


@pytest.mark.parametrize(("environment", "want"), ASKED.values(), ids=ASKED)
def test_spans_are_asked_for_by_an_endpoint(environment: dict[str, str], want: bool) -> None:
    """And by nothing else; what disables OpenTelemetry disables them."""
    assert wanted(environment) is want


@pytest.mark.parametrize("name", REFUSED)
def test_exporter_or_protocol_that_is_not_there_is_refused(name: str) -> None:
    """With the variable and what is expected."""
    with pytest.raises(InputError, match=f"{name}.*expected"):
        wanted({**ENDPOINT, name: REFUSED[name]})


async def test_spans_reach_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """As protobuf over HTTP on the path of traces, with the name of the service; the last before the block ends."""
    with collector() as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there.url)
        async with telemetry("scheduler") as tracer:
            assert tracer is not None
            tracer.start_span("cycle").end()
        assert [each.name for each in there.spans] == ["cycle"]
        assert (there.paths, there.services) == (["/v1/traces application/x-protobuf"], {"fairlead-scheduler"})
        (resource,) = there.requests[0].resource_spans
        told = {each.key: each.value.string_value for each in resource.resource.attributes}
        assert told["service.version"] == __version__
        monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
        async with telemetry("scheduler") as tracer:
            assert tracer is not None
            tracer.start_span("cycle").end()
        assert there.services == {"fairlead-scheduler", "mine"}


async def test_collector_that_is_away_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block ends though the spans cannot leave."""
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.1)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    async with telemetry("fleet") as tracer:
        assert tracer is not None
        tracer.start_span("binding").end()


async def test_nothing_is_there_while_spans_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tracer, so nothing is recorded."""
    for name in [each for each in os.environ if each.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    async with telemetry("scheduler") as tracer:
        assert tracer is None


def test_components_import_nothing_of_it() -> None:
    """Spans that are off cost no memory and no time to start."""
    parts = ("scheduler", "fleet", "webhook", "storage")
    code = f"import sys; {'; '.join(f'import fairlead.live.{each}.main' for each in parts)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not [each for each in done.stdout.split() if each.startswith(("opentelemetry", "google", "requests"))]


async def test_admission_has_a_span_below_the_one_of_the_api_server() -> None:
    """The verdict's words are its attributes; what is not asked for stays out."""
    collected = Collected()

    async def answer(request: ReviewRequest) -> dict[str, object]:
        return allow(request.uid, audit={"tier": "on-demand", "reason": "MinimumNotHeld"})

    server = AdmissionServer({"/mutate": answer}, WebhookMetrics(), budget=5.0, tracer=collected.tracer)
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    async with server.listening("127.0.0.1:0", None) as port, aiohttp.ClientSession() as session:
        headers = {"traceparent": f"00-{trace}-{parent}-01"}
        url = f"http://127.0.0.1:{port}/mutate"
        async with session.post(url, json=review(web_pod(), uid="u1"), headers=headers) as got:
            assert (await got.json())["response"]["uid"] == "u1"
        async with session.post(url, json=review(web_pod(), uid="u2")) as got:
            assert got.status == 200
    first, second = collected.named("/mutate")
    assert first.parent is not None
    assert (f"{first.context.trace_id:032x}", f"{first.parent.span_id:016x}") == (trace, parent)
    assert second.parent is None
    found = dict(first.attributes or {})
    assert found["fairlead.review"] == "u1"
    assert (found["fairlead.allowed"], found["fairlead.tier"]) == (True, "on-demand")
    assert found["fairlead.reason"] == "MinimumNotHeld"


def test_binding_has_a_way_from_its_event_to_the_write() -> None:
    """One way a write; our own write that comes back by the watch begins none that ends."""
    collected = Collected()

    async def act(api: FakeApi) -> None:
        stage = Stage(api, tracer=collected.tracer)
        stage.api.put(RESOURCE_BINDINGS, binding("web"))
        await stage.quiet()
        way = collected.one("binding")
        assert [each.name for each in collected.exporter.get_finished_spans()] == ["wait", "decide", "write", "binding"]
        told = dict(way.attributes or {})
        assert told["fairlead.binding"] == "web"
        assert told["fairlead.clusters"] == tuple(f"{k}={v}" for k, v in sorted(stage.counts("web").items()))
        assert isinstance(stage.fleet._spans, RecordedObjectSpans)
        assert not stage.fleet._spans._came
        stage.change("web", replicas=9)
        await stage.quiet()
        assert len(collected.named("binding")) == 2
        await stage.stop()

    play(act)
