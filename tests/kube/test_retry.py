"""What is tried again and after how long, and what an answer of the server means."""

import msgspec
import pytest

from fairlead.kube.errors import AnswerError, ApiError, KubeError, UnreachableError, from_answer, from_event
from fairlead.kube.retry import Backoff, Retry


def refused(status: int, *, retry_after: float | None = None) -> ApiError:
    """An answer with this code."""
    return ApiError(status, "Reason", "message", retry_after=retry_after)


def test_waits_double_up_to_the_cap() -> None:
    """The first wait is the shortest; however many failures there were, no wait is longer than the cap."""
    waits = [Backoff(first=0.5, cap=3.0).wait(failures, lambda: 1.0) for failures in (1, 2, 3, 4, 5, 2000)]
    assert waits == [0.5, 1.0, 2.0, 3.0, 3.0, 3.0]


def test_jitter_shortens_a_wait_by_up_to_half() -> None:
    """So that many clients do not come back together, and none at once."""
    assert [Backoff(first=2.0).wait(1, lambda part=part: part) for part in (0.0, 0.5, 1.0)] == [1.0, 1.5, 2.0]


CASES: dict[str, tuple[KubeError, bool, bool]] = {
    "too many requests: not acted upon": (refused(429), False, True),
    "a server error, where repeating does no harm": (refused(500), True, True),
    "a bad gateway, where repeating does no harm": (refused(502), True, True),
    "an overloaded server, where repeating does no harm": (refused(503), True, True),
    "a slow gateway, where repeating does no harm": (refused(504), True, True),
    "a server error after what may have been done": (refused(503), False, False),
    "not implemented stays so": (refused(501), True, False),
    "a refusal stays one": (refused(403), True, False),
    "not found stays so": (refused(404), True, False),
    "unreachable before anything was sent": (UnreachableError("GET /", "down", sent=False), False, True),
    "unreachable after it was sent": (UnreachableError("POST /", "cut", sent=True), False, False),
    "unreachable after a harmless call": (UnreachableError("GET /", "cut", sent=True), True, True),
    "an answer that cannot be read": (AnswerError("GET /", "no JSON"), True, False),
}


@pytest.mark.parametrize(("error", "repeatable", "again"), CASES.values(), ids=CASES.keys())
def test_only_what_may_be_repeated_is_tried_again(error: KubeError, repeatable: bool, again: bool) -> None:
    """A call that may have had its effect is repeated only where that does no harm."""
    wait = Retry().wait(error, 1, repeatable=repeatable, jitter=lambda: 1.0)
    assert wait == (0.1 if again else None)


def test_tries_are_counted_in_all() -> None:
    """Four tries: after the fourth failure the error is raised."""
    waits = [Retry().wait(refused(503), failures, repeatable=True, jitter=lambda: 1.0) for failures in range(1, 6)]
    assert waits == [0.1, 0.2, 0.4, None, None]


def test_a_server_that_says_when_to_come_back_is_obeyed_within_patience() -> None:
    """The longer of the two waits counts; a longer one than the patience is not waited for."""
    retry = Retry(backoff=Backoff(first=2.0), patience=10.0)
    asked = {
        seconds: retry.wait(refused(429, retry_after=seconds), 1, repeatable=False, jitter=lambda: 1.0)
        for seconds in (1.0, 5.0, 10.0, 10.5)
    }
    assert asked == {1.0: 2.0, 5.0: 5.0, 10.0: 10.0, 10.5: None}


MEANINGS = {
    400: {"invalid"},
    401: {"forbidden"},
    403: {"forbidden"},
    404: {"not_found"},
    409: {"conflict"},
    410: {"gone"},
    422: {"invalid"},
    429: {"too_many"},
    499: set[str](),
    500: {"server_side"},
    503: {"server_side"},
}


@pytest.mark.parametrize("status", MEANINGS)
def test_each_code_means_one_thing(status: int) -> None:
    """No code has two meanings, and one that has none is just an error."""
    words = ("conflict", "already_exists", "gone", "not_found", "invalid", "forbidden", "too_many", "server_side")
    assert {word for word in words if getattr(refused(status), word)} == MEANINGS[status]


def test_a_name_that_is_taken_is_no_conflict_of_versions() -> None:
    """Both have the code 409; the reason tells."""
    taken = ApiError(409, "AlreadyExists", "")
    assert (taken.already_exists, taken.conflict) == (True, False)
    assert not ApiError(404, "AlreadyExists", "").already_exists


def test_an_answer_is_read_in_the_words_of_the_server() -> None:
    """Code, reason, causes and the wait of the body; the header Retry-After goes before the body's."""
    body = {
        "code": 403,
        "reason": "Forbidden",
        "message": "no",
        "details": {"retryAfterSeconds": 7, "causes": [{"reason": "Quota"}]},
    }
    error = from_answer(500, msgspec.json.encode(body))
    assert (error.status, error.reason, error.message, error.causes) == (403, "Forbidden", "no", ("Quota",))
    assert error.retry_after == 7
    assert from_answer(500, msgspec.json.encode(body), retry_after="3").retry_after == 3
    assert from_answer(500, msgspec.json.encode(body), retry_after="0").retry_after == 0


@pytest.mark.parametrize("header", [None, "", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "٣"])
def test_a_wait_that_is_no_plain_number_is_not_read(header: str | None) -> None:
    """Signs, fractions, dates and digits of other scripts."""
    assert from_answer(429, b"{}", retry_after=header).retry_after is None


def test_an_answer_that_is_no_status_is_quoted() -> None:
    """On one line; an empty one is said to explain nothing."""
    assert from_answer(502, b"<html>\n  bad gateway").message == "<html> bad gateway"
    assert from_answer(502, b"\xff").status == 502
    assert from_answer(502, b"").message == "no explanation given"
    assert from_answer(502, b"{}").reason == "Unknown"


def test_an_error_line_of_a_watch_is_an_error_of_its_code() -> None:
    """410 in the stream means the same as 410 as an answer; what cannot be read is a server error."""
    assert from_event({"code": 410, "reason": "Expired"}).gone
    assert from_event(["what"]).status == 500
