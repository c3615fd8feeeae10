"""Each view shows what the plan says, without a fault that axe-core knows, in light and dark, narrow and wide."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import Served, violations

Opened = Callable[..., Page]

SHOP = {
    "overview": ["Placed by the plan", "Cluster west", "Evenness of nodes"],
    "map": ["Cluster map", "Colour by"],
    "queues": ["Queues of west", "analytics", "at most 36", "Jobs of west"],
    "waiting": ["QueueCapability: 6 replicas", "an eviction", "ml/train"],
    "workloads": ["shop/web", "StatefulSet"],
    "workload?workload=Job/ml/train": ["ml/train", "Queue batch: 8 of 10 may start", "Why not this node?"],
    "fleet": ["Workloads by clusters", "floor 8", "Draws of shop/web"],
    "tiers": ["Tiers of north", "repair would replace"],
    "disks": ["Disks of west", "west-od-1 / bulk", "How the first storage replica"],
    "whatif": ["Drain a node", "Lose a zone"],
    "whatif?drain=west-od-1": ["If west-od-1 is drained", "Before and after", "What changes"],
}
SCENARIOS = {
    "examples/gpu-queue/scenario.yaml": ("examples/gpu-queue/fifo.yaml", 9000),
    "examples/spot-wave/scenario.yaml": ("examples/spot-wave/no-tiers.yaml", 7500),
}
MOMENTS = ["overview", "map", "queues", "waiting", "workloads", "tiers", "fleet", "disks"]


@pytest.mark.parametrize("view", SHOP)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_view_of_the_shop(view: str, dark: bool, shop: str, opened: Opened) -> None:
    """Its words are there, and it is accessible."""
    page = opened(shop, view, dark=dark)
    for words in SHOP[view]:
        expect(page.locator("main").get_by_text(words).first).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("view", SHOP)
@pytest.mark.parametrize("width", [400, 3840])
def test_view_fits_its_window(view: str, width: int, shop: str, opened: Opened) -> None:
    """From a telephone to 4K nothing is wider than the window; what is wide scrolls in its own box."""
    page = opened(shop, view, width=width)
    expect(page.locator("main").get_by_text(SHOP[view][0]).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module", params=SCENARIOS)
def replayed(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """A page of a scenario under two policies, and a moment in which something waits."""
    policy, second = SCENARIOS[request.param]
    served = Served(("--scenario", request.param, "--policy", "communism", "--policy", policy), "127.0.0.1:0")
    yield served.url, second
    served.stop()


def test_simulation_plots_every_resource(replayed: tuple[str, int], opened: Opened) -> None:
    """Both policies, any series, shares against what is deserved, events; accessible."""
    page = opened(replayed[0], "simulation")
    expect(page.get_by_role("img", name="Use of cpu")).to_be_visible()
    if "gpu" in page.locator("h2.title").inner_text():
        expect(page.get_by_role("img", name="Use of nvidia.com/gpu")).to_be_visible()
    assert page.locator("svg.chart .event").count() > 0
    lines = page.locator("svg.chart").first.locator("path.line")
    assert lines.count() == 2
    page.get_by_label("Measure", exact=True).select_option("waiting")
    expect(page.get_by_role("img", name="Waiting replicas")).to_be_visible()
    assert "series=waiting" in page.url
    assert violations(page) == []


@pytest.mark.parametrize("view", MOMENTS)
def test_moment_of_a_scenario(view: str, replayed: tuple[str, int], opened: Opened) -> None:
    """Every view at one moment of the replay, by its address."""
    url, second = replayed
    page = opened(url, f"{view}?at={second}&policy=communism")
    expect(page.get_by_role("slider", name="Time")).to_have_value(str(second))
    expect(page.locator("main section.card, main .empty").first).to_be_visible()
    assert violations(page) == []


def test_slider_moves_through_time(replayed: tuple[str, int], opened: Opened) -> None:
    """By keyboard: the address follows, and the numbers change."""
    page = opened(replayed[0], "overview")
    asked = page.locator(".big", has_text="Replicas asked for").locator(".value")
    before = asked.inner_text()
    slider = page.get_by_role("slider", name="Time")
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(asked).not_to_have_text(before)
    assert "at=" in page.url
