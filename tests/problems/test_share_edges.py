"""The edges of what `share` accepts: times that no clock tells are bad input, with their place."""

from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.problems import share
from fairlead.text.documents import strict

MOST = 2**53


def solved(**fields: Any) -> dict[str, Any]:
    """The answer about one job."""
    job = {"name": "a", "replicas": 1, "request": {"cpu": 1}, **fields.pop("job", {})}
    problem = strict({"total": {"cpu": 4}, "jobs": [job], **fields}, share.PROBLEM)
    return share.answer(problem, share.solve(problem))


def past(at: float) -> dict[str, Any]:
    """A problem with past usage."""
    return {"now": 0, "halfLife": 1, "namespaces": [{"name": "default", "past": [{"usage": {"cpu": 1}, "at": at}]}]}


TIMES: dict[str, tuple[Any, str]] = {
    "the age of a job": (lambda at: {"job": {"created": at}}, "$.jobs[0].created"),
    "the wait of a job": (lambda at: {"job": {"since": at}}, "$.jobs[0].since"),
    "now": (lambda at: {"now": at, "reserveAfter": 1}, "$.now"),
    "past usage": (past, "$.namespaces[0].past[0].at"),
}


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("sign", [1, -1])
def test_time_that_no_clock_tells_is_refused_with_its_place(name: str, sign: int) -> None:
    """Up to 2^53 seconds count; more, which no column holds, is the mistake of its field."""
    fields, path = TIMES[name]
    assert solved(**fields(sign * MOST))["jobs"]["a"]["admitted"] == 1
    for much in (sign * (MOST + 2), sign * 2**63, sign * 1e300):
        with pytest.raises(InputError) as caught:
            solved(**fields(much))
        assert caught.value.path == path
