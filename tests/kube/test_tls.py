"""Certificates: read again when their files change, kept where the change is bad, loaded without a writable folder."""

import asyncio
import logging
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fairlead.kube.config import Connection
from fairlead.kube.credentials import REREAD_SECONDS, Credential, Fixed, FromFiles
from fairlead.kube.tls import Trust, load_pair, tls_context
from fairlead.kube.wire import dial as dialing
from fairlead.kube.wire.http import HttpTransport
from fairlead.model.errors import InputError
from tests.kube.authority import Authority
from tests.kube.server import server_tls, serving

ONE, TWO = Authority(), Authority()


async def whoami(request: web.Request) -> web.Response:
    """The name in the client's certificate."""
    assert request.transport is not None
    shown = request.transport.get_extra_info("peercert")
    return web.Response(text=dict(pair[0] for pair in shown["subject"])["commonName"] if shown else "nobody")


async def test_client_certificate_is_read_again_from_its_files(tmp_path: Path) -> None:
    """The kubelet or cert-manager replaces the files: the next request shows the new certificate."""
    certificate, key, clock = tmp_path / "crt", tmp_path / "key", [0.0]

    def store(name: str) -> None:
        pair = ONE.issue(name)
        certificate.write_text(pair.certificate)
        key.write_text(pair.key)

    store("first")
    shown = FromFiles(certificate=certificate, key=key, clock=lambda: clock[0])
    async with serving(whoami, server_tls(ONE.issue("s", "127.0.0.1"), ONE)) as address:
        wire = HttpTransport(Connection(server=address, ca=ONE.pem, credentials=shown))
        try:
            assert (await wire.request("GET", "/")).body == b"first"
            store("second")
            assert (await wire.request("GET", "/")).body == b"first"
            clock[0] += REREAD_SECONDS
            assert (await wire.request("GET", "/")).body == b"second"
        finally:
            await wire.close()


def test_half_written_pair_leaves_the_last_one_in_use(caplog: pytest.LogCaptureFixture) -> None:
    """A certificate whose key has not been written yet is logged once; the pair that follows is taken."""
    first, second = ONE.issue("first"), ONE.issue("second")
    trust = Trust(Connection(server="https://x", ca=ONE.pem))
    assert trust.renewed(Credential(certificate=first.certificate, key=first.key))
    good = trust.context
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert not trust.renewed(Credential(certificate=second.certificate, key=first.key))
    assert (trust.context, len(caplog.records)) == (good, 1)
    assert trust.renewed(Credential(certificate=second.certificate, key=second.key))


def test_first_pair_that_does_not_fit_is_bad_input() -> None:
    """At the start there is nothing to keep."""
    first, second = ONE.issue("first"), ONE.issue("second")
    trust = Trust(Connection(server="https://x", ca=ONE.pem, source="context 'c'"))
    for _ in range(2):
        with pytest.raises(InputError, match="context 'c': the certificate and key cannot be used together"):
            trust.renewed(Credential(certificate=second.certificate, key=first.key))


def test_authority_is_read_again_from_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A new bundle is trusted after some seconds; one that is gone, empty or bad leaves the old one in use."""
    file, clock = tmp_path / "ca.crt", [0.0]
    file.write_text(ONE.pem)
    trust = Trust(Connection(server="https://x", ca=ONE.pem, ca_file=file), clock=lambda: clock[0])

    def later(text: str | None) -> int:
        file.unlink(missing_ok=True) if text is None else file.write_text(text)
        clock[0] += REREAD_SECONDS
        trust.renewed(Credential())
        return len(trust.context.get_ca_certs())

    assert later(ONE.pem) == 1
    assert later(ONE.pem + TWO.pem) == 2
    with caplog.at_level(logging.WARNING):
        assert [later(None), later(""), later("no certificate")] == [2, 2, 2]
    assert len(caplog.records) == 2
    assert later(TWO.pem) == 1


async def test_server_with_a_certificate_of_the_new_authority_is_reached(tmp_path: Path) -> None:
    """A cluster that has changed its authority is reached again without a restart."""
    file, clock = tmp_path / "ca.crt", [0.0]
    file.write_text(ONE.pem)
    async with serving(whoami, server_tls(TWO.issue("s", "127.0.0.1"))) as address:
        wire = HttpTransport(Connection(server=address, ca=ONE.pem, ca_file=file))
        assert wire._trust is not None
        wire._trust._clock = lambda: clock[0]
        wire._trust._read_at = clock[0]
        try:
            with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
                await wire.request("GET", "/")
            file.write_text(TWO.pem)
            clock[0] += REREAD_SECONDS
            assert (await wire.request("GET", "/")).body == b"nobody"
        finally:
            await wire.close()


def test_certificates_need_no_writable_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a read-only root without /tmp a client certificate works."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/proc/nowhere"])
    pair = ONE.issue("first")
    tls_context(Connection(server="https://x", ca=ONE.pem), pair=(pair.certificate, pair.key))


def test_certificates_without_files_in_memory_use_a_temporary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other systems need a folder; without one the message says so, and not that a server is unreachable."""
    monkeypatch.delattr("os.memfd_create")
    pair = ONE.issue("first")
    load_pair(ssl.create_default_context(), pair.certificate, pair.key, place="here")
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/proc/nowhere"])
    with pytest.raises(InputError, match=r"here: the certificate and key cannot be handed to OpenSSL: .*No usable"):
        load_pair(ssl.create_default_context(), pair.certificate, pair.key, place="here")


async def test_address_that_does_not_answer_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first address never answers, the second does: the request goes through."""
    loop = asyncio.get_running_loop()
    known, connect = loop.getaddrinfo, loop.sock_connect
    tried: list[str] = []

    async def both(host: str, port: int, **more: Any) -> list[Any]:
        found = await known("127.0.0.1", port, **more)
        silent = [(*each[:4], ("127.0.0.9", port)) for each in found]
        return [*silent, *found]

    async def silent(sock: socket.socket, address: tuple[str, int]) -> None:
        tried.append(address[0])
        if address[0] == "127.0.0.9":
            await loop.create_future()
        await connect(sock, address)

    monkeypatch.setattr(loop, "getaddrinfo", both)
    monkeypatch.setattr(loop, "sock_connect", silent)
    monkeypatch.setattr(dialing, "AHEAD_SECONDS", 0.001)
    async with serving(whoami, server_tls(ONE.issue("s", "api"))) as address:
        port = address.rpartition(":")[2]
        wire = HttpTransport(Connection(server=f"https://api:{port}", ca=ONE.pem, credentials=Fixed()))
        try:
            assert (await wire.request("GET", "/")).body == b"nobody"
        finally:
            await wire.close()
    assert tried == ["127.0.0.9", "127.0.0.1"]
