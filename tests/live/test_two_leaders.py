"""Two instances of the scheduler through random losses of the lease: no write of the older after one of the newer.

Requests take time in both directions, and one that was sent arrives even if nobody waits for its answer any more: for
as long as its sender was ready to wait, and no longer.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.kube.client import Client
from fairlead.kube.errors import UnreachableError
from fairlead.kube.lease import Elector
from fairlead.kube.resources import LEASES, NODES, POD_GROUPS, PODS
from fairlead.kube.transport import Query, Response
from fairlead.live.runtime import elected
from fairlead.live.runtime.process import run_until
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.settings import DEFAULTS
from tests.fake import FakeApi
from tests.kube.virtual import run

NAMES = ("a", "b")


class Witness:
    """Looks at every write when it arrives at the server."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.wrote: set[tuple[int, str]] = set()
        self.late: list[str] = []

    def arrived(self, who: str, what: str) -> None:
        """A write, whatever becomes of it. It is late if the holder of the lease has written in this term before."""
        spec = (self.api.find(LEASES, "l", namespace="ns") or {"spec": {}})["spec"]
        holder, term = spec.get("holderIdentity", ""), spec.get("leaseTransitions", 0)
        if holder == who:
            self.wrote.add((term, who))
        elif (term, holder) in self.wrote:
            self.late.append(f"{what} of {who} while {holder} leads")


class Way:
    """One instance's own way to the server: cut, for leases alone or for all; or slow for what it writes."""

    def __init__(self, api: FakeApi, who: str, witness: Witness) -> None:
        self.api = api
        self.who = who
        self.witness = witness
        self.heal()
        self.arriving: set[asyncio.Task[Response]] = set()

    def heal(self) -> None:
        """All is well again."""
        self.seconds = 0.01
        self.cut = False
        self.no_lease = False

    async def request(self, method: str, path: str, *, within: float, **rest: Any) -> Response:
        what = f"{method} {path}"
        task = asyncio.create_task(self._arrive(method, path, within, rest))
        self.arriving.add(task)
        task.add_done_callback(self._done)
        try:
            async with asyncio.timeout(within):
                return await asyncio.shield(task)
        except TimeoutError as error:
            raise UnreachableError(what, "no answer in time") from error

    def _done(self, task: "asyncio.Task[Response]") -> None:
        self.arriving.discard(task)
        if not task.cancelled():
            task.exception()

    async def _arrive(self, method: str, path: str, within: float, rest: dict[str, Any]) -> Response:
        lease = "/leases" in path
        seconds = 0.01 if lease or method == "GET" else self.seconds
        await asyncio.sleep(min(seconds, within))
        if self.cut or seconds > within or (lease and self.no_lease):
            await asyncio.sleep(within)
            raise UnreachableError(path, "cut")
        if method != "GET" and not lease:
            self.witness.arrived(self.who, f"{method} {path}")
        answer = await self.api.request(method, path, within=within, **rest)
        await asyncio.sleep(seconds / 4)
        return answer

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        if self.cut:
            raise UnreachableError(path, "cut")
        async for line in self.api.stream(path, query):
            if self.cut:
                raise UnreachableError(path, "cut")
            yield line

    async def close(self) -> None:
        return None


class Instance:
    """A scheduler with its duties and its lease, as a process has them; its clock runs at a rate of its own."""

    def __init__(self, api: FakeApi, who: str, witness: Witness, rate: float) -> None:
        self.way = Way(api, who, witness)
        self.fit = True
        self.who = who
        self._rate = rate
        self.start()

    def start(self) -> None:
        """Begin anew, with nothing known."""
        loop = asyncio.get_running_loop()
        bare, clock = Client(self.way), loop.time
        self.elector = Elector(
            bare,
            namespace="ns",
            name="l",
            identity=self.who,
            clock=lambda: clock() * self._rate,
            now=clock,
            on_won=lambda: self.scheduler.nudge(),
            on_lost=self._lost,
            fit=lambda: self.fit,
        )
        client = bare.fenced(self.elector.fence)
        times: dict[str, Any] = {"monotonic": clock, "wall": clock, "leads": lambda: self.elector.leading}
        self.scheduler = Scheduler(elected.Instance(client, **times), Options(gang_seconds=60.0))
        self.duties = QueueWiring(self.scheduler, DEFAULTS)
        self.task = asyncio.create_task(
            run_until(asyncio.Event().wait, [self.duties.run, self.scheduler.run, self.elector.run])
        )

    def heal(self) -> None:
        """All is well again."""
        self.way.heal()
        self.fit = True

    def _lost(self) -> None:
        self.duties.lost()
        self.scheduler.lost()

    async def stop(self) -> None:
        """As on SIGTERM."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """How the instance that leads loses the lease: its writes become slow, then something happens to it, then pods
    come at two moments, and after a while all is well again, or not before the end."""

    kind: str
    slow: float
    before: float
    between: float
    after: float
    heals: bool
    gang: bool


LOSSES = st.lists(
    st.builds(
        Loss,
        kind=st.sampled_from(["no lease", "no lease", "stuck", "restart", "cut", "slow"]),
        slow=st.sampled_from([0.01, 0.3, 4.0, 6.0, 8.0, 11.0, 14.0]),
        before=st.sampled_from([0.0, 1.0, 3.0, 5.0, 7.0, 8.0, 9.0, 9.5, 12.0]),
        between=st.sampled_from([0.0, 0.5, 1.0, 4.0]),
        after=st.sampled_from([0.5, 5.0, 16.0, 30.0]),
        heals=st.sampled_from([True, True, True, False]),
        gang=st.booleans(),
    ),
    min_size=1,
    max_size=5,
)


class World:
    """Two instances and one server."""

    def __init__(self, rates: tuple[float, float]) -> None:
        self.api = FakeApi(now=lambda: "1970-01-01T00:16:40Z")
        self.witness = Witness(self.api)
        for number in range(3):
            status = {"allocatable": {"cpu": "500", "pods": "500"}}
            self.api.put(NODES, {"metadata": {"name": f"n{number}"}, "status": status})
        self.instances = [Instance(self.api, who, self.witness, rate) for who, rate in zip(NAMES, rates, strict=True)]
        self.made = 0

    def pods(self, count: int, group: str = "") -> None:
        """More pods, of a gang or on their own."""
        for _ in range(count):
            self.made += 1
            name = f"p{self.made}"
            notes = {"scheduling.k8s.io/group-name": group} if group else {}
            spec = {"schedulerName": "fairlead", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
            meta = {"name": name, "namespace": "ns", "uid": f"u-{name}", "annotations": notes}
            self.api.put(PODS, {"metadata": meta, "spec": spec}, namespace="ns")

    def gang(self, size: int) -> None:
        """A gang of pods."""
        name = f"g{self.made}"
        meta = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
        self.api.put(POD_GROUPS, {"metadata": meta, "spec": {"minMember": size}}, namespace="ns")
        self.pods(size, name)

    async def suffer(self, loss: Loss) -> None:
        """One loss of the lease, from the first sign to what comes after."""
        each = next((one for one in self.instances if one.elector.leading), self.instances[0])
        each.way.seconds = loss.slow
        each.way.no_lease = loss.kind == "no lease"
        each.way.cut = loss.kind == "cut"
        each.fit = loss.kind != "stuck"
        await asyncio.sleep(loss.before)
        self.pods(2)
        await asyncio.sleep(loss.between)
        if loss.gang:
            self.gang(3)
        self.pods(1)
        if loss.kind == "restart":
            await asyncio.sleep(0.02)
            await each.stop()
            each.start()
        await asyncio.sleep(loss.after)
        if loss.heals:
            each.heal()

    def waiting(self) -> list[str]:
        """Pods without a node."""
        pods = self.api.store.listed(f"{PODS.root}/{PODS.plural}", "ns", "", "")
        return [pod["metadata"]["name"] for pod in pods if not pod["spec"].get("nodeName")]


@asynccontextmanager
async def world(rates: tuple[float, float]) -> AsyncIterator[World]:
    """Both instances run while the block does."""
    made = World(rates)
    try:
        yield made
    finally:
        for each in made.instances:
            await each.stop()


@settings(max_examples=40, deadline=None)
@given(losses=LOSSES, rates=st.sampled_from([(1.0, 1.0), (1.08, 1.0), (1.0, 1.08)]))
def test_no_write_of_the_older_after_the_first_of_the_newer(losses: list[Loss], rates: tuple[float, float]) -> None:
    """Whatever happens to the ways, the lease and the instances; and once all is well everything is bound."""

    async def act() -> None:
        async with world(rates) as made:
            await asyncio.sleep(1)
            for loss in losses:
                await made.suffer(loss)
            for each in made.instances:
                each.heal()
            for _ in range(300):
                if not made.waiting():
                    break
                await asyncio.sleep(1)
            assert made.waiting() == []
            assert made.witness.late == []
            assert made.witness.wrote

    run(act())
