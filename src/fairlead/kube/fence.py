"""The fence of elected work: a write passes it only while no other instance can hold the lease, before each attempt.

A lease is a promise about time, so the fence knows how much of it is left. A write that is sent now must have ended,
with an answer or without, before another instance may lead: that long may it take and no longer. What was decided in
one term is not written in a later one, even if the same instance leads again (docs/decisions/0205).
"""

import asyncio
from collections.abc import Callable
from typing import Any

from fairlead.kube.errors import NotLeadingError, UnreachableError
from fairlead.kube.transport import Response, Transport


class Fence:
    """Opened and closed by the elector (`fairlead.kube.lease`), asked by clients. `clock` never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.term = 0
        """Counts the times that this instance began to lead."""
        self._clock = clock
        self._sends_until = 0.0
        self._ends_by = 0.0
        self._under_way = 0
        self._unanswered_until = 0.0

    def begin(self) -> None:
        """A new term: what was begun in an earlier one does not pass any more."""
        self.term += 1

    def extend(self, sends_until: float, ends_by: float) -> None:
        """Writes may be sent until the first moment and must have ended by the second."""
        self._sends_until = sends_until
        self._ends_by = ends_by

    def close(self) -> None:
        """Nothing passes before the next term."""
        self._sends_until = self._ends_by = 0.0

    @property
    def open(self) -> bool:
        """Whether a write may be sent now."""
        return self._clock() < self._sends_until

    def bound(self, term: int, what: str, *, sent: bool) -> float:
        """Seconds that a write of this term may take if it is sent now; NotLeadingError where it may not be sent.

        `sent`: an earlier attempt may have been acted upon.
        """
        if term != self.term or not self.open:
            raise NotLeadingError(what, sent=sent)
        return self._ends_by - self._clock()

    def sent(self) -> None:
        """A write is under way."""
        self._under_way += 1

    def ended(self, unanswered: float) -> None:
        """It has its answer; or it has none, and for so many seconds more the server may still act upon it."""
        self._under_way -= 1
        self._unanswered_until = max(self._unanswered_until, self._clock() + unanswered)

    @property
    def quiet(self) -> bool:
        """Whether no write that passed can reach the server any more; only then may the lease be given back early."""
        return not self._under_way and self._clock() >= self._unanswered_until


class Passing:
    """The attempts of one write, all of them in the term in which the first was made."""

    def __init__(self, transport: Transport, fence: Fence) -> None:
        self._transport = transport
        self._fence = fence
        self._term = fence.term
        self._sent = False

    async def request(self, method: str, path: str, *, within: float, **rest: Any) -> Response:
        """One attempt, which ends before another instance may lead: finding a credential and a connection included."""
        what = f"{method} {path}"
        bound = min(within, self._fence.bound(self._term, what, sent=self._sent))
        clock = asyncio.get_running_loop().time
        begun, answered = clock(), False
        self._fence.sent()
        try:
            async with asyncio.timeout(bound):
                answer = await self._transport.request(method, path, within=bound, **rest)
            answered = True
            self._sent |= answer.status >= 500
            return answer
        except TimeoutError as error:
            raise UnreachableError(what, "no answer in time") from error
        except UnreachableError as error:
            answered = not error.sent
            raise
        finally:
            self._sent |= not answered
            self._fence.ended(0.0 if answered else bound - (clock() - begun))
