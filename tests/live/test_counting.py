"""The count on a fake API server: several processes, bursts, refusals, deletions, conflicts, lost answers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import msgspec
import pytest

from fairlead.kube.admission.review import ReviewRequest, decode
from fairlead.kube.errors import KubeError
from fairlead.kube.resources import DEPLOYMENTS, PODS, REPLICA_SETS, TIER_LEDGERS
from fairlead.live.webhook.counting import CountingError
from fairlead.live.webhook.ledger import SlotLedger
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.service import Mutator
from tests.kube.virtual import run
from tests.live.cluster_of_pods import Shop, shop
from tests.tier.pods import review, web, web_pod


def _in_shop(
    play: Callable[[Shop], Awaitable[None]], *, replicas: int = 4, minimum: str | None = "1", processes: int = 3
) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            await play(await shop(stack, replicas=replicas, minimum=minimum, processes=processes))

    run(main())


@pytest.mark.parametrize(("replicas", "minimum", "want"), [(32, "8", 8), (20, "50%", 10), (6, "9", 6), (5, "0", 0)])
def test_burst_over_three_processes_is_counted_exactly(replicas: int, minimum: str, want: int) -> None:
    """All pods at once, through three processes: exactly min(M, N) are bound to on-demand nodes."""

    async def play(this: Shop) -> None:
        await asyncio.gather(*(this.admit() for _ in range(replicas)))
        assert len(this.on_demand()) == want
        assert sum(each.counter.writes for each in this.processes) <= 3 * max(want, 1)

    _in_shop(play, replicas=replicas, minimum=minimum)


def test_slow_start_never_overshoots() -> None:
    """One, two, four, eight … at a time, as a ReplicaSet creates them, the count never passes its bound."""

    async def play(this: Shop) -> None:
        created, batch = 0, 1
        while created < 31:
            await asyncio.gather(*(this.admit() for _ in range(batch)))
            created, batch = created + batch, batch * 2
            assert len(this.on_demand()) == min(created, 8)

    _in_shop(play, replicas=31, minimum="8")


def test_single_replica_is_granted_and_counted() -> None:
    """One replica holds the slot; scaled to three with a minimum of one, the others go to spot."""

    async def play(this: Shop) -> None:
        first = await this.admit()
        assert this.on_demand() == [first]
        this.api.put(DEPLOYMENTS, web(3, "1")[0])
        await asyncio.gather(this.admit(), this.admit())
        assert this.on_demand() == [first]

    _in_shop(play, replicas=1, minimum=None)


def test_deleted_pod_frees_its_slot_at_once() -> None:
    """The pod existed, so nobody waits for its reservation to lapse."""

    async def play(this: Shop) -> None:
        names = [await this.admit() for _ in range(3)]
        assert this.on_demand() == [names[0]]
        await asyncio.sleep(0.1)
        this.api.remove(PODS, names[0], namespace="shop")
        before = asyncio.get_running_loop().time()
        again = await this.admit()
        assert this.on_demand() == [again]
        assert asyncio.get_running_loop().time() - before < 1.0

    _in_shop(play)


def test_terminating_pod_frees_its_slot() -> None:
    """A pod on its way out does not hold a slot, though it is still listed."""

    async def play(this: Shop) -> None:
        name = await this.admit()
        stored = this.api.find(PODS, name, namespace="shop")
        assert stored is not None
        stored["metadata"]["finalizers"] = ["test/hold"]
        this.api.remove(PODS, name, namespace="shop")
        again = await this.admit()
        assert this.on_demand() == sorted([name, again])

    _in_shop(play)


def test_refused_pod_does_not_leak_its_slot() -> None:
    """A granted pod that a quota refuses keeps the others waiting, until its reservation lapses."""

    async def play(this: Shop) -> None:
        await this.admit(refused=True)
        before = asyncio.get_running_loop().time()
        name = await this.admit()
        assert this.on_demand() == [name]
        assert this.retries > 0
        assert 45 <= asyncio.get_running_loop().time() - before < 60

    _in_shop(play)


def test_dry_run_writes_nothing() -> None:
    """The answer is computed, the ledger is not touched, and no slot is taken."""

    async def play(this: Shop) -> None:
        await this.admit(dryRun=True)
        assert this.api.find(TIER_LEDGERS, "rs-1", namespace="fairlead") is None
        assert not [call for call in this.api.calls if call[0] in ("POST", "PUT", "PATCH")]
        name = await this.admit()
        assert this.on_demand() == [name]

    _in_shop(play)


def test_lost_answer_of_a_write_is_not_granted_twice() -> None:
    """The write went through, the answer did not come: the slot is found to be ours."""

    async def play(this: Shop) -> None:
        this.api.cut(method="POST", path="tierledgers", after=True)
        names = await asyncio.gather(*(this.admit() for _ in range(4)))
        assert len(this.on_demand()) == 2
        ledger = this.api.find(TIER_LEDGERS, "rs-1", namespace="fairlead")
        assert ledger is not None
        assert len(ledger["slots"]["granted"]) == 2
        assert len(names) == 4

    _in_shop(play, minimum="2", processes=1)


def _request(uid: str = "u") -> ReviewRequest:
    return decode(msgspec.json.encode(review(web_pod(), uid=uid))).request


def test_conflicts_without_end_are_an_error() -> None:
    """The retries are bounded, and nothing is guessed afterwards."""

    async def play(this: Shop) -> None:
        this.api.fail(409, method="POST", path="tierledgers", times=1000, reason="AlreadyExists")
        with pytest.raises(CountingError, match="conflicts in a row"):
            await this.processes[0].mutator.answer(_request())
        assert this.on_demand() == []

    _in_shop(play)


def test_api_failure_is_an_error() -> None:
    """Where the owner or the ledger cannot be read, the request fails and the failure policy decides."""

    async def play(this: Shop) -> None:
        this.api.fail(500, path="tierledgers", times=1000)
        with pytest.raises(KubeError):
            await this.processes[0].mutator.answer(_request())

    _in_shop(play)


def test_defect_is_an_error_at_once() -> None:
    """It does not leave the request without an answer, and the next one is counted."""

    async def play(this: Shop) -> None:
        counter = this.processes[0].counter
        read, counter.store.read = counter.store.read, _defect
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(this.processes[0].mutator.answer(_request()), 1)
        counter.store.read = read
        await this.admit()
        assert len(this.on_demand()) == 1

    _in_shop(play)


async def _defect(uid: str) -> SlotLedger:
    raise ZeroDivisionError


def test_owner_that_went_away_leaves_the_pod_alone() -> None:
    """The cache still knows the Deployment, the live read does not."""

    async def play(this: Shop) -> None:
        this.api.before(lambda: this.api.remove(DEPLOYMENTS, "web", namespace="shop"), path="tierledgers")
        answer = await this.processes[0].mutator.answer(_request())
        assert answer["response"]["auditAnnotations"]["reason"] == "OwnerNotFound"

    _in_shop(play)


def test_ledger_tells_people_what_is_held() -> None:
    """Target, held and reserved are in the count, the ReplicaSet and its Deployment in the spec."""

    async def play(this: Shop) -> None:
        for _ in range(3):
            await this.admit()
        ledger = this.api.find(TIER_LEDGERS, "rs-1", namespace="fairlead")
        assert ledger is not None
        assert ledger["spec"] == {"namespace": "shop", "replicaSet": "web-1", "deployment": "web"}
        assert ledger["count"]["target"] == 2
        assert ledger["count"]["held"] + ledger["count"]["reserved"] == 2

    _in_shop(play, minimum="2")


def test_lost_ledger_is_begun_anew_with_the_slots_that_pods_carry() -> None:
    """Somebody deleted the ledgers: what is held is held, and no slot is granted twice."""

    async def play(this: Shop) -> None:
        names = [await this.admit() for _ in range(3)]
        this.api.remove(TIER_LEDGERS, "rs-1", namespace="fairlead")
        await this.admit()
        assert this.on_demand() == sorted(names[:2])
        this.api.remove(PODS, names[0], namespace="shop")
        again = await this.admit()
        assert this.on_demand() == sorted([names[1], again])

    _in_shop(play, minimum="2")


def test_shadow_decides_and_writes_nothing() -> None:
    """The verdict is in the audit log, the pod is admitted as it is, and no ledger is made."""

    async def play(this: Shop) -> None:
        process = this.processes[0]
        clock = asyncio.get_running_loop().time
        mutator = Mutator(
            process.owners, process.counter, LiveTiers(), clock=clock, patience=1.0, gated=True, shadow=True
        )
        answer = (await mutator.answer(_request()))["response"]
        assert answer["auditAnnotations"]["tier"] == "on-demand"
        assert "patch" not in answer
        assert this.api.find(TIER_LEDGERS, "rs-1", namespace="fairlead") is None

    _in_shop(play)


def test_owner_that_cannot_be_read_is_an_error() -> None:
    """The cache knows nothing of it and the API fails: no guess is made about whose pod it is."""

    async def play(this: Shop) -> None:
        stranger = web_pod()
        stranger["metadata"]["ownerReferences"][0] |= {"name": "new-1", "uid": "rs-new"}
        request = decode(msgspec.json.encode(review(stranger))).request
        this.api.fail(500, path="replicasets", times=1000)
        with pytest.raises(KubeError):
            await this.processes[0].mutator.answer(request)

    _in_shop(play)


def _question(uid: str) -> ReviewRequest:
    return decode(msgspec.json.encode(review(web_pod(), uid=uid))).request


def test_who_waits_for_a_reservation_is_told_a_delay_only_while_it_is_fresh() -> None:
    """At first the granted pod is likely on its way; later it was most likely refused, and a worker is not held."""

    async def play(this: Shop) -> None:
        await this.admit(refused=True)
        mutator = this.processes[0].mutator
        soon = (await mutator.answer(_question("a")))["response"]["status"]
        assert (soon["code"], soon["details"]) == (429, {"retryAfterSeconds": 1})
        await asyncio.sleep(10)
        later = (await mutator.answer(_question("b")))["response"]["status"]
        assert later["code"] == 429
        assert "details" not in later

    _in_shop(play)


def test_slot_of_a_request_that_was_given_up_is_free_at_once() -> None:
    """Its time was up while the grant was being written: nobody was told of it, so nobody has to wait for it."""

    async def play(this: Shop) -> None:
        process = this.processes[0]
        this.api.faults.seconds = 1.0
        asked = asyncio.create_task(process.mutator.answer(_question("given-up")))
        await asyncio.sleep(2.5)
        asked.cancel()
        await asyncio.sleep(10)
        this.api.faults.seconds = 0.0
        (ledger,) = this.api.store.listed(f"{TIER_LEDGERS.root}/{TIER_LEDGERS.plural}", "", "", "")
        assert ledger["slots"]["granted"] == ["given-up"]
        answer = await process.mutator.answer(_question("next"))
        assert answer["response"]["auditAnnotations"]["reason"] == "SlotGranted"

    _in_shop(play, processes=1)


def test_request_that_is_asked_again_keeps_its_slot() -> None:
    """Given up once and asked again, it is granted; to others its slot is reserved."""

    async def play(this: Shop) -> None:
        mutator = this.processes[0].mutator
        asked = asyncio.create_task(mutator.answer(_question("same")))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.sleep(1)
        first = await mutator.answer(_question("same"))
        assert first["response"]["auditAnnotations"]["reason"] == "SlotGranted"
        other = await mutator.answer(_question("other"))
        assert other["response"]["status"]["code"] == 429

    _in_shop(play, processes=1)


QUOTA = 'pods "web-1-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4, limited: pods=4'
OURS = 'admission webhook "tier.fairlead.io" denied the request: 1 of 1'
OURS += " slots were granted to replicas that have not appeared; ask again"
REPORTS: dict[str, tuple[str, str]] = {
    "nothing yet": ("", ""),
    "a quota": (QUOTA, f"; the ReplicaSet reports: {QUOTA}"),
    "our own 429": (OURS, ""),
    "our own 429 that told of a quota": (
        f"{OURS}; the ReplicaSet reports: {QUOTA}",
        f"; the ReplicaSet reports: {QUOTA}",
    ),
}


@pytest.mark.parametrize("case", REPORTS)
def test_request_to_ask_again_tells_what_refused_the_earlier_pods(case: str) -> None:
    """The quota's words are in every 429, and then no worker is held for another try."""
    reported, told = REPORTS[case]

    async def play(this: Shop) -> None:
        await this.admit(refused=True)
        found = this.api.find(REPLICA_SETS, "web-1", namespace="shop")
        assert found is not None
        conditions = [{"type": "ReplicaFailure", "status": "True", "message": reported}] if reported else []
        this.api.put(REPLICA_SETS, found | {"status": {"conditions": conditions}})
        status = (await this.processes[0].mutator.answer(_question("a")))["response"]["status"]
        assert status["message"].endswith(f"that have not appeared; ask again{told}")
        assert ("details" in status) is not bool(told)

    _in_shop(play)
