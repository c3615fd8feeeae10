"""Evictions: whatever component wants one asks here. One budget, one kill switch, and disruption budgets are obeyed."""

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError
from fairlead.kube.resources import CONFIG_MAPS

MINUTE = 60.0


class Refusal(StrEnum):
    """Why a pod was not evicted."""

    OFF = "evictions are not allowed"
    STOPPED = "evictions are stopped by the switch"
    BUDGET = "the budget of this minute is spent"
    PROTECTED = "a disruption budget says no"
    GONE = "it is gone, or another pod by now"


class Evictions:
    """The budget of one process: at most `per_minute` in any 60 seconds. The component must be the only one elected."""

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        switch: str,
        allowed: bool,
        per_minute: int,
        clock: Callable[[], float],
    ) -> None:
        self._client = client
        self._namespace = namespace
        self._switch = switch
        self._allowed = allowed
        self._per_minute = per_minute
        self._clock = clock
        self._done: deque[float] = deque()

    async def evict(self, namespace: str, name: str, uid: str) -> Refusal | None:
        """Evict one pod; None if the API server agreed, else why not. What was refused does not count."""
        if not self._allowed:
            return Refusal.OFF
        now = self._clock()
        while self._done and self._done[0] <= now - MINUTE:
            self._done.popleft()
        if len(self._done) >= self._per_minute:
            return Refusal.BUDGET
        if await self._stopped():
            return Refusal.STOPPED
        try:
            await self._client.evict(namespace, name, uid=uid)
        except ApiError as error:
            if error.too_many:
                return Refusal.PROTECTED
            if error.not_found or error.conflict:
                return Refusal.GONE
            raise
        self._done.append(now)
        return None

    async def _stopped(self) -> bool:
        """The switch as it is at this moment; no ConfigMap means that nobody has stopped anything."""
        try:
            found = await self._client.get(CONFIG_MAPS, self._switch, namespace=self._namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return False
        return found.data.get("stop", "").strip().lower() == "true"
