"""The real transport against a real HTTPS server on the loopback."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop
from aiohttp import web

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.credentials import Credential, Fixed, FromFiles
from fairlead.kube.errors import ApiError, UnreachableError
from fairlead.kube.resources import PODS
from fairlead.kube.tls import tls_context
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.http import HttpTransport
from fairlead.model.errors import InputError
from tests.kube.authority import Authority
from tests.kube.server import Handler, server_tls, serving
from tests.kube.things import pod, until

AUTHORITY = Authority()
SERVER = AUTHORITY.issue("server", "127.0.0.1")


@asynccontextmanager
async def transport(handler: Handler, **options: Any) -> AsyncIterator[HttpTransport]:
    """A transport connected to a TLS server that answers with `handler`."""
    tls = server_tls(options.pop("pair", SERVER), options.pop("clients", None))
    async with serving(handler, tls) as address:
        wire = HttpTransport(Connection(server=address, **{"ca": AUTHORITY.pem, **options}))
        try:
            yield wire
        finally:
            await wire.close()


async def echo(request: web.Request) -> web.Response:
    body = (await request.read()).decode()
    seen = {"method": request.method, "path": request.raw_path, "body": body, "headers": dict(request.headers)}
    return web.json_response(seen)


async def test_request_reaches_the_server_as_built() -> None:
    """Method, path, query, body and headers arrive, and who asks is said."""
    credentials = Fixed(Credential(token="secret"))
    async with transport(echo, credentials=credentials) as wire:
        answer = await wire.request(
            "PATCH", "/api/v1/pods/a%2Fb", query={"fieldManager": "f l"}, body=b"{}", headers={"Content-Type": "x/y"}
        )
    seen = msgspec.json.decode(answer.body)
    assert (seen["method"], seen["path"], seen["body"]) == ("PATCH", "/api/v1/pods/a%2Fb?fieldManager=f+l", "{}")
    headers = seen["headers"]
    assert tuple(headers[name] for name in ("Authorization", "Content-Type", "Accept-Encoding")) == (
        "Bearer secret",
        "x/y",
        "identity",
    )
    assert headers["User-Agent"].startswith("fairlead/")


async def test_lists_come_compressed() -> None:
    """Lists ask for gzip and are decoded from it."""
    asked = []

    async def handler(request: web.Request) -> web.Response:
        asked.append(request.headers["Accept-Encoding"])
        body = gzip.compress(msgspec.json.encode({"items": [pod(f"p{i}") for i in range(500)]}))
        return web.Response(body=body, headers={"Content-Encoding": "gzip"}, content_type="application/json")

    async with transport(handler) as wire:
        found = await Client(wire).list(PODS)
    assert (len(found.items), asked) == (500, ["gzip"])


async def test_many_requests_are_in_flight_at_once() -> None:
    """Requests do not wait for one another, up to the limit."""
    inside, most, gate = 0, 0, asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 20:
            gate.set()
        await gate.wait()
        return web.json_response({})

    async with transport(handler) as wire:
        async with asyncio.timeout(20):
            answers = await asyncio.gather(*(wire.request("GET", "/version") for _ in range(20)))
    assert (20, {200}) == (most, {answer.status for answer in answers})


async def test_server_of_another_authority_is_not_trusted() -> None:
    """A certificate that our authority did not sign ends the connection before anything is sent."""
    async with transport(echo, pair=Authority().issue("server", "127.0.0.1")) as wire:
        with pytest.raises(UnreachableError, match=r"(?i)certificate") as caught:
            await wire.request("GET", "/version")
    assert not caught.value.sent
    assert caught.value.__cause__ is not None


async def test_server_with_another_name_is_trusted_only_by_that_name() -> None:
    """tls-server-name is what the certificate is compared with."""
    pair = AUTHORITY.issue("server", "kubernetes.default")
    async with transport(echo, pair=pair) as wire:
        with pytest.raises(UnreachableError):
            await wire.request("GET", "/version")
    async with transport(echo, pair=pair, server_name="kubernetes.default") as wire:
        assert (await wire.request("GET", "/version")).status == 200


async def test_insecure_skips_the_check() -> None:
    """insecure-skip-tls-verify takes any certificate."""
    pair = Authority().issue("server", "elsewhere")
    async with transport(echo, pair=pair, verify=False, ca="") as wire:
        assert (await wire.request("GET", "/version")).status == 200


async def test_client_certificate_is_shown() -> None:
    """A server that asks for a certificate gets it; without one there is no answer."""
    own = AUTHORITY.issue("fairlead")
    shown = Fixed(Credential(certificate=own.certificate, key=own.key))
    async with transport(echo, clients=AUTHORITY, credentials=shown) as wire:
        assert (await wire.request("GET", "/version")).status == 200
    async with transport(echo, clients=AUTHORITY) as wire:
        with pytest.raises(UnreachableError):
            await wire.request("GET", "/version")


async def test_client_certificate_that_is_none_is_bad_input() -> None:
    """Text that is no certificate is named as such."""
    shown = Fixed(Credential(certificate="no", key="thing"))
    async with transport(echo, credentials=shown, source="context 'c'") as wire:
        with pytest.raises(InputError, match="context 'c': the certificate and key"):
            await wire.request("GET", "/version")
    with pytest.raises(InputError, match="not a PEM certificate"):
        tls_context(Connection(server="https://x", ca="no"))


async def test_rotated_token_is_read_again_after_a_refusal(tmp_path: Path) -> None:
    """A 401 leads to one more try with a fresh token, unseen by the caller."""
    file, seen = tmp_path / "token", []
    file.write_text("old\n")

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=200 if seen[-1] == f"Bearer {file.read_text().strip()}" else 401)

    async with transport(handler, credentials=FromFiles(token=file)) as wire:
        assert (await wire.request("GET", "/version")).status == 200
        file.write_text("new\n")
        assert (await wire.request("GET", "/version")).status == 200
    assert seen == ["Bearer old", "Bearer old", "Bearer new"]


async def test_second_try_after_a_refusal_has_only_the_time_that_is_left() -> None:
    """A server that takes its time to refuse is not waited for twice as long."""

    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(0.3)
        return web.Response(status=401)

    clock = asyncio.get_running_loop().time
    async with transport(handler) as wire:
        begun = clock()
        with pytest.raises(UnreachableError, match="no answer in time"):
            await wire.request("GET", "/version", within=0.5)
        assert clock() - begun < 0.6


async def test_request_is_not_sent_again_where_a_fresh_credential_came_too_late() -> None:
    """Its answer would not be waited for. Nothing was done, so that a client may repeat it: the credential is there."""

    class Slow:
        """The fresh token takes longer than the request may."""

        token = ""

        async def current(self) -> Credential:
            if not self.token:
                await asyncio.sleep(0.3)
                self.token = "new"
            return Credential(token=self.token)

        def refused(self) -> None:
            self.token = ""

    seen, slow = [], Slow()
    slow.token = "old"

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers["Authorization"])
        return web.Response(status=201 if seen[-1] == "Bearer new" else 401)

    async with transport(handler, credentials=slow) as wire:
        with pytest.raises(UnreachableError, match="came too late") as caught:
            await wire.request("POST", "/api/v1/pods", within=0.2)
        assert not caught.value.sent
        assert seen == ["Bearer old"]
        assert (await wire.request("POST", "/api/v1/pods", within=0.2)).status == 201


async def test_credential_lost_later_is_a_failure_like_any_other(tmp_path: Path) -> None:
    """At the start a missing token is bad input; later it must not end the tasks that follow the server."""
    file = tmp_path / "token"
    async with transport(echo, credentials=FromFiles(token=file)) as wire:
        with pytest.raises(InputError, match="the token file does not exist"):
            await wire.request("GET", "/version")
        file.write_text("t")
        assert (await wire.request("GET", "/version")).status == 200
        file.unlink()
        wire._connection.credentials.refused()
        with pytest.raises(UnreachableError, match="the token file does not exist") as caught:
            await wire.request("GET", "/version")
        assert not caught.value.sent
        with pytest.raises(UnreachableError, match="the token file does not exist"):
            await anext(wire.stream("/api/v1/pods", {}))


async def test_nobody_listens_is_unreachable_and_not_sent() -> None:
    """A refused connection says where and why, and that nothing was sent."""
    async with serving(echo, None) as address:
        pass
    wire = HttpTransport(Connection(server=address))
    try:
        with pytest.raises(UnreachableError, match=f"GET {address}/version: ") as caught:
            await wire.request("GET", "/version")
        assert not caught.value.sent
        with pytest.raises(UnreachableError):
            [line async for line in wire.stream("/api/v1/pods", {})]
    finally:
        await wire.close()


async def test_closed_transport_is_unreachable() -> None:
    """Whoever comes after the end is told so; closing twice is harmless."""
    wire = HttpTransport(Connection(server="http://127.0.0.1:1"))
    await wire.close()
    await wire.close()
    with pytest.raises(UnreachableError, match="the transport is closed"):
        await wire.request("GET", "/version")
    with pytest.raises(UnreachableError, match="the transport is closed"):
        await anext(wire.stream("/api/v1/pods", {}))


async def test_slow_answer_is_unreachable_in_time() -> None:
    """The bound holds for the whole request."""

    async def handler(request: web.Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    async with transport(handler) as wire:
        with pytest.raises(UnreachableError) as caught:
            await wire.request("GET", "/version", within=0.05)
    assert caught.value.sent


async def test_answer_that_stops_midway_is_unreachable() -> None:
    """A cut inside the body is no answer."""

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return answer

    async with transport(handler) as wire:
        with pytest.raises(UnreachableError):
            await wire.request("GET", "/version")
        with pytest.raises(UnreachableError):
            [line async for line in wire.stream("/api/v1/pods", {})]


def line_of(size: int) -> bytes:
    found = pod("big") | {"padding": "x" * size}
    return msgspec.json.encode({"type": "ADDED", "object": found})


async def test_watch_lines_of_any_length_come_whole() -> None:
    """A line far longer than a stream reader's limit (128 KiB) is one line."""
    lines = [line_of(10), line_of(400_000), line_of(3_000_000), line_of(0)]

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"\n".join(lines) + b"\n\n")
        return answer

    async with transport(handler) as wire:
        got = [line async for line in wire.stream("/api/v1/pods", {"watch": "1"})]
    assert [len(line) for line in lines] == [len(line) for line in got[1:]]
    assert [b"", *lines] == got


async def test_watch_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that never ends its line does not fill the memory."""
    monkeypatch.setattr("fairlead.kube.wire.http.MOST_LINE", 1000)

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(line_of(10) + b"\n" + b"x" * 2000)
        await asyncio.sleep(30)
        return answer

    async with transport(handler) as wire:
        with pytest.raises(UnreachableError, match="a line of the stream has more than 1000 bytes"):
            [line async for line in wire.stream("/api/v1/pods", {})]


async def test_watch_that_ends_inside_a_line_is_unreachable() -> None:
    """Half an event is not an event."""

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(line_of(10) + b'\n{"type":')
        return answer

    async with transport(handler) as wire:
        lines = wire.stream("/api/v1/pods", {})
        assert [b"", line_of(10)] == [await anext(lines), await anext(lines)]
        with pytest.raises(UnreachableError, match="inside a line"):
            await anext(lines)


async def test_watch_refused_is_an_api_error() -> None:
    """A code other than 200 is raised with the server's Status before any line."""

    async def handler(request: web.Request) -> web.Response:
        status = {"kind": "Status", "reason": "TooManyRequests", "message": "later", "code": 429}
        return web.json_response(status, status=429, headers={"Retry-After": "3"})

    async with transport(handler) as wire:
        with pytest.raises(ApiError) as caught:
            [line async for line in wire.stream("/api/v1/pods", {})]
    assert (caught.value.status, caught.value.retry_after) == (429, 3.0)


async def test_watch_without_end_is_bounded_by_its_own_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that forgets to end a watch does not hold us for ever."""
    monkeypatch.setattr("fairlead.kube.wire.http.STREAM_SLACK_SECONDS", 0.1)

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(line_of(1) + b"\n")
        await asyncio.sleep(30)
        return answer

    async with transport(handler) as wire:
        with pytest.raises(UnreachableError):
            [line async for line in wire.stream("/api/v1/pods", {"timeoutSeconds": "0"})]


async def test_closing_a_watch_early_gives_its_connection_back() -> None:
    """The consumer may stop at any line."""

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(1000):
            await answer.write(line_of(1000) + b"\n")
        return answer

    async with transport(handler) as wire, aclosing(wire.stream("/api/v1/pods", {})) as lines:
        assert [b"", line_of(1000)] == [await anext(lines), await anext(lines)]


def test_transport_works_on_uvloop() -> None:
    """The loop that the components run on."""

    async def main() -> tuple[int, bytes]:
        async def handler(request: web.Request) -> web.StreamResponse:
            if "watch" not in request.query:
                return await echo(request)
            answer = web.StreamResponse()
            await answer.prepare(request)
            await answer.write(line_of(300_000) + b"\n")
            return answer

        async with transport(handler) as wire:
            status = (await wire.request("GET", "/version")).status
            async with aclosing(wire.stream("/api/v1/pods", {"watch": "1"})) as lines:
                await anext(lines)
                return status, await anext(lines)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert (200, line_of(300_000)) == runner.run(main())


async def test_reflector_over_the_wire() -> None:
    """List, watch and resume through TLS: a cut stream is taken up from the last version."""
    asked: list[str] = []

    def event(kind: str, name: str, version: int) -> bytes:
        found = pod(name)
        found["metadata"] |= {"uid": name, "resourceVersion": str(version)}
        return msgspec.json.encode({"type": kind, "object": found}) + b"\n"

    async def handler(request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "5"}, "items": []})
        asked.append(request.query["resourceVersion"])
        answer = web.StreamResponse()
        await answer.prepare(request)
        if len(asked) == 1:
            await answer.write(event("ADDED", "a", 6) + event("ADDED", "b", 7) + b'{"type":"MOD')
            assert request.transport is not None
            request.transport.abort()
            return answer
        await answer.write(event("DELETED", "a", 8))
        await asyncio.sleep(30)
        return answer

    told: list[Change[Any]] = []
    async with transport(handler) as wire:
        watched = Reflector(Client(wire), PODS, told.append)
        task = asyncio.create_task(watched.run())
        await until(lambda: len(told) == 3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [(c.kind, c.object.metadata.name) for c in told] == [("added", "a"), ("added", "b"), ("deleted", "a")]
    assert asked == ["5", "7"]
