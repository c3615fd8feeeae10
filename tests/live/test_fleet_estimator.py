"""Estimators of member clusters: asked over gRPC, obeyed beside what clusters report, left out where they fail."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.fleet import binding_ask
from fairlead.kube.fake import FakeApi
from fairlead.kube.objects.karmada import ReplicaRequirements
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.kube.wire.unary import CallError, Channel, headers
from fairlead.live.fleet.decide import decide
from fairlead.live.fleet.estimator import METHOD, EstimatorOptions, Estimators, replicas, request
from tests.kube.authority import Authority
from tests.live.bindings import binding, cluster
from tests.live.estimators import serving
from tests.live.test_fleet import Stage
from tests.live.test_fleet import binding as live_binding

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


def test_request_is_the_protobuf_of_karmada_s_message() -> None:
    """Byte for byte what a server of grpc's own library was sent and took apart."""
    message = request("m1", msgspec.convert(NEEDS, ReplicaRequirements))
    claim = b'\x12\x06\n\x01a\x12\x01b"\x11\n\x0f\n\r\n\x01x\x12\x02In\x1a\x011\x1a\x012*\r\n\x01k\x12\x06Exists(\x05'
    rest = b'\x1a\x04shop"\x04high*\r\n\x03cpu\x12\x06\n\x04500m*\x0f\n\x06memory\x12\x05\n\x031Gi'
    assert message == b"\n\x02m1\x12X\n*" + claim + rest
    assert request("m1", None) == b"\n\x02m1"


@pytest.mark.parametrize(
    ("answer", "want"),
    [(b"", 0), (b"\x08\x07", 7), (b"\x08\xac\x02", 300), (b"\x08" + b"\xff" * 9 + b"\x01", None)],
)
def test_answer_is_read_as_a_number(answer: bytes, want: int | None) -> None:
    """Absent is 0, several bytes add up, −1 means not known."""
    assert replicas(answer) == want


def test_answer_of_another_shape_is_an_error() -> None:
    """Not taken for a number."""
    with pytest.raises(CallError, match="without maxReplicas"):
        replicas(b"\x12\x01x")


def test_long_values_of_headers_have_their_length_in_several_bytes() -> None:
    """127 and more: seven bits, then the rest, the lowest first."""
    block = headers("a" * 300, "/p", secure=True)
    assert block.startswith(b"\x83\x87\x04\x02/p\x01\x7f\xad\x01" + b"a" * 300)
    assert headers("h:1", "/p", secure=False)[1:2] == b"\x86"


def test_clusters_are_asked_at_once_over_connections_that_stay() -> None:
    """Two rounds of two clusters: two connections, four requests; the answers come by name."""

    async def act() -> None:
        async with serving(lambda message: said(of(message), m1=3, m2=0)) as server:
            estimators = Estimators(EstimatorOptions(address=f"127.0.0.1:{server.port}"))
            asked = binding("web", BY_ROOM, 5)
            for _ in range(2):
                assert await estimators.ask(asked, ["m1", "m2"]) == {"m1": 3, "m2": 0}
            estimators.close()
            assert (server.connections, len(server.asked)) == (2, 4)
            assert all(METHOD.encode() in each for each in server.paths)

    asyncio.run(act())


def test_estimator_that_fails_is_left_out_and_rests() -> None:
    """A refusal and an empty port: the others count, and for a while nobody asks them again."""

    async def act() -> None:
        async with serving(lambda message: None if of(message) == b"m1" else b"\x08\x04") as server:
            estimators = Estimators(EstimatorOptions(address=f"127.0.0.1:{server.port}", seconds=5))
            asked = binding("web", BY_ROOM, 5)
            assert await estimators.ask(asked, ["m1", "m2"]) == {"m2": 4}
            assert await estimators.ask(asked, ["m1", "m2"]) == {"m2": 4}
            assert sorted(map(of, server.asked)) == [b"m1", b"m2", b"m2"]
            estimators.close()
        gone = Estimators(EstimatorOptions(address=f"127.0.0.1:{server.port}", seconds=5))
        assert await gone.ask(asked, ["m1"]) == {}

    asyncio.run(act())


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
            await channel.call(METHOD, b"", 0.05)
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
            estimators = Estimators(EstimatorOptions(address=where, authority=ca, certificate=cert, key=key))
            assert await estimators.ask(binding("web", BY_ROOM, 5), ["m1"]) == {"m1": 5}
            agreed = server.writers[0].get_extra_info("ssl_object").selected_alpn_protocol()
            assert agreed == "h2"
            estimators.close()

    asyncio.run(act())


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
            stage = Stage(api, estimator=EstimatorOptions(address=f"127.0.0.1:{server.port}"))
            for _ in range(1000):
                if stage.counts("web") and stage.counts("everywhere"):
                    break
                await asyncio.sleep(0.02)
            assert stage.counts("web") == {"m1": 1, "m2": 5}
            assert stage.counts("everywhere") == {"m1": 6, "m2": 6}
            assert set(map(of, server.asked)) == {b"m1", b"m2"}
            await stage.stop()

    asyncio.run(act())
