"""The endpoint: a review or a clear error for every request; it drains and changes its certificate while it works."""

import asyncio
import json
import random
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from fairlead.kube.admission import admit
from fairlead.kube.admission.review import ReviewRequest, allow
from fairlead.kube.admission.validate import validate
from fairlead.kube.errors import UnreachableError
from fairlead.kube.tls import load_pair
from fairlead.live.webhook import server
from fairlead.live.webhook.certificates import Pair, issue, issue_user, make_authority
from fairlead.live.webhook.metrics import WebhookMetrics
from fairlead.live.webhook.server import MOST_BYTES, AdmissionServer
from fairlead.live.webhook.tls import Certificate, Files
from fairlead.model.errors import InputError
from fairlead.settings import read_configuration
from tests.calls import counted
from tests.campaign.mangling import fuzzed
from tests.fake import FakeApi
from tests.live.cluster_of_pods import Process
from tests.tier.pods import pod, reference, review, web_pod, workload

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JSON = {"Content-Type": "application/json"}


async def _allowed(request: ReviewRequest) -> dict[str, Any]:
    return allow(request.uid)


async def _slow(request: ReviewRequest) -> dict[str, Any]:
    await asyncio.sleep(60)
    return allow(request.uid)


async def _unreachable(request: ReviewRequest) -> dict[str, Any]:
    raise UnreachableError("GET /x", "nobody there")


ANSWERS = {"/mutate": _allowed, "/slow": _slow, "/down": _unreachable}


@asynccontextmanager
async def _serving(budget: float = 5.0) -> AsyncIterator[tuple[AdmissionServer, str, aiohttp.ClientSession]]:
    server = AdmissionServer(ANSWERS, WebhookMetrics(), budget=budget)
    async with server.listening("127.0.0.1:0", None) as port, aiohttp.ClientSession() as session:
        yield server, f"http://127.0.0.1:{port}", session


async def _status(path: str, body: bytes, headers: dict[str, str] = JSON, *, budget: float = 5.0) -> int:
    async with (
        _serving(budget) as (_, url, session),
        session.post(url + path, data=BytesIO(body), headers=headers) as answer,
    ):
        return answer.status


async def test_review_is_answered_and_the_connection_kept() -> None:
    """Two reviews over one connection, each with its uid."""
    async with _serving() as (server, url, session):
        for uid in ("a", "b"):
            async with session.post(f"{url}/mutate", json=review(web_pod(), uid=uid)) as answer:
                assert (await answer.json())["response"]["uid"] == uid
                assert "Connection" not in answer.headers
        server.draining = True
        async with session.post(f"{url}/mutate", json=review(web_pod())) as answer:
            assert answer.status == 200
            assert answer.headers["Connection"] == "close"


async def test_review_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is parsed once, and its pod is made typed once."""
    texts, pods = counted(monkeypatch, server, "decode"), counted(monkeypatch, admit, "_pod")
    async with Process(FakeApi()) as process:
        endpoint = AdmissionServer({"/mutate": process.mutator.answer}, WebhookMetrics(), budget=5.0)
        async with endpoint.listening("127.0.0.1:0", None) as port, aiohttp.ClientSession() as session:
            for _ in range(3):
                async with session.post(f"http://127.0.0.1:{port}/mutate", json=review(web_pod())) as answer:
                    assert answer.status == 200
    assert (texts, pods) == ({"decode": 3}, {"_pod": 3})


ERRORS: dict[str, tuple[str, bytes, dict[str, str], int]] = {
    "not JSON": ("/mutate", b"{", JSON, 400),
    "not a review": ("/mutate", b"{}", JSON, 400),
    "nothing": ("/mutate", b"", JSON, 400),
    "another type": ("/mutate", b"{}", {"Content-Type": "text/plain"}, 415),
    "too large": ("/mutate", b" " * (MOST_BYTES + 1), JSON, 413),
    "another path": ("/other", b"{}", JSON, 404),
    "the API is away": ("/down", json.dumps(review(web_pod())).encode(), JSON, 500),
}


@pytest.mark.parametrize(("path", "body", "headers", "want"), ERRORS.values(), ids=ERRORS)
async def test_request_that_cannot_be_answered_gets_a_clear_status(
    path: str, body: bytes, headers: dict[str, str], want: int
) -> None:
    """What the caller sends wrong is a 4xx, what we cannot do is a 5xx."""
    assert await _status(path, body, headers) == want


async def test_request_has_a_time_limit() -> None:
    """A decision that takes too long ends in an error, and the failure policy decides."""
    assert await _status("/slow", json.dumps(review(web_pod())).encode(), budget=0.05) == 504


async def test_body_that_never_comes_has_a_time_limit() -> None:
    """A client that sends half a body does not hold the server."""
    async with _serving(0.05) as (_, url, _session):
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = ["POST /mutate HTTP/1.1", f"Host: {host}", "Content-Type: application/json", "Content-Length: 100"]
        writer.write("\r\n".join([*head, "", "{"]).encode())
        line = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        assert b"504" in line


def _write(folder: Path, pair: Pair) -> None:
    (folder / "tls.crt").write_text(pair.certificate)
    (folder / "tls.key").write_text(pair.key)


async def _shown(port: int) -> bytes:
    """The certificate that the server shows to a new connection."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return bytes(found)


async def test_the_server_listens_where_it_is_told_and_nowhere_else() -> None:
    """One address of this machine, of IPv6 too, or with no address in front of the port all of them."""
    server = AdmissionServer(ANSWERS, WebhookMetrics(), budget=1)
    async with server.listening("127.0.0.1:0", None) as port:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.2", port)
    async with server.listening(":0", None) as port:
        for address in ("127.0.0.1", "127.0.0.2"):
            _, writer = await asyncio.open_connection(address, port)
            writer.close()
            await writer.wait_closed()
    async with server.listening("[::1]:0", None) as port:
        _, writer = await asyncio.open_connection("::1", port)
        writer.close()
        await writer.wait_closed()


async def test_certificate_changes_without_a_restart(tmp_path: Path) -> None:
    """New connections see the new certificate; a key that does not fit is refused and the old pair stays in use."""
    authority = make_authority(NOW)
    first, second = (issue(authority, ["127.0.0.1"], NOW) for _ in range(2))
    _write(tmp_path, first)
    certificate = Certificate(Files(tmp_path))
    assert await certificate.refresh()
    assert not await certificate.refresh()
    server = AdmissionServer(ANSWERS, WebhookMetrics(), budget=1)
    async with server.listening("127.0.0.1:0", certificate.context) as port:
        before = await _shown(port)
        _write(tmp_path, Pair(second.certificate, first.key))
        with pytest.raises(InputError, match="cannot be used together"):
            await certificate.refresh()
        assert await _shown(port) == before
        _write(tmp_path, second)
        assert await certificate.refresh()
        assert await _shown(port) == ssl.PEM_cert_to_DER_cert(second.certificate)


async def test_missing_certificate_files_are_told(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(InputError, match=r"tls\.crt"):
        await Certificate(Files(tmp_path)).refresh()


SEEDS = (
    review(web_pod(labels={"a": "b"}, spec={"nodeSelector": {"a": "b"}, "tolerations": [{"key": "x"}]})),
    review(pod(name="db-1", owner=reference("StatefulSet", "db", "s"))),
    review(workload("Deployment", "web", "u", minimum="2"), kind="Deployment", operation="UPDATE", oldObject={}),
)


async def _fuzz(
    rounds: int, answers: dict[str, Callable[[ReviewRequest], Awaitable[dict[str, Any]]]]
) -> dict[int, int]:
    chance = random.Random(7)
    statuses: dict[int, int] = {}
    server = AdmissionServer(answers, WebhookMetrics(), budget=5)
    async with server.listening("127.0.0.1:0", None) as port, aiohttp.ClientSession() as session:
        for number in range(rounds):
            body = fuzzed(chance, SEEDS)
            path = ("/mutate", "/validate")[number % 2]
            async with session.post(f"http://127.0.0.1:{port}{path}", data=body, headers=JSON) as answer:
                statuses[answer.status] = statuses.get(answer.status, 0) + 1
                if answer.status == 200:
                    assert isinstance((await answer.json())["response"]["allowed"], bool)
    return statuses


async def _validated(request: ReviewRequest) -> dict[str, Any]:
    return validate(request)


@pytest.mark.parametrize("rounds", [400, pytest.param(10_000, marks=pytest.mark.proof)])
async def test_fuzzed_reviews_never_cause_a_server_error(rounds: int) -> None:
    """Whatever a caller sends: a valid response or a 400."""
    async with Process(FakeApi()) as process:
        statuses = await _fuzz(rounds, {"/mutate": process.mutator.answer, "/validate": _validated})
    assert set(statuses) == {200, 400}
    assert statuses[200] > rounds / 20


async def _asked(port: int, trusted: str, own: Pair | None) -> int:
    """The status of a review that is sent with this certificate; 0 where no connection came about."""
    context = ssl.create_default_context(cadata=trusted)
    context.check_hostname = False
    if own is not None:
        load_pair(context, own.certificate, own.key, place="test")
    async with aiohttp.ClientSession() as session:
        try:
            url = f"https://127.0.0.1:{port}/mutate"
            async with session.post(url, json=review(web_pod()), ssl=context) as answer:
                return answer.status
        except aiohttp.ClientError:
            return 0


async def test_reviews_are_answered_for_known_clients_alone(tmp_path: Path) -> None:
    """With an authority of clients others get no connection; with names, others of that authority a 403."""
    authority, other = make_authority(datetime.now(UTC)), make_authority(datetime.now(UTC))
    now = datetime.now(UTC)
    pair = issue(authority, ("127.0.0.1",), now)
    (tmp_path / "tls.crt").write_text(pair.certificate)
    (tmp_path / "tls.key").write_text(pair.key)
    (tmp_path / "clients.crt").write_text(authority.certificate)
    server = issue_user(authority, "kube-apiserver", (), now)
    visitor, stranger = issue_user(authority, "visitor", (), now), issue_user(other, "kube-apiserver", (), now)

    async def statuses(names: tuple[str, ...]) -> list[int]:
        certificate = Certificate(Files(tmp_path), str(tmp_path / "clients.crt"))
        await certificate.refresh()
        endpoint = AdmissionServer(ANSWERS, WebhookMetrics(), budget=5.0, clients=names)
        async with endpoint.listening("127.0.0.1:0", certificate.context) as port:
            return [await _asked(port, authority.certificate, own) for own in (server, visitor, stranger, None)]

    assert await statuses(()) == [200, 200, 0, 0]
    assert await statuses(("kube-apiserver",)) == [200, 403, 0, 0]


async def test_client_authority_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A file that is missing or holds no certificate stops the start, for else everybody would be answered."""
    file = tmp_path / "clients.crt"
    with pytest.raises(InputError, match=r"clients.crt: the client authority does not exist"):
        await Certificate(Files(tmp_path), str(file)).refresh()
    file.write_text("no certificate")
    with pytest.raises(InputError, match=r"clients.crt: the client authority is not a PEM certificate"):
        await Certificate(Files(tmp_path), str(file)).refresh()


async def test_new_client_authority_is_learned_while_serving(tmp_path: Path) -> None:
    """The bundle is read again with the certificate."""
    first, second = make_authority(datetime.now(UTC)), make_authority(datetime.now(UTC))
    pair = issue(first, ("127.0.0.1",), datetime.now(UTC))
    (tmp_path / "tls.crt").write_text(pair.certificate)
    (tmp_path / "tls.key").write_text(pair.key)
    (tmp_path / "clients.crt").write_text(first.certificate)
    certificate = Certificate(Files(tmp_path), str(tmp_path / "clients.crt"))
    await certificate.refresh()
    own = issue_user(second, "kube-apiserver", (), datetime.now(UTC))
    endpoint = AdmissionServer(ANSWERS, WebhookMetrics(), budget=5.0)
    async with endpoint.listening("127.0.0.1:0", certificate.context) as port:
        assert await _asked(port, first.certificate, own) == 0
        (tmp_path / "clients.crt").write_text(second.certificate)
        await certificate.refresh()
        assert await _asked(port, first.certificate, own) == 200


def test_client_names_need_an_authority() -> None:
    """Names alone would be a promise that nothing keeps."""
    text = b"apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nwebhook: {clientNames: [a]}\n"
    with pytest.raises(InputError, match="clientNames need a clientAuthority"):
        read_configuration(text, "fairlead.yaml")
