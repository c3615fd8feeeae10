"""The fence of elected work: what passes, for how long, and what never does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, NotLeadingError, UnreachableError
from fairlead.kube.fence import Fence
from fairlead.kube.lease import Elector, Terms
from fairlead.kube.resources import LEASES, PODS
from fairlead.kube.transport import Response
from tests.fake import FakeApi
from tests.kube.virtual import run

POD = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {}}


class Slow(FakeApi):
    """Takes so long before it acts; hears how long the caller would have waited."""

    waits: list[float]

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if not hasattr(self, "waits"):
            self.waits = []
        self.waits.append(options["within"])
        return await super().request(method, path, **options)


def opened(seconds: float = 10.0, ends: float = 12.5) -> tuple[Slow, Client, Fence]:
    """A server with one pod, and a client in the first term of its fence."""
    clock = asyncio.get_running_loop().time
    api, fence = Slow(), Fence(clock)
    api.put(PODS, POD, namespace="ns")
    fence.begin()
    fence.extend(clock() + seconds, clock() + ends)
    return api, Client(api).fenced(fence), fence


def binds(api: FakeApi) -> int:
    """How many binds reached the server."""
    return sum(path.endswith("/binding") for _, path in api.calls)


def on_virtual_clock(test: Callable[[], Awaitable[None]]) -> Callable[[], None]:
    """The test on a clock that jumps."""

    async def main() -> None:
        await test()

    def act() -> None:
        run(main())

    act.__name__, act.__doc__ = test.__name__, test.__doc__
    return act


@on_virtual_clock
async def test_bind_in_its_retry_loop_is_not_sent_again_after_the_lease_is_lost() -> None:
    """The first attempt is cut; the lease ends before the second, which is held back and says what is not known."""
    api, client, fence = opened()
    api.before(fence.close, method="POST", path="/binding")
    api.cut(method="POST", path="/binding", times=9)
    with pytest.raises(NotLeadingError) as caught:
        await client.bind("ns", "p", "n1", uid="u")
    assert caught.value.sent
    assert binds(api) == 1


@on_virtual_clock
async def test_write_may_take_what_is_left_of_the_lease_and_no_longer() -> None:
    """A server that does not answer: the attempt ends 12.5 s after the renewal, not after the 30 s of the client."""
    api, client, _ = opened()
    start = asyncio.get_running_loop().time()
    api.faults.seconds = 60.0
    await asyncio.sleep(4)
    with pytest.raises(NotLeadingError):
        await client.bind("ns", "p", "n1", uid="u")
    assert api.waits == [8.5]
    assert 12.5 <= asyncio.get_running_loop().time() - start < 13.5
    assert binds(api) == 1


@on_virtual_clock
async def test_nothing_is_sent_when_too_little_is_left() -> None:
    """The deadline has passed though the lease has not run out: nothing is sent, reading goes on."""
    api, client, _ = opened()
    await asyncio.sleep(10)
    with pytest.raises(NotLeadingError) as caught:
        await client.bind("ns", "p", "n1", uid="u")
    assert not caught.value.sent
    assert binds(api) == 0
    assert (await client.get(PODS, "p", namespace="ns")).metadata.uid == "u"


@on_virtual_clock
async def test_write_of_an_earlier_term_does_not_pass_in_a_later_one() -> None:
    """The lease is lost and won again while a bind waits between two attempts: its decision is of another time."""
    api, client, fence = opened()

    def lost_and_won() -> None:
        clock = asyncio.get_running_loop().time
        fence.close()
        fence.begin()
        fence.extend(clock() + 10, clock() + 12.5)

    api.before(lost_and_won, method="POST", path="/binding")
    api.cut(method="POST", path="/binding", times=1)
    with pytest.raises(NotLeadingError):
        await client.bind("ns", "p", "n1", uid="u")
    await client.bind("ns", "p", "n1", uid="u")
    assert binds(api) == 2


@on_virtual_clock
async def test_patch_of_elected_work_names_its_object() -> None:
    """Without uid or version it is a defect, and nothing is sent; behind no fence it is the caller's to decide."""
    api, client, _ = opened()
    with pytest.raises(ValueError, match="names the uid or the version"):
        await client.patch(PODS, "p", {"metadata": {"labels": {"a": "b"}}}, namespace="ns")
    assert api.calls == []
    await client.patch(PODS, "p", {"metadata": {"uid": "u", "labels": {"a": "b"}}}, namespace="ns")
    await Client(api).patch(PODS, "p", {"metadata": {"labels": {"a": "c"}}}, namespace="ns")


@on_virtual_clock
async def test_answered_refusals_leave_the_fence_quiet_and_lost_answers_do_not() -> None:
    """A 409 is an answer; a connection that breaks may have carried the write to the server."""
    api, client, fence = opened()
    api.fail(409, method="POST", path="/binding", times=1)
    with pytest.raises(ApiError):
        await client.bind("ns", "p", "n1", uid="u")
    assert fence.quiet
    api.cut(method="POST", path="/eviction", times=1)
    with pytest.raises(UnreachableError):
        await client.evict("ns", "p", uid="u")
    assert not fence.quiet
    await asyncio.sleep(12.5)
    assert fence.quiet


def elector(api: FakeApi, **more: Any) -> Elector:
    """A candidate on the virtual clock."""
    clock = asyncio.get_running_loop().time
    terms = Terms(lease=15, deadline=10.0, renew=2.0, request=5.0)
    return Elector(
        Client(api), namespace="fairlead", name="l", identity="me", terms=terms, clock=clock, now=clock, **more
    )


def holder(api: FakeApi) -> str:
    """Who holds the lease, as the server has it."""
    found = api.find(LEASES, "l", namespace="fairlead")
    assert found is not None
    return str(found["spec"]["holderIdentity"])


@on_virtual_clock
async def test_lease_is_not_given_back_while_a_write_may_still_arrive() -> None:
    """A bind is cancelled on the wire: the others wait for the lease to run out. With an answer they need not."""
    for seconds, want in ((1.0, "me"), (0.0, "")):
        api = FakeApi()
        api.put(PODS, POD, namespace="ns")
        candidate = elector(api)
        leading = asyncio.create_task(candidate.run())
        await asyncio.sleep(1)
        client = Client(api).fenced(candidate.fence)
        api.faults.seconds = seconds
        write = asyncio.create_task(client.bind("ns", "p", "n1", uid="u"))
        await asyncio.sleep(0.5)
        api.faults.seconds = 0.0
        for task in (write, leading):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert holder(api) == want


@on_virtual_clock
async def test_leader_that_is_not_fit_gives_the_lease_back_and_takes_it_when_it_is() -> None:
    """While it is stuck others may lead; nothing passes its fence meanwhile."""
    api, fit = FakeApi(), [True]
    candidate = elector(api, fit=lambda: fit[0])
    leading = asyncio.create_task(candidate.run())
    await asyncio.sleep(5)
    assert candidate.leading
    fit[0] = False
    await asyncio.sleep(5)
    assert not candidate.leading
    assert not candidate.fence.open
    assert holder(api) == ""
    fit[0] = True
    await asyncio.sleep(5)
    assert candidate.leading
    assert candidate.fence.term == 2
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)


@on_virtual_clock
async def test_lease_is_not_given_back_while_a_write_is_under_way() -> None:
    """Stuck while a bind is on the wire: nothing more passes, and the others wait for the lease to run out."""
    api, fit = FakeApi(), [True]
    api.put(PODS, POD, namespace="ns")
    candidate = elector(api, fit=lambda: fit[0])
    leading = asyncio.create_task(candidate.run())
    await asyncio.sleep(1)
    api.faults.seconds = 4.0
    write = asyncio.create_task(Client(api).fenced(candidate.fence).bind("ns", "p", "n1", uid="u"))
    await asyncio.sleep(0.1)
    api.faults.seconds = 0.0
    fit[0] = False
    await asyncio.sleep(3)
    assert not candidate.leading
    assert holder(api) == "me"
    await write
    leading.cancel()
    await asyncio.gather(leading, return_exceptions=True)
