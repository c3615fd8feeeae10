"""Leader election on a virtual clock: never two at once, and one again soon after any trouble."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.client import Client
from fairlead.kube.errors import UnreachableError
from fairlead.kube.lease import Elector, Terms, own_identity, steady_clock
from fairlead.kube.resources import LEASES
from fairlead.kube.transport import Response
from tests.fake import FakeApi
from tests.kube import virtual

TERMS = Terms(lease=15, deadline=10.0, renew=2.0, request=5.0)


class Wire:
    """One candidate's own way to the shared server: it can be cut or slowed without touching the others."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.cut = False
        self.before = 0.0
        self.after = 0.0

    async def request(self, method: str, path: str, **options: Any) -> Response:
        await asyncio.sleep(self.before)
        if self.cut:
            await asyncio.sleep(3600)
        answer = await self.api.request(method, path, **options)
        await asyncio.sleep(self.after)
        return answer

    def stream(self, path: str, query: Any) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        return None


class Candidate:
    def __init__(self, api: FakeApi, name: str, *, skew: float = 0.0) -> None:
        self.wire = Wire(api)
        self.told: list[tuple[str, float]] = []
        loop = asyncio.get_running_loop()
        self.elector = Elector(
            Client(self.wire),
            namespace="fairlead",
            name="scheduler",
            identity=name,
            terms=TERMS,
            on_won=lambda: self.told.append(("won", loop.time())),
            on_lost=lambda: self.told.append(("lost", loop.time())),
            clock=lambda: loop.time() + skew,
            now=lambda: loop.time() + 1000 * skew,
            jitter=lambda: 0.5,
        )
        self.task = asyncio.create_task(self.elector.run())

    @property
    def leading(self) -> bool:
        return self.elector.leading

    @property
    def words(self) -> list[str]:
        return [word for word, _ in self.told]

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def crash(self) -> None:
        """As a process that is gone: it neither renews nor gives back."""
        self.wire.cut = True
        self.elector._until = None
        self.task.cancel()


@asynccontextmanager
async def candidates(*names: str, **options: Any) -> AsyncIterator[tuple[FakeApi, list[Candidate]]]:
    api = FakeApi()
    group = [Candidate(api, name, skew=options.get("skews", {}).get(name, 0.0)) for name in names]
    try:
        yield api, group
    finally:
        for each in group:
            each.wire.cut = False
            await each.stop()


def lease(api: FakeApi) -> dict[str, Any]:
    found = api.find(LEASES, "scheduler", namespace="fairlead")
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def on_virtual_clock(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    async def main() -> None:
        await test()

    def run() -> None:
        virtual.run(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@on_virtual_clock
async def test_first_candidate_leads_and_keeps_the_lease() -> None:
    """One wins, the other waits, for as long as renewals succeed."""
    async with candidates("a", "b") as (api, (a, b)):
        await asyncio.sleep(300)
        assert (a.leading, b.leading) == (True, False)
        assert (a.words, b.words) == (["won"], [])
        assert (
            lease(api)["holderIdentity"],
            lease(api)["leaseDurationSeconds"],
            lease(api)["leaseTransitions"],
        ) == ("a", 15, 0)
        assert b.elector.holder == "a"


@on_virtual_clock
async def test_leader_that_stops_gives_the_lease_back_at_once() -> None:
    """A released lease is taken within one look, not after its duration."""
    async with candidates("a", "b") as (api, (a, b)):
        await asyncio.sleep(20)
        began = asyncio.get_running_loop().time()
        await a.stop()
        assert (a.words, lease(api)["holderIdentity"]) == (["won", "lost"], "")
        assert lease(api)["leaseDurationSeconds"] == 1, "for candidates that go by the clock alone"
        await asyncio.sleep(5)
        assert b.leading
        assert b.told[0][1] - began <= TERMS.renew * 1.2
        assert lease(api)["leaseTransitions"] == 1


@on_virtual_clock
async def test_lease_of_a_crashed_leader_is_taken_after_its_duration() -> None:
    """Not earlier than the duration after its last renewal, and soon after that."""
    async with candidates("a", "b") as (_, (a, b)):
        await asyncio.sleep(20)
        a.crash()
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(40)
        assert b.leading
        took = b.told[0][1] - began
        assert TERMS.lease - TERMS.renew * 1.2 <= took <= TERMS.lease + TERMS.renew * 1.2


@on_virtual_clock
async def test_candidate_looks_at_the_moment_the_lease_runs_out() -> None:
    """Not up to a whole pause later: it takes over when it has seen no renewal for exactly the duration."""
    async with candidates("a") as (api, (a,)):
        await asyncio.sleep(20.5)
        a.crash()
        b = Candidate(api, "b")
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(TERMS.lease + 1.9)
        assert b.leading
        assert b.told[0][1] - began == pytest.approx(TERMS.lease)
        await b.stop()


@on_virtual_clock
async def test_leader_cut_off_steps_down_before_another_can_lead() -> None:
    """A leader whose requests hang stops at its deadline; the other takes over only later."""
    async with candidates("a", "b") as (_, (a, b)):
        await asyncio.sleep(20)
        a.wire.cut = True
        await asyncio.sleep(60)
        assert (a.words, b.words) == (["won", "lost"], ["won"])
        assert a.told[1][1] < b.told[0][1]
        a.wire.cut = False
        await asyncio.sleep(60)
        assert (a.leading, b.leading) == (False, True)


def test_server_that_does_not_answer_is_logged_as_one_that_is_away(caplog: pytest.LogCaptureFixture) -> None:
    """The log tells of an unreachable server once a minute; a lease that goes unanswered is no other matter."""

    async def main() -> None:
        async with candidates("a") as (_, (a,)):
            a.wire.cut = True
            await asyncio.sleep(20)

    virtual.run(main())
    (first, *_) = caplog.records
    assert first.getMessage() == "lease scheduler: no answer in time"
    assert isinstance(first.args, tuple)
    assert isinstance(first.args[0], UnreachableError)


@on_virtual_clock
async def test_lead_counts_from_before_the_renewal_was_sent() -> None:
    """Answers that come late do not stretch the lead: the others count from when the write was done."""
    async with candidates("a", "b") as (_, (a, b)):
        await asyncio.sleep(20)
        a.wire.after = 4.9
        await asyncio.sleep(30)
        a.wire.cut = True
        await asyncio.sleep(60)
        assert (a.words, b.words) == (["won", "lost"], ["won"])
        assert b.told[0][1] - a.told[1][1] >= TERMS.lease - TERMS.deadline


@on_virtual_clock
async def test_outage_of_the_server_costs_the_lead_in_time() -> None:
    """While the server is down nobody leads after the deadline; afterwards somebody does."""
    async with candidates("a", "b") as (api, (a, b)):
        await asyncio.sleep(20)
        api.faults.down = True
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(120)
        assert (a.leading, b.leading) == (False, False)
        assert a.told[1][1] - began <= TERMS.deadline
        api.faults.down = False
        await asyncio.sleep(30)
        assert a.leading != b.leading


@on_virtual_clock
async def test_wall_clocks_that_disagree_do_not_matter() -> None:
    """Stamps hours in the past or future change nothing: each judges by what it saw itself."""
    async with candidates("a", "b", skews={"a": -5000.0, "b": 7000.0}) as (_, (a, b)):
        await asyncio.sleep(300)
        assert (a.words, b.words) == (["won"], [])


@on_virtual_clock
async def test_renewal_whose_answer_was_lost_keeps_the_lead() -> None:
    """The conflict with our own write is recognised as ours."""
    async with candidates("a", "b") as (api, (a, b)):
        await asyncio.sleep(20)
        api.cut(method="PUT", after=True)
        await asyncio.sleep(60)
        assert (a.words, b.words) == (["won"], [])


@on_virtual_clock
async def test_lease_taken_by_another_hand_ends_the_lead() -> None:
    """An administrator may give the lease to somebody else."""
    async with candidates("a") as (api, (a,)):
        await asyncio.sleep(20)
        found = api.find(LEASES, "scheduler", namespace="fairlead")
        assert found is not None
        api.put(LEASES, {**found, "spec": {**found["spec"], "holderIdentity": "z"}}, namespace="fairlead")
        await asyncio.sleep(4)
        assert (a.words, a.elector.holder) == (["won", "lost"], "z")
        await asyncio.sleep(30)
        assert a.words == ["won", "lost", "won"]


@on_virtual_clock
async def test_lease_deleted_by_another_hand_ends_the_lead_for_a_moment() -> None:
    """Whoever is first may create it anew, so the lead is given up before it is won again."""
    async with candidates("a") as (api, (a,)):
        await asyncio.sleep(20)
        api.remove(LEASES, "scheduler", namespace="fairlead")
        await asyncio.sleep(20)
        assert a.words == ["won", "lost", "won"]


@on_virtual_clock
async def test_process_that_was_frozen_does_not_believe_it_leads() -> None:
    """`leading` looks at the clock itself, so it is right before any task has had a turn."""
    async with candidates("a") as (_, (a,)):
        await asyncio.sleep(20)
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual.VirtualLoop)
        loop.elapsed += 60
        assert not a.leading
        await asyncio.sleep(0)
        await asyncio.sleep(30)
        assert a.words == ["won", "lost", "won"]


@on_virtual_clock
async def test_other_fields_of_the_lease_are_kept() -> None:
    """Labels and fields that we do not know are written back as they were."""
    async with candidates() as (api, _):
        body = {"metadata": {"name": "scheduler", "labels": {"x": "y"}}, "spec": {"strategy": "Old"}}
        api.put(LEASES, body, namespace="fairlead")
        a = Candidate(api, "a")
        await asyncio.sleep(10)
        found = api.find(LEASES, "scheduler", namespace="fairlead")
        assert found is not None
        assert (
            found["spec"]["strategy"],
            found["metadata"]["labels"],
            found["spec"]["holderIdentity"],
        ) == ("Old", {"x": "y"}, "a")
        await a.stop()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "heal", "slow", "late", "quick", "stop", "down", "up", "fail", "lost", "conflict"]),
        st.integers(0, 2),
        st.floats(0.1, 12.0),
    ),
    min_size=1,
    max_size=12,
)


@given(STEPS)
def test_never_two_leaders_whatever_happens(steps: list[tuple[str, int, float]]) -> None:
    """Three candidates, any sequence of troubles: at no moment do two lead, and in peace one does again."""

    async def main() -> None:
        async with candidates("a", "b", "c") as (api, group):
            # A lead begins only in `on_won`, so looking at all of them there misses nothing.
            worst = []
            for each in group:
                each.elector.on_won = lambda each=each: (  # type: ignore[misc]
                    each.told.append(("won", 0.0)),
                    worst.append(sum(other.leading for other in group)),
                )
            for step, who, pause in steps:
                await trouble(api, group[who], step, pause)
                await asyncio.sleep(pause)
            api.faults.down = False
            for each in group:
                each.wire.cut, each.wire.before, each.wire.after = False, 0.0, 0.0
            await asyncio.sleep(60)
            leaders = sum(each.leading for each in group)
            alive = sum(not each.task.done() for each in group)
            assert set(worst) <= {1}
            assert min(alive, 1) == leaders
            for each in group:
                assert ["won", "lost"] * (len(each.words) // 2 + 1) == each.words + ["won", "lost"][
                    len(each.words) % 2 :
                ]

    virtual.run(main())


async def trouble(api: FakeApi, who: Candidate, step: str, amount: float) -> None:
    if step == "cut":
        who.wire.cut = True
    elif step == "heal":
        who.wire.cut = False
    elif step == "slow":
        who.wire.before = amount
    elif step == "late":
        who.wire.after = amount
    elif step == "quick":
        who.wire.before = who.wire.after = 0.0
    elif step == "stop":
        await who.stop()
    elif step in ("down", "up"):
        api.faults.down = step == "down"
    elif step == "fail":
        api.fail(500, times=3)
    elif step == "lost":
        api.cut(method="PUT", after=True)
    else:
        api.fail(409, method="PUT", reason="Conflict")


@pytest.mark.parametrize("wrong", [{"deadline": 15.0}, {"renew": 10.0}, {"renew": 0.0}, {"request": 0.0}])
def test_terms_that_are_not_safe_are_refused(wrong: dict[str, float]) -> None:
    """renew < deadline < lease, or two could lead."""
    with pytest.raises(ValueError, match="renew < deadline < lease"):
        Terms(**wrong)  # type: ignore[arg-type]


def test_terms_of_a_shorter_lease_keep_the_proportions() -> None:
    """Six seconds: the leader stops after four, and the safety of unequal clocks is that of the default."""
    short, usual = Terms.of(6), Terms.of(15)
    assert (short.lease, short.deadline, short.renew, short.request) == (6, 4.0, 0.8, 2.0)
    assert usual == Terms(lease=15, deadline=10.0, renew=2.0, request=5.0)


def test_identities_differ_and_the_clock_goes_on() -> None:
    """No two processes share an identity, not even on one host."""
    assert own_identity() != own_identity()
    assert steady_clock() <= steady_clock()
