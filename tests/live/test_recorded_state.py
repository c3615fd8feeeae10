"""State that 0.1.0 wrote is read by this version, and what this version writes is read by 0.1.0.

`recorded/state-0.1.0.json` was written by the code of 0.1.0. Its shapes, as that version decoded them, stand here.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.last_result import prior_of
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.tier import TierLedger
from fairlead.kube.resources import CONFIG_MAPS, TIER_LEDGERS
from fairlead.live.fleet.decide import decide
from fairlead.live.queue.intents import VERSION, promised, written
from fairlead.live.runtime.evictions import Evictions, Refusal
from fairlead.live.webhook.ledger import SlotLedger
from fairlead.live.webhook.store import LedgerStore, Scope, ledger_of
from fairlead.model.division import Mode
from fairlead.model.errors import InputError
from fairlead.settings import DEFAULTS, read_configuration
from tests.fake import FakeApi
from tests.kube.things import client
from tests.live.bindings import cluster

STATE: dict[str, Any] = json.loads((Path(__file__).parent / "recorded" / "state-0.1.0.json").read_text())
PLACES = {("shop", "web-0"): "n1", ("shop", "web-1"): "n2", ("shop", "web-10"): "n1"}
MOMENT = 1763424000.0
"""When the budget of the record was spent."""


class OldIntent(msgspec.Struct):
    """An intent as 0.1.0 decoded it: fields that it did not know were passed over."""

    at: float
    prefix: str
    nodes: dict[str, list[str]]


def test_record_is_of_the_version_before() -> None:
    """N reads N−1: the record is of the version before this one."""
    assert STATE["version"] == "0.1.0"


def test_intent_of_a_gang_is_read() -> None:
    """Every pod has the node that 0.1.0 meant for it."""
    assert promised("web", "shop", STATE["intent"], 5.0).places == PLACES


def test_intent_of_today_is_read_by_the_version_before() -> None:
    """The version is one field more, which 0.1.0 passes over; the others mean the same."""
    text = written(PLACES, 1763424000.25)
    old = msgspec.json.decode(text, type=OldIntent)
    assert old == msgspec.json.decode(STATE["intent"], type=OldIntent)
    assert json.loads(text)["version"] == VERSION


def test_intent_of_a_later_version_is_named_and_not_guessed_at() -> None:
    """A scheduler that was rolled back says so."""
    text = json.dumps({**json.loads(STATE["intent"]), "version": VERSION + 1})
    with pytest.raises(InputError, match=f"is of version {VERSION + 1}, this scheduler reads up to {VERSION}"):
        promised("web", "shop", text, 5.0)


def test_ledger_is_read_and_written_in_the_same_form() -> None:
    """Slots granted and seen are those that 0.1.0 counted; a ledger of today has the same fields."""
    assert ledger_of(msgspec.convert(STATE["ledger"], TierLedger)) == SlotLedger(
        STATE["ledger"]["metadata"]["resourceVersion"], frozenset("abc"), frozenset("a")
    )
    api = FakeApi()
    scope = Scope(uid="rs-uid", namespace="shop", replica_set="web-1", deployment="web", deployment_uid="d-uid")
    slots = SlotLedger(None, frozenset("abc"), frozenset("a"))
    asyncio.run(LedgerStore(client(api), "fairlead-system").write(scope, slots, target=3, spot=2))
    stored = api.find(TIER_LEDGERS, "rs-uid", namespace="fairlead-system")
    assert stored is not None
    for part in ("apiVersion", "kind", "spec", "slots", "count"):
        assert stored[part] == STATE["ledger"][part]


def test_budget_that_0_1_spent_is_spent() -> None:
    """Three of six evictions of the minute are left; what is written stands beside the old lines, in their form."""
    api = FakeApi()
    api.put(CONFIG_MAPS, STATE["budget"])
    evictions = Evictions(
        client(api),
        namespace="fairlead-system",
        switch="fairlead-evictions",
        allowed=True,
        per_minute=6,
        clock=lambda: MOMENT + 30,
    )
    assert asyncio.run(evictions.spend(4)) is Refusal.BUDGET
    assert not isinstance(asyncio.run(evictions.spend(3)), Refusal)
    stored = api.find(CONFIG_MAPS, "fairlead-evictions", namespace="fairlead-system")
    assert stored is not None
    lines = stored["data"]["recent"].splitlines()
    assert lines[:2] == STATE["budget"]["data"]["recent"].splitlines()
    assert [len(line.split()) for line in lines] == [3, 3, 3]


def test_placement_that_0_1_decided_stands() -> None:
    """The record is read whole, and the binding is not divided again."""
    found = msgspec.convert(STATE["binding"], ResourceBinding)
    prior = prior_of(found)
    assert prior is not None
    assert (prior.mode, prior.replicas, prior.counts) == (Mode.STATIC, 7, {"a": 2, "b": 5, "c": 0})
    (verdict,) = decide([found], [cluster(name) for name in "abc"])
    assert {each["name"]: each["replicas"] for each in STATE["binding"]["spec"]["clusters"]} == {"a": 2, "b": 5}
    assert verdict.kept


def test_configuration_of_0_1_is_read() -> None:
    """A file that says everything that 0.1.0 could say; what it does not say has its default."""
    found = read_configuration(json.dumps(STATE["configuration"]).encode(), "0.1.0")
    assert found.queue == DEFAULTS.queue
    assert found.webhook == DEFAULTS.webhook
    assert found.tier.on_demand_requirement is not None
