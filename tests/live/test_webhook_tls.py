"""Certificates that the replicas make themselves: shared, trusted before they are used, renewed in time."""

import asyncio
import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from fairlead.kube.client import Client
from fairlead.kube.resources import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS
from fairlead.live.webhook.certificates import Pair, due, first_of, issue, make_authority, serves
from fairlead.live.webhook.tls import Certificate, SelfMade
from fairlead.model.errors import InputError
from tests.fake import FakeApi

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("fairlead-webhook.fairlead-system.svc", "127.0.0.1")


class Clock:
    """Time that tests move on."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now


def _configured(api: FakeApi) -> None:
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        webhook = {"name": "a.fairlead.io", "clientConfig": {"url": "https://127.0.0.1"}}
        api.put(resource, {"metadata": {"name": "fairlead-webhook"}, "webhooks": [webhook]})


def _made(api: FakeApi, clock: Callable[[], datetime]) -> SelfMade:
    return SelfMade(
        Client(api),
        namespace="fairlead-system",
        secret="fairlead-webhook-tls",
        configuration="fairlead-webhook",
        names=NAMES,
        now=clock,
    )


def _secret(api: FakeApi) -> dict[str, str]:
    stored = api.find(SECRETS, "fairlead-webhook-tls", namespace="fairlead-system")
    assert stored is not None
    return {name: base64.b64decode(value).decode() for name, value in stored["data"].items()}


def _trusted(api: FakeApi) -> str:
    bundles = set()
    for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
        stored = api.find(resource, "fairlead-webhook")
        assert stored is not None
        bundles.add(stored["webhooks"][0]["clientConfig"]["caBundle"])
    assert len(bundles) == 1
    return base64.b64decode(bundles.pop()).decode()


async def test_first_replica_makes_the_pair_and_the_others_share_it() -> None:
    """One Secret, one pair, and its authority in both configurations, however many start at once."""
    api = FakeApi()
    _configured(api)
    pairs = await asyncio.gather(*(_made(api, Clock()).pair() for _ in range(3)))
    again = await _made(api, Clock()).pair()
    assert {again} == set(pairs)
    assert _trusted(api) == _secret(api)["ca.crt"]
    assert serves(again.certificate, _trusted(api), NAMES)
    assert await Certificate(_made(api, Clock())).refresh()


async def test_secret_that_was_made_empty_is_filled() -> None:
    """A chart makes it, so that it goes with the chart; the replicas share what the first of them puts in."""
    api = FakeApi()
    _configured(api)
    api.put(SECRETS, {"metadata": {"name": "fairlead-webhook-tls", "namespace": "fairlead-system"}})
    pairs = await asyncio.gather(*(_made(api, Clock()).pair() for _ in range(3)))
    assert len(set(pairs)) == 1
    assert _trusted(api) == _secret(api)["ca.crt"]
    assert serves(pairs[0].certificate, _trusted(api), NAMES)


async def test_pair_is_renewed_before_it_ends() -> None:
    """After two thirds of its life there is a new one, of the same authority."""
    api, clock = FakeApi(), Clock()
    _configured(api)
    first = await _made(api, clock).pair()
    clock.now += timedelta(days=200)
    assert await _made(api, clock).pair() == first
    clock.now += timedelta(days=60)
    second = await _made(api, clock).pair()
    assert second != first
    assert serves(second.certificate, _trusted(api), NAMES)


async def test_new_authority_is_trusted_before_it_signs() -> None:
    """First the bundle gets the new authority beside the old one, then the pair is signed by the new one."""
    api, clock = FakeApi(), Clock()
    _configured(api)
    await _made(api, clock).pair()
    old_authority = _secret(api)["ca.crt"]
    clock.now += timedelta(days=2500)
    first = await _made(api, clock).pair()
    assert serves(first.certificate, old_authority, NAMES)
    second = await _made(api, clock).pair()
    assert serves(second.certificate, first_of(_trusted(api)), NAMES)
    assert old_authority in _trusted(api)
    assert first_of(_trusted(api)) != old_authority


async def test_pair_for_other_names_is_made_anew() -> None:
    """A Secret from another installation is put right."""
    api, clock = FakeApi(), Clock()
    authority = make_authority(BEGIN)
    pair = issue(authority, ["elsewhere"], BEGIN)
    texts = {"ca.crt": authority.certificate, "ca.key": authority.key, "tls.crt": pair.certificate, "tls.key": pair.key}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    body: dict[str, Any] = {"metadata": {"name": "fairlead-webhook-tls", "namespace": "fairlead-system"}, "data": data}
    api.put(SECRETS, body)
    got = await _made(api, clock).pair()
    assert serves(got.certificate, authority.certificate, NAMES)


@pytest.mark.parametrize(
    "data",
    [{"keystore.jks": "/u3+7Q=="}, {"tls.crt": "no base64"}, {"ca.key": base64.b64encode(b"no key").decode()}],
    ids=["binary", "no base64", "no key"],
)
async def test_secret_that_cannot_be_used_is_bad_input(data: dict[str, str]) -> None:
    """A running replica logs that and keeps its pair; what it has goes on."""
    api = FakeApi()
    _configured(api)
    await _made(api, Clock()).pair()
    stored = api.find(SECRETS, "fairlead-webhook-tls", namespace="fairlead-system")
    assert stored is not None
    kept = {name: value for name, value in stored["data"].items() if name != "tls.crt"}
    api.put(SECRETS, {**stored, "data": kept | data})
    with pytest.raises(InputError, match="Secret fairlead-webhook-tls: cannot be used"):
        await _made(api, Clock()).pair()


@pytest.mark.parametrize("spoiled", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"])
async def test_authority_that_is_spoiled_is_made_anew_and_never_trusted(spoiled: str) -> None:
    """Until there is another, API servers trust the one that signed what the replicas have in use."""
    api = FakeApi()
    _configured(api)
    await _made(api, Clock()).pair()
    before = _trusted(api)
    stored = api.find(SECRETS, "fairlead-webhook-tls", namespace="fairlead-system")
    assert stored is not None
    data = {**stored["data"], "ca.crt": base64.b64encode(spoiled.encode()).decode()}
    api.put(SECRETS, {**stored, "data": data})
    await _made(api, Clock()).pair()
    assert _trusted(api) == before
    second = await _made(api, Clock()).pair()
    assert serves(second.certificate, _trusted(api), NAMES)
    assert _trusted(api) == first_of(_trusted(api))


async def test_key_that_is_encrypted_is_bad_input() -> None:
    """It is needed when the pair is renewed."""
    api, clock = FakeApi(), Clock()
    _configured(api)
    await _made(api, clock).pair()
    stored = api.find(SECRETS, "fairlead-webhook-tls", namespace="fairlead-system")
    assert stored is not None
    key = serialization.load_pem_private_key(_secret(api)["ca.key"].encode(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"word")
    )
    api.put(SECRETS, {**stored, "data": {**stored["data"], "ca.key": base64.b64encode(locked).decode()}})
    clock.now += timedelta(days=300)
    with pytest.raises(InputError, match="Secret fairlead-webhook-tls: cannot be used"):
        await _made(api, clock).pair()


@pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"])
def test_text_that_is_no_certificate_is_due(text: str) -> None:
    """What cannot be read is replaced, never trusted."""
    authority = make_authority(BEGIN)
    assert due(text, BEGIN)
    assert not serves(text, authority.certificate, NAMES)
    assert not serves(authority.certificate, text, NAMES)


def test_certificate_of_another_authority_does_not_serve() -> None:
    """The signature counts, not the name of the issuer."""
    one, other = make_authority(BEGIN), make_authority(BEGIN)
    pair = issue(one, NAMES, BEGIN)
    assert isinstance(pair, Pair)
    assert serves(pair.certificate, one.certificate, NAMES)
    assert not serves(pair.certificate, other.certificate, NAMES)
    assert not serves(pair.certificate, one.certificate, [*NAMES, "more"])
