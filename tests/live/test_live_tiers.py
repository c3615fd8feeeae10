"""The tiers of the webhook: detected from nodes, kept in a ConfigMap, never forgotten, overruled by settings."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.resources import CONFIG_MAPS, NODES
from fairlead.levels.tier.presets import DETECTED, TierChoice, combined
from fairlead.live.webhook.live_tiers import CONFIG_MAP, LiveTiers, TierWatch
from fairlead.model.tiers import CAPACITY, NO_TIERS, Tiers
from tests.fake.api import FakeApi
from tests.kube.virtual import run

KARPENTER, EKS = "karpenter.sh/capacity-type", "eks.amazonaws.com/capacityType"


def put_node(api: FakeApi, name: str, **labels: str) -> None:
    api.put(NODES, {"metadata": {"name": name, "labels": labels}})


def remembered(api: FakeApi) -> dict[str, str]:
    found: dict[str, Any] | None = api.find(CONFIG_MAPS, CONFIG_MAP, namespace="f")
    return {} if found is None else found.get("data") or {}


async def settled() -> None:
    """A virtual second: whatever is under way has happened."""
    await asyncio.sleep(1.0)


def watched(
    play: Callable[[FakeApi, LiveTiers, TierWatch], Awaitable[None]], api: FakeApi, *, writes: bool = True
) -> LiveTiers:
    """A watch over the nodes of the API while `play` goes on; the tiers at its end."""
    tiers = LiveTiers()

    async def main() -> None:
        watch = TierWatch(Client(api), tiers, namespace="f", writes=writes)
        await watch.recall()
        tasks = [asyncio.create_task(each) for each in (watch.nodes.run(), watch.run())]
        try:
            await watch.nodes.synced.wait()
            await play(api, tiers, watch)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(main())
    return tiers


def town(*kept: str) -> FakeApi:
    api = FakeApi()
    api.put(CONFIG_MAPS, {"metadata": {"name": CONFIG_MAP, "namespace": "f"}, "data": dict.fromkeys(kept, "detected")})
    return api


def test_before_any_node_the_seeds_label_holds() -> None:
    """As for a bare review; a configured label holds at once."""
    assert LiveTiers().now == Tiers()
    assert LiveTiers(TierChoice(presets=("eks",))).now == combined(("eks",))


def test_nodes_show_the_tiers_and_they_are_kept() -> None:
    """A label appears, is used, is written down, and stays when the last node with it is gone."""
    api = town()
    put_node(api, "plain", zone="a")

    async def play(api: FakeApi, tiers: LiveTiers, watch: TierWatch) -> None:
        assert tiers.now == NO_TIERS
        assert watch.ready
        put_node(api, "spot", **{KARPENTER: "spot"})
        await settled()
        assert remembered(api) == {"karpenter": "detected"}
        assert tiers.now == combined(("karpenter",))
        await Client(api).delete(NODES, "spot")
        await settled()
        assert len(watch.nodes.objects) == 1
        assert tiers.now == combined(("karpenter",))

    watched(play, api)
    assert remembered(api) == {"karpenter": "detected"}


def test_restart_recalls_what_was_detected() -> None:
    """Also what is no preset of this version is passed over, and a second label joins the first."""
    api = town("karpenter", "unheard-of")
    put_node(api, "group", **{EKS: "ON_DEMAND"})

    async def play(api: FakeApi, tiers: LiveTiers, watch: TierWatch) -> None:
        await settled()

    assert watched(play, api).now == combined(("eks", "karpenter"))
    assert remembered(api) == dict.fromkeys(("eks", "karpenter", "unheard-of"), "detected")


def test_shadow_remembers_nothing() -> None:
    """It decides by what it sees and writes nothing."""
    api = town()
    put_node(api, "od", **{CAPACITY: "on-demand"})

    async def play(api: FakeApi, tiers: LiveTiers, watch: TierWatch) -> None:
        await settled()
        assert tiers.now == combined(("fairlead",))

    watched(play, api, writes=False)
    assert remembered(api) == {}


def test_without_the_config_map_it_goes_on() -> None:
    """What cannot be written down is detected anew after a restart."""
    api = FakeApi()
    put_node(api, "spot", **{EKS: "SPOT"})

    async def play(api: FakeApi, tiers: LiveTiers, watch: TierWatch) -> None:
        await settled()
        assert tiers.now == combined(("eks",))

    assert watched(play, api).known == {"eks"}


def test_settings_are_not_overruled_by_nodes() -> None:
    """A label that nodes show is no news where the configuration says what to go by."""
    tiers = LiveTiers(TierChoice(presets=()))
    tiers.saw({KARPENTER: "spot"})
    assert tiers.now == NO_TIERS
    assert not tiers.policy.tiers
    free = LiveTiers(DETECTED)
    free.saw({"zone": "a"})
    assert free.now == NO_TIERS
    free.saw({KARPENTER: "spot"})
    free.saw({"zone": "b"})
    assert free.now == combined(("karpenter",))
