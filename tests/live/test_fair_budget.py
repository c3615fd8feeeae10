"""One budget and one kill switch for all processes, whatever the order in which their steps fall."""

import asyncio
from itertools import combinations
from typing import Any

import pytest

from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.resources import CONFIG_MAPS, DISRUPTION_BUDGETS, PODS
from fairlead.kube.transport import Response
from fairlead.live.runtime.evictions import Evictions, Refusal, Spending
from tests.fake import FakeApi
from tests.kube.virtual import run

NAMES = ("a", "b", "c", "d")


def _api(names: tuple[str, ...] = NAMES) -> FakeApi:
    api = FakeApi()
    for name in names:
        api.put(PODS, {"metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", "labels": {"app": name}}})
    return api


def _evictions(api: FakeApi, per_minute: int = 2, *, ahead: float = 0.0) -> Evictions:
    """One process, its clock so many seconds ahead."""
    clock = asyncio.get_running_loop().time
    return Evictions(
        Client(api),
        namespace="f",
        switch="switch",
        allowed=True,
        per_minute=per_minute,
        clock=lambda: clock() + ahead,
    )


def _left(api: FakeApi) -> list[str]:
    return [name for name in NAMES if api.find(PODS, name, namespace="shop") is not None]


def _recent(api: FakeApi) -> list[str]:
    found = api.find(CONFIG_MAPS, "switch", namespace="f")
    assert found is not None
    return str(found["data"].get("recent", "")).splitlines()


@pytest.mark.parametrize("delays", list(combinations((0.0, 0.003, 0.01, 0.03), 3)))
def test_processes_never_pass_the_budget_together(delays: tuple[float, ...]) -> None:
    """Four pods, three processes, a budget of two: two are evicted, whoever comes first at whichever step."""

    async def play() -> None:
        api = _api()
        api.faults.seconds = 0.01

        async def process(delay: float, name: str) -> Refusal | None:
            await asyncio.sleep(delay)
            return await _evictions(api).evict("shop", name, f"uid-{name}")

        found = await asyncio.gather(*(process(delay, name) for delay, name in zip(delays, NAMES, strict=False)))
        assert sorted(map(str, found)) == sorted(["None", "None", Refusal.BUDGET.value])
        assert len(_left(api)) == 2
        assert len(_recent(api)) == 2

    run(play())


def test_a_budget_is_free_again_after_a_minute_for_every_process() -> None:
    """What one process spent another may spend a minute later, and the old lines are dropped."""

    async def play() -> None:
        api = _api()
        assert isinstance(await _evictions(api).spend(2), Spending)
        other = _evictions(api)
        assert await other.spend(1) is Refusal.BUDGET
        await asyncio.sleep(59)
        assert await other.spend(1) is Refusal.BUDGET
        await asyncio.sleep(2)
        assert isinstance(await other.spend(1), Spending)
        assert len(_recent(api)) == 1

    run(play())


def test_clocks_that_differ_a_little_share_the_budget() -> None:
    """Half a minute ahead or behind still counts."""

    async def play() -> None:
        api = _api()
        assert isinstance(await _evictions(api, ahead=30).spend(2), Spending)
        assert await _evictions(api, ahead=-20).spend(1) is Refusal.BUDGET

    run(play())


def test_many_are_paid_for_together_or_not_at_all() -> None:
    """Three do not fit what is left of two; more than a minute's budget never fits."""

    async def play() -> None:
        api = _api()
        evictions = _evictions(api, per_minute=3)
        assert await evictions.spend(4) is Refusal.TOO_MANY
        first = await evictions.spend(2)
        assert isinstance(first, Spending)
        assert await evictions.spend(2) is Refusal.BUDGET
        await evictions.give_back(first, 1)
        assert isinstance(await evictions.spend(2), Spending)
        assert sorted(line.split()[1] for line in _recent(api)) == ["1", "2"]

    run(play())


def test_refused_evictions_are_given_back() -> None:
    """A disruption budget says no, and a pod is another one by now: both cost nothing."""

    async def play() -> None:
        api = _api()
        api.put(
            DISRUPTION_BUDGETS,
            {
                "metadata": {"name": "keep", "namespace": "shop"},
                "spec": {"selector": {"matchLabels": {"app": "a"}}},
                "status": {"disruptionsAllowed": 0},
            },
        )
        evictions = _evictions(api, per_minute=1)
        assert await evictions.possible("shop", "a", "uid-a") is Refusal.PROTECTED
        assert await evictions.evict("shop", "a", "uid-a") is Refusal.PROTECTED
        assert await evictions.evict("shop", "b", "uid-of-another") is Refusal.GONE
        assert _recent(api) == []
        assert await evictions.evict("shop", "b", "uid-b") is None
        assert _left(api) == ["a", "c", "d"]

    run(play())


def test_pod_that_several_disruption_budgets_protect_is_refused_as_such() -> None:
    """The API server answers 500 to that, for it evicts no such pod; it costs nothing, as little as a 403 does."""

    async def play() -> None:
        api = _api()
        for name in ("one", "other"):
            selector = {"selector": {"matchLabels": {"app": "a"}}}
            api.put(DISRUPTION_BUDGETS, {"metadata": {"name": name, "namespace": "shop"}, "spec": selector})
        evictions = _evictions(api, per_minute=1)
        assert await evictions.possible("shop", "a", "uid-a") is Refusal.PROTECTED
        assert await evictions.evict("shop", "a", "uid-a") is Refusal.PROTECTED
        api.fail(403, method="POST", path="pods/b/eviction")
        with pytest.raises(KubeError):
            await evictions.evict("shop", "b", "uid-b")
        assert await evictions.evict("shop", "b", "uid-b") is None

    run(play())


class Twice(FakeApi):
    """Acts upon every change, after which its connection turns out to be closed, so that the change is sent again."""

    async def request(self, method: str, path: str, **more: Any) -> Response:
        answer = await super().request(method, path, **more)
        return answer if method != "PUT" else await super().request(method, path, **more)


def test_a_change_of_the_budget_that_is_sent_twice_counts_once() -> None:
    """Neither is the pod paid for twice, nor more given back than was refused."""

    async def play() -> None:
        api = Twice()
        api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {}})
        evictions = _evictions(api, per_minute=4)
        spent = await evictions.spend(4)
        assert isinstance(spent, Spending)
        await evictions.give_back(spent, 1)
        assert [line.split()[1] for line in _recent(api)] == ["3"]
        await evictions.give_back(spent, 3)
        assert _recent(api) == []

    run(play())


def test_the_switch_stops_also_what_is_paid_for() -> None:
    """Stop is set between spending and evicting: nobody is evicted, and other keys of the ConfigMap are kept."""

    async def play() -> None:
        api = _api()
        evictions = _evictions(api)
        spent = await evictions.spend(2)
        assert isinstance(spent, Spending)
        found = api.find(CONFIG_MAPS, "switch", namespace="f")
        assert found is not None
        api.put(CONFIG_MAPS, found | {"data": found["data"] | {"stop": " True ", "note": "by Ada"}})
        assert await evictions.carry_out("shop", "a", "uid-a") is Refusal.STOPPED
        assert await _evictions(api).evict("shop", "b", "uid-b") is Refusal.STOPPED
        await evictions.give_back(spent, 2)
        after = api.find(CONFIG_MAPS, "switch", namespace="f")
        assert after is not None
        assert after["data"] == {"stop": " True ", "note": "by Ada", "recent": ""}
        assert _left(api) == list(NAMES)

    run(play())


def test_stop_between_the_read_and_the_write_of_a_spending_wins() -> None:
    """The write that has not seen the stop loses the swap, and the second look sees it."""

    async def play() -> None:
        api = _api()
        api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {}})
        done: list[str] = []

        def stop() -> None:
            done.append("stop")
            api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {"stop": "true"}})

        api.before(stop, method="PUT", path="/switch")
        assert await _evictions(api).evict("shop", "a", "uid-a") is Refusal.STOPPED
        assert done
        assert _left(api) == list(NAMES)

    run(play())


def test_lines_that_nobody_can_read_do_not_count() -> None:
    """Somebody wrote into the ConfigMap by hand: what is no spending is dropped at the next write."""

    async def play() -> None:
        api = _api()
        now = timestamps.micro(asyncio.get_running_loop().time())
        data: Raw = {"recent": f"hello\nyesterday 3 x\n{now} many y\n{now} ² w\n{now} -1 v\n{now} 1 z"}
        api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": data})
        evictions = _evictions(api)
        assert isinstance(await evictions.spend(1), Spending)
        assert await evictions.spend(1) is Refusal.BUDGET
        assert len(_recent(api)) == 2

    run(play())


def test_a_spending_without_an_answer_evicts_nobody() -> None:
    """The server wrote and the answer was lost: the error is the caller's, and the budget is smaller for a minute."""

    async def play() -> None:
        api = _api()
        api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {}})
        api.cut(method="PUT", path="/switch", after=True)
        evictions = _evictions(api, per_minute=1)
        with pytest.raises(KubeError):
            await evictions.evict("shop", "a", "uid-a")
        assert _left(api) == list(NAMES)
        assert await evictions.evict("shop", "a", "uid-a") is Refusal.BUDGET

    run(play())
