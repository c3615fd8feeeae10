"""What the elected replica does: ledgers kept in order (webhook mode), tiers given behind the gate (gated mode)."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.kube.admission import patches
from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.objects.tier import MarkedPod
from fairlead.kube.resources import DEPLOYMENTS, MUTATING_WEBHOOKS, PODS, REPLICA_SETS, TIER_LEDGERS
from fairlead.kube.watch import Reflector
from fairlead.levels.tier.split import Policy, split
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.webhook.assigner import ORPHAN_SECONDS, Assigner
from fairlead.live.webhook.component import Webhook
from fairlead.live.webhook.janitor import Janitor
from fairlead.live.webhook.ledger import SlotLedger
from fairlead.live.webhook.listing import MARKED_PODS
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import LedgerStore
from fairlead.model.errors import InputError
from fairlead.model.owners import HeldSlots, Newcomer, Owner, OwnerKind
from fairlead.model.tiers import Tiers
from fairlead.settings import DEFAULTS
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.tier.pods import patched, web, web_pod


class Upkeep:
    """Janitor and assigner of one replica on a fake API server."""

    def __init__(self, api: FakeApi, *, counts: bool = True) -> None:
        clock = asyncio.get_running_loop().time
        self.api, self.client = api, Client(api)
        self.memory, self.owners = Memory(clock), Owners(self.client)
        store = LedgerStore(self.client, "fairlead")
        self.pods = Reflector(self.client, MARKED_PODS, self._saw, labels="distributed-scheduling/desired-capacity")
        self.ledgers = Reflector(self.client, TIER_LEDGERS, lambda change: None, namespace="fairlead")
        self.janitor = Janitor(
            self.client,
            store,
            self.owners,
            self.memory,
            ledgers=lambda: self.ledgers.objects.values(),
            pods=self._marked,
            leads=lambda: True,
            counts=counts,
            pulse=Pulse(clock),
        )
        self.assigner = Assigner(
            self.client,
            store,
            self.owners,
            LiveTiers(),
            pods=self._marked,
            leads=lambda: True,
            clock=clock,
            pulse=Pulse(clock),
        )

    def _marked(self) -> list[MarkedPod]:
        return list(self.pods.objects.values())

    def _saw(self, change: Change[MarkedPod]) -> None:
        self.memory.saw(change)
        self.assigner.saw(change.object)

    async def __aenter__(self) -> "Upkeep":
        caches: list[Any] = [*self.owners.reflectors, self.pods, self.ledgers]
        self.tasks = [asyncio.create_task(each.run()) for each in caches]
        await asyncio.gather(*(each.synced.wait() for each in caches))
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def put_pod(self, name: str, made: dict[str, Any]) -> None:
        made["metadata"] |= {"name": name, "uid": f"uid-{name}"}
        self.api.put(PODS, made)

    def ledger(self) -> dict[str, Any] | None:
        return self.api.find(TIER_LEDGERS, "rs-1", namespace="fairlead")


def _play(
    play: Callable[[Upkeep], Awaitable[None]],
    *,
    replicas: int = 4,
    minimum: str | None = "2",
    counts: bool = True,
) -> None:
    async def main() -> None:
        api = FakeApi()
        for resource, body in zip((DEPLOYMENTS, REPLICA_SETS), web(replicas, minimum), strict=True):
            api.put(resource, body)
        async with AsyncExitStack() as stack:
            await play(await stack.enter_async_context(Upkeep(api, counts=counts)))

    run(main())


def _granted(slot: str) -> dict[str, Any]:
    made = web_pod()
    return patched(made, patches.on_demand(made, Tiers(), slot=slot, selector=False))


def _spot() -> dict[str, Any]:
    made = web_pod()
    return patched(made, patches.spot(made, Tiers()))


def _put_ledger(api: FakeApi, *granted: str, seen: tuple[str, ...] = ()) -> None:
    spec = {"namespace": "shop", "replicaSet": "web-1", "deployment": "web"}
    count = {"target": 2, "held": len(seen), "reserved": len(granted) - len(seen)}
    body = {"spec": spec, "slots": {"granted": list(granted), "seen": list(seen)}, "count": count}
    api.put(TIER_LEDGERS, {"metadata": {"name": "rs-1", "namespace": "fairlead"}} | body)


def test_janitor_shows_what_is_held_and_frees_what_is_gone() -> None:
    """A slot whose pod was seen and is no more goes; the numbers become those of the pods."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "a", "b", seen=("a", "b"))
        this.put_pod("one", _granted("a"))
        this.put_pod("two", _spot())
        await asyncio.sleep(1)
        await this.janitor.round()
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["count"] == {"target": 2, "held": 1, "reserved": 0, "spot": 1}
        assert ledger["slots"] == {"granted": ["a"], "seen": ["a"]}

    _play(play)


def test_janitor_keeps_a_reservation_until_it_lapses() -> None:
    """A grant whose pod never came is kept for 45 seconds of the janitor's own clock."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "a")
        keeping = asyncio.create_task(this.janitor.run())
        await asyncio.sleep(40)
        before = this.ledger()
        assert before is not None
        assert before["slots"]["granted"] == ["a"]
        await asyncio.sleep(20)
        after = this.ledger()
        assert after is not None
        assert after["slots"]["granted"] == []
        keeping.cancel()

    _play(play)


@pytest.mark.parametrize("gone", ["deleted", "made anew"])
def test_janitor_removes_the_ledger_of_a_replica_set_that_is_gone(gone: str) -> None:
    """Gone is also one of the same name with another uid."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "a")
        this.api.remove(REPLICA_SETS, "web-1", namespace="shop")
        if gone == "made anew":
            body = web(4, "2")[1]
            body["metadata"]["uid"] = "another"
            this.api.put(REPLICA_SETS, body)
        await asyncio.sleep(1)
        await this.janitor.round()
        assert this.ledger() is None

    _play(play)


def test_janitor_survives_an_api_that_is_away() -> None:
    """It says so and tries again."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "a", "b", seen=("a", "b"))
        await asyncio.sleep(1)
        this.api.fail(500, path="tierledgers/rs-1", times=4)
        keeping = asyncio.create_task(this.janitor.run())
        await asyncio.sleep(30)
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["slots"]["granted"] == []
        keeping.cancel()

    _play(play)


def _gated() -> dict[str, Any]:
    made = web_pod()
    return patched(made, patches.hold(made))


def _tiers(this: Upkeep, *names: str) -> list[str]:
    found = [this.api.find(PODS, name, namespace="shop") for name in names]
    return [each["metadata"]["labels"]["distributed-scheduling/desired-capacity"] for each in found if each]


def test_assigner_gives_tiers_and_lifts_gates() -> None:
    """The oldest two of four take the slots; nobody is left behind the gate."""

    async def play(this: Upkeep) -> None:
        names = ("p1", "p2", "p3", "p4")
        working = asyncio.create_task(this.assigner.run())
        for name in names:
            this.put_pod(name, _gated())
        await asyncio.sleep(5)
        assert _tiers(this, *names) == ["on-demand", "on-demand", "spot", "spot"]
        for name in names:
            stored = this.api.find(PODS, name, namespace="shop")
            assert stored is not None
            assert stored["spec"].get("schedulingGates") == []
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["slots"]["granted"] == ["uid-p1", "uid-p2"]
        assert ledger["count"] == {"target": 2, "held": 2, "reserved": 0, "spot": 2}
        working.cancel()

    _play(play)


def test_janitor_shows_what_gated_pods_became_and_frees_no_slot() -> None:
    """Pods go without others in their place: the numbers follow within moments, and the slots are the assigner's."""

    async def play(this: Upkeep) -> None:
        working = [asyncio.create_task(each.run()) for each in (this.assigner, this.janitor)]
        for name in ("p1", "p2", "p3", "p4"):
            this.put_pod(name, _gated())
        await asyncio.sleep(10)
        this.api.remove(PODS, "p2", namespace="shop")
        this.api.remove(PODS, "p4", namespace="shop")
        await asyncio.sleep(10)
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["count"] == {"target": 2, "held": 1, "reserved": 0, "spot": 1}
        assert ledger["slots"]["granted"] == ["uid-p1", "uid-p2"]
        calls = sum(method != "GET" for method, _ in this.api.calls)
        await asyncio.sleep(30)
        assert sum(method != "GET" for method, _ in this.api.calls) == calls
        for task in working:
            task.cancel()

    _play(play, counts=False)


def test_janitor_leaves_a_ledger_alone_while_pods_wait_behind_the_gate() -> None:
    """Slots are granted and their pods not changed yet: the assigner is at work."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "uid-p1", "uid-p2", seen=("uid-p1", "uid-p2"))
        this.put_pod("p1", _gated())
        this.put_pod("p2", _gated())
        await asyncio.sleep(1)
        before = this.ledger()
        await this.janitor.round()
        assert this.ledger() == before

    _play(play, counts=False)


def test_assigner_gives_a_freed_slot_to_the_next() -> None:
    """When a pod that held a slot goes, the next one stored gets it."""

    async def play(this: Upkeep) -> None:
        working = asyncio.create_task(this.assigner.run())
        for name in ("p1", "p2", "p3"):
            this.put_pod(name, _gated())
        await asyncio.sleep(3)
        this.api.remove(PODS, "p1", namespace="shop")
        this.put_pod("p4", _gated())
        await asyncio.sleep(3)
        assert _tiers(this, "p2", "p3", "p4") == ["on-demand", "spot", "on-demand"]
        working.cancel()

    _play(play)


def test_assigner_lets_pods_go_whose_workload_asks_for_nothing_any_more() -> None:
    """The annotation was taken away while they waited: gate and mark are lifted, and they are looked at no more."""

    async def play(this: Upkeep) -> None:
        this.put_pod("p1", _gated())
        await asyncio.sleep(1)
        await this.assigner.round()
        await asyncio.sleep(1)
        calls = len(this.api.calls)
        await this.assigner.round()
        assert len(this.api.calls) == calls
        stored = this.api.find(PODS, "p1", namespace="shop")
        assert stored is not None
        assert stored["spec"]["schedulingGates"] == []
        assert "affinity" not in stored["spec"]
        assert "distributed-scheduling/desired-capacity" not in stored["metadata"].get("labels", {})

    _play(play, minimum=None)


def test_assigner_gives_up_pods_whose_gate_somebody_else_lifted() -> None:
    """They take no slot, are not counted as spot, and not looked at every two seconds for as long as they run."""

    async def play(this: Upkeep) -> None:
        free = _gated()
        free["spec"]["schedulingGates"] = []
        this.put_pod("p1", free)
        this.put_pod("p2", _gated())
        await asyncio.sleep(1)
        await this.assigner.round()
        await asyncio.sleep(1)
        calls = len(this.api.calls)
        await this.assigner.round()
        assert len(this.api.calls) == calls
        assert _tiers(this, "p2") == ["on-demand"]
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["count"] == {"target": 2, "held": 1, "reserved": 0, "spot": 0}

    _play(play)


def test_assigner_keeps_slots_that_webhook_mode_granted() -> None:
    """The mode was changed: what runs with slots of other names holds them, so newcomers prefer spot."""

    async def play(this: Upkeep) -> None:
        _put_ledger(this.api, "a", "b", seen=("a", "b"))
        this.put_pod("p1", _granted("a"))
        this.put_pod("p2", _granted("b"))
        this.put_pod("p3", _gated())
        await asyncio.sleep(1)
        await this.assigner.round()
        assert _tiers(this, "p1", "p2", "p3") == ["on-demand", "on-demand", "spot"]
        ledger = this.ledger()
        assert ledger is not None
        assert ledger["slots"]["granted"] == ["a", "b"]

    _play(play)


def _orphaned() -> dict[str, Any]:
    """A pod behind the gate whose ReplicaSet was deleted with `--cascade=orphan`."""
    made = _gated()
    made["metadata"]["ownerReferences"] = []
    return made


def test_assigner_lets_an_orphan_go_that_nobody_adopts() -> None:
    """Its gate and its mark stay for the time in which a new ReplicaSet may adopt it, and are lifted then."""

    async def play(this: Upkeep) -> None:
        working = asyncio.create_task(this.assigner.run())
        this.put_pod("p1", _orphaned())
        await asyncio.sleep(ORPHAN_SECONDS - 5)
        assert _tiers(this, "p1") == ["pending"]
        await asyncio.sleep(10)
        stored = this.api.find(PODS, "p1", namespace="shop")
        assert stored is not None
        assert stored["spec"]["schedulingGates"] == []
        assert "affinity" not in stored["spec"]
        assert "distributed-scheduling/desired-capacity" not in stored["metadata"].get("labels", {})
        working.cancel()

    _play(play)


def test_assigner_gives_an_adopted_orphan_its_tier() -> None:
    """It belongs to a ReplicaSet again before its time is up."""

    async def play(this: Upkeep) -> None:
        working = asyncio.create_task(this.assigner.run())
        this.put_pod("p1", _orphaned())
        await asyncio.sleep(ORPHAN_SECONDS - 5)
        stored = this.api.find(PODS, "p1", namespace="shop")
        assert stored is not None
        owners = web_pod()["metadata"]["ownerReferences"]
        this.api.put(PODS, {**stored, "metadata": {**stored["metadata"], "ownerReferences": owners}})
        await asyncio.sleep(10)
        assert _tiers(this, "p1") == ["on-demand"]
        working.cancel()

    _play(play)


def test_assigner_leaves_an_orphan_that_is_adopted_at_the_last_moment() -> None:
    """Its change between reading and patching is noticed, so it still gets its tier."""

    async def play(this: Upkeep) -> None:
        this.put_pod("p1", _orphaned())
        await asyncio.sleep(1)
        await this.assigner.round()
        await asyncio.sleep(ORPHAN_SECONDS)
        read = this.client.get

        async def get(*args: Any, **more: Any) -> Any:
            found = await read(*args, **more)
            owners = web_pod()["metadata"]["ownerReferences"]
            this.api.put(PODS, {**found, "metadata": {**found["metadata"], "ownerReferences": owners}})
            return found

        this.client.get = get  # type: ignore[method-assign]
        await this.assigner.round()
        this.client.get = read  # type: ignore[method-assign]
        assert _tiers(this, "p1") == ["pending"]
        await asyncio.sleep(1)
        await this.assigner.round()
        assert _tiers(this, "p1") == ["on-demand"]

    _play(play)


def test_assigner_tries_again_after_a_failure() -> None:
    """A conflict on the ledger or an error of the API delays, and loses nothing."""

    async def play(this: Upkeep) -> None:
        this.api.fail(409, method="POST", path="tierledgers", reason="AlreadyExists")
        this.api.fail(500, method="PATCH", path="pods/p1")
        working = asyncio.create_task(this.assigner.run())
        this.put_pod("p1", _gated())
        await asyncio.sleep(10)
        assert _tiers(this, "p1") == ["on-demand"]
        working.cancel()

    _play(play)


def test_assigner_does_not_hammer_a_server_that_refuses() -> None:
    """A right that is missing is not there a hundredth of a second later."""

    async def play(this: Upkeep) -> None:
        this.api.fail(403, method="POST", path="tierledgers", times=1000)
        working = asyncio.create_task(this.assigner.run())
        this.put_pod("p1", _gated())
        await asyncio.sleep(10)
        working.cancel()
        assert sum(method == "POST" for method, _ in this.api.calls) < 10

    _play(play)


@pytest.mark.parametrize("shadow", [False, True])
def test_shadow_neither_keeps_ledgers_nor_lifts_gates(shadow: bool) -> None:
    """What was left from before it became a shadow stays as it is, and is not tried in vain every few seconds."""

    async def main() -> None:
        api = FakeApi()
        _put_ledger(api, "s1")
        made = _gated()
        made["metadata"] |= {"name": "p1", "uid": "uid-p1"}
        api.put(PODS, made)
        configuration = replace(
            DEFAULTS, webhook=replace(DEFAULTS.webhook, shadow=shadow, mode="gated", namespace="fairlead")
        )
        webhook = Webhook(Client(api), configuration)
        work = (
            webhook._leads.run,
            webhook._janitor.run,
            webhook._assigner.run,
            *(each.run for each in webhook._caches),
        )
        tasks = [asyncio.create_task(each()) for each in work]
        await asyncio.sleep(30)
        assert webhook._leads()
        ledger, pod = api.find(TIER_LEDGERS, "rs-1", namespace="fairlead"), api.find(PODS, "p1", namespace="shop")
        assert pod is not None
        assert (ledger is not None, bool(pod["spec"]["schedulingGates"])) == (shadow, shadow)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(main())


@pytest.mark.parametrize("shadow", [False, True])
def test_shadow_writes_no_events_and_repairs_nothing(shadow: bool) -> None:
    """What is said on workloads is written too, and the chart grants a shadow the rights for neither."""

    async def main() -> None:
        api = FakeApi()
        api.put(MUTATING_WEBHOOKS, {"metadata": {"name": "fairlead-webhook"}, "webhooks": []})
        configuration = replace(
            DEFAULTS,
            webhook=replace(DEFAULTS.webhook, shadow=shadow, namespace="fairlead"),
            evictions=replace(DEFAULTS.evictions, allowed=True),
            repair=replace(DEFAULTS.repair, period_seconds=10),
        )
        webhook = Webhook(Client(api), configuration)
        about = DEPLOYMENTS.refer("web", namespace="shop", uid="dep-1")
        webhook.aside.tell(about, InputError("web", "is wrong"))
        owner = Owner(kind=OwnerKind.DEPLOYMENT, name="web", replicas=3, min_available="x")
        decision = split(Newcomer(), owner, HeldSlots(), Policy())
        webhook._report(decision, about)
        tasks = [asyncio.create_task(each()) for each in webhook._work]
        await asyncio.sleep(30)
        events = [path for method, path in api.calls if method == "POST" and path.endswith("/events")]
        repairs = [path for method, path in api.calls if path.endswith("/namespaces")]
        assert (len(events), bool(repairs)) == ((0, False) if shadow else (2, True))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(main())


def test_memory_forgets_what_nobody_can_ask_for() -> None:
    """Slots of pods long gone and ledgers long unread take no room."""
    now = [0.0]
    memory = Memory(lambda: now[0])
    pod = MarkedPod()
    memory.saw(Change("deleted", pod, pod))
    memory.met("rs", SlotLedger("1", frozenset({"a"})))
    memory.mark("rs")
    now[0] = 1000.0
    memory.forget()
    assert memory.met("rs", SlotLedger("1", frozenset({"a"}))).lapsed == frozenset()


@pytest.mark.parametrize("change", ["orphaned", "edited"])
def test_memory_forgets_the_slot_of_a_pod_that_left_its_replica_set(change: str) -> None:
    """Its ReplicaSet was deleted and left it behind, or somebody took its slot off."""

    async def play(this: Upkeep) -> None:
        this.put_pod("p1", _granted("s1"))
        await asyncio.sleep(1)
        this.memory.met("rs-1", SlotLedger("1", frozenset({"s1"})))
        assert this.memory.settled("rs-1") == {"s1": "p1"}
        stored = this.api.find(PODS, "p1", namespace="shop")
        assert stored is not None
        left = {"orphaned": {"ownerReferences": []}, "edited": {"annotations": {}}}[change]
        this.api.put(PODS, {**stored, "metadata": {**stored["metadata"], **left}})
        await asyncio.sleep(1)
        this.api.remove(PODS, "p1", namespace="shop")
        await asyncio.sleep(1)
        assert this.memory.settled("rs-1") == {}

    _play(play)
