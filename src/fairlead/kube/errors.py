"""What can go wrong between us and an API server.

    FairleadError
      └─ KubeError
           ├─ ApiError           the server answered, with a failure
           ├─ AnswerError        the server answered, with something that cannot be read
           ├─ UnansweredError    a write that may have been acted upon: only reading tells
           ├─ NotLeadingError    nothing was sent: only the leader writes, and this instance does not lead
           └─ UnreachableError   there was no answer (the command line exits with 3)

The original exception, where there is one, is chained as `__cause__`.
"""

import re
from typing import Any

import msgspec

from fairlead.model.errors import FairleadError
from fairlead.text.mistakes import UNREADABLE

MAX_MESSAGE = 500


class KubeError(FairleadError):
    """Base of the errors of this package."""

    exit_code = 3


class UnreachableError(KubeError):
    """No answer came. `sent` is False where the request certainly never left, so that it may be repeated."""

    def __init__(self, what: str, why: str, *, sent: bool = True) -> None:
        super().__init__(f"{what}: {why}")
        self.what = what
        self.why = why
        self.sent = sent


class UnansweredError(KubeError):
    """A write without a certain answer: the server may have acted upon it, now or in a moment."""


class NotLeadingError(KubeError):
    """A write was held back because the lease is lost, or about to be. It is never tried again.

    `sent` is True where an earlier attempt of the same call went without an answer and may have been acted upon.
    """

    def __init__(self, what: str, *, sent: bool) -> None:
        super().__init__(f"{what}: not sent, this instance no longer leads")
        self.what = what
        self.sent = sent


class AnswerError(KubeError):
    """The answer of the server cannot be read as what was asked for."""


class ApiError(KubeError):
    """The server refused or failed: the decoded Status with its HTTP code.

    `retry_after` is in seconds, None where the server did not say. `causes` are the machine readable reasons
    in the Status details (`DisruptionBudget`, `ResourceVersionTooLarge` …).
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        retry_after: float | None = None,
        causes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(f"{status} {reason}: {message}{_rule_to_add(status, message)}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes

    @property
    def conflict(self) -> bool:
        """The object changed since it was read, or a precondition does not hold."""
        return self.status == 409 and self.reason != "AlreadyExists"

    @property
    def already_exists(self) -> bool:
        return self.status == 409 and self.reason == "AlreadyExists"

    @property
    def gone(self) -> bool:
        """The resource version or the continue token is too old: list again."""
        return self.status == 410

    @property
    def not_found(self) -> bool:
        return self.status == 404

    @property
    def invalid(self) -> bool:
        return self.status in (400, 422)

    @property
    def forbidden(self) -> bool:
        return self.status in (401, 403)

    @property
    def too_many(self) -> bool:
        """The server asks to come back later (`retry_after`); for an eviction: a disruption budget says no."""
        return self.status == 429

    @property
    def server_side(self) -> bool:
        return self.status >= 500


_FORBIDDEN = re.compile(
    r'cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
"""How the API server words a right that is missing."""


def _rule_to_add(status: int, message: str) -> str:
    """The rule that a role lacks, ready to be put into it; nothing for other errors."""
    found = _FORBIDDEN.search(message) if status == 403 else None
    if found is None:
        return ""
    kind = f"a Role in {found['namespace']}" if found["namespace"] else "a ClusterRole"
    group, resource, verb = found["group"], found["resource"], found["verb"]
    return f'; {kind} needs the rule {{apiGroups: ["{group}"], resources: [{resource}], verbs: [{verb}]}}'


class StatusCause(msgspec.Struct):
    reason: str = ""


class StatusDetails(msgspec.Struct, rename="camel"):
    retry_after_seconds: float | None = None
    causes: list[StatusCause] | None = None


class Status(msgspec.Struct):
    """The answer of the API server to anything that failed, and to some things that did not."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int | None = None
    details: StatusDetails | None = None


_DECODER = msgspec.json.Decoder(Status)


def from_answer(status: int, body: bytes, *, retry_after: str | None = None) -> ApiError:
    """The error for an answer with HTTP code `status`; a body that is no Status becomes the message."""
    try:
        answer = _DECODER.decode(body)
    except UNREADABLE:
        text = " ".join(body[:MAX_MESSAGE].decode("utf-8", "replace").split())
        answer = Status(message=text or "no explanation given")
    return from_status(answer, status=status, retry_after=_seconds(retry_after))


def from_event(raw: Any) -> ApiError:
    """The error carried by an ERROR line of a watch."""
    try:
        answer = msgspec.convert(raw, Status)
    except UNREADABLE:
        answer = Status(message="the watch failed without a readable status")
    return from_status(answer, status=500)


def from_status(answer: Status, *, status: int, retry_after: float | None = None) -> ApiError:
    details = answer.details or StatusDetails()
    causes = tuple(cause.reason for cause in details.causes or ())
    return ApiError(
        answer.code or status,
        answer.reason or "Unknown",
        answer.message,
        retry_after=retry_after if retry_after is not None else details.retry_after_seconds,
        causes=causes,
    )


def _seconds(text: str | None) -> float | None:
    """The header Retry-After in its numeric form; the form with a date is not sent by API servers."""
    if text is None or not text.isascii() or not text.isdigit():
        return None
    return float(text[:9])
