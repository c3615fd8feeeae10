"""One leader among many candidates, by a Lease that is written with compare-and-swap.

Safe without any agreement of clocks: none reads another's wall clock. A candidate takes the lease over only after
it has itself seen no write to it for the whole lease duration, by its own monotonic clock. The leader counts from
the moment *before* it sent its last successful renewal, and stops `lease − deadline` seconds before that could end:

    leader      sent ├────────── deadline ──────────┤ stops ├─┤ its last writes have ended
    server        └─ written
    candidate        └─ seen ├──────────────── lease ────────────────┤ may take over

So two never lead at once while clocks run at rates that differ by less than lease/deadline, and no write of the old
leader is under way when the new one begins (`fairlead.kube.fence`). A leader that is not `fit` gives the lease back.
"""

import asyncio
import copy
import logging
import os
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, field

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError, UnreachableError
from fairlead.kube.fence import Fence
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import LEASES
from fairlead.kube.retry import Jitter, default_jitter

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Seconds. `lease`: how long a silent leader keeps the others waiting. `deadline`: how long the leader goes on
    without a renewal. `renew`: between renewals, and between looks of a candidate. `request`: bound of one call."""

    lease: int = 15
    deadline: float = 10.0
    renew: float = 2.0
    request: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.renew < self.deadline < self.lease or self.request <= 0:
            raise ValueError(f"expected 0 < renew < deadline < lease and request > 0, got {self}")

    @classmethod
    def of(cls, lease: int) -> "Terms":
        """The terms of a lease of so many seconds, in the proportions of the default."""
        return cls(lease=lease, deadline=lease * 2 / 3, renew=lease * 2 / 15, request=lease / 3)

    @property
    def writes(self) -> float:
        """When the last write has ended: half of what lies after the deadline is for it, half for unequal clocks."""
        return (self.deadline + self.lease) / 2


TERMS = Terms()


def steady_clock() -> float:
    """Seconds that never go back and, unlike `time.monotonic` on Linux, go on while the machine is suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def own_identity() -> str:
    """A name for this process that no other ever has."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:12]}"


@dataclass(slots=True, eq=False)
class Elector:
    """A candidate for one lease. `run()` takes part until cancelled, and then gives the lease back.

    `on_won` and `on_lost` are plain calls made in turns. Ask `leading` before anything that only a leader may do:
    it is true only while no other instance can have the lease, even if this process was stopped for a while. Writes go
    through a client with the `fence`. `fit` is asked at every turn: while it is False the lease is for others.
    `identity` must be unique: two processes with the same one would both believe.
    """

    client: Client
    _: KW_ONLY
    namespace: str
    name: str
    identity: str
    terms: Terms = TERMS
    on_won: Callable[[], None] = lambda: None
    on_lost: Callable[[], None] = lambda: None
    clock: Callable[[], float] = steady_clock
    now: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    jitter: Jitter = default_jitter
    fit: Callable[[], bool] = lambda: True
    fence: Fence = field(init=False)
    holder: str = field(default="", init=False)
    _seen: Raw | None = field(default=None, init=False)
    _seen_at: float = field(default=0.0, init=False)
    _until: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.fence = Fence(self.clock)

    @property
    def leading(self) -> bool:
        return self._until is not None and self.clock() < self._until

    async def run(self) -> None:
        """Take part until cancelled."""
        try:
            while True:
                await self._turn()
                await self.sleep(self._pause())
        finally:
            await self._release()

    def _pause(self) -> float:
        """Until the next turn: at the latest when our lead ends, or when the lease of another has run out."""
        pause = self.terms.renew * (0.9 + 0.2 * self.jitter())
        ends = self._until if self._until is not None else self._runs_out()
        return max(0.0, min(pause, ends - self.clock())) if ends > self.clock() else pause

    def _runs_out(self) -> float:
        """When the lease that was last seen may be taken, by our clock."""
        lasts = (self._seen or {}).get("spec", {}).get("leaseDurationSeconds") or self.terms.lease
        return self._seen_at + float(lasts)

    async def _turn(self) -> None:
        """One look at the lease, and one write if it is ours or free. Never longer than until we must stop."""
        if not self.fit():
            await self._release()
            return
        try:
            async with asyncio.timeout(self._bound()):
                await self._try()
        except TimeoutError:
            log.warning("%s", UnreachableError(f"lease {self.name}", "no answer in time"))
        except KubeError as error:
            log.warning("lease %s: %s", self.name, error)
        if self._until is not None and not self.leading:
            self._step_down("it could not be renewed in time")

    def _bound(self) -> float:
        left = self.terms.request if self._until is None else self._until - self.clock()
        return max(0.0, min(self.terms.request, left))

    async def _try(self) -> None:
        if self._seen is None or self._until is None:
            await self._look()
        if self._seen is not None and not self._may_take():
            if self._until is not None:
                self._step_down(f"{self.holder} has taken it")
            return
        try:
            await self._write()
        except ApiError as error:
            if not (error.conflict or error.already_exists or error.not_found):
                raise
            # The lease was written, perhaps by ourselves in a call whose answer was lost: look before anything else.
            await self._look()
            if self._until is not None and self.holder != self.identity:
                self._step_down(f"{self.holder} holds it" if self.holder else "it was given up")

    async def _look(self) -> None:
        try:
            found: Raw | None = await self.client.get(LEASES.raw, self.name, namespace=self.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            found = None
        self._observe(found)

    def _observe(self, found: Raw | None) -> None:
        """Remember the lease; a version that was not seen before starts its duration anew on our clock."""
        if found is None or self._seen is None or _version(found) != _version(self._seen):
            self._seen_at = self.clock()
        self._seen = found
        self.holder = (found or {}).get("spec", {}).get("holderIdentity") or ""

    def _may_take(self) -> bool:
        if self.holder in ("", self.identity):
            return True
        return self.clock() >= self._runs_out()

    async def _write(self) -> None:
        """Take or renew the lease, as it was last seen. Success counts from before the request was sent."""
        sent = self.clock()
        body = self._claim(self._seen)
        if self._seen is None:
            stored = await self.client.create(LEASES.raw, body, namespace=self.namespace)
        else:
            stored = await self._put(body)
        self._observe(stored)
        won = self._until is None
        if won:
            self.fence.begin()
        self._until = sent + self.terms.deadline
        self.fence.extend(self._until, sent + self.terms.writes)
        if won and self.leading:
            log.info("lease %s: %s leads", self.name, self.identity)
            self.on_won()

    async def _put(self, body: Raw) -> Raw:
        return await self.client.replace(LEASES.raw, self.name, body, namespace=self.namespace)

    def _claim(self, seen: Raw | None) -> Raw:
        stamp = timestamps.micro(self.now())
        body: Raw = copy.deepcopy(seen) if seen else {"metadata": {"name": self.name, "namespace": self.namespace}}
        spec = body.setdefault("spec", {})
        if self.holder != self.identity:
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + (1 if seen else 0)
            spec["acquireTime"] = stamp
        spec |= {"holderIdentity": self.identity, "leaseDurationSeconds": self.terms.lease, "renewTime": stamp}
        return body

    def _step_down(self, why: str) -> None:
        log.warning("lease %s: %s leads no more: %s", self.name, self.identity, why)
        self._stop()

    def _stop(self) -> None:
        self._until = None
        self.fence.close()
        self.on_lost()

    async def _release(self) -> None:
        """Stop leading, then tell the others at once. If that fails they wait for the lease to run out.

        So they do where a write of ours may still be on its way.
        """
        if self._until is None:
            return
        self._stop()
        if not self.fence.quiet:
            log.warning("lease %s: not given back early, a write has not been answered", self.name)
            return
        body = copy.deepcopy(self._seen or {})
        body.setdefault("spec", {}).update(
            holderIdentity="", leaseDurationSeconds=1, renewTime=timestamps.micro(self.now())
        )
        try:
            async with asyncio.timeout(self.terms.request):
                await self._put(body)
        except (KubeError, TimeoutError) as error:
            log.warning("lease %s: could not be given back: %s", self.name, error)


def _version(lease: Raw) -> str:
    return str(lease.get("metadata", {}).get("resourceVersion", ""))
