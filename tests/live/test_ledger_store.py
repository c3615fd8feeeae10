"""Ledgers as custom resources on a fake API server: written only over the version that was read."""

import pytest

from fairlead.kube.errors import ApiError
from fairlead.kube.resources import TIER_LEDGERS
from fairlead.live.webhook.ledger import SlotLedger
from fairlead.live.webhook.store import BeatenError, LedgerStore, Scope
from tests.fake import FakeApi
from tests.kube.things import client

SCOPE = Scope(uid="rs-1", namespace="shop", replica_set="web-1", deployment="web", deployment_uid="d-1")


def store(api: FakeApi) -> LedgerStore:
    """Ledgers in the namespace of the webhook."""
    return LedgerStore(client(api), "fairlead")


async def test_a_ledger_that_is_not_there_is_empty_and_has_no_version() -> None:
    """So that writing it creates it."""
    assert await store(FakeApi()).read("rs-1") == SlotLedger()


async def test_what_is_written_is_read_back_with_a_version_and_counts() -> None:
    """Slots that were granted and not seen yet are reserved; spot replicas are told where they are known."""
    api = FakeApi()
    await store(api).write(SCOPE, SlotLedger(None, frozenset("abc"), frozenset("a")), target=4, spot=7)
    found = await store(api).read("rs-1")
    assert (found.granted, found.seen) == (frozenset("abc"), frozenset("a"))
    assert found.version
    stored = api.find(TIER_LEDGERS, "rs-1", namespace="fairlead")
    assert stored is not None
    assert stored["count"] == {"target": 4, "held": 1, "reserved": 2, "spot": 7}
    await store(api).write(SCOPE, SlotLedger(found.version, frozenset("ab"), frozenset("ab")), target=2)
    stored = api.find(TIER_LEDGERS, "rs-1", namespace="fairlead")
    assert stored is not None
    assert stored["count"]["reserved"] == 0
    assert (await store(api).read("rs-1")).granted == frozenset("ab")


async def test_only_one_of_two_writers_of_the_same_version_gets_through() -> None:
    """The other one is beaten, when the ledger is made and when it is changed."""
    api = FakeApi()
    await store(api).write(SCOPE, SlotLedger(None, frozenset("a")), target=1)
    with pytest.raises(BeatenError):
        await store(api).write(SCOPE, SlotLedger(None, frozenset("b")), target=1)
    read = await store(api).read("rs-1")
    await store(api).write(SCOPE, SlotLedger(read.version, frozenset("ab")), target=2)
    with pytest.raises(BeatenError):
        await store(api).write(SCOPE, SlotLedger(read.version, frozenset("ac")), target=2)
    assert (await store(api).read("rs-1")).granted == frozenset("ab")


@pytest.mark.parametrize("status", [404, 409, 500, 503])
async def test_a_write_of_which_the_end_is_unknown_is_one_that_was_beaten(status: int) -> None:
    """Gone, changed, or a server that failed: read again."""
    api = FakeApi()
    api.fail(status, method="PATCH", times=9)
    with pytest.raises(BeatenError):
        await store(api).write(SCOPE, SlotLedger("1", frozenset("a")), target=1)


async def test_a_write_without_an_answer_is_one_that_was_beaten() -> None:
    """It may have been stored."""
    api = FakeApi()
    api.cut(method="PATCH", times=9, after=True)
    with pytest.raises(BeatenError):
        await store(api).write(SCOPE, SlotLedger("1", frozenset("a")), target=1)


@pytest.mark.parametrize("status", [400, 403, 422])
async def test_a_write_that_is_refused_is_an_error(status: int) -> None:
    """Reading again would not help."""
    api = FakeApi()
    api.fail(status, method="PATCH", times=9)
    with pytest.raises(ApiError):
        await store(api).write(SCOPE, SlotLedger("1", frozenset("a")), target=1)


async def test_a_read_that_is_refused_is_an_error_and_no_empty_ledger() -> None:
    """Otherwise every slot would be given again."""
    api = FakeApi()
    api.fail(403, method="GET", times=9)
    with pytest.raises(ApiError):
        await store(api).read("rs-1")


async def test_a_ledger_is_removed_only_in_the_version_that_was_seen() -> None:
    """One that changed, or is gone already, is left; a refusal is an error."""
    api = FakeApi()
    await store(api).write(SCOPE, SlotLedger(None, frozenset("a")), target=1)
    await store(api).delete("rs-1", "0")
    read = await store(api).read("rs-1")
    assert read.version
    await store(api).delete("rs-1", read.version)
    assert await store(api).read("rs-1") == SlotLedger()
    await store(api).delete("rs-1", read.version)
    api.fail(403, method="DELETE", times=9)
    with pytest.raises(ApiError):
        await store(api).delete("rs-1", read.version)
