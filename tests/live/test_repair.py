"""Census, repair and the budget of evictions."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from fairlead.cli.tiers import report
from fairlead.kube.admission.rules import MARKER
from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from fairlead.live.runtime.evictions import Evictions, Refusal
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.webhook.census import Member, WorkloadTiers, census
from fairlead.live.webhook.census_objects import read_objects
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.repair import Repair, candidate, waits_for_itself
from fairlead.model.owners import OwnerKind
from fairlead.model.selectors import Operator, Requirement
from fairlead.model.tiers import Tiers
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.tier.pods import NODES as LABELS
from tests.tier.pods import pod, reference, stored_pod, web, workload


def _member(name: str, *, required: bool = False, place: str = "spot", **more: Any) -> Member:
    return Member(name=name, uid=name, required=required, place=place, created=more.pop("created", ""), **more)


def _standing(
    *members: Member, target: int | None = 2, settled: bool = True, kind: str = "Deployment"
) -> WorkloadTiers:
    return WorkloadTiers(
        kind=OwnerKind(kind),
        namespace="shop",
        name="web",
        uid="dep-1",
        replicas=len(members),
        target=target,
        settled=settled,
        members=members,
    )


ON = {"required": True, "place": "on-demand"}
SETS = "StatefulSet"
CANDIDATES: dict[str, tuple[WorkloadTiers, bool, str | None]] = {
    "enough": (_standing(_member("a", **ON), _member("b", **ON), _member("c")), True, None),
    "one below": (_standing(_member("a", **ON), _member("b"), _member("c")), False, "c"),
    "the youngest goes": (_standing(_member("a", created="2"), _member("b", created="1")), False, "a"),
    "spot nodes before others": (_standing(_member("a"), _member("b", place="on-demand", created="9")), False, "a"),
    "a rollout is under way": (_standing(_member("a"), settled=False), False, None),
    "not asked for": (_standing(_member("a"), target=None), True, None),
    "above, and it may go back": (_standing(_member("a", **ON), _member("b", **ON), target=1), True, "b"),
    "above, and it may not": (_standing(_member("a", **ON), _member("b", **ON), target=1), False, None),
    "its own rules keep it on spot nodes": (_standing(_member("a", **ON), _member("b", pinned=True)), False, None),
    "another is free to go": (_standing(_member("a", pinned=True), _member("b", place="other")), False, "b"),
    "its own rules keep it on on-demand nodes": (_standing(_member("a", **ON, pinned=True), target=0), True, None),
    "an early ordinal lacks the rule": (
        _standing(_member("db-0", index=0), _member("db-1", index=1, **ON), kind=SETS),
        False,
        "db-0",
    ),
    "a late ordinal does not count": (
        _standing(_member("db-0", index=0, **ON), _member("db-1", index=1, **ON), _member("db-2", index=2), kind=SETS),
        True,
        None,
    ),
    "an early ordinal lacks the rule and a late one has it": (
        _standing(_member("db-0", index=0), *(_member(f"db-{row}", index=row, **ON) for row in (1, 2)), kind=SETS),
        False,
        "db-0",
    ),
    "a late ordinal may go back": (
        _standing(*(_member(f"db-{row}", index=row, **ON) for row in range(3)), kind=SETS),
        True,
        "db-2",
    ),
}


@pytest.mark.parametrize(("standing", "back", "want"), CANDIDATES.values(), ids=CANDIDATES)
def test_candidate_brings_the_workload_nearer(standing: WorkloadTiers, back: bool, want: str | None) -> None:
    """The pod whose replacement helps, where one does."""
    found = candidate(standing, back=back)
    assert want == (found and found.name)


def test_rollout_that_waits_for_its_own_old_pods_is_seen() -> None:
    """New pods are pending for on-demand nodes, old ones are on them."""
    new, old = _member("n", required=True, place="pending"), _member("o", **ON, current=False)
    assert waits_for_itself(_standing(new, old, settled=False))
    assert not waits_for_itself(_standing(new, settled=False))
    assert not waits_for_itself(_standing(old))


def test_tier_of_a_node_follows_the_rules() -> None:
    """Also where on-demand nodes carry no label."""
    assert [Tiers().of(LABELS[name]) for name in ("od-a", "spot-a", "plain-a")] == [
        "on-demand",
        "spot",
        "other",
    ]
    cloud = Tiers(
        on_demand=(Requirement("spot", Operator("DoesNotExist")),),
        spot=(Requirement("spot", Operator("In"), ("true",)),),
    )
    assert [cloud.of(labels) for labels in ({}, {"spot": "true"}, {"spot": "no"})] == [
        "on-demand",
        "spot",
        "other",
    ]


class Town:
    """Deployment web (N = 3, M = 2) with pods on nodes, one of them bound to on-demand nodes."""

    def __init__(self) -> None:
        self.api = FakeApi()
        for name, labels in LABELS.items():
            self.api.put(NODES, {"metadata": {"name": name, "labels": labels}})
        self.select({"matchLabels": {"served": "yes"}})
        self.api.put(NAMESPACES, {"metadata": {"name": "shop", "labels": {"served": "yes"}}})
        self.web = web(3, "2")
        self.settle(3)
        self.api.put(REPLICA_SETS, self.web[1])
        for name, tier, node in (("a", "on-demand", "od-a"), ("b", "spot", "spot-a"), ("c", "none", "plain-a")):
            self.put(name, tier, node)

    def select(self, *selectors: dict[str, Any]) -> None:
        """The configuration has one webhook for each selector of namespaces."""
        webhooks = [{"name": f"w{row}", "namespaceSelector": each} for row, each in enumerate(selectors)]
        self.api.put(MUTATING_WEBHOOKS, {"metadata": {"name": "fairlead-webhook"}, "webhooks": webhooks})

    def settle(self, replicas: int) -> None:
        same = {"replicas": replicas, "updatedReplicas": replicas, "availableReplicas": replicas}
        self.api.put(DEPLOYMENTS, self.web[0] | {"status": {"observedGeneration": 99} | same})

    def put(self, name: str, tier: str, node: str) -> None:
        made = stored_pod("rs-1", tier)
        made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        made["spec"]["nodeName"] = node
        self.api.put(PODS, made)

    def evictions(self, *, allowed: bool = True, per_minute: int = 1) -> Evictions:
        clock = asyncio.get_running_loop().time
        client = Client(self.api)
        return Evictions(client, namespace="f", switch="stop", allowed=allowed, per_minute=per_minute, clock=clock)

    def repair(self, evictions: Evictions) -> Repair:
        clock, client = asyncio.get_running_loop().time, Client(self.api)
        self.recorder = Recorder(client, component="test", instance="t", clock=clock)
        return Repair(
            client,
            evictions,
            self.recorder,
            LiveTiers(),
            leads=lambda: True,
            clock=clock,
            configuration="fairlead-webhook",
            period=30.0,
            back=False,
            pulse=Pulse(clock),
        )

    def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.api.store.listed(f"{PODS.root}/{PODS.plural}", "", "", "")]


def _in_town(play: Callable[[Town], Awaitable[None]]) -> None:
    async def main() -> None:
        await play(Town())

    run(main())


def test_census_tells_who_runs_where() -> None:
    """One workload with its numbers, as `fairlead tiers` prints them; strangers and finished pods are not counted."""

    async def play(town: Town) -> None:
        town.api.put(STATEFUL_SETS, workload("StatefulSet", "db", "sts", replicas=2))
        ordinal = pod(owner=reference("StatefulSet", "db", "sts"), name="db-0", namespace="shop", uid="x")
        town.api.put(PODS, ordinal)
        done = stored_pod("rs-1", "on-demand", phase="Failed")
        done["metadata"] |= {"name": "done"}
        town.api.put(PODS, done)
        standings = census(await read_objects(Client(town.api)), Tiers())
        record = report(standings)
        database, shop = record["workloads"]
        assert database | {"name": "db", "target": None, "pending": 1, "below": False} == database
        want = {"required": 1, "onDemand": 1, "spot": 1, "other": 1, "pending": 0, "target": 2, "below": True}
        assert shop | want == shop
        assert (record["placed"], record["offOnDemand"], record["share"]) == (3, 2, 0.6667)
        assert standings[1].settled

    _in_town(play)


@pytest.mark.parametrize("field", ["updatedReplicas", "availableReplicas", "replicas"])
def test_workload_in_the_middle_of_a_change_is_not_settled(field: str) -> None:
    """All its pods are there, and its status says that not all of them are what they should be."""

    async def play(town: Town) -> None:
        found = town.api.find(DEPLOYMENTS, "web", namespace="shop")
        assert found is not None
        town.api.put(DEPLOYMENTS, {**found, "status": {**found["status"], field: found["status"][field] - 1}})
        (standing,) = census(await read_objects(Client(town.api)), Tiers())
        assert len(standing.members) == standing.replicas
        assert not standing.settled

    _in_town(play)


def test_repair_evicts_one_spot_pod_at_a_time() -> None:
    """The spot pod goes; while its replacement is not there, nothing else does."""

    async def play(town: Town) -> None:
        repair = town.repair(town.evictions(per_minute=10))
        await repair.round()
        assert town.names() == ["a", "c"]
        await repair.round()
        assert town.names() == ["a", "c"]
        town.put("d", "on-demand", "od-b")
        await repair.round()
        assert town.names() == ["a", "c", "d"]

    _in_town(play)


SELECTED: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "its labels are selected": ([{"matchLabels": {"served": "yes"}}], True),
    "everything is selected": ([{}], True),
    "one of two webhooks selects it": ([{"matchLabels": {"served": "no"}}, {}], True),
    "it is left out by name": (
        [{"matchExpressions": [{"key": "served", "operator": "NotIn", "values": ["yes"]}]}],
        False,
    ),
    "another label is selected": ([{"matchLabels": {"served": "no"}}], False),
    "no webhook is configured": ([], False),
}


@pytest.mark.parametrize(("selectors", "evicted"), SELECTED.values(), ids=SELECTED)
def test_repair_evicts_only_where_the_webhook_is_asked(selectors: list[dict[str, Any]], evicted: bool) -> None:
    """In a namespace that the configuration leaves out the replacement would get no slot, so nothing is evicted."""

    async def play(town: Town) -> None:
        town.select(*selectors)
        await town.repair(town.evictions(per_minute=10)).round()
        assert town.names() == (["a", "c"] if evicted else ["a", "b", "c"])

    _in_town(play)


def test_repair_rests_where_the_configuration_is_gone() -> None:
    """Nobody is asked, so no eviction could help."""

    async def play(town: Town) -> None:
        await Client(town.api).delete(MUTATING_WEBHOOKS, "fairlead-webhook")
        await town.repair(town.evictions(per_minute=10)).round()
        assert town.names() == ["a", "b", "c"]

    _in_town(play)


@pytest.mark.parametrize("status", [403, 500])
def test_repair_goes_on_after_a_pod_whose_eviction_is_refused(status: int) -> None:
    """An admission webhook denies it, or fails over it: other workloads are mended all the same."""

    async def play(town: Town) -> None:
        last = workload("StatefulSet", "zoo", "zoo-1", replicas=1)
        same = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
        town.api.put(STATEFUL_SETS, last | {"status": same})
        owner = reference("StatefulSet", "zoo", "zoo-1")
        town.api.put(PODS, pod(owner=owner, name="zoo-0", namespace="shop", uid="uid-zoo-0"))
        town.api.fail(status, method="POST", path="pods/b/eviction", times=100)
        await town.repair(town.evictions(per_minute=10)).round()
        assert town.names() == ["a", "b", "c"]

    _in_town(play)


def test_repair_that_does_not_help_is_not_repeated() -> None:
    """The replacement was not given the slot (the webhook is away): the workload is left alone, longer each time."""

    async def play(town: Town) -> None:
        repair = town.repair(town.evictions(per_minute=10))
        await repair.round()
        town.put("d", "none", "spot-b")
        for _ in range(3):
            await repair.round()
        assert town.names() == ["a", "c", "d"]
        await asyncio.sleep(31)
        await repair.round()
        assert town.names() == ["a", "c"]
        town.put("e", "none", "spot-b")
        for seconds, left in ((0, 3), (31, 3), (31, 2)):
            await asyncio.sleep(seconds)
            await repair.round()
            assert len(town.names()) == left

    _in_town(play)


@pytest.mark.parametrize("back", [False, True])
def test_repair_of_a_stateful_set_helps_whichever_pod_moves_first(back: bool) -> None:
    """db-0 lacks the rule and db-2 has it in vain: moving either of them is no failure after which it rests."""

    async def play(town: Town) -> None:
        for name in town.names():
            town.api.remove(PODS, name, namespace="shop")
        same = {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3}
        made = workload("StatefulSet", "db", "sts", replicas=3, minimum="2")
        town.api.put(STATEFUL_SETS, made | {"status": {"observedGeneration": 99} | same})
        required = {"db-0": False, "db-1": True, "db-2": True}

        def put(name: str) -> None:
            pinned = stored_pod("sts", "on-demand" if required[name] else "none")
            marks = {"labels": {MARKER: "on-demand"}} if required[name] else {}
            pinned["metadata"] |= {"name": name, "uid": f"uid-{name}"} | marks
            town.api.put(PODS, pinned)

        for name in required:
            put(name)
        repair = town.repair(town.evictions(per_minute=10))
        repair.back = back
        for _ in range(3):
            await repair.round()
            gone = set(required) - set(town.names())
            for name in gone:
                required[name] = name != "db-2"
                put(name)
        assert required == {"db-0": True, "db-1": True, "db-2": not back}
        assert not repair._resting

    _in_town(play)


def test_pods_that_are_pinned_to_spot_nodes_are_not_evicted() -> None:
    """Admission would leave the replacement alone for the same rules, and the next one after it."""

    async def play(town: Town) -> None:
        for name in ("b", "c"):
            made = stored_pod("rs-1", "none")
            made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
            made["spec"] |= {"nodeName": "spot-a", "nodeSelector": {"node.kubernetes.io/capacity": "spot"}}
            town.api.put(PODS, made)
        await town.repair(town.evictions()).round()
        assert town.names() == ["a", "b", "c"]

    _in_town(play)


def test_pods_that_are_pinned_to_on_demand_nodes_do_not_move_back() -> None:
    """A pod is above the minimum by the user's rules; only those that hold a slot of ours may go back to spot."""

    async def play(town: Town) -> None:
        for name, labels in (("a", {MARKER: "on-demand"}), ("b", {})):
            made = stored_pod("rs-1", "on-demand")
            made["metadata"] |= {"name": name, "uid": f"uid-{name}", "labels": labels}
            town.api.put(PODS, made)
        standings = census(await read_objects(Client(town.api)), Tiers())
        assert [each.pinned for each in standings[0].members] == [False, True, False]

    _in_town(play)


def test_repair_runs_until_it_is_cancelled() -> None:
    """It looks round every period, and survives an API that is away."""

    async def play(town: Town) -> None:
        town.api.fail(500, path="deployments", times=4)
        working = asyncio.create_task(town.repair(town.evictions()).run())
        await asyncio.sleep(100)
        working.cancel()
        assert town.names() == ["a", "c"]

    _in_town(play)


def test_evictions_keep_to_their_budget_and_switch() -> None:
    """Not allowed, stopped, spent, protected, gone: each is told; after a minute there is room again."""

    async def play(town: Town) -> None:
        assert await town.evictions(allowed=False).evict("shop", "a", "uid-a") is Refusal.OFF
        evictions = town.evictions(per_minute=1)
        town.api.put(CONFIG_MAPS, {"metadata": {"name": "stop", "namespace": "f"}, "data": {"stop": "true"}})
        assert await evictions.evict("shop", "a", "uid-a") is Refusal.STOPPED
        town.api.remove(CONFIG_MAPS, "stop", namespace="f")
        town.api.fail(429, method="POST", path="eviction")
        assert await evictions.evict("shop", "a", "uid-a") is Refusal.PROTECTED
        assert await evictions.evict("shop", "zz", "uid-z") is Refusal.GONE
        assert await evictions.evict("shop", "a", "uid-a") is None
        assert await evictions.evict("shop", "b", "uid-b") is Refusal.BUDGET
        await asyncio.sleep(61)
        assert await evictions.evict("shop", "b", "uid-b") is None

    _in_town(play)


def test_tiers_command_prints_both_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table for people with a mark at workloads below their target, JSON for programs."""
    from fairlead.cli import tiers

    async def objects(kubeconfig: str, context: str, namespace: str) -> Any:
        return await read_objects(Client(Town().api), namespace)

    monkeypatch.setattr(tiers, "_objects", objects)
    table = CliRunner().invoke(cli, ["tiers", "-o", "table"], standalone_mode=False).stdout
    assert "Deployment/web" in table
    assert "below" in table
    assert "2 of 3 replicas on nodes are off on-demand nodes (67%)" in table
    record = json.loads(CliRunner().invoke(cli, ["tiers", "-o", "json", "--all"], standalone_mode=False).stdout)
    assert record["offOnDemand"] == 2
