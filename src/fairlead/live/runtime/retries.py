"""What failed and is tried again later: the longer the pause, the more often in a row it failed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from fairlead.kube.retry import Backoff, Jitter

K = TypeVar("K")


class Retries(Generic[K]):
    """Pauses by key, in seconds of a clock that never goes back. A key is in it while its pause lasts."""

    def __init__(self, monotonic: Callable[[], float], jitter: Jitter) -> None:
        self._now = monotonic
        self._jitter = jitter
        self._failures: dict[K, int] = {}
        self._until: dict[K, float] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._until

    @property
    def next(self) -> float | None:
        """When the first pause ends."""
        return min(self._until.values(), default=None)

    def failed(self, key: K, backoff: Backoff) -> None:
        """Once more: a pause begins."""
        self._failures[key] = failures = self._failures.get(key, 0) + 1
        self._until[key] = self._now() + backoff.wait(failures, self._jitter)

    def ended(self) -> set[K]:
        """Those whose pause is over since the last call."""
        now = self._now()
        over = {key for key, time in self._until.items() if time <= now}
        for key in over:
            del self._until[key]
        return over

    def try_now(self, key: K) -> None:
        """There is a new reason to try: the pause ends, the failures still count."""
        self._until.pop(key, None)

    def forget(self, key: K) -> None:
        """It succeeded, or is gone."""
        self._failures.pop(key, None)
        self._until.pop(key, None)

    def clear(self) -> None:
        """Nothing is remembered."""
        self._failures.clear()
        self._until.clear()
