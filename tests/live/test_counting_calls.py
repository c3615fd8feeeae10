"""What a count asks the API server for: no more than it takes to be exact."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from fairlead.kube.resources import PODS
from fairlead.live.webhook.listing import MOST_READS
from tests.live.cluster_of_pods import Shop
from tests.live.test_counting import _in_shop

Play = Callable[[Shop], Awaitable[None]]


def _calls(this: Shop, since: int) -> Counter[str]:
    """What was asked since then: ledgers and Deployments by method, pods read by name or listed."""
    counts: Counter[str] = Counter()
    for method, path in this.api.calls[since:]:
        kind = next((each for each in ("tierledgers", "deployments", "pods") if each in path), "")
        if kind == "pods" and method == "GET":
            counts["list" if path.endswith("/pods") else "pod"] += 1
        elif kind in ("tierledgers", "deployments") and method != "WATCH":
            counts[f"{method} {kind}"] += 1
    return counts


async def _admitted(this: Shop, count: int) -> Counter[str]:
    since = len(this.api.calls)
    await asyncio.gather(*(this.admit() for _ in range(count)))
    await asyncio.sleep(0.1)
    return _calls(this, since)


def test_free_slots_are_granted_without_a_list() -> None:
    """The first request finds no ledger and lists; while the ledger names fewer than the target, nobody lists again."""

    async def play(this: Shop) -> None:
        assert (await _admitted(this, 1))["list"] == 1
        more = await _admitted(this, 2)
        assert more == {"GET tierledgers": 1, "GET deployments": 1, "PATCH tierledgers": 1}

    _in_shop(play, minimum="3", processes=1)


@pytest.mark.parametrize(("minimum", "want"), [(3, {"pod": 3}), (MOST_READS + 1, {"list": 1})])
def test_full_slots_are_looked_at_once_and_no_ledger_is_read(minimum: int, want: dict[str, int]) -> None:
    """A few pods are read by name, many are listed; beside it only the Deployment is read, for a batch of any size."""

    async def play(this: Shop) -> None:
        await _admitted(this, minimum)
        assert await _admitted(this, 10) == {"GET deployments": 1, **want}
        assert len(this.on_demand()) == minimum

    _in_shop(play, replicas=40, minimum=str(minimum), processes=1)


def test_those_who_wait_for_granted_pods_do_not_list_before_these_are_seen() -> None:
    """Two are granted, two wait; when the watch has shown the granted pods, one look answers the others."""

    async def play(this: Shop) -> None:
        await _admitted(this, 1)
        burst = await _admitted(this, 4)
        assert burst["list"] == 0
        assert burst["GET tierledgers"] == burst["PATCH tierledgers"] == 1
        assert len(this.on_demand()) == 3

    _in_shop(play, minimum="3", processes=1)


def _gone(this: Shop, name: str) -> Callable[[], None]:
    return lambda: this.api.remove(PODS, name, namespace="shop")


def test_pod_that_goes_while_it_is_looked_at_makes_room() -> None:
    """The watch still shows it, the read does not: the request is counted by ledger and list, and takes the slot."""

    async def play(this: Shop) -> None:
        names = [await this.admit() for _ in range(2)]
        await asyncio.sleep(0.1)
        this.api.before(_gone(this, names[0]), method="GET", path=f"pods/{names[0]}")
        again = await this.admit()
        assert this.on_demand() == sorted([names[1], again])

    _in_shop(play, minimum="2", processes=1)


def test_without_the_right_to_read_pods_they_are_listed() -> None:
    """The rights of an earlier version are enough."""

    async def play(this: Shop) -> None:
        name = await this.admit()
        await asyncio.sleep(0.1)
        this.api.fail(403, method="GET", path=f"pods/{name}", times=1000)
        await this.admit()
        assert this.on_demand() == [name]

    _in_shop(play, processes=1)
