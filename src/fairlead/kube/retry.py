"""When a failed call may be made again, and how long to wait before."""

import random
from collections.abc import Callable

from fairlead.dataclass import dataclass
from fairlead.kube.errors import ApiError, KubeError, UnreachableError

Jitter = Callable[[], float]
"""Draws from [0, 1). Passed in, so that tests and replays are exact."""

default_jitter: Jitter = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential waits in seconds: `first` · 2ⁿ, at most `cap`, each shortened by up to half by the jitter."""

    first: float = 0.1
    cap: float = 5.0

    def wait(self, failures: int, jitter: Jitter) -> float:
        """The wait after the given number of failures in a row (1 and up)."""
        whole = min(self.cap, self.first * 2.0 ** min(failures - 1, 30))
        return whole * (0.5 + 0.5 * jitter())


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often one call is tried in all. A Retry-After beyond `patience` seconds is not waited for."""

    attempts: int = 4
    backoff: Backoff = Backoff()
    patience: float = 10.0

    def wait(self, error: KubeError, failures: int, *, repeatable: bool, jitter: Jitter) -> float | None:
        """Seconds to wait before the next try; None: give up and raise `error`.

        A call that is not repeatable is tried again only where the server certainly did not act on it.
        """
        if failures >= self.attempts or not may_repeat(error, repeatable=repeatable):
            return None
        wait = self.backoff.wait(failures, jitter)
        asked = error.retry_after if isinstance(error, ApiError) else None
        if asked is None:
            return wait
        return max(wait, asked) if asked <= self.patience else None


def may_have_acted(error: KubeError) -> bool:
    """Whether the server may have done what it was asked to, in spite of the error."""
    return error.sent if isinstance(error, UnreachableError) else isinstance(error, ApiError) and error.server_side


def may_repeat(error: KubeError, *, repeatable: bool) -> bool:
    if isinstance(error, UnreachableError):
        return repeatable or not error.sent
    if isinstance(error, ApiError):
        # 429 is sent before the request is acted upon; of the 5xx that is not known.
        return error.too_many or (error.status in (500, 502, 503, 504) and repeatable)
    return False
