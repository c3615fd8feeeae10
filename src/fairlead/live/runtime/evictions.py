"""Evictions: whatever component wants one asks here. One budget and one kill switch over all processes.

Both are in one ConfigMap, the switch. Who wants to evict first writes there how many and when (*spends*), with
compare-and-swap, and only then evicts; what the API server refuses is given back. So no interleaving of processes
passes the budget, and after `stop` is set nobody can spend: a writer who has not seen it loses the swap.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY
from enum import StrEnum

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import CONFIG_MAPS
from fairlead.kube.retry import Backoff, default_jitter, may_have_acted
from fairlead.model.errors import InputError
from fairlead.model.selectors import integer

MINUTE = 60.0
STOP, RECENT = "stop", "recent"
"""Keys of the ConfigMap: the switch, and the evictions of the last minute, one line a spending."""
ATTEMPTS = 12
BACKOFF = Backoff(first=0.01, cap=0.5)
SEVERAL_BUDGETS = "more than one PodDisruptionBudget"
"""How the API server refuses, with 500, what several disruption budgets protect: it evicts no such pod, ever."""


class Refusal(StrEnum):
    """Why a pod was not evicted."""

    OFF = "evictions are not allowed"
    STOPPED = "evictions are stopped by the switch"
    BUDGET = "the budget of this minute is spent"
    TOO_MANY = "more at once than the budget of a minute"
    BUSY = "the budget kept changing while it was updated"
    PROTECTED = "a disruption budget says no"
    GONE = "it is gone, or another pod by now"


@dataclass(frozen=True, slots=True)
class Spending:
    """So many evictions, paid for at a moment (seconds of the wall clock)."""

    token: str
    at: float
    count: int

    def line(self) -> str:
        """As it stands in the ConfigMap."""
        return f"{timestamps.micro(self.at)} {self.count} {self.token}"


@dataclass(slots=True, eq=False)
class Evictions:
    """At most `per_minute` in any 60 seconds, by whatever process names the same switch.

    `clock` is the wall clock, since processes compare their times; what lies more than a minute off either way does not
    count, so machines whose clocks differ by more than that have a budget each.
    """

    client: Client
    _: KW_ONLY
    namespace: str
    switch: str
    allowed: bool
    per_minute: int
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Evict one pod; None if the API server agreed, else why not. What was refused does not count."""
        spent = await self.spend(1)
        if isinstance(spent, Refusal):
            return spent
        try:
            refusal = await self.carry_out(namespace, name, uid)
        except ApiError as error:
            if not may_have_acted(error):
                await self.give_back(spent, 1)
            raise
        if refusal is not None:
            await self.give_back(spent, 1)
        return refusal

    async def spend(self, count: int) -> Spending | Refusal:
        """Pay for so many evictions together, or for none of them."""
        if not self.allowed:
            return Refusal.OFF
        if count > self.per_minute:
            return Refusal.TOO_MANY
        spending = Spending(uuid.uuid4().hex[:12], self.clock(), count)

        def added(lines: Mapping[str, Spending]) -> dict[str, Spending] | Refusal:
            if spending.token in lines:  # an earlier try was acted upon, and its answer was lost
                return {**lines}
            if sum(each.count for each in lines.values()) + count > self.per_minute:
                return Refusal.BUDGET
            return {**lines, spending.token: spending}

        return await self._swap(added) or spending

    async def give_back(self, spending: Spending, count: int) -> None:
        """So many of the spending were refused; given back late or not at all the budget is only smaller."""
        wanted: int | None = None

        def lowered(lines: Mapping[str, Spending]) -> dict[str, Spending] | Refusal:
            nonlocal wanted
            left = {**lines}
            found = left.pop(spending.token, None)
            if found is None:
                return left
            if wanted is None:
                wanted = found.count - count
            # Not twice, where an earlier try was acted upon and its answer was lost.
            if (still := min(found.count, wanted)) > 0:
                left[found.token] = Spending(found.token, found.at, still)
            return left

        await self._swap(lowered, stoppable=False)

    async def carry_out(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Evict a pod that is paid for. The switch is looked at once more, for a spending of many takes a while."""
        found = await self._read()
        if found is not None and _stopped(found):
            return Refusal.STOPPED
        return await self._ask(namespace, name, uid, dry_run=False)

    async def possible(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """What the API server would say to the eviction, were it tried now; nothing is written."""
        return await self._ask(namespace, name, uid, dry_run=True)

    async def _ask(self, namespace: str, name: str, uid: str, *, dry_run: bool) -> Refusal | None:
        try:
            await self.client.evict(namespace, name, uid=uid, dry_run=dry_run)
        except ApiError as error:
            if error.too_many or SEVERAL_BUDGETS in error.message:
                return Refusal.PROTECTED
            if error.not_found or error.conflict:
                return Refusal.GONE
            raise
        return None

    async def _swap(
        self, change: Callable[[Mapping[str, Spending]], dict[str, Spending] | Refusal], *, stoppable: bool = True
    ) -> Refusal | None:
        """Read the lines that still count, change them, write them; again from the start after a conflict."""
        for attempt in range(1, ATTEMPTS + 1):
            found = await self._read()
            if stoppable and found is not None and _stopped(found):
                return Refusal.STOPPED
            after = change(self._recent(found))
            if isinstance(after, Refusal):
                return after
            if await self._write(found, "\n".join(each.line() for each in after.values())):
                return None
            await self.sleep(BACKOFF.wait(attempt, default_jitter))
        return Refusal.BUSY

    async def _read(self) -> Raw | None:
        """The ConfigMap as it is at this moment; none means that nothing was spent or stopped."""
        try:
            return await self.client.get(CONFIG_MAPS.raw, self.switch, namespace=self.namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return None

    async def _write(self, found: Raw | None, recent: str) -> bool:
        """Whether it is written; False after a conflict: it changed since it was read."""
        try:
            if found is None:
                body: Raw = {"metadata": {"name": self.switch}, "data": {RECENT: recent}}
                await self.client.create(CONFIG_MAPS.raw, body, namespace=self.namespace)
            else:
                wanted = found | {"data": (found.get("data") or {}) | {RECENT: recent}}
                await self.client.replace(CONFIG_MAPS.raw, self.switch, wanted, namespace=self.namespace)
        except ApiError as error:
            if error.conflict or error.already_exists or error.not_found:
                return False
            raise
        return True

    def _recent(self, found: Raw | None) -> dict[str, Spending]:
        """The spendings of the last minute by token; a line that cannot be read is none."""
        now, lines = self.clock(), {}
        for line in ((found or {}).get("data") or {}).get(RECENT, "").splitlines():
            parts = line.split()
            if len(parts) != 3 or (count := integer(parts[1])) is None or count < 0:
                continue
            try:
                at = timestamps.seconds(parts[0])
            except InputError:
                continue
            if abs(now - at) < MINUTE:
                lines[parts[2]] = Spending(parts[2], at, count)
        return lines


def _stopped(found: Raw) -> bool:
    text: str = (found.get("data") or {}).get(STOP, "")
    return text.strip().lower() == "true"
