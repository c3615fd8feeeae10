"""Estimators of member clusters: asked over gRPC, obeyed beside what clusters report, left out where they fail."""

import asyncio
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.fleet import binding_ask
from fairlead.kube.objects.karmada import Component, ReplicaRequirements
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.kube.wire.unary import GOAWAY, CallError, Channel, frame, headers
from fairlead.live.fleet.decide import decide
from fairlead.live.fleet.estimator import REPLICAS, SETS, Estimators
from fairlead.live.fleet.estimator_messages import number, replicas_request, sets_request
from fairlead.model.errors import InputError
from fairlead.settings import EstimatorSettings
from tests.fake import FakeApi
from tests.kube.authority import Authority
from tests.kube.virtual import run
from tests.live.bindings import binding, cluster
from tests.live.estimator_schema import NEW, OLD
from tests.live.estimators import serving
from tests.live.test_fleet import Stage
from tests.live.test_fleet import binding as live_binding
from tests.live.test_fleet_shadow import answered, differences

BY_ROOM = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
NEEDS: dict[str, Any] = {
    "namespace": "shop",
    "priorityClassName": "high",
    "resourceRequest": {"cpu": "500m", "memory": "1Gi"},
    "nodeClaim": {
        "nodeSelector": {"a": "b"},
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}],
        "hardNodeAffinity": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "x", "operator": "In", "values": ["1", "2"]}]}]
        },
    },
}


def said(cluster_name: bytes, **answers: int) -> bytes:
    """The message that answers for a cluster, up to 127 replicas."""
    count = answers[cluster_name.decode()]
    return bytes((8, count)) if count else b""


def of(message: bytes) -> bytes:
    """The cluster of a request: its first field."""
    return message[2 : 2 + message[1]]


def amounts(found: Any) -> dict[str, bytes]:
    return {each.key: each.value for each in found.resourceRequest}


@pytest.mark.parametrize("release", [OLD, NEW], ids=["up to 1.17", "since 1.18"])
def test_request_for_replicas_is_understood_by_estimators_of_both_protocols(release: Mapping[str, type[Any]]) -> None:
    """Amounts, node affinity and tolerations moved to other numbers in 1.18; each release finds its own."""
    found = release["ReplicasRequest"]()
    found.ParseFromString(replicas_request("m1", msgspec.convert(NEEDS, ReplicaRequirements)))
    needs = found.replicaRequirements
    assert (found.cluster, needs.namespace, needs.priorityClassName) == ("m1", "shop", "high")
    assert amounts(needs) == {"cpu": b"\n\x04500m", "memory": b"\n\x031Gi"}
    claim = needs.nodeClaim
    assert [(each.key, each.value) for each in claim.nodeSelector] == [("a", b"b")]
    assert claim.nodeAffinity == b"\n\x0f\n\r\n\x01x\x12\x02In\x1a\x011\x1a\x012"
    assert list(claim.tolerations) == [b"\n\x01k\x12\x06Exists(\x05"]
    assert replicas_request("m1", None) == b"\n\x02m1"


@pytest.mark.parametrize("release", [OLD, NEW], ids=["up to 1.17", "since 1.18"])
def test_request_for_sets_is_understood_by_estimators_of_both_protocols(release: Mapping[str, type[Any]]) -> None:
    """Each component with its replicas and what one of them asks for; one that asks for nothing too."""
    given = [
        {"name": "manager", "replicas": 1, "replicaRequirements": NEEDS},
        {"name": "worker", "replicas": 300},
    ]
    found = release["SetsRequest"]()
    found.ParseFromString(sets_request("m1", msgspec.convert(given, list[Component]), "shop"))
    manager, worker = found.components
    assert (found.cluster, found.namespace) == ("m1", "shop")
    assert [(each.name, each.replicas) for each in (manager, worker)] == [("manager", 1), ("worker", 300)]
    needs = manager.replicaRequirements
    assert (amounts(needs)["cpu"], needs.priorityClassName) == (b"\n\x04500m", "high")
    assert len(needs.nodeClaim.tolerations) == 1
    assert not worker.HasField("replicaRequirements")


@given(st.one_of(st.integers(0, 2**31 - 1), st.sampled_from((127, 128, 129, 2**14))))
def test_numbers_of_a_request_are_read_by_protobuf_s_own_library(replicas: int) -> None:
    """Every number of replicas, those at the edge of a byte too."""
    found = NEW["SetsRequest"]()
    found.ParseFromString(sets_request("m1", [Component(name="worker", replicas=replicas)], ""))
    assert found.components[0].replicas == replicas


@given(st.integers(-(2**31), 2**31 - 1))
def test_answer_of_protobuf_s_own_library_is_read(number_told: int) -> None:
    """Every number that an answer can hold; a negative one is not known."""
    answer = NEW["Answer"](most=number_told).SerializeToString()
    assert number(answer) == (number_told if number_told >= 0 else None)


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (b"", 0),
        (b"\x08\x07", 7),
        (b"\x08\xac\x02", 300),
        (b"\x08\x07\x10\x01", 7),
        (b"\x10\xac\x02\x08\x07", 7),
        (b"\x12\x02\x08\x05\x1d1234\x21" + b"\x08" * 8 + b"\x08\x07", 7),
        (b"\x10\x01", 0),
        (b"\xa2\x06\x01x", 0),
        (b"\x08" + b"\xff" * 9 + b"\x01", None),
    ],
)
def test_answer_is_read_as_a_number(answer: bytes, want: int | None) -> None:
    """Absent is 0, several bytes add up, fields of a later protocol are skipped wherever they are, −1: not known."""
    assert number(answer) == want


@pytest.mark.parametrize(
    "answer", [b"\x0a\x01x", b"\x08\x80", b"\x08", b"\x80", b"\x12\x05x", b"\x15123", b"\x0b\x08\x01"]
)
def test_answer_of_another_shape_is_an_error(answer: bytes) -> None:
    """The number is a text, or it or another field ends too early, or is of a kind that is not known: no number."""
    with pytest.raises(CallError, match="an answer that cannot be read"):
        number(answer)


def test_long_values_of_headers_have_their_length_in_several_bytes() -> None:
    """127 and more: seven bits, then the rest, the lowest first."""
    block = headers("a" * 300, "/p", secure=True)
    assert block.startswith(b"\x83\x87\x04\x02/p\x01\x7f\xad\x01" + b"a" * 300)
    assert headers("h:1", "/p", secure=False)[1:2] == b"\x86"


def test_clusters_are_asked_at_once_over_connections_that_stay() -> None:
    """Two rounds of two clusters: two connections, four requests; the answers come by name."""

    async def act() -> None:
        async with serving(lambda message: said(of(message), m1=3, m2=0)) as server:
            estimators = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            asked = binding("web", BY_ROOM, 5)
            for _ in range(2):
                assert await estimators.ask(asked, ["m1", "m2"]) == {"m1": 3, "m2": 0}
            estimators.close()
            assert (server.connections, len(server.asked)) == (2, 4)
            assert all(REPLICAS.encode() in each for each in server.paths)

    asyncio.run(act())


def test_estimator_that_fails_is_left_out_and_rests() -> None:
    """A refusal and an empty port: the others count, and for a while nobody asks them again."""

    async def act() -> None:
        async with serving(lambda message: None if of(message) == b"m1" else b"\x08\x04") as server:
            estimators = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}", seconds=5))
            asked = binding("web", BY_ROOM, 5)
            assert await estimators.ask(asked, ["m1", "m2"]) == {"m2": 4}
            assert await estimators.ask(asked, ["m1", "m2"]) == {"m2": 4}
            assert sorted(map(of, server.asked)) == [b"m1", b"m2", b"m2"]
            estimators.close()
        gone = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}", seconds=5))
        assert await gone.ask(asked, ["m1"]) == {}

    asyncio.run(act())


@pytest.mark.parametrize("goodbye", [b"", frame(GOAWAY, 0, 0, bytes(8))], ids=["closed", "told"])
def test_estimator_that_was_started_anew_is_asked_again_at_once(goodbye: bytes) -> None:
    """It has closed the connection that was kept: that is no failure, for which it would be left out for a while."""

    async def act() -> None:
        async with serving(lambda message: b"\x08\x04") as server:
            estimators = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}", seconds=5))
            asked = binding("web", BY_ROOM, 5)
            assert await estimators.ask(asked, ["m1"]) == {"m1": 4}
            server.writers[0].write(goodbye)
            server.writers[0].close()
            assert await estimators.ask(asked, ["m1"]) == {"m1": 4}
            assert server.connections == 2
            estimators.close()

    asyncio.run(act())


def test_long_request_is_sent_in_frames_that_every_server_takes() -> None:
    """One workload with many node names must not have the estimator left out for all others."""

    async def act() -> None:
        async with serving(lambda message: b"\x08\x04") as server:
            channel = Channel("127.0.0.1", server.port, None)
            assert await channel.call(REPLICAS, b"x" * 40_000, 5) == b"\x08\x04"
            assert server.asked == [b"x" * 40_000]
            channel.close()

    asyncio.run(act())


@pytest.mark.parametrize("window", [1_000, 65_535, 1 << 20])
def test_request_beyond_the_window_of_the_server_waits_until_it_has_read(window: int) -> None:
    """A server ends the connection on whoever sends more than it said; calls on one connection share 64 KiB."""

    async def act() -> None:
        async with serving(lambda message: b"\x08\x04", window=window) as server:
            channel = Channel("127.0.0.1", server.port, None)
            for size in (10, 60_000, 300_000, 60_000, 10):
                assert await channel.call(REPLICAS, b"x" * size, 5) == b"\x08\x04"
            assert [len(each) for each in server.asked] == [10, 60_000, 300_000, 60_000, 10]
            assert server.connections == 1
            channel.close()

    asyncio.run(act())


def test_cluster_whose_estimator_can_have_no_host_name_is_left_out() -> None:
    """A label of a host name has 63 characters at most; the names of clusters may make it longer."""

    async def act() -> None:
        estimators = Estimators(EstimatorSettings(address="karmada-scheduler-estimator-{cluster}:10352", seconds=5))
        assert await estimators.ask(binding("web", BY_ROOM, 5), ["m" * 48]) == {}

    asyncio.run(act())


class SlowChannel:
    """Answers after so many seconds, or not in time."""

    calls = 0
    takes = 0.0

    def __init__(self, *where: Any) -> None:
        pass

    async def call(self, path: str, message: bytes, seconds: float) -> bytes:
        SlowChannel.calls += 1
        await asyncio.sleep(min(seconds, SlowChannel.takes))
        if seconds < SlowChannel.takes:
            raise CallError("no answer in time")
        return b"\x08\x04"

    def close(self) -> None: ...


@pytest.mark.parametrize(("takes", "answers", "calls", "lasts"), [(0.5, 40, 40, 20.0), (2.0, 0, 1, 1.0)])
def test_many_bindings_wait_for_their_turn_and_a_dead_estimator_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch, takes: float, answers: int, calls: int, lasts: float
) -> None:
    """Forty at once, a second each: the wait for one's turn is no slow answer; after a failure nobody asks again."""
    monkeypatch.setattr("fairlead.live.fleet.estimator.Channel", SlowChannel)
    monkeypatch.setattr(SlowChannel, "takes", takes)
    monkeypatch.setattr(SlowChannel, "calls", 0)

    async def act() -> None:
        estimators = Estimators(EstimatorSettings(address="{cluster}:1", seconds=1.0))
        asked, clock = binding("web", BY_ROOM, 5), asyncio.get_running_loop().time
        began = clock()
        found = await asyncio.gather(*(estimators.ask(asked, ["m1"]) for _ in range(40)))
        assert sum(each == {"m1": 4} for each in found) == answers
        assert (SlowChannel.calls, round(clock() - began, 3)) == (calls, lasts)

    run(act())


def test_round_that_waits_for_slow_estimators_is_not_taken_for_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answers in time, all of them in more than a round may take: else no instance would ever come to an end."""
    monkeypatch.setattr("fairlead.live.fleet.estimator.Channel", SlowChannel)
    monkeypatch.setattr(SlowChannel, "takes", 0.9)

    async def act() -> None:
        api = FakeApi()
        room = {"resourceSummary": {"allocatable": {"pods": "9"}}}
        api.put(CLUSTERS, {"metadata": {"name": "m1"}, "status": room})
        for row in range(200):
            api.put(RESOURCE_BINDINGS, live_binding(f"web-{row}", 3, placement=BY_ROOM))
        stage = Stage(api, estimator=EstimatorSettings(address="{cluster}:1", seconds=1.0))
        for _ in range(17):
            await asyncio.sleep(10)
            assert stage.fleet.pulse.stuck() == []
        assert stage.counts("web-199") == {}
        await asyncio.sleep(20)
        assert stage.counts("web-199") == {"m1": 3}
        await stage.stop()

    run(act())


def test_server_that_is_silent_is_waited_for_no_longer_than_allowed() -> None:
    """The call ends with an error that names the server."""

    async def act() -> None:
        async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        silent = await asyncio.start_server(quiet, "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        channel = Channel("127.0.0.1", port, None)
        with pytest.raises(CallError, match=f"127.0.0.1:{port}: TimeoutError"):
            await channel.call(REPLICAS, b"", 0.05)
        silent.close()
        await asyncio.sleep(0.05)

    asyncio.run(act())


def test_connection_is_encrypted_and_shows_a_certificate(tmp_path: Path) -> None:
    """The server asks for a certificate of the same authority, and speaks HTTP/2 by agreement."""
    authority = Authority()
    pair, own = authority.issue("estimator", "127.0.0.1"), authority.issue("fairlead")
    for name, text in (
        ("ca", authority.pem), ("cert", own.certificate), ("key", own.key), ("server", pair.certificate + pair.key),
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(tmp_path / "ca"))
    server_side.load_cert_chain(tmp_path / "server")
    server_side.verify_mode = ssl.CERT_REQUIRED
    server_side.set_alpn_protocols(["h2"])
    ca, cert, key = (str(tmp_path / name) for name in ("ca", "cert", "key"))

    async def act() -> None:
        async with serving(lambda message: b"\x08\x05", server_side) as server:
            where = f"127.0.0.1:{server.port}"
            estimators = Estimators(EstimatorSettings(address=where, authority=ca, certificate=cert, key=key))
            assert await estimators.ask(binding("web", BY_ROOM, 5), ["m1"]) == {"m1": 5}
            agreed = server.writers[0].get_extra_info("ssl_object").selected_alpn_protocol()
            assert agreed == "h2"
            estimators.close()

    asyncio.run(act())


def test_connections_to_clusters_that_are_gone_end() -> None:
    """The others are kept; a cluster that comes back is asked at once, whatever its estimator did before."""

    async def act() -> None:
        async with serving(lambda message: said(of(message), m1=1, m2=2)) as server:
            estimators = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            web = binding("web", BY_ROOM, 5)
            assert await estimators.ask(web, ["m1", "m2", "m3"]) == {"m1": 1, "m2": 2}
            await estimators.about([], ["m2", "m3"])
            assert set(estimators._channels) == {"m2", "m3"}
            await estimators.about([], ["m1", "m2"])
            assert (set(estimators._channels), estimators._rests) == ({"m2"}, {})
            assert await estimators.ask(web, ["m1", "m2"]) == {"m1": 1, "m2": 2}
            assert server.connections == 4
            estimators.close()

    asyncio.run(act())


def test_files_that_cannot_be_read_are_named_with_their_setting(tmp_path: Path) -> None:
    """Missing, and no certificate at all."""
    authority = Authority()
    (tmp_path / "ca").write_text(authority.pem)
    (tmp_path / "bad").write_text("nothing")
    ca, bad, gone = (str(tmp_path / name) for name in ("ca", "bad", "gone"))
    with pytest.raises(InputError, match=r"fleet.estimator.authority: .*gone: No such file"):
        Estimators(EstimatorSettings(address="h:1", authority=gone))
    with pytest.raises(InputError, match=r"fleet.estimator.certificate: .*bad and .*gone: "):
        Estimators(EstimatorSettings(address="h:1", authority=ca, certificate=bad, key=gone))


def test_lower_of_report_and_estimate_counts() -> None:
    """m1 reports 9 and is estimated at 2; m2's estimate is above its report; m3 reports nothing, so it has no room."""
    pods = {"resourceSummary": {"allocatable": {"pods": "9"}}}
    members = [cluster("m1", **pods), cluster("m2", **pods), cluster("m3")]
    asked = binding("web", BY_ROOM, 8)
    ask = binding_ask(asked, members, estimates={"m1": 2, "m2": 50, "m3": 50})
    assert ask.clusters.capacity.tolist() == [2, 9, 0]
    (verdict,) = decide([asked], members, estimates_of=lambda each: {"m1": 1})
    assert verdict.counts == {"m1": 1, "m2": 7}
    assert verdict.by_room
    static = binding_ask(binding("web", {}, 8), members, estimates={"m3": 4})
    assert static.clusters.capacity.tolist() == [9, 9, 4]


def test_live_component_divides_by_what_estimators_say() -> None:
    """Two members with room for nine each by their reports; the estimators say one and seven."""

    async def act() -> None:
        api = FakeApi()
        async with serving(lambda message: said(of(message), m1=1, m2=7)) as server:
            for name in ("m1", "m2"):
                summary = {"allocatable": {"pods": "9"}}
                api.put(CLUSTERS, {"metadata": {"name": name}, "status": {"resourceSummary": summary}})
            api.put(RESOURCE_BINDINGS, live_binding("web", placement=BY_ROOM))
            api.put(RESOURCE_BINDINGS, live_binding("everywhere", placement={}))
            stage = Stage(api, estimator=EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            await until(lambda: bool(stage.counts("web") and stage.counts("everywhere")))
            assert stage.counts("web") == {"m1": 1, "m2": 5}
            assert stage.counts("everywhere") == {"m1": 6, "m2": 6}
            assert set(map(of, server.asked)) == {b"m1", b"m2"}
            await stage.stop()

    asyncio.run(act())


class Slow:
    """Estimators that take their time and know nothing."""

    async def about(self, verdicts: list[Any], clusters: list[str]) -> list[Mapping[str, int]]:
        await asyncio.sleep(10 * len(verdicts))
        return [{} for _ in verdicts]

    def close(self) -> None: ...


def test_binding_is_not_decided_where_clusters_cease_to_be_served_while_estimators_are_asked() -> None:
    """They are unknown, not gone: nothing is written, not even that none is there, until they are served again."""

    async def act() -> None:
        api = FakeApi()
        api.put(CLUSTERS, {"metadata": {"name": "m1"}, "spec": {}})
        api.put(RESOURCE_BINDINGS, live_binding("web", placement={}))
        stage = Stage(api)
        await stage.quiet()
        assert stage.counts("web") == {"m1": 6}
        stage.fleet._estimators = Slow()  # type: ignore[assignment]
        stage.change("web", replicas=7)
        await asyncio.sleep(5)
        api.stop_serving(CLUSTERS)
        await stage.quiet()
        assert stage.counts("web") == {"m1": 6}
        assert stage.condition("web")["status"] == "True"
        api.serve(CLUSTERS)
        await stage.quiet()
        assert stage.counts("web") == {"m1": 7}
        await stage.stop()

    run(act())


def test_binding_that_is_deleted_while_estimators_are_asked_is_not_decided() -> None:
    """Nothing of it is kept: others of its group would stay away from its clusters until the next start."""

    async def act() -> None:
        api = FakeApi()
        api.put(CLUSTERS, {"metadata": {"name": "m1"}, "spec": {}})
        api.put(RESOURCE_BINDINGS, live_binding("web", workloadAffinityGroups={"antiAffinityGroup": "app=x"}))
        stage = Stage(api)
        stage.fleet._estimators = Slow()  # type: ignore[assignment]
        await asyncio.sleep(5)
        api.remove(RESOURCE_BINDINGS, "web", namespace="shop")
        await stage.quiet()
        assert stage.fleet.decisions() == {"decisions": []}
        other = binding("other", BY_ROOM, 1, workloadAffinityGroups={"antiAffinityGroup": "app=x"})
        assert stage.fleet._groups.of(other).apart == frozenset()
        await stage.stop()

    run(act())


COMPONENTS = [
    {"name": "manager", "replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}},
    {"name": "worker", "replicas": 2, "replicaRequirements": {"resourceRequest": {"cpu": "3"}}},
]
ROOMY = {"resourceSummary": {"allocatable": {"cpu": "9", "pods": "9"}}}


def test_set_of_components_goes_only_where_estimators_have_room_for_a_whole_one() -> None:
    """By its sums each cluster holds the set; m1's nodes hold none, m3's estimator says nothing. What runs stays."""
    members = [cluster(name, **ROOMY) for name in ("m1", "m2", "m3")]
    asked = binding("train", {}, components=COMPONENTS)
    (verdict,) = decide([asked], members, estimates_of=lambda each: {"m1": 0, "m2": 1})
    assert (verdict.counts, verdict.by_room) == ({"m2": 0, "m3": 0}, True)
    running = binding("train", {}, components=COMPONENTS, clusters=[{"name": "m1"}])
    (stays,) = decide([running], members, estimates_of=lambda each: {"m1": 0, "m2": 0, "m3": 0})
    assert stays.counts == {"m1": 0}
    (nowhere,) = decide([asked], members, estimates_of=lambda each: dict.fromkeys(("m1", "m2", "m3"), 0))
    assert "3 cluster(s) did not have room for all components together" in nowhere.message
    assert nowhere.waits_for_room


def test_one_component_is_a_set_unless_it_stands_beside_replicas() -> None:
    """A lone component counts with all its replicas; beside `spec.replicas` it is the workload that is divided."""
    lone = [{"name": "worker", "replicas": 4, "replicaRequirements": {"resourceRequest": {"cpu": "3"}}}]
    (verdict,) = decide([binding("train", {}, components=lone)], [cluster("m1", **ROOMY)])
    assert verdict.counts == {}
    (divided,) = decide([binding("web", {}, 4, components=lone)], [cluster("m1", **ROOMY)])
    assert divided.counts == {"m1": 4}
    idle = [{**lone[0], "replicas": 0}]
    (empty,) = decide(
        [binding("train", {}, components=idle)], [cluster("m1", **ROOMY)], estimates_of=lambda each: {"m1": 0}
    )
    assert empty.counts == {"m1": 0}


def test_estimator_that_knows_no_sets_is_still_asked_for_replicas() -> None:
    """One of Karmada before 1.16 refuses the question for sets: it rests for that question only."""

    async def act() -> None:
        def answer(message: bytes) -> bytes | None:
            return None if b"manager" in message else b"\x08\x04"

        async with serving(answer) as server:
            estimators = Estimators(EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            for _ in range(2):
                assert await estimators.ask(binding("train", {}, components=COMPONENTS), ["m1"]) == {}
            assert await estimators.ask(binding("web", BY_ROOM, 5), ["m1"]) == {"m1": 4}
            assert [SETS.encode() in each for each in server.paths] == [True, False]
            estimators.close()

    asyncio.run(act())


async def until(told: Callable[[], bool]) -> None:
    for _ in range(1000):
        if told():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come")


def test_live_component_asks_for_sets_and_places_one_when_room_comes() -> None:
    """No estimator has room at first: nothing is placed. A cluster reports anew, and its estimator has room for one."""

    async def act() -> None:
        api, room = FakeApi(), {"m1": 0, "m2": 0}
        async with serving(lambda message: said(of(message), **room)) as server:
            for name in room:
                api.put(CLUSTERS, {"metadata": {"name": name}, "status": ROOMY})
            body = live_binding("train", 0, placement={}, components=COMPONENTS)
            del body["spec"]["replicas"]
            api.put(RESOURCE_BINDINGS, body)
            stage = Stage(api, estimator=EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            await until(lambda: stage.condition("train").get("reason") == "NoClusterFit")
            room["m2"] = 1
            summary = {"allocatable": {"cpu": "10", "pods": "9"}}
            api.put(CLUSTERS, {"metadata": {"name": "m2"}, "status": {"resourceSummary": summary}})
            await until(lambda: stage.condition("train").get("reason") == "Success")
            assert [each["name"] for each in stage.find("train")["spec"]["clusters"]] == ["m2"]
            assert stage.fleet.decisions()["decisions"][0]["estimates"] == {"m1": 0, "m2": 1}
            await stage.stop()

    asyncio.run(act())


def test_shadow_compares_what_it_decides_by_what_estimators_say() -> None:
    """The reports would allow four and four; our estimators say one and seven, the other scheduler asked none."""

    async def act() -> None:
        api = FakeApi()
        async with serving(lambda message: said(of(message), m1=1, m2=7)) as server:
            for name in ("m1", "m2"):
                api.put(CLUSTERS, {"metadata": {"name": name}, "status": ROOMY})
            for name in ("web", "mail"):
                api.put(RESOURCE_BINDINGS, live_binding(name, 8, placement=BY_ROOM, schedulerName="default-scheduler"))
            stage = Stage(api, shadow=True, estimator=EstimatorSettings(address=f"127.0.0.1:{server.port}"))
            await until(lambda: len(stage.fleet.verdicts) == 2)
            answered(stage, "web", m1=4, m2=4)
            answered(stage, "mail", m1=1, m2=7)
            await until(lambda: differences(stage)["agreed"] + differences(stage)["differed"] == 2)
            (found,) = differences(stage)["differences"]
            assert (found["binding"], found["ours"]["clusters"]) == ("shop/web", {"m1": 1, "m2": 7})
            assert found["ours"]["estimates"] == {"m1": 1, "m2": 7}
            assert found["theirs"]["clusters"] == {"m1": 4, "m2": 4}
            assert stage.patches() == {}
            await stage.stop()

    asyncio.run(act())
